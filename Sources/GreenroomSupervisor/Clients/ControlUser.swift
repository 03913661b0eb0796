internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd

/// All clients of one user: the limits that they share, and their turns. A user with a thousand
/// connections gets no more of the daemon than a user with a single connection.
@LoopActor
final class ControlUser {
    /// Each limit is for all connections of one user together.
    enum Limit {
        /// Bytes of incomplete messages and of replies that nobody reads: enough for two messages
        /// and two queues of the largest size.
        static let waitingByteCount = 64 << 20
        /// Descriptors that have arrived and whose call has not had its turn.
        static let waitingDescriptorCount = 1024
        /// Launches that are not answered yet, including those whose client has left: as many as
        /// there may be instances.
        static let launchCount = 2048
        /// Bytes of the messages that those launches came in (arguments, environments).
        static let launchByteCount = 64 << 20
    }

    let number: UInt32
    /// The user that is charged for descriptors that come on these connections.
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

    /// True if launches of the user are under way, even if their clients have left.
    var isBusy: Bool { launchCount > 0 }

    // MARK: What waits

    /// The number of bytes and descriptors that wait on a connection has changed by this much. If
    /// those of all the user's connections together exceed a limit, the connection that holds the
    /// most is ended.
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

    /// Called before the core is asked for a launch.
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

    /// Called when the core has answered the launch.
    func endLaunch(byteCount: Int) {
        launchCount -= 1
        launchByteCount -= byteCount
    }

    // MARK: Turns

    /// Connections with more calls than one turn serves, the next one first.
    fileprivate var backlog: [ControlConnection] = []
}

/// Gives turns to the clients that sent many calls at once: user by user, and connection by
/// connection of each user, after all other events of the loop.
@LoopActor
final class ControlTurns {
    private var users: [ControlUser] = []
    private var source: EventSource?
    /// After this many events of other clients, a turn is given nevertheless. Otherwise those
    /// events could fill the loop.
    private static let patience = 4
    private var passedOver = 0

    init() throws(SystemdError) {
        // Runs after all other events that are ready. At their priority, a source that is enabled
        // again in each turn would be older than an event that has just arrived, and would always
        // be served first.
        source = try LoopActor.deferred(priority: LoopPriority.backlog) { [unowned self] in next() }
        source?.isEnabled = false
    }

    /// Another client was served while these clients wait for their turns.
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
        // If it needs another turn, the connection asks for it itself, after the others.
        connection.takeTurn()
        if !users.isEmpty { source?.isEnabled = true }
    }
}
