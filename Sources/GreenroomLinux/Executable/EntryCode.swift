/// A program's first instructions, followed up to where they leave for a library.
///
/// What stands there runs before the preload library is called. So it is followed only as long as it
/// does nothing but move registers and call: the start code of glibc and of musl does, in all their
/// versions, and ends in `__libc_start_main`. Whatever else is met (a store, as in Free Pascal's, a
/// condition, a system call, an instruction that is not known) is not followed.
enum EntryCode {
    /// What one straight run of instructions ends in.
    enum End: Equatable {
        /// A call of, or a jump to, code of the program itself.
        case code(at: UInt64)
        /// A call or a jump through a pointer, which lies there.
        case pointer(at: UInt64)
    }

    /// From the entry to a library there are at most three calls: musl has a second function, and where
    /// binding is lazy, a procedure linkage table lies between.
    private static let callLimit = 4
    /// The longest known, musl's second function with a frame pointer, has 60 bytes.
    private static let runByteLimit = 96

    /// The place of the pointer through which the program leaves its own code for the first time.
    static func pointer(
        from entry: UInt64, _ file: borrowing ExecutableFile, _ segments: borrowing Segments
    ) -> UInt64? {
        var address = entry
        for _ in 0..<callLimit {
            guard let offset = segments.offset(of: address) else { return nil }
            switch end(of: file.bytes(at: offset, upTo: runByteLimit), at: address) {
            case .code(let next): address = next
            case .pointer(let place): return place
            case nil: return nil
            }
        }
        return nil
    }

    private static func end(of code: [UInt8], at address: UInt64) -> End? {
        #if arch(x86_64)
            X86StartCode.end(of: code, at: address)
        #elseif arch(arm64)
            ArmStartCode.end(of: code, at: address)
        #endif
    }
}
