internal import GreenroomLinux
internal import Systemd

/// Accepts clients of the control socket, within limits for all and for each user.
@LoopActor
final class ControlListener {
    /// So many clients at once, of all users and of one: the rest wait to be accepted, or are
    /// turned away where it is their own user who holds the places.
    struct Limits {
        var connections = 4096
        var connectionsPerUser = 1024
    }

    /// Out of descriptors, the next look is after this, or when a client leaves: a socket with
    /// somebody in its backlog stays readable, and the loop would turn for nothing.
    private static let pause = Duration.milliseconds(100)

    /// How many connections are accepted before other events have their turn.
    private static let batch = 16

    private let socket: UnixSocket
    private let limits: Limits
    private let onConnect: (ControlConnection) -> Void
    private var source: EventSource?
    private var resumption: EventSource?
    private var isPaused = false
    private var connections: [UInt64: ControlConnection] = [:]
    private var countOfUser: [UInt32: Int] = [:]
    private var nextIdentifier: UInt64 = 1

    init(
        socket: UnixSocket, limits: Limits, onConnect: @escaping (ControlConnection) -> Void
    ) throws(SystemdError) {
        self.socket = socket
        self.limits = limits
        self.onConnect = onConnect
        source = try LoopActor.io(socket.descriptor.rawValue, .readable) { [unowned self] _ in
            accept()
        }
        resumption = try LoopActor.timer { [unowned self] in listen() }
    }

    func closeAll() {
        source = nil
        resumption = nil
        for connection in connections.values { connection.close() }
    }

    private func accept() {
        for _ in 0..<Self.batch {
            let client: UnixSocket
            do throws(SystemError) {
                guard let next = try socket.accept() else { return }
                client = next
            } catch {
                // Out of descriptors: the client waits in the backlog until one is free.
                return pause()
            }
            guard let peer = try? Peer(client),
                connections.count < limits.connections,
                countOfUser[peer.user, default: 0] < limits.connectionsPerUser,
                let connection = try? ControlConnection(
                    identifier: nextIdentifier, socket: client, peer: peer)
            else { continue }
            nextIdentifier += 1
            connections[connection.identifier] = connection
            countOfUser[peer.user, default: 0] += 1
            connection.onClose.append { [unowned self] in closed($0) }
            onConnect(connection)
        }
    }

    private func pause() {
        guard !isPaused else { return }
        isPaused = true
        try? source?.setEvents([])
        try? resumption?.setDeadline(after: Self.pause)
    }

    private func listen() {
        guard isPaused else { return }
        isPaused = false
        try? source?.setEvents(.readable)
    }

    private func closed(_ connection: ControlConnection) {
        guard connections.removeValue(forKey: connection.identifier) != nil else { return }
        let count = countOfUser[connection.peer.user, default: 1] - 1
        countOfUser[connection.peer.user] = count > 0 ? count : nil
        listen()
    }
}
