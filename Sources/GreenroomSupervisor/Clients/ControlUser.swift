internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd

/// All clients of one user: what they may cost together, and their turns. A stranger with a
/// thousand connections gets no more of the daemon than one with a single connection.
@LoopActor
final class ControlUser {
    /// Each is for one user's connections together.
    enum Limit {
        /// Half messages that came and replies that nobody reads, in bytes: one message and one
        /// queue of the largest size, and as much again.
        static let waitingByteCount = 64 << 20
        /// Descriptors that came and whose call has not had its turn.
        static let waitingDescriptorCount = 1024
        /// Launches asked for and not answered, also those whose client has left: as many as
        /// there may be instances.
        static let launchCount = 2048
        /// What those launches bring (arguments, environments), in bytes of their messages.
        static let launchByteCount = 64 << 20
    }

    let number: UInt32
    /// Whose descriptors come on its connections.
    let stranger: Stranger
    private(set) var connections: [UInt64: ControlConnection] = [:]
    private var waitingByteCount = 0
    private var waitingDescriptorCount = 0
    private var launchCount = 0
    private var launchByteCount = 0

    init(_ stranger: Stranger) {
        number = stranger.user
        self.stranger = stranger
    }

    func add(_ connection: ControlConnection) { connections[connection.identifier] = connection }

    func remove(_ connection: ControlConnection) { connections[connection.identifier] = nil }

    /// It has launches under way, of clients that have left perhaps.
    var isBusy: Bool { launchCount > 0 }

    // MARK: What waits

    /// The bytes and descriptors that wait on a connection have become more or fewer. If all of
    /// the user's together are too many, the connection with the most of them ends.
    func waitingChanged(byteCount: Int, descriptorCount: Int) {
        waitingByteCount += byteCount
        waitingDescriptorCount += descriptorCount
        if byteCount > 0, waitingByteCount > Limit.waitingByteCount {
            let greediest = connections.values.max { $0.waitingByteCount < $1.waitingByteCount }
            greediest?.end(
                .limitExceeded(
                    what: "bytes waiting on one user's connections",
                    limit: Limit.waitingByteCount))
        }
        if descriptorCount > 0, waitingDescriptorCount > Limit.waitingDescriptorCount {
            let greediest = connections.values.max {
                $0.waitingDescriptorCount < $1.waitingDescriptorCount
            }
            greediest?.end(
                .limitExceeded(
                    what: "descriptors waiting on one user's connections",
                    limit: Limit.waitingDescriptorCount))
        }
    }

    // MARK: Launches

    /// A launch is about to be asked of the core.
    func beginLaunch(byteCount: Int) throws(ControlError) {
        guard launchCount < Limit.launchCount else {
            throw .limitExceeded(
                what: "launches of one user under way", limit: Limit.launchCount)
        }
        guard launchByteCount + byteCount <= Limit.launchByteCount else {
            throw .limitExceeded(
                what: "bytes in launches of one user under way", limit: Limit.launchByteCount)
        }
        launchCount += 1
        launchByteCount += byteCount
    }

    /// The core has answered it.
    func endLaunch(byteCount: Int) {
        launchCount -= 1
        launchByteCount -= byteCount
    }

    // MARK: Turns

    /// Connections with more calls than one turn serves, the next one first.
    fileprivate var backlog: [ControlConnection] = []
}

/// Who goes on, among the clients that sent many calls at once: user by user, and connection by
/// connection of each, behind all other events of the loop.
@LoopActor
final class ControlTurns {
    private var users: [ControlUser] = []
    private var source: EventSource?
    /// Behind whatever else is ready: one that is enabled again at each turn would be older than what
    /// has just arrived, and go first for ever.
    private static let priority: Int64 = 10
    /// And yet one turn comes after so many events of other clients, who could fill the loop.
    private static let patience = 4
    private var passedOver = 0

    init() throws(SystemdError) {
        source = try LoopActor.deferred(priority: Self.priority) { [unowned self] in next() }
        source?.isEnabled = false
    }

    /// Another client was served while some await their turns.
    func letOneBefore() {
        guard !users.isEmpty else { return }
        passedOver += 1
        if passedOver >= Self.patience { next() }
    }

    func add(_ connection: ControlConnection) {
        let user = connection.user
        if user.backlog.isEmpty { users.append(user) }
        user.backlog.append(connection)
        source?.isEnabled = true
    }

    private func next() {
        passedOver = 0
        guard !users.isEmpty else { return }
        let user = users.removeFirst()
        let connection = user.backlog.removeFirst()
        if !user.backlog.isEmpty { users.append(user) }
        // It asks for its next turn itself, behind the others.
        connection.takeTurn()
        if !users.isEmpty { source?.isEnabled = true }
    }
}
