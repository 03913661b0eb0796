import Testing

@testable import GreenroomLinux

/// Start code of both architectures, whichever this machine has.
@Suite struct StartCodeTests {
    private func bytes(_ hex: String) -> [UInt8] {
        hex.split(separator: " ").map { UInt8($0, radix: 16)! }
    }

    private func words(_ words: [UInt32]) -> [UInt8] {
        words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
    }

    @Test(arguments: [
        // glibc 2.36, Scrt1.o
        (
            "31 ed 49 89 d1 5e 48 89 e2 48 83 e4 f0 50 54 45 31 c0 31 c9 48 8b 3d 10 00 00 00 "
                + "ff 15 20 00 00 00 f4", EntryCode.End.pointer(at: 0x1041)
        ),
        // glibc 2.31 with CET, not position-independent
        (
            "f3 0f 1e fa 31 ed 49 89 d1 5e 48 89 e2 48 83 e4 f0 50 54 49 c7 c0 00 10 40 00 "
                + "48 c7 c1 00 11 40 00 48 c7 c7 00 12 40 00 e8 fb ff ff ff",
            .code(at: 0x1028)
        ),
        // musl
        ("48 31 ed 48 89 e7 48 8d 35 00 00 00 00 48 83 e4 f0 e8 00 00 00 00", .code(at: 0x1016)),
        (
            "8b 37 48 8d 57 08 4c 8b 05 00 00 00 00 45 31 c9 48 8b 0d 00 00 00 00 48 8b 3d 00 00 "
                + "00 00 e9 00 00 00 00", .code(at: 0x1023)
        ),
        // Procedure linkage tables, of GNU ld, lld and mold
        ("f3 0f 1e fa ff 25 00 00 00 00", .pointer(at: 0x100a)),
        ("f2 ff 25 00 00 00 00", .pointer(at: 0x1007)),
        ("f3 0f 1e fa 41 bb 07 00 00 00 ff 25 00 00 00 00", .pointer(at: 0x1010)),
    ])
    func `start code for x86-64 is followed`(code: String, end: EntryCode.End) {
        #expect(X86StartCode.end(of: bytes(code), at: 0x1000) == end)
    }

    @Test(arguments: [
        "", "31 ed", "e8 00 00", "0f 05", "cc", "c3",
        // Free Pascal: it writes what it finds on the stack
        "48 31 ed 49 89 d1 5e 48 89 e2 48 8d 0d df 91 27 00 89 71 38 48 89 61 40",
        // Go's own start code: jmp, then loads from the stack
        "48 8b 3c 24 48 8d 74 24 08 e9 00 00 00 00",
    ])
    func `other code for x86-64 is not followed`(code: String) {
        #expect(X86StartCode.end(of: bytes(code), at: 0x1000) == nil)
    }

    /// The start code of glibc 2.36 (Scrt1.o and crt1.o) and musl, and an entry of a procedure
    /// linkage table, also with BTI.
    @Test func `start code for aarch64 is followed`() {
        let start: [UInt32] = [
            0xd503_201f, 0xd280_001d, 0xd280_001e, 0xaa00_03e5, 0xf940_03e1, 0x9100_23e2,
            0x9100_03e6,
        ]
        let end: [UInt32] = [0xd280_0003, 0xd280_0004, 0x9400_0004]
        let call = EntryCode.End.code(at: 0x1000 + 44 + 16)
        let shared = words(start + [0x9000_0000, 0xf940_0000] + end)
        #expect(ArmStartCode.end(of: shared, at: 0x1000) == call)
        let fixed = words(start + [0x9000_0000, 0x9100_0000] + end)
        #expect(ArmStartCode.end(of: fixed, at: 0x1000) == call)
        let musl = words([
            0xd280_001d, 0xd280_001e, 0x9100_03e0, 0xb000_0001, 0x9100_0021, 0x927c_ec1f,
            0x17ff_fffe,
        ])
        #expect(ArmStartCode.end(of: musl, at: 0x1000) == .code(at: 0x1010))
        // adrp x16, two pages on; ldr x17, [x16, #24]; add x16, x16, #24; br x17
        let entry: [UInt32] = [0xd000_0010, 0xf940_0e11, 0x9100_6210, 0xd61f_0220]
        for table in [entry, [0xd503_245f] + entry] {
            #expect(ArmStartCode.end(of: words(table), at: 0x1000) == .pointer(at: 0x3018))
        }
        // the same entry, two pages back
        let back: [UInt32] = [0xd0ff_fff0, 0xf940_0e11, 0xd61f_0220]
        #expect(ArmStartCode.end(of: words(back), at: 0x5000) == .pointer(at: 0x3018))
    }

    /// The words are a store, a system call, a jump through a register to which nothing was loaded,
    /// a return, and a condition.
    @Test(arguments: [0xf900_0020, 0xd400_0001, 0xd61f_0220, 0xd65f_03c0, 0xb400_0040, 0])
    func `other code for aarch64 is not followed`(word: UInt32) {
        #expect(ArmStartCode.end(of: words([0xd280_001d, word]), at: 0x1000) == nil)
    }
}
