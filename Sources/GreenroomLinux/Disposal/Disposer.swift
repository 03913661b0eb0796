internal import CGreenroomLinux
internal import Glibc
internal import Synchronization

/// Closes descriptors that strangers sent, in separate processes (disposal.c), because the sender
/// can make close(2) take any time.
///
/// One worker serves everybody. If it does not close a number within ``patience``, that number's
/// user keeps the worker, with everything that this user sent, and another worker serves the
/// others. When the user's worker has closed everything, it reports and is ended. So nobody waits
/// for another user's descriptors, and a user has at most one process that hangs.
///
/// The loop that owns the disposer calls ``handOver()`` once in each turn in which a descriptor was
/// dropped (``onFirst``), and ``heard()`` when ``reports`` is readable. If a call returns true, the
/// loop calls ``look()`` after ``patience``.
public final class Disposer: Sendable {
    public enum Limit {
        /// At most this many descriptors of a user wait behind one that cannot be closed; then
        /// nothing more is taken from that user.
        public static let waitingPerUser = 64
        /// At most this many users whose descriptors hang at the same time, with a process each.
        /// All further users share another process.
        static let hangingUsers = 32
        /// At most this many descriptors of a user may be waiting to be closed, wherever they wait:
        /// enough for several turns.
        static let underWayPerUser = 512
        /// If the busy common worker is found closing a user's descriptor more than this many
        /// times, that user gets a separate worker: the user's file system may answer, but slowly.
        static let slowLooks = 2
        /// Strangers get at most a quarter of the open files that this process may have, and one
        /// user half of that.
        static let share: UInt64 = 4
    }

    /// A descriptor that takes longer than this to close counts as hanging. The slowest disks flush
    /// in less, and other users wait at most twice this.
    public static let patience = Duration.milliseconds(50)

    /// A descriptor to be closed.
    private struct Item {
        let number: CInt
        let user: UInt32
        /// Whether closing the descriptor never takes long, whoever sent it.
        let isHarmless: Bool
    }

    private struct UserLoad {
        /// Descriptors that are open and in use here.
        var liveCount = 0
        /// Descriptors that wait for the user's own worker.
        var waiting: [Item] = []
        var worker: DisposalWorker?
        var overdueCount: Int { waiting.count + (worker?.outstandingCount ?? 0) }
    }

    /// Stands for all untrusted users without a worker, once ``Limit/hangingUsers`` users have one.
    /// The descriptors of all these users go to one worker. (No user has this number, or the one
    /// above it.)
    private static let rest = UInt32.max - 1

    private static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

    private struct State {
        /// Descriptors to be handed to workers at the end of the turn.
        var fresh: [Item] = []
        var common: DisposalWorker?
        /// How many numbers the common worker had closed when it was last checked.
        var lastDone: UInt32?
        /// How often the busy common worker was found closing a descriptor of each user.
        var slowLooks: [UInt32: Int] = [:]
        var loads: [UInt32: UserLoad] = [:]
        var liveCount = 0
        var hangingCount = 0
        var onFirst: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let most: Int
    /// Readable when a user's worker has closed everything that it was given, or a worker was ended
    /// (epoll(7)).
    public let reports: FileDescriptor
    /// The descriptor that the workers report to.
    private let report: FileDescriptor

    /// Makes the disposer of this process, of which there is only one. It closes the descriptors
    /// that strangers own (``FileDescriptor``).
    public init() throws(SystemError) {
        let report = FileDescriptor(owning: try systemCall("eventfd") { gr_eventfd() })
        let reports = FileDescriptor(owning: try systemCall("epoll_create1") { gr_epoll() })
        try systemCall("epoll_ctl") { gr_epoll_add(reports.rawValue, report.rawValue, 0) }
        (self.report, self.reports) = (report, reports)
        try systemCall("clone") { gr_disposal_begin() }
        most = Int(clamping: ResourceLimit.current(.openFiles).soft / Limit.share)
    }

    /// Sets the function that is called when the first descriptor of a turn is dropped, on the
    /// thread that dropped it.
    public func setOnFirst(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.onFirst = body }
    }

    public func stranger(_ user: UInt32) -> Stranger { Stranger(user: user, disposer: self) }

    // MARK: Descriptors

