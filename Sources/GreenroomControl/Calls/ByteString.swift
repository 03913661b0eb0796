/// A string of Linux: an argument, a variable or a path. It consists of bytes without a NUL. Nearly
/// all such strings are UTF-8, and those are kept as text, but they need not be.
public enum ByteString: Hashable, Sendable {
    case text(String)
    /// A string that is not UTF-8.
    case bytes([UInt8])

    public init(_ text: String) { self = .text(text) }

    public init(bytes: some Collection<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self) {
            self = .text(text)
        } else {
            self = .bytes(Array(bytes))
        }
    }

    /// Nil if the string is not UTF-8.
    public var text: String? {
        switch self {
        case .text(let text): text
        case .bytes: nil
        }
    }

    /// The string for people. Bytes that are not UTF-8 are shown as U+FFFD.
    public var shown: String {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    public var bytes: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        }
    }

    public func hasPrefix(_ prefix: String) -> Bool {
        switch self {
        case .text(let text): text.utf8.starts(with: prefix.utf8)
        case .bytes(let bytes): bytes.starts(with: prefix.utf8)
        }
    }

    /// The part before the first `=`, as in environ(7); nil if there is no `=`.
    public var variableName: ByteString? {
        switch self {
        case .text(let text):
            guard let end = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            return .text(String(text[..<end]))
        case .bytes(let bytes):
            return bytes.firstIndex(of: UInt8(ascii: "=")).map { ByteString(bytes: bytes[..<$0]) }
        }
    }
}

extension ByteString: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self = .text(value) }
}
