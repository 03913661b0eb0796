/// Writes one JSON text after another into a buffer, without building a tree first.
///
/// The caller keeps the grammar: every `beginObject` has its `endObject`, and in an object each
/// value follows a `name`.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8]
    /// True where no comma is due: after an opening bracket or a name.
    private var isFirst = true

    public init() { bytes = [] }

    /// Writes behind what is there already.
    public init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

    /// Gives the buffer away, so that it is not copied at the next append.
    mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }

    /// What was written.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    @inline(__always)
    private mutating func separate() {
        if isFirst { isFirst = false } else { bytes.append(UInt8(ascii: ",")) }
    }

    /// Begins an object; names and values follow in turn.
    public mutating func beginObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
    }

    /// Ends the innermost object.
    public mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        isFirst = false
    }

    /// Begins an array; its elements follow as values.
    public mutating func beginArray() {
        separate()
        bytes.append(UInt8(ascii: "["))
        isFirst = true
    }

    /// Ends the innermost array.
    public mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        isFirst = false
    }

    /// The name of the member whose value comes next.
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        isFirst = true
    }

    /// Writes a value.
    public mutating func value(_ value: String) {
        separate()
        quote(value)
    }

    /// Writes a value.
    public mutating func value(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes null.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes a value.
    public mutating func value(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = value.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(UInt8(ascii: "0") + UInt8(digit))
            rest = quotient
        } while rest > 0
        bytes[start...].reverse()
    }

    /// JSON has no infinities: what is not finite is written as `null`.
    public mutating func value(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes.append(contentsOf: value.description.utf8)
    }

    /// Writes a value.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.value(bool)
        case .integer(let integer): self.value(integer)
        case .double(let double): self.value(double)
        case .string(let string): self.value(string)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let object): self.value(object)
        }
    }

    /// Writes a value.
    public mutating func value(_ object: JSONObject) {
        beginObject()
        members(of: object)
        endObject()
    }

    /// The members alone, for an object that has been begun.
    public mutating func members(of object: JSONObject) {
        for member in object.members {
            name(member.name)
            value(member.value)
        }
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.hasByte(where: JSONWriter.needsEscape) {
            for byte in text.utf8 { escape(byte) }
        } else {
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            let digit = byte & 15
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        case _: bytes.append(byte)
        }
    }
}

// Members of the object that is being written. An absent value is left out, which Varlink takes
// for null.
extension JSONWriter {
    /// Writes a name and its value.
    public mutating func member(_ name: String, _ value: String) {
        self.name(name)
        self.value(value)
    }

    /// Writes a name and its value.
    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    /// Writes a name and its value.
    public mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    /// Writes a name and its value.
    public mutating func member(_ name: String, _ value: some BinaryInteger) {
        self.name(name)
        self.value(Int64(clamping: value))
    }

    /// Writes a name and its value.
    public mutating func member(_ name: String, _ values: [String]) {
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }

    /// Writes a name and its value; nothing for nil.
    public mutating func member(_ name: String, ifPresent value: String?) {
        if let value { member(name, value) }
    }

    /// Writes a name and its value; nothing for nil.
    public mutating func member(_ name: String, ifPresent value: (some BinaryInteger)?) {
        if let value { member(name, value) }
    }

    /// Writes a name and its value; nothing for nil.
    public mutating func member(_ name: String, ifPresent values: [String]?) {
        if let values { member(name, values) }
    }
}

extension String {
    /// As `utf8.contains(where:)`, without its iterator: every string of every message is asked.
    @inline(__always)
    package func hasByte(where isWanted: (UInt8) -> Bool) -> Bool {
        let bytes = utf8Span.span
        for index in bytes.indices where isWanted(bytes[index]) { return true }
        return false
    }
}
