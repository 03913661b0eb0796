internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLinux

// Both forms in which strings are passed on are bytes with a NUL after each string.

extension StringList {
    /// - Throws: ``WireError/stringContainsNUL(index:)``.
    init(strings: [ByteString]) throws(WireError) {
        self.init()
        for string in strings {
            switch string {
            case .text(let text): try append(text)
            case .bytes(let bytes): try append(bytes: bytes)
            }
        }
    }
}

extension StringBlock {
    /// Nil if a string contains a NUL.
    init?(strings: [ByteString]) {
        self.init()
        for string in strings {
            let isClean =
                switch string {
                case .text(let text): append(text)
                case .bytes(let bytes): append(bytes: bytes)
                }
            guard isClean else { return nil }
        }
    }
}
