/// The instructions of start code for aarch64.
enum ArmStartCode {
    /// - Returns: nil if one of the instructions does not belong to start code.
    static func end(of code: [UInt8], at address: UInt64) -> EntryCode.End? {
        /// The page address in x16, in an entry of a procedure linkage table.
        var page: UInt64?
        /// The address from which the register of the jump was loaded.
        var pointer: UInt64?
        for at in stride(from: 0, to: code.count & ~3, by: 4) {
            let word = code.littleEndian(at: at, as: UInt32.self)
            let here = address &+ UInt64(at)
            if word & 0x7c00_0000 == 0x1400_0000 {  // b, bl
                return .code(at: here &+ signed(word & 0x3ff_ffff, bits: 26) &* 4)
            }
            if word == 0xd61f_0220 { return pointer.map { .pointer(at: $0) } }  // br x17
            if word & 0x9f00_001f == 0x9000_0010 {  // adrp x16, …
                let distance = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3
                page = here & ~0xfff &+ signed(distance, bits: 21) &* 4096
            } else if word & 0xffc0_03ff == 0xf940_0211 {  // ldr x17, [x16, …]
                pointer = page.map { $0 &+ UInt64(word >> 10 & 0xfff) &* 8 }
            } else if !isHarmless(word) {
                return nil
            }
        }
        return nil
    }

    /// These instructions change registers and the process's own stack, but no other memory.
    private static func isHarmless(_ word: UInt32) -> Bool {
        harmless.contains { word & $0.mask == $0.bits }
    }

    private static let harmless: [(mask: UInt32, bits: UInt32)] = [
        (0xffff_ffff, 0xd503_201f),  // nop
        (0xffff_ff3f, 0xd503_241f),  // bti
        (0xff80_0000, 0xd280_0000),  // mov x, #…
        (0xff80_0000, 0x5280_0000),  // mov w, #…
        (0xff80_0000, 0xf280_0000),  // movk x, #…
        (0xffe0_ffe0, 0xaa00_03e0),  // mov x, x
        (0xff80_0000, 0x9100_0000),  // add x, x, #…; mov x, sp
        (0xffff_ffff, 0x927c_ec1f),  // and sp, x0, #-16
        (0xffc0_0000, 0xf940_0000),  // ldr x, [x, #…]
        (0xffc0_0000, 0xb940_0000),  // ldr w, [x, #…]
        (0xffc0_0000, 0xb980_0000),  // ldrsw x, [x, #…]
        (0xffe0_0c00, 0xf840_0400),  // ldr x, [x], #…
        (0xffe0_0c00, 0xb840_0400),  // ldr w, [x], #…
        (0x9f00_0000, 0x9000_0000),  // adrp x, …
        (0x9f00_0000, 0x1000_0000),  // adr x, …
        (0xffff_ffff, 0xa9bf_7bfd),  // stp x29, x30, [sp, #-16]!
        (0xffff_ffff, 0xa8c1_7bfd),  // ldp x29, x30, [sp], #16
    ]

    private static func signed(_ value: UInt32, bits: UInt32) -> UInt64 {
        UInt64(bitPattern: Int64(Int32(bitPattern: value << (32 - bits)) >> Int32(32 - bits)))
    }
}
