public import Glibc
public import GreenroomLinux

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

/// A supervisor's connection to the spawner, for use in any event loop: no call blocks.
///
/// Wait until ``fileDescriptor`` is readable and call ``receive()``; while ``hasUnsent``, wait
/// until it is writable as well and call ``flush()``.
public final class SpawnerConnection {
    private let stream: PacketStream
    private var failure: ConnectionError?

    public init(_ socket: UnixSocket) { stream = PacketStream(socket) }

    /// Connects to the spawner's socket. Send ``SpawnerRequest/hello`` first.
    public static func connect(to path: String) throws(SystemError) -> SpawnerConnection {
        SpawnerConnection(try UnixSocket.connect(to: path, .seqpacket))
    }

    public var fileDescriptor: CInt { stream.socket.descriptor.rawValue }

    /// The spawner's process (SO_PEERCRED). The process stays the same when the spawner executes
    /// itself again.
    public func spawnerProcess() throws(SystemError) -> pid_t {
        try stream.socket.peerCredentials().pid
    }

    /// The spawner's process; nil if it has ended. It is never another process with the same
    /// number, if the kernel can tell.
    public func process() -> ProcessDescriptor? { stream.socket.otherProcess() }

    /// The number of bytes sent that the spawner has not read, not counting those still queued
    /// here.
    public var unreadByteCount: Int { (try? stream.socket.unreadByteCount()) ?? 0 }

    /// Whether requests are queued because the spawner has not read enough.
    public var hasUnsent: Bool { stream.hasUnsent }

    /// Sends a request, or queues it after those that wait. Its descriptors stay open until it was
    /// sent.
    public func send(_ request: SpawnerRequest) throws(ConnectionError) {
        try stream.send(request.packet())
    }

    public func flush() throws(ConnectionError) { try stream.flush() }

    /// Returns every message that has arrived, in order, at most ``batch``. Call it again when the
    /// descriptor is readable (level-triggered loops do so by themselves).
    ///
    /// When the spawner is gone, this throws after it has returned everything that had arrived.
    public func receive() throws(ConnectionError) -> [SpawnerMessage] {
        if let failure { throw failure }
        var messages: [SpawnerMessage] = []
        while messages.count < Self.batch {
            do {
                guard let packet = try stream.receive() else { break }
                messages.append(try Self.decode(packet))
            } catch {
                failure = error
                if messages.isEmpty { throw error }
                break
            }
        }
        return messages
    }

    /// Limits one call, so that other work of the loop gets its turn.
    private static let batch = 64

    private static func decode(_ packet: Packet) throws(ConnectionError) -> SpawnerMessage {
        do {
            return try SpawnerMessage(packet)
        } catch {
            throw .malformed(error)
        }
    }
}
