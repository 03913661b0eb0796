/// A program's first instructions, followed to the point where they call into a library.
///
/// These instructions run before the preload library is called. So they are followed only while
/// they do nothing but move registers and call. The start code of all versions of glibc and musl
/// does only that, and ends in `__libc_start_main`. Code that does anything else (a store, as in
/// Free Pascal's; a condition; a system call; an unknown instruction) is not followed.
enum EntryCode {
    /// How a run of instructions without branches ends.
    enum End: Equatable {
        /// A call or a jump to code of the program itself.
        case code(at: UInt64)
        /// A call or a jump through a pointer that is stored at this address.
        case pointer(at: UInt64)
    }

    /// There are at most three calls from the entry to a library: musl has a second function, and
    /// with lazy binding a procedure linkage table lies between.
    private static let callLimit = 4
    /// The longest known run, musl's second function with a frame pointer, has 60 bytes.
    private static let runByteLimit = 96

    /// The address of the pointer through which the program first leaves its own code.
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
