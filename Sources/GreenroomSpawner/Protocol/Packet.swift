internal import Glibc
public import GreenroomLinux

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

/// Why a connection between supervisor and spawner ended.
public enum ConnectionError: Error, Sendable, CustomStringConvertible {
    /// The other end is gone. The table survives, so connect again.
    case closed
    case malformed(SpawnerWireError)
    case system(SystemError)

    public var description: String {
        switch self {
        case .closed: "the other end of the spawner's socket is gone; connect again"
        case .malformed(.badVersion(let version)):
            "the other end speaks version \(version) of the spawner's protocol, and we speak "
                + "\(Packet.version): restart it"
        case .malformed(let error): "not a packet of the spawner's protocol: \(error)"
        case .system(let error): "\(error)"
        }
    }
}

/// Packets over a nonblocking socket. Packets that cannot be sent at once are queued.
@safe final class PacketStream {
    let socket: UnixSocket
    private var unsent: [Packet] = []
    private var firstUnsent = 0
    private let buffer: UnsafeMutableBufferPointer<UInt8>

    init(_ socket: UnixSocket) {
        self.socket = socket
        unsafe buffer = .allocate(capacity: SpawnerLimits.packetByteCount)
    }

    deinit { unsafe buffer.deallocate() }

    var hasUnsent: Bool { firstUnsent < unsent.count }

    func send(_ packet: Packet) throws(ConnectionError) {
        if !hasUnsent, try sendNow(packet) { return }
        guard unsent.count - firstUnsent < SpawnerLimits.queuedPacketCount else { throw .closed }
        unsent.append(packet)
    }

    func flush() throws(ConnectionError) {
        while hasUnsent, try sendNow(unsent[firstUnsent]) { firstUnsent += 1 }
        if !hasUnsent {
            unsent.removeAll()
            firstUnsent = 0
        }
    }

    /// Stops sending. What the other end has sent can still be received; after that, `receive`
    /// throws `closed`.
    func end() {
        unsent.removeAll()
        firstUnsent = 0
        shutdown(socket.descriptor.rawValue, CInt(SHUT_RDWR))
    }

    /// - Returns: false if it would block.
    private func sendNow(_ packet: Packet) throws(ConnectionError) -> Bool {
        do {
            var bytes = packet.encoded()
            var descriptors = packet.descriptors
            if bytes.count > SpawnerLimits.packetByteCount {
                bytes = Packet.header(packet.type, flags: Packet.bodyInDescriptor)
                let file = unsafe try packet.body.span.bytes.withUnsafeBytes {
                    body throws(SystemError) in
                    unsafe try SealedFile.create(body, name: "greenroom-packet")
                }
                descriptors.insert(file, at: 0)
            }
            defer { withExtendedLifetime(descriptors) {} }
            return try socket.send(bytes, descriptors: descriptors.map(\.rawValue)) != nil
        } catch {
            throw error.isDisconnection ? .closed : .system(error)
        }
    }

    /// The next packet; nil if none waits.
    func receive() throws(ConnectionError) -> Packet? {
        let message = try receiveMessage()
        guard let message else { return nil }
        if message.byteCount == 0 { throw .closed }
        if message.isTruncated || message.lostDescriptors { throw .malformed(.truncated) }
        do {
            return try decode(message)
        } catch {
            throw .malformed(error)
        }
    }

    private func receiveMessage() throws(ConnectionError) -> ReceivedMessage? {
        while true {
            do {
                return unsafe try socket.receive(into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                // The kernel reports this error once, before the data that the other end had still
                // sent. Packets follow, and then the end.
                if error.code == ECONNRESET { continue }
                throw error.isDisconnection ? .closed : .system(error)
            }
        }
    }

    private func decode(_ message: ReceivedMessage) throws(SpawnerWireError) -> Packet {
        let header = unsafe Array(buffer[..<min(message.byteCount, Packet.headerByteCount)])
        let (type, flags) = try Packet.decodeHeader(header[...])
        if flags & ~Packet.bodyInDescriptor != 0 { throw .badValue }
        var packet = Packet(
            type: type,
            body: unsafe Array(buffer[Packet.headerByteCount..<message.byteCount]),
            descriptors: message.descriptors)
        if flags & Packet.bodyInDescriptor != 0 {
            guard packet.body.isEmpty, !packet.descriptors.isEmpty else { throw .badDescriptors }
            let file = packet.descriptors.removeFirst()
            do {
                packet.body = try file.readBytes(atMost: SpawnerLimits.bodyByteCount)
            } catch { throw .limitExceeded }
        }
        return packet
    }
}
