/// The instructions of start code for x86-64.
enum X86StartCode {
    /// - Returns: nil if one of the instructions does not belong to start code.
    static func end(of code: [UInt8], at address: UInt64) -> EntryCode.End? {
        var at = 0
        while at < code.count {
            let rest = code[at...]
            if let harmless = harmless.first(where: { rest.starts(with: $0.bytes) }) {
                at += harmless.bytes.count + harmless.operandByteCount
                continue
            }
            guard let leaving = leaving.first(where: { rest.starts(with: $0.bytes) }),
                at + leaving.bytes.count + 4 <= code.count
            else { return nil }
            at += leaving.bytes.count
            let distance = Int64(code.littleEndian(at: at, as: Int32.self))
            let target = address &+ UInt64(at + 4) &+ UInt64(bitPattern: distance)
            return leaving.throughPointer ? .pointer(at: target) : .code(at: target)
        }
        return nil
    }

    private struct Harmless {
        var bytes: [UInt8]
        var operandByteCount = 0
    }

    /// These instructions change registers and the process's own stack, but no other memory.
    private static let harmless = [
        Harmless(bytes: [0xf3, 0x0f, 0x1e, 0xfa]),  // endbr64
        // _start of glibc and musl
        Harmless(bytes: [0x31, 0xed]),  // xor %ebp, %ebp
        Harmless(bytes: [0x48, 0x31, 0xed]),  // xor %rbp, %rbp
        Harmless(bytes: [0x49, 0x89, 0xd1]),  // mov %rdx, %r9
        Harmless(bytes: [0x5e]),  // pop %rsi
        Harmless(bytes: [0x48, 0x89, 0xe2]),  // mov %rsp, %rdx
        Harmless(bytes: [0x48, 0x89, 0xe7]),  // mov %rsp, %rdi
        Harmless(bytes: [0x48, 0x83, 0xe4, 0xf0]),  // and $-16, %rsp
        Harmless(bytes: [0x50]),  // push %rax
        Harmless(bytes: [0x54]),  // push %rsp
        Harmless(bytes: [0x45, 0x31, 0xc0]),  // xor %r8d, %r8d
        Harmless(bytes: [0x31, 0xc9]),  // xor %ecx, %ecx
        // The addresses of main and of the start and end functions, whichever way the linker gives
        // them: mov $…, lea …(%rip), mov …(%rip), to %rdi, %rcx, %r8, %rsi
        Harmless(bytes: [0x48, 0xc7, 0xc7], operandByteCount: 4),
        Harmless(bytes: [0x48, 0xc7, 0xc1], operandByteCount: 4),
        Harmless(bytes: [0x49, 0xc7, 0xc0], operandByteCount: 4),
        Harmless(bytes: [0xbf], operandByteCount: 4),
        Harmless(bytes: [0xb9], operandByteCount: 4),
        Harmless(bytes: [0x41, 0xb8], operandByteCount: 4),
        Harmless(bytes: [0x48, 0x8d, 0x3d], operandByteCount: 4),
        Harmless(bytes: [0x48, 0x8d, 0x0d], operandByteCount: 4),
        Harmless(bytes: [0x48, 0x8d, 0x35], operandByteCount: 4),
        Harmless(bytes: [0x4c, 0x8d, 0x05], operandByteCount: 4),
        Harmless(bytes: [0x48, 0x8b, 0x3d], operandByteCount: 4),
        Harmless(bytes: [0x48, 0x8b, 0x0d], operandByteCount: 4),
        Harmless(bytes: [0x4c, 0x8b, 0x05], operandByteCount: 4),
        // _start_c of musl, as compilers make it
        Harmless(bytes: [0x8b, 0x37]),  // mov (%rdi), %esi
        Harmless(bytes: [0x48, 0x8b, 0x37]),  // mov (%rdi), %rsi
        Harmless(bytes: [0x48, 0x63, 0x37]),  // movslq (%rdi), %rsi
        Harmless(bytes: [0x48, 0x8d, 0x57, 0x08]),  // lea 8(%rdi), %rdx
        Harmless(bytes: [0x45, 0x31, 0xc9]),  // xor %r9d, %r9d
        Harmless(bytes: [0x55]),  // push %rbp
        Harmless(bytes: [0x5d]),  // pop %rbp
        Harmless(bytes: [0x48, 0x89, 0xe5]),  // mov %rsp, %rbp
        Harmless(bytes: [0x48, 0x83, 0xec, 0x08]),  // sub $8, %rsp
        Harmless(bytes: [0x48, 0x83, 0xc4, 0x08]),  // add $8, %rsp
        // An entry of a procedure linkage table, as mold makes it
        Harmless(bytes: [0x41, 0xbb], operandByteCount: 4),  // mov $…, %r11d
    ]

    private struct Leaving {
        var bytes: [UInt8]
        var throughPointer: Bool
    }

    private static let leaving = [
        Leaving(bytes: [0xe8], throughPointer: false),  // call
        Leaving(bytes: [0x67, 0xe8], throughPointer: false),  // addr32 call
        Leaving(bytes: [0xe9], throughPointer: false),  // jmp
        Leaving(bytes: [0xff, 0x15], throughPointer: true),  // call *…(%rip)
        Leaving(bytes: [0xff, 0x25], throughPointer: true),  // jmp *…(%rip)
        Leaving(bytes: [0xf2, 0xff, 0x25], throughPointer: true),  // bnd jmp *…(%rip)
    ]
}
