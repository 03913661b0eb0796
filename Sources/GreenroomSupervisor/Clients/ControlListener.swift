internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd
internal import Varlink

/// Accepts clients of the control socket, within limits for all and for each user.
@LoopActor
final class ControlListener {
    /// At most this many clients at a time, of all users together and of one user. Further clients
    /// get an error and are turned away.
    struct ConnectionLimits {
        var connections = 4096
        var connectionsPerUser = 1024

        /// Clients take at most half of the descriptors that this process may have, whatever is
        /// configured; the rest is for launches. If that share is smaller than configured, one
        /// user's clients take at most half of it.
        func fitting(openFiles: UInt64) -> ConnectionLimits {
            let share = Int(clamping: openFiles / 2)
            let all = min(connections, max(2, share))
            return ConnectionLimits(
                connections: all,
                connectionsPerUser: min(connectionsPerUser, share < connections ? all / 2 : all))
        }

        /// The limits that fit the descriptors that this process may have.
        var fittingHere: ConnectionLimits {
            fitting(openFiles: ResourceLimit.current(.openFiles).soft)
        }
    }

    /// When the process has run out of descriptors, it accepts again after this time, or when a
    /// client leaves. Without the pause the loop would spin, because a socket with a client in its
    /// backlog stays readable.
    private static let pause = Duration.milliseconds(100)

    private let socket: UnixSocket
    private let disposer: Disposer
    private let settings: ControlSettings
    private let refusal: (UnixSocket, Peer) -> ControlError?
    private let handler: any ClientHandler
    private var source: EventSource?
    private var resumption: EventSource?
    private var isPaused = false
    private var connections: [UInt64: ControlConnection] = [:]
    private let turns: ControlTurns
    private var users: [UInt32: ControlUser] = [:]
    private var nextIdentifier: UInt64 = 1

    /// - Parameter refusal: why a client is turned away, whatever the limits; nil if it is not.
    init(
        socket: UnixSocket, settings: ControlSettings, disposer: Disposer,
        refusal: @escaping (UnixSocket, Peer) -> ControlError?,
        handler: any ClientHandler
    ) throws(SystemdError) {
        // The disposer closes the socket: connections wait in it, with what their clients have sent
        // already.
        self.socket = UnixSocket(
            socket.descriptor.given(to: disposer.stranger(geteuid()), .queue))
        self.disposer = disposer
        self.refusal = refusal
        self.settings = settings
        self.handler = handler
        turns = try ControlTurns()
        source = try LoopActor.io(self.socket.descriptor.rawValue, .readable) { [unowned self] _ in
            accept()
        }
        resumption = try LoopActor.timer { [unowned self] in listen() }
    }

    /// Accepts one connection, then lets other events have their turn: accepting costs about as
    /// much as a call, and closing costs as much again.
    private func accept() {
        var client: UnixSocket
        do throws(SystemError) {
            guard let next = try socket.accept() else { return }
            client = next
        } catch {
            // Out of descriptors: the client waits in the backlog until one is free.
            return pause()
        }
        let peer = try? Peer(client)
        let stranger = disposer.stranger(peer?.user ?? .max)
        client = UnixSocket(client.descriptor.given(to: stranger, .connection))
        guard let peer else { return }
        let user = users[peer.user] ?? ControlUser(stranger)
        if let reason = excess(of: user) ?? refusal(client, peer) {
            Self.turnAway(client, reason)
        } else {
            open(client, peer, user)
        }
    }

    private func open(_ client: UnixSocket, _ peer: Peer, _ user: ControlUser) {
        let made = try? ControlConnection(
            identifier: nextIdentifier, socket: client, peer: peer, user: user, turns: turns,
            handler: handler)
        guard let connection = made else { return }
        nextIdentifier += 1
        connections[connection.identifier] = connection
        user.add(connection)
        users[user.number] = user
        connection.whenClosed { [unowned self] in closed($0) }
    }

    /// The limit that one more connection would exceed.
    private func excess(of user: ControlUser) -> ControlError? {
        let limits = settings.limits
        if user.connections.count >= limits.connectionsPerUser {
            return .limitExceeded(
                what: "connections of one user (ConnectionsPerUser= in greenroom.conf)",
                limit: limits.connectionsPerUser)
        }
        let own = user.connections.count
        let limit = SharedLimit(limits.connections)
        switch limit.excess(of: user.number, own: own, taken: connections.count) {
        case .all(let limit):
            return .limitExceeded(
                what: "connections (ConnectionsMax= in greenroom.conf)", limit: limit)
        case .ofUser(let limit):
            return .limitExceeded(
                what:
                    "connections of one user, next to those of others (ConnectionsMax= in greenroom.conf)",
                limit: limit)
        case nil: return nil
        }
    }

    /// Sends an error without having read a call. A new socket has room for it; if it has not, the
    /// client only finds the connection closed.
    private static func turnAway(_ client: UnixSocket, _ error: ControlError) {
        var codec = ServerConnection()
        codec.failLast(error)
        _ = codec.withOutput { bytes, _ in
            unsafe bytes.bytes.withUnsafeBytes { unsafe try? client.send($0) }
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
        let user = connection.user
        user.remove(connection)
        // A user whose clients have left stays here while launches that they asked for are under
        // way.
        if user.connections.isEmpty, !user.isBusy { users[user.number] = nil }
        listen()
    }
}
