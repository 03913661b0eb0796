internal import GreenroomAppChannel

/// Holds an app's state as named values, to be written and read like a keyed `NSCoder`. Each
/// restorable object has its own names.
///
/// State says where the user was: in which document, at which line. What the user created belongs
/// in files. A state has at most 32 KiB.
///
/// Source: <https://developer.apple.com/documentation/foundation/nscoder>
@MainActor public final class StateCoder {
    /// The version of the app (`Version=`) that saved the state. While state is being saved, it is
    /// the current version. UIKit's `stateRestorationBundleVersionKey`.
    public let appVersion: String
    /// When the state was saved, as the time since 1970 UTC; nil while it is being saved. UIKit's
    /// `stateRestorationTimestampKey`.
    public let timestamp: Duration?
    /// The URL of the document that the app was launched to open. If the document should be shown
    /// without the earlier state, return false from
    /// `application(_:shouldRestoreSecureApplicationState:)`.
    public let launchDocumentURL: String?

    private var values: [String: String]
    /// The names in the order in which they were added.
    private var names: [String] = []
    /// The restoration identifier of the object that encodes or decodes now; empty for the
    /// delegate.
    var object = ""

    init(appVersion: String) {
        self.appVersion = appVersion
        timestamp = nil
        launchDocumentURL = nil
        values = [:]
    }

    init(_ saved: SavedState, launchDocumentURL: String?) {
        appVersion = saved.appVersion
        timestamp = .microseconds(Int64(clamping: saved.savedAt))
        self.launchDocumentURL = launchDocumentURL
        values = [:]
        for entry in saved.archive.entries {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            keep(String(entry[entry.index(after: equals)...]), as: String(entry[..<equals]))
        }
    }

    private func keep(_ text: String, as name: String) {
        if values.updateValue(text, forKey: name) == nil { names.append(name) }
    }

    /// Sets the value of a key; nil removes it.
    public func encode(_ value: (some StateValue)?, forKey key: String) {
        let name = name(key)
        if let value { return keep(value.stateText, as: name) }
        values[name] = nil
        names.removeAll { $0 == name }
    }

    /// - Returns: nil if there is no value with that key, or one of another type.
    public func decode<Value: StateValue>(
        _ type: Value.Type = Value.self, forKey key: String
    ) -> Value? {
        values[name(key)].flatMap { Value(stateText: $0) }
    }

    /// Whether the key has a value.
    public func containsValue(forKey key: String) -> Bool { values[name(key)] != nil }

    // MARK: The archive

    /// Everything that was encoded. Each name contains its object's identifier.
    var archive: AppArchive {
        var archive = AppArchive()
        for name in names { archive.add(name, values[name]!) }
        return archive
    }

    /// The identifiers of the objects that have values, in order.
    var objects: [String] {
        var seen: Set<Substring> = [""]
        return names.compactMap { name in
            let object = name.prefix { $0 != "/" }
            return seen.insert(object).inserted ? StateText.unescaped(object) : nil
        }
    }

    private func name(_ key: String) -> String {
        StateText.escaped(object) + "/" + StateText.escaped(key)
    }
}

/// A type whose values a ``StateCoder`` can hold: `String`, `Bool`, `Int`, `Double`, and arrays of
/// bytes or strings.
///
/// Source: none; Apple has no such type.
public protocol StateValue: Sendable {
    /// The value as text without NUL, which ``init(stateText:)`` reads.
    var stateText: String { get }
    /// Reads the text of a value; nil if the text was made from a value of another type.
    init?(stateText: String)
}

extension String: StateValue {
    /// `s` and the escaped string.
    public var stateText: String { "s" + StateText.escaped(self) }
    /// Reads the text of a string.
    public init?(stateText: String) {
        guard stateText.first == "s" else { return nil }
        self = StateText.unescaped(stateText.dropFirst())
    }
}

extension Bool: StateValue {
    /// `b1` or `b0`.
    public var stateText: String { self ? "b1" : "b0" }
    /// Reads the text of a Boolean.
    public init?(stateText: String) {
        guard stateText == "b0" || stateText == "b1" else { return nil }
        self = stateText == "b1"
    }
}

extension Int: StateValue {
    /// `i` and the number in decimal.
    public var stateText: String { "i\(self)" }
    /// Reads the text of an integer.
    public init?(stateText: String) {
        guard stateText.first == "i" else { return nil }
        self.init(stateText.dropFirst())
    }
}

extension Double: StateValue {
    /// `d` and the bits in hexadecimal, so that every value comes back exactly.
    public var stateText: String { "d" + String(bitPattern, radix: 16) }
    /// Reads the text of a number.
    public init?(stateText: String) {
        guard stateText.first == "d", let bits = UInt64(stateText.dropFirst(), radix: 16) else {
            return nil
        }
        self.init(bitPattern: bits)
    }
}

extension Array: StateValue where Element: StateElement {
    /// The text that the element's type makes of an array.
    public var stateText: String { Element.arrayText(self) }
    /// Reads the text of an array.
    public init?(stateText: String) {
        guard let values = Element.array(stateText) else { return nil }
        self = values
    }
}

/// A type whose arrays a ``StateCoder`` can hold: bytes and strings.
///
/// Source: none; Apple has no such type.
public protocol StateElement: Sendable {
    /// The array as text without NUL, which ``array(_:)`` reads.
    static func arrayText(_ values: [Self]) -> String
    /// Reads the text of an array; nil if the text was made from a value of another type.
    static func array(_ stateText: String) -> [Self]?
}

extension UInt8: StateElement {
    /// `x` and two hexadecimal digits for each byte.
    public static func arrayText(_ values: [UInt8]) -> String {
        var text = "x"
        for byte in values { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return text
    }
    /// Reads the text of an array of bytes.
    public static func array(_ stateText: String) -> [UInt8]? {
        let digits = Array(stateText.utf8.dropFirst())
        guard stateText.first == "x", digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}

extension String: StateElement {
    /// `a`, and each escaped string with a slash after it.
    public static func arrayText(_ values: [String]) -> String {
        "a" + values.map { StateText.escaped($0) + "/" }.joined()
    }
    /// Reads the text of an array of strings.
    public static func array(_ stateText: String) -> [String]? {
        guard stateText.first == "a" else { return nil }
        return stateText.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            .dropLast().map { StateText.unescaped($0) }
    }
}

/// Escapes the characters that an archive's text or names must not contain: NUL, `=`, `/`, and `%`,
/// which begins an escape.
enum StateText {
    private static let special: [UInt8] = Array("%/=\0".utf8)

    static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: special.contains) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            guard let index = special.firstIndex(of: byte) else {
                bytes.append(byte)
                continue
            }
            bytes += [special[0], UInt8(ascii: "0") + UInt8(index)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func unescaped(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var isSpecial = false
        for byte in text.utf8 {
            if isSpecial, byte >= UInt8(ascii: "0"),
                Int(byte - UInt8(ascii: "0")) < special.count
            {
                bytes.append(special[Int(byte - UInt8(ascii: "0"))])
                isSpecial = false
            } else if byte == special[0] {
                isSpecial = true
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
