/// Arguments or environment entries in the form in which they travel: NUL-terminated, one after
/// the other. Bytes, not characters: Linux does not promise UTF-8.
///
/// Building one costs a copy of its strings; a list that many launches share (an app's environment)
/// is built once.
public struct StringList: Equatable, Sendable {
    /// The strings, each followed by its NUL.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// - Throws: ``WireError/stringContainsNUL(index:)``.
    public init(_ strings: [String]) throws(WireError) {
        for string in strings { try append(string) }
    }

    /// The strings in `bytes`, each of which must end with its NUL.
    init(terminated bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }

    /// - Throws: ``WireError/stringContainsNUL(index:)``; the list is unchanged then.
    public mutating func append(_ string: String) throws(WireError) {
        var string = string
        let isClean = string.withUTF8 { utf8 in
            // On the path of each launch: one scan, one copy, no character by character.
            guard unsafe !utf8.contains(0) else { return false }
            unsafe bytes.append(contentsOf: utf8)
            return true
        }
        guard isClean else { throw .stringContainsNUL(index: count) }
        bytes.append(0)
        count += 1
    }

    /// - Throws: ``WireError/stringContainsNUL(index:)``; the list is unchanged then.
    public mutating func append(bytes string: some Collection<UInt8>) throws(WireError) {
        if string.contains(0) { throw .stringContainsNUL(index: count) }
        bytes.append(contentsOf: string)
        bytes.append(0)
        count += 1
    }

    public mutating func append(contentsOf other: StringList) {
        bytes.append(contentsOf: other.bytes)
        count += other.count
    }

    /// The strings as text; bytes that are not UTF-8 are replaced by U+FFFD.
    public var strings: [String] {
        var strings: [String] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0) {
            strings.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
        }
        return strings
    }
}