    func took(_ number: CInt, of user: UInt32, _ share: Stranger.Share) {
        switch share {
        case .sent:
            gr_disposal_mark(number, GR_DISPOSAL_STRANGERS)
            state.withLock { state in
                state.liveCount += 1
                state.loads[user, default: UserLoad()].liveCount += 1
            }
        case .connection: gr_disposal_mark(number, GR_DISPOSAL_CONNECTION)
        case .queue: gr_disposal_mark(number, GR_DISPOSAL_QUEUE_OF_STRANGERS)
        case .slow: gr_disposal_mark(number, GR_DISPOSAL_SLOW)
        }
    }

    /// Takes a descriptor that nobody uses any more.
    func dispose(_ number: CInt, of user: UInt32, _ share: Stranger.Share) {
        if share == .connection, gr_close_connection(number) { return }
        let tell = state.withLock { state in
            if share == .sent { Self.left(&state, user) }
            let isHarmless = share != .sent && share != .slow
            state.fresh.append(Item(number: number, user: user, isHarmless: isHarmless))
            return state.fresh.count == 1 ? state.onFirst : nil
        }
        tell?()
    }

    private static func left(_ state: inout State, _ user: UInt32) {
        state.liveCount -= 1
        guard var load = state.loads[user] else { return }
        load.liveCount -= 1
        state.loads[user] = load.liveCount == 0 && load.worker == nil ? nil : load
    }

    func isOverdrawn(_ user: UInt32) -> Bool {
        state.withLock { state in
            let load = state.loads[user] ?? UserLoad()
            let underWay =
                state.fresh.count { $0.user == user && !$0.isHarmless }
                + (state.common?.count(of: user) ?? 0)
            if load.overdueCount >= Limit.waitingPerUser || underWay >= Limit.underWayPerUser {
                return true
            }
            if Self.isTrusted(user) { return load.liveCount >= most / 2 }
            if load.worker == nil,
                let rest = state.loads[Self.rest], rest.overdueCount >= Limit.waitingPerUser
            {
                return true
            }
            // As with instances and connections, an eighth is reserved for root and the daemon's
            // own user, and no other user gets more than is free.
            let free = most - most / 8 - state.liveCount
            return load.liveCount > 0 && load.liveCount >= min(free, most / 2)
        }
    }

    // MARK: The end

    /// Closes the descriptors that were dropped since the last turn, and ends the disposer's
    /// processes. Waits at most ``patience``. A descriptor that still hangs then stays with its
    /// worker and the keeper (disposal.c) until this process has ended. After this call, nothing
    /// more is closed.
    public func leave() {
        state.withLock { state in
            _ = handOver(&state)
            guard state.fresh.isEmpty, state.hangingCount == 0 else { return }
            if let common = state.common {
                gr_eventfd_take(report.rawValue)
                common.report()
                if !common.isDone {
                    _ = try? report.waitUntilReadable(
                        milliseconds: Int32(Self.patience / .milliseconds(1)))
                }
                guard common.isDone else { return }
                common.end()
                state.common = nil
            }
            gr_disposal_leave()
        }
    }

    // MARK: Turns

    /// Hands the turn's descriptors to workers. Call this at the end of a turn in which a
    /// descriptor was dropped.
    /// - Returns: whether to look again after ``patience``.
    public func handOver() -> Bool {
        state.withLock { handOver(&$0) }
    }

    private func handOver(_ state: inout State) -> Bool {
        let items = state.fresh
        if items.isEmpty, state.common == nil { return false }
        state.fresh = []
        if state.common == nil { state.common = newWorker() }
        var users: Set<UInt32> = []
        for item in items {
            if !item.isHarmless, let owner = owner(of: item.user, state) {
                state.loads[owner]!.waiting.append(item)
                users.insert(owner)
            } else if state.common?.add(item.number, of: item.user) != true {
                // The worker has no room, or there is no worker, so the descriptor waits for a
                // later turn.
                state.fresh.append(item)
            }
        }
        for user in users { refill(&state, user) }
        state.common?.wake()
        return !(state.common?.isDone ?? true) || !state.fresh.isEmpty
    }

    private func newWorker() -> DisposalWorker? {
        guard let worker = DisposalWorker(reportingTo: report) else { return nil }
        if let process = worker.process {
            _ = gr_epoll_add(reports.rawValue, process.rawValue, 0)
        }
        return worker
    }

    /// The user whose own worker closes this user's descriptors; nil if the common worker does.
    private func owner(of user: UInt32, _ state: State) -> UInt32? {
        if state.loads[user]?.worker != nil { return user }
        if !Self.isTrusted(user), state.loads[Self.rest]?.worker != nil { return Self.rest }
        return nil
    }

