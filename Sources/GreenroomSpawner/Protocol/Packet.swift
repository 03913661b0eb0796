internal import GreenroomLinux

/// One message on the wire: a header of 12 bytes, then the body.
///
/// `u32 magic "GRS1"; u16 version; u16 type; u32 flags`, little-endian. With flag 1, the first
/// descriptor is a sealed memfd that contains the body.
struct Packet: Sendable {
    static let magic: UInt32 = 0x3153_5247
    static let version: UInt16 = 6
    static let headerByteCount = 12
    static let bodyInDescriptor: UInt32 = 1

    var type: UInt16
    var body: [UInt8]
    var descriptors: [FileDescriptor]

    /// The bytes of a packet that contains its body.
    func encoded() -> [UInt8] { Self.header(type, flags: 0) + body }

    static func header(_ type: UInt16, flags: UInt32) -> [UInt8] {
        var writer = WireWriter()
        writer.put(magic)
        writer.put(version)
        writer.put(type)
        writer.put(flags)
        return writer.bytes
    }

    static func decodeHeader(
        _ bytes: ArraySlice<UInt8>
    ) throws(SpawnerWireError) -> (type: UInt16, flags: UInt32) {
        var reader = WireReader(bytes.prefix(headerByteCount))
        guard try reader.take(UInt32.self) == magic else { throw .badMagic }
        let version = try reader.take(UInt16.self)
        guard version == Self.version else { throw .badVersion(version) }
        return (try reader.take(), try reader.take())
    }
}

/// Why a packet is not valid. Its connection cannot be used any more.
public enum SpawnerWireError: Error, Hashable, Sendable {
    case truncated
    case trailingBytes
    case badMagic
    /// The other end speaks another version: restart it.
    case badVersion(UInt16)
    case unknownType(UInt16)
    case badValue
    case limitExceeded
    case badDescriptors
}

/// Appends values, little-endian; strings and lists follow their count.
struct WireWriter {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ value: some FixedWidthInteger) {
        var rest = value.littleEndian
        unsafe withUnsafeBytes(of: &rest) { unsafe bytes.append(contentsOf: $0) }
    }

    mutating func put(_ value: Bool) { put(value ? 1 as UInt8 : 0) }

    mutating func put(bytes value: [UInt8]) {
        put(UInt32(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func put(_ value: String) {
        put(UInt32(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    mutating func put(_ value: String?) {
        put(value != nil)
        if let value { put(value) }
    }

    mutating func put(_ block: StringBlock) {
        put(UInt32(block.count))
        put(UInt32(block.bytes.count))
        bytes.append(contentsOf: block.bytes)
    }
}

/// Reads what ``WireWriter`` wrote, and refuses anything else.
struct WireReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func take<Value: FixedWidthInteger>(
        _: Value.Type = Value.self
    ) throws(SpawnerWireError) -> Value {
        let count = Value.bitWidth / 8
        guard rest.count >= count else { throw .truncated }
        var value: Value = 0
        for index in (rest.startIndex..<rest.startIndex + count).reversed() {
            value = value << 8 | Value(truncatingIfNeeded: rest[index])
        }
        rest = rest.dropFirst(count)
        return value
    }

    mutating func takeBool() throws(SpawnerWireError) -> Bool {
        switch try take(UInt8.self) {
        case 0: false
        case 1: true
        default: throw .badValue
        }
    }

    mutating func takeString() throws(SpawnerWireError) -> String {
        let count = Int(try take(UInt32.self))
        guard rest.count >= count else { throw .truncated }
        // Each launch may send a whole environment here, so the bytes are validated in words, not
        // one by one.
        let bytes = rest.prefix(count)
        guard let text = try? UTF8Span(validating: bytes.span) else { throw .badValue }
        rest = rest.dropFirst(count)
        return String(copying: text)
    }

    mutating func takeBytes(atMost limit: Int) throws(SpawnerWireError) -> [UInt8] {
        let count = Int(try take(UInt32.self))
        guard count <= limit else { throw .limitExceeded }
        guard rest.count >= count else { throw .truncated }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func takeOptionalString() throws(SpawnerWireError) -> String? {
        try takeBool() ? try takeString() : nil
    }

    mutating func takeStrings() throws(SpawnerWireError) -> StringBlock {
        let count = Int(try take(UInt32.self))
        let byteCount = Int(try take(UInt32.self))
        guard count <= SpawnerLimits.stringCount else { throw .limitExceeded }
        guard rest.count >= byteCount else { throw .truncated }
        let bytes = Array(rest.prefix(byteCount))
        guard let block = StringBlock(terminated: bytes, count: count) else { throw .badValue }
        rest = rest.dropFirst(byteCount)
        return block
    }

    mutating func takeList<Element>(
        atMost limit: Int, _ element: (inout WireReader) throws(SpawnerWireError) -> Element
    ) throws(SpawnerWireError) -> [Element] {
        let count = Int(try take(UInt32.self))
        guard count <= limit else { throw .limitExceeded }
        // Each element has at least one byte, so a count that is greater than this is false. It is
        // refused before any element is read.
        guard count <= rest.count else { throw .truncated }
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }

    func finish() throws(SpawnerWireError) {
        if !rest.isEmpty { throw .trailingBytes }
    }
}
