/// Arguments or environment entries in the form in which the channel carries them: NUL-terminated,
/// one after the other. They are bytes, because Linux does not guarantee UTF-8.
///
/// Building a list copies its strings, so a list that many launches share (an app's environment) is
/// built once.
public struct StringList: Equatable, Sendable {
    /// The strings, each followed by its NUL.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    /// - Throws: ``WireError/stringContainsNUL(index:)``.
    public init(_ strings: [String]) throws(WireError) {
        for string in strings { try append(string) }
    }

    /// Creates a list of the strings in `bytes`, each of which must end with a NUL.
    init(terminated bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }

    /// - Throws: ``WireError/stringContainsNUL(index:)``; the list is unchanged then.
    public mutating func append(_ string: String) throws(WireError) {
        var string = string
        let isClean = string.withUTF8 { utf8 in
            // Every launch comes here, so the string is scanned once and copied once, not character
            // by character.
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

    /// The strings as text, with U+FFFD for bytes that are not UTF-8.
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