    /// Checks the common worker after ``patience``. If a number is still being closed, its user
    /// counts as hanging; a user whose numbers are found being closed repeatedly counts as slow.
    /// - Returns: whether to look again after ``patience``.
    public func look() -> Bool {
        state.withLock { state in
            guard let common = state.common else { return handOver(&state) }
            let done = common.doneCount
            guard !common.isDone else {
                state.lastDone = nil
                state.slowLooks = [:]
                return state.fresh.isEmpty ? false : handOver(&state)
            }
            if common.isGone {
                loseCommon(&state)
            } else if let user = common.currentUser,
                isHangingOrSlow(user, done, &state),
                let owner = place(for: user, state)
            {
                leave(common, to: owner, &state)
            } else {
                state.lastDone = done
                return true
            }
            state.lastDone = nil
            state.slowLooks = [:]
            return handOver(&state)
        }
    }

    private func isHangingOrSlow(_ user: UInt32, _ done: UInt32, _ state: inout State) -> Bool {
        state.slowLooks[user, default: 0] += 1
        return state.lastDone == done || state.slowLooks[user]! > Limit.slowLooks
    }

    /// The user to whom the common worker can be left; nil if that user already has a worker, so
    /// that no further descriptor of that user reaches the common one.
    private func place(for user: UInt32, _ state: State) -> UInt32? {
        let isFree = Self.isTrusted(user) || state.hangingCount < Limit.hangingUsers
        let owner = isFree ? user : Self.rest
        return state.loads[owner]?.worker == nil ? owner : nil
    }

    /// Leaves the worker, which hangs while it closes a descriptor of the user's, to that user.
    /// Takes the worker's other descriptors back, and hands them to the workers of their users.
    private func leave(_ worker: DisposalWorker, to user: UInt32, _ state: inout State) {
        state.common = nil
        state.hangingCount += 1
        var load = state.loads[user] ?? UserLoad()
        load.worker = worker
        for (number, owner) in worker.takeBack() {
            let item = Item(number: number, user: owner, isHarmless: false)
            let isHis = owner == user || user == Self.rest && !Self.isTrusted(owner)
            if isHis { load.waiting.append(item) } else { state.fresh.append(item) }
        }
        state.loads[user] = load
        worker.report()
        // The worker may have finished in the meantime.
        settle(user, &state)
    }

    /// Call this when ``reports`` is readable: a user's worker has closed everything it had, or a
    /// worker was ended.
    /// - Returns: whether to look again after ``patience``.
    public func heard() -> Bool {
        var key: UInt64 = 0
        while unsafe gr_epoll_next(reports.rawValue, &key) > 0 {}
        gr_eventfd_take(report.rawValue)
        return state.withLock { state in
            if state.common?.isGone == true { loseCommon(&state) }
            for user in state.loads.filter({ $0.value.worker != nil }).keys {
                settle(user, &state)
            }
            return handOver(&state)
        }
    }

    /// Drops the common worker, which somebody has ended. Another worker gets its remaining
    /// descriptors.
    private func loseCommon(_ state: inout State) {
        guard let worker = state.common else { return }
        state.common = nil
        (state.lastDone, state.slowLooks) = (nil, [:])
        takeBack(worker, &state)
    }

    private func takeBack(_ worker: DisposalWorker, _ state: inout State) {
        for (number, user) in worker.takeBack() {
            state.fresh.append(Item(number: number, user: user, isHarmless: false))
        }
        worker.end()
    }

    private func settle(_ user: UInt32, _ state: inout State) {
        guard let worker = state.loads[user]?.worker else { return }
        if worker.isGone {
            // Somebody has ended the worker. If the remaining descriptors hang as well, that will
            // be noticed again.
            takeBack(worker, &state)
            state.fresh += state.loads[user]!.waiting
            state.loads[user]!.waiting = []
            return release(user, &state)
        }
        guard worker.isDone else { return }
        if state.loads[user]!.waiting.isEmpty {
            worker.end()
            release(user, &state)
        } else {
            refill(&state, user)
        }
    }

    /// Drops the user's worker.
    private func release(_ user: UInt32, _ state: inout State) {
        state.hangingCount -= 1
        state.loads[user]!.worker = nil
        if state.loads[user]!.liveCount == 0 { state.loads[user] = nil }
    }

    private func refill(_ state: inout State, _ user: UInt32) {
        guard let worker = state.loads[user]?.worker else { return }
        var count = 0
        for item in state.loads[user]!.waiting {
            guard worker.add(item.number, of: item.user) else { break }
            count += 1
        }
        state.loads[user]!.waiting.removeFirst(count)
        worker.wake()
    }
}
