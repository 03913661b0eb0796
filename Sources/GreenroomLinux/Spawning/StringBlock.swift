/// Arguments or environment entries, in the form that execve(2) needs: NUL-terminated, one after
/// the other. They are bytes, not characters, because Linux does not promise UTF-8.
///
/// A spawn copies a block as a whole, so strings that many spawns share are converted only once.
public struct StringBlock: Hashable, Sendable {
    /// The strings, each followed by its NUL.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// Returns nil if a string contains a NUL, which would cut the string short.
    public init?(_ strings: some Sequence<String>) {
        for string in strings {
            guard append(string) else { return nil }
        }
    }

    /// Takes the strings in `bytes`; nil unless there are `count`, each with its NUL.
    public init?(terminated bytes: [UInt8], count: Int) {
        var terminators = 0
        for byte in bytes where byte == 0 { terminators += 1 }
        guard terminators == count, bytes.last == 0 || bytes.isEmpty else { return nil }
        self.bytes = bytes
        self.count = count
    }

    /// Appends a string. If it contains a NUL, appends nothing and returns false.
    @discardableResult
    public mutating func append(_ string: String) -> Bool {
        var string = string
        let isClean = string.withUTF8 { utf8 in
            guard unsafe !utf8.contains(0) else { return false }
            unsafe bytes.append(contentsOf: utf8)
            return true
        }
        guard isClean else { return false }
        bytes.append(0)
        count += 1
        return true
    }

    /// Appends a string. If it contains a NUL, appends nothing and returns false.
    @discardableResult
    public mutating func append(bytes string: [UInt8]) -> Bool {
        guard !string.contains(0) else { return false }
        bytes += string
        bytes.append(0)
        count += 1
        return true
    }

    /// Whether `string` is the last of the strings.
    public func ends(with string: String) -> Bool {
        let suffix = Array(string.utf8) + [0]
        return bytes.count >= suffix.count && bytes.suffix(suffix.count) == suffix[...]
            && (bytes.count == suffix.count || bytes[bytes.count - suffix.count - 1] == 0)
    }

    public static func += (block: inout StringBlock, other: StringBlock) {
        block.bytes += other.bytes
        block.count += other.count
    }

    /// The strings as text; bytes that are not UTF-8 are replaced by U+FFFD.
    public var strings: [String] {
        bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension StringBlock: ExpressibleByArrayLiteral {
    /// Traps on a NUL in a literal, which is a mistake in our code.
    public init(arrayLiteral strings: String...) {
        guard let block = StringBlock(strings) else { preconditionFailure("a string with a NUL") }
        self = block
    }
}
