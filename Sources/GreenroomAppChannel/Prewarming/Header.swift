/// The header's fields as on the wire. Every message is encoded into a header and decoded from one.
struct Header: Equatable {
    var type: UInt16 = 0
    var flags: UInt32 = 0
    var argumentCount: UInt32 = 0
    var environmentCount: UInt32 = 0
    var stringByteCount: UInt32 = 0
    var umask: UInt32 = 0
    var descriptorCount: UInt32 = 0
    var cookie: UInt64 = 0
    var status: Int32 = 0
    var threads: UInt32 = 0
    /// The roles of exactly `descriptorCount` descriptors.
    var roles: [Int32] = []
}

extension Header {
    /// - Throws: ``WireError`` for a header that no type of message allows.
    init(decoding datagram: RawSpan, descriptorCount received: Int) throws(WireError) {
        typealias Offset = WireFormat.Offset
        guard datagram.byteCount >= WireFormat.headerByteCount else {
            throw .truncated(byteCount: datagram.byteCount)
        }
        let magic = datagram.littleEndian(at: Offset.magic, as: UInt32.self)
        guard magic == WireFormat.magic else { throw .wrongMagic(magic) }
        let version = datagram.littleEndian(at: Offset.version, as: UInt16.self)
        guard version == WireFormat.version else { throw .unsupportedVersion(version) }

        type = datagram.littleEndian(at: Offset.type, as: UInt16.self)
        flags = datagram.littleEndian(at: Offset.flags, as: UInt32.self)
        argumentCount = datagram.littleEndian(at: Offset.argumentCount, as: UInt32.self)
        environmentCount = datagram.littleEndian(at: Offset.environmentCount, as: UInt32.self)
        stringByteCount = datagram.littleEndian(at: Offset.stringByteCount, as: UInt32.self)
        umask = datagram.littleEndian(at: Offset.umask, as: UInt32.self)
        descriptorCount = datagram.littleEndian(at: Offset.descriptorCount, as: UInt32.self)
        cookie = datagram.littleEndian(at: Offset.cookie, as: UInt64.self)
        status = datagram.littleEndian(at: Offset.status, as: Int32.self)
        threads = datagram.littleEndian(at: Offset.threads, as: UInt32.self)

        guard descriptorCount == received else {
            throw .wrongDescriptorCount(announced: Int(descriptorCount), received: received)
        }
        guard received <= WireFormat.descriptorLimit else { throw .tooManyDescriptors(received) }
        for index in 0..<received {
            roles.append(datagram.littleEndian(at: Offset.roles + 4 * index, as: Int32.self))
        }
    }

    /// Creates a datagram with the header and room for `stringByteCount` more bytes.
    func datagram(reserving stringByteCount: Int = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(WireFormat.headerByteCount + stringByteCount)
        bytes.append(littleEndian: WireFormat.magic)
        bytes.append(littleEndian: WireFormat.version)
        bytes.append(littleEndian: type)
        bytes.append(littleEndian: flags)
        bytes.append(littleEndian: argumentCount)
        bytes.append(littleEndian: environmentCount)
        bytes.append(littleEndian: self.stringByteCount)
        bytes.append(littleEndian: umask)
        bytes.append(littleEndian: descriptorCount)
        bytes.append(littleEndian: cookie)
        bytes.append(littleEndian: status)
        bytes.append(littleEndian: threads)
        for role in roles { bytes.append(littleEndian: role) }
        bytes.append(
            contentsOf: repeatElement(0, count: WireFormat.headerByteCount - bytes.count))
        return bytes
    }
}

extension RawSpan {
    /// Reads a little-endian integer. The caller has compared `offset` with the span's size, and
    /// the standard library does so again.
    fileprivate func littleEndian<Value: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int, as type: Value.Type
    ) -> Value {
        Value(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type))
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
        var rest = value.littleEndian
        unsafe Swift.withUnsafeBytes(of: &rest) { unsafe append(contentsOf: $0) }
    }
}
