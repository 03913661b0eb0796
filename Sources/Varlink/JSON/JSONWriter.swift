/// Writes JSON texts into a buffer, one after the other, without building a tree first.
///
/// The caller must follow the grammar: it ends every object and array that it begins, and in an
/// object it writes a `name` before each value.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8]
    /// Whether no comma is due, because an opening bracket or a name was written last.
    private var isFirst = true

    public init() { bytes = [] }

    /// Writes after what is already in the buffer.
    public init(appendingTo bytes: consuming [UInt8]) { self.bytes = bytes }

    /// Returns the buffer and gives it up, so that the next append does not copy it.
    mutating func takeBytes() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &bytes)
        return taken
    }

    /// The text that was written so far.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    @inline(__always)
    private mutating func separate() {
        if isFirst { isFirst = false } else { bytes.append(UInt8(ascii: ",")) }
    }

    /// Begins an object. Names and values follow in turn.
    public mutating func beginObject() {
        separate()
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
    }

    public mutating func endObject() {
        bytes.append(UInt8(ascii: "}"))
        isFirst = false
    }

    public mutating func beginArray() {
        separate()
        bytes.append(UInt8(ascii: "["))
        isFirst = true
    }

    public mutating func endArray() {
        bytes.append(UInt8(ascii: "]"))
        isFirst = false
    }

    /// Writes the name of the member whose value comes next.
    public mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        isFirst = true
    }

    public mutating func value(_ value: String) {
        separate()
        quote(value)
    }

    public mutating func value(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

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

    /// Writes `null` for a number that is not finite, because JSON has none.
    public mutating func value(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes.append(contentsOf: value.description.utf8)
    }

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

    public mutating func value(_ object: JSONObject) {
        beginObject()
        members(of: object)
        endObject()
    }

    /// Writes only the members. The caller begins and ends the object.
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

// Each of these writes a member, with its name and value, of the present object. An absent value is
// left out, which Varlink treats as null.
extension JSONWriter {
    public mutating func member(_ name: String, _ value: String) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    public mutating func member(_ name: String, _ value: some BinaryInteger) {
        self.name(name)
        self.value(Int64(clamping: value))
    }

    public mutating func member(_ name: String, _ values: [String]) {
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }

    public mutating func member(_ name: String, ifPresent value: String?) {
        if let value { member(name, value) }
    }

    public mutating func member(_ name: String, ifPresent value: (some BinaryInteger)?) {
        if let value { member(name, value) }
    }

    public mutating func member(_ name: String, ifPresent values: [String]?) {
        if let values { member(name, values) }
    }
}

extension String {
    /// The same as `utf8.contains(where:)`, but without an iterator, because this checks every
    /// string of every message.
    @inline(__always)
    package func hasByte(where isWanted: (UInt8) -> Bool) -> Bool {
        let bytes = utf8Span.span
        for index in bytes.indices where isWanted(bytes[index]) { return true }
        return false
    }
}
