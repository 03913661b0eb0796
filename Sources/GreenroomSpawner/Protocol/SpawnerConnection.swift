public import Glibc
public import GreenroomLinux

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
