internal import GreenroomLifecycle

/// Writes fields one after the other into a record of the mapping. A field that does not fit is
/// dropped and remembered in `overflowed`. That never happens, because identifiers are limited long
/// before.
@safe struct RecordWriter: ~Copyable {
    private let bytes: UnsafeMutableRawBufferPointer
    private var count = 0
    private(set) var overflowed = false

    init(_ bytes: UnsafeMutableRawBufferPointer) { unsafe self.bytes = unsafe bytes }

    mutating func put(_ value: UInt8) {
        guard unsafe count < bytes.count else { return overflowed = true }
        unsafe bytes[count] = value
        count += 1
    }

    mutating func put(_ value: UInt64) {
        guard unsafe count + 8 <= bytes.count else { return overflowed = true }
        unsafe bytes.storeBytes(of: value.littleEndian, toByteOffset: count, as: UInt64.self)
        count += 8
    }

    mutating func put(word value: UInt32) {
        for shift in [0, 8, 16, 24] as [UInt32] { put(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    /// Writes a count and that many instants that are close to each other, oldest first: the latest
    /// in full, the others as milliseconds before it, because a record is short.
    mutating func put(_ instants: ArraySlice<Instant>) {
        put(UInt8(clamping: instants.count))
        guard let latest = instants.last else { return }
        put(latest.nanoseconds)
        for instant in instants.dropLast() {
            put(word: UInt32(clamping: instant.duration(to: latest).microseconds / 1000))
        }
    }

    /// Writes a length byte and at most 255 bytes of UTF-8.
    mutating func put(_ value: String) {
        let utf8 = value.utf8
        guard utf8.count <= 255, unsafe count + 1 + utf8.count <= bytes.count else {
            return overflowed = true
        }
        put(UInt8(utf8.count))
        for byte in utf8 { put(byte) }
    }

    mutating func put(optional value: UInt64?) {
        put(value == nil ? 0 : 1 as UInt8)
        if let value { put(value) }
    }
    mutating func put(optional value: UInt8?) {
        put(value == nil ? 0 : 1 as UInt8)
        if let value { put(value) }
    }
    mutating func put(optional value: String?) {
        put(value == nil ? 0 : 1 as UInt8)
        if let value { put(value) }
    }
}

/// Reads what `RecordWriter` wrote. Past the end, every value is nil and `failed` is set.
@safe struct RecordReader: ~Copyable {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private(set) var failed = false

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = unsafe bytes }

    mutating func byte() -> UInt8? {
        guard unsafe offset < bytes.count else {
            failed = true
            return nil
        }
        defer { offset += 1 }
        return unsafe bytes[offset]
    }

    mutating func word() -> UInt64? {
        guard unsafe offset + 8 <= bytes.count else {
            failed = true
            return nil
        }
        defer { offset += 8 }
        return unsafe UInt64(
            littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    mutating func shortWord() -> UInt32? {
        var value: UInt32 = 0
        for shift in [0, 8, 16, 24] as [UInt32] {
            guard let byte = byte() else { return nil }
            value |= UInt32(byte) << shift
        }
        return value
    }

    /// Reads at most this many instants; a greater count is damage.
    mutating func instants(atMost limit: Int) -> [Instant] {
        let count = Int(byte() ?? 0)
        guard count > 0 else { return [] }
        guard count <= limit, let latest = word().map(Instant.init(nanoseconds:)) else {
            failed = true
            return []
        }
        let earlier = (1..<count).map { _ in
            latest.advanced(by: .zero - .milliseconds(Int64(shortWord() ?? 0)))
        }
        return earlier + [latest]
    }

    mutating func string() -> String? {
        guard let count = byte().map(Int.init), unsafe offset + count <= bytes.count else {
            failed = true
            return nil
        }
        defer { offset += count }
        return unsafe String(
            validating: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]),
            as: UTF8.self)
    }

    mutating func optional<Value>(_ read: (inout RecordReader) -> Value?) -> Value? {
        switch byte() {
        case 0: return nil
        case 1:
            guard let value = read(&self) else {
                failed = true
                return nil
            }
            return value
        default:
            failed = true
            return nil
        }
    }
}
