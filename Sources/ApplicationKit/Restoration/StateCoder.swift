internal import GreenroomAppChannel

/// What an app writes its state into and reads it from: named values, as with a keyed `NSCoder`. Each
/// restorable object has names of its own.
///
/// State is where the user was: which document, which line. What the user made belongs into files.
@MainActor public final class StateCoder {
    /// The app's `Version=` when the state was saved (`stateRestorationBundleVersionKey`); now, while it is
    /// being saved.
    public let appVersion: String
    /// When it was saved, since 1970 UTC (`stateRestorationTimestampKey`); nil while it is being saved.
    public let timestamp: Duration?
    /// The document that the app was launched to open. Where a user who wants that document does not want
    /// what was there before as well, `shouldRestoreSecureApplicationState` returns false.
    public let launchDocumentURL: String?

    private var values: [String: String]
    /// The names in the order in which they came.
    private var names: [String] = []
    /// Whose names are meant; empty is the application's.
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

    /// Replaces what had that key; nil stands for no value.
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

    public func containsValue(forKey key: String) -> Bool { values[name(key)] != nil }

    // MARK: The archive

    /// What is encoded, the names with their objects.
    var archive: AppArchive {
        var archive = AppArchive()
        for name in names { archive.add(name, values[name]!) }
        return archive
    }

    /// The objects that have values, in order.
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

/// A value that a ``StateCoder`` takes: `String`, `Bool`, `Int`, `Double`, bytes, and arrays of strings.
public protocol StateValue: Sendable {
    /// Without NUL.
    var stateText: String { get }
    /// Nil unless another value of this type has made the text.
    init?(stateText: String)
}

extension String: StateValue {
    public var stateText: String { "s" + StateText.escaped(self) }
    public init?(stateText: String) {
        guard stateText.first == "s" else { return nil }
        self = StateText.unescaped(stateText.dropFirst())
    }
}

extension Bool: StateValue {
    public var stateText: String { self ? "b1" : "b0" }
    public init?(stateText: String) {
        guard stateText == "b0" || stateText == "b1" else { return nil }
        self = stateText == "b1"
    }
}

extension Int: StateValue {
    public var stateText: String { "i\(self)" }
    public init?(stateText: String) {
        guard stateText.first == "i" else { return nil }
        self.init(stateText.dropFirst())
    }
}

extension Double: StateValue {
    /// Its bits, so that every value comes back as it was.
    public var stateText: String { "d" + String(bitPattern, radix: 16) }
    public init?(stateText: String) {
        guard stateText.first == "d", let bits = UInt64(stateText.dropFirst(), radix: 16) else {
            return nil
        }
        self.init(bitPattern: bits)
    }
}

extension Array: StateValue where Element: StateElement {
    public var stateText: String { Element.arrayText(self) }
    public init?(stateText: String) {
        guard let values = Element.array(stateText) else { return nil }
        self = values
    }
}

/// What there are arrays of.
public protocol StateElement: Sendable {
    static func arrayText(_ values: [Self]) -> String
    static func array(_ stateText: String) -> [Self]?
}

extension UInt8: StateElement {
    public static func arrayText(_ values: [UInt8]) -> String {
        var text = "x"
        for byte in values { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return text
    }
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
    public static func arrayText(_ values: [String]) -> String {
        "a" + values.map { StateText.escaped($0) + "/" }.joined()
    }
    public static func array(_ stateText: String) -> [String]? {
        guard stateText.first == "a" else { return nil }
        return stateText.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
            .dropLast().map { StateText.unescaped($0) }
    }
}

/// What a message, or a name in it, cannot have: NUL, `=`, `/`, and what stands for them.
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
