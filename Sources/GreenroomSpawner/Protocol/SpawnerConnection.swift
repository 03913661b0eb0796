public import Glibc
public import GreenroomLinux

/// A supervisor's connection to the spawner, to be driven by any event loop: nothing in it waits.
///
/// Wait for ``fileDescriptor`` to be readable and call ``receive()``; while ``hasUnsent``, wait for
/// it to be writable as well and call ``flush()``.
public final class SpawnerConnection {
    private let stream: PacketStream
    private var failure: ConnectionError?

    public init(_ socket: UnixSocket) { stream = PacketStream(socket) }

    /// Connects to the spawner's socket. Say ``SpawnerRequest/hello`` first.
    public static func connect(to path: String) throws(SystemError) -> SpawnerConnection {
        SpawnerConnection(try UnixSocket.connect(to: path, .seqpacket))
    }

    public var fileDescriptor: CInt { stream.socket.descriptor.rawValue }

    /// The spawner's process (SO_PEERCRED): the same for one that has executed itself anew.
    public func spawnerProcess() throws(SystemError) -> pid_t {
        try stream.socket.peerCredentials().pid
    }

    /// The spawner's process: never another one that got its number, as far as the kernel can tell. Nil if
    /// it has ended.
    public func process() -> ProcessDescriptor? { stream.socket.otherProcess() }

    /// How much of what was sent the spawner has not read; of what waits here, nothing.
    public var unreadByteCount: Int { (try? stream.socket.unreadByteCount()) ?? 0 }

    /// Requests are waiting for the spawner to read.
    public var hasUnsent: Bool { stream.hasUnsent }

    /// Sends, or queues behind what waits. Descriptors of a request stay open until it has gone.
    public func send(_ request: SpawnerRequest) throws(ConnectionError) {
        try stream.send(request.packet())
    }

    public func flush() throws(ConnectionError) { try stream.flush() }

    /// Every message that has arrived, in order, at most ``batch``: call again when readable
    /// (level-triggered loops do so by themselves).
    ///
    /// When the spawner is gone it throws, after it has handed out all that had arrived.
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

    /// So that other work of the loop gets its turn.
    private static let batch = 64

    private static func decode(_ packet: Packet) throws(ConnectionError) -> SpawnerMessage {
        do {
            return try SpawnerMessage(packet)
        } catch {
            throw .malformed(error)
        }
    }
}
