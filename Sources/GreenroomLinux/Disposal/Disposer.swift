internal import CGreenroomLinux
internal import Glibc
internal import Synchronization

/// Closes what strangers sent, in processes of its own (disposal.c): close(2) takes as long as its sender likes.
///
/// One worker serves everybody. A number that it does not get rid of within ``patience`` is its user's: so is the worker
/// from then on, with all that this user sent, and another one serves the others. When it has come to the end of that it
/// reports, and is ended. So nobody waits for anybody else's descriptors, and a user has one process that hangs.
///
/// The loop that owns it calls ``handOver()`` once a turn in which something came (``onFirst``), ``look()`` after
/// ``patience`` as long as one of these asks for that, and ``heard()`` when ``reports`` is readable.
public final class Disposer: Sendable {
    public enum Limit {
        /// Descriptors of a user that wait behind one that cannot be closed; beyond that nothing more is taken.
        public static let waitingPerUser = 64
        /// Users whose descriptors hang at the same time: a process each. All further users share another.
        public static let hangingUsers = 32
        /// Descriptors of a user that nobody has closed yet, wherever they wait: several turns' worth.
        static let underWayPerUser = 512
        /// A user whose descriptor is found being closed so often, until the worker has nothing to do, gets a
        /// worker of his own: his file system may answer, but slowly.
        static let slowLooks = 2
        /// Of the open files that this process may have, strangers get at most a quarter, and one user a half of it.
        static let share: UInt64 = 4
    }

    /// A number that takes longer hangs: the slowest disks flush in less, and others wait for no longer than twice that.
    public static let patience = Duration.milliseconds(50)

    /// A descriptor to be closed.
    private struct Item {
        let number: CInt
        let user: UInt32
        /// It cannot hang for long, whoever sent it.
        let isHarmless: Bool
    }

    private struct Account {
        /// Open, and used by us.
        var liveCount = 0
        /// To be closed by the user's own worker.
        var waiting: [Item] = []
        var worker: DisposalWorker?
        var overdueCount: Int { waiting.count + (worker?.outstandingCount ?? 0) }
    }

    /// Whose descriptors go to one worker when ``Limit/hangingUsers`` have theirs: those of everybody who is
    /// not trusted and has none. (No user has this number, nor the one above it.)
    private static let rest = UInt32.max - 1

    private static func isTrusted(_ user: UInt32) -> Bool { user == 0 || user == geteuid() }

    private struct State {
        /// Handed out at the end of the turn.
        var fresh: [Item] = []
        var common: DisposalWorker?
        /// What the common worker had done when it was last looked at.
        var lastDone: UInt32?
        /// How often each user was found to be what the busy common worker was at.
        var slowLooks: [UInt32: Int] = [:]
        var accounts: [UInt32: Account] = [:]
        var liveCount = 0
        var hangingCount = 0
        var onFirst: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let most: Int
    /// Readable when a user's worker has closed all that it was given, or a worker was ended (epoll(7)).
    public let reports: FileDescriptor
    /// What the workers write to.
    private let report: FileDescriptor

    /// Takes the descriptors of this process into its care (``FileDescriptor``). There is one.
    public init() throws(SystemError) {
        let report = FileDescriptor(owning: try systemCall("eventfd") { gr_eventfd() })
        let reports = FileDescriptor(owning: try systemCall("epoll_create1") { gr_epoll() })
        try systemCall("epoll_ctl") { gr_epoll_add(reports.rawValue, report.rawValue, 0) }
        (self.report, self.reports) = (report, reports)
        try systemCall("clone") { gr_disposal_begin() }
        most = Int(clamping: ResourceLimit.current(.openFiles).soft / Limit.share)
    }

    /// Called when the first descriptor of a turn waits, by whoever let it go.
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
                state.accounts[user, default: Account()].liveCount += 1
            }
        case .connection: gr_disposal_mark(number, GR_DISPOSAL_CONNECTION)
        case .queue: gr_disposal_mark(number, GR_DISPOSAL_QUEUE_OF_STRANGERS)
        }
    }

    /// It is in nobody's use any more.
    func dispose(_ number: CInt, of user: UInt32, _ share: Stranger.Share) {
        if share == .connection, gr_close_connection(number) { return }
        let tell = state.withLock { state in
            if share == .sent { Self.left(&state, user) }
            state.fresh.append(
                Item(number: number, user: user, isHarmless: share != .sent))
            return state.fresh.count == 1 ? state.onFirst : nil
        }
        tell?()
    }

    private static func left(_ state: inout State, _ user: UInt32) {
        state.liveCount -= 1
        guard var account = state.accounts[user] else { return }
        account.liveCount -= 1
        state.accounts[user] = account.liveCount == 0 && account.worker == nil ? nil : account
    }

    func isOverdrawn(_ user: UInt32) -> Bool {
        state.withLock { state in
            let account = state.accounts[user] ?? Account()
            let underWay =
                state.fresh.count { $0.user == user && !$0.isHarmless }
                + (state.common?.count(of: user) ?? 0)
            if account.overdueCount >= Limit.waitingPerUser || underWay >= Limit.underWayPerUser {
                return true
            }
            if Self.isTrusted(user) { return account.liveCount >= most / 2 }
            if account.worker == nil,
                let rest = state.accounts[Self.rest], rest.overdueCount >= Limit.waitingPerUser
            {
                return true
            }
            // As with instances and connections: an eighth is root's and ours, and nobody else has more than
            // is free.
            let free = most - most / 8 - state.liveCount
            return account.liveCount > 0 && account.liveCount >= min(free, most / 2)
        }
    }

    // MARK: The end

    /// Closes what was let go of since the last turn, and ends its processes. It waits for at most
    /// ``patience``; what hangs then stays with its worker and the keeper until this process has
    /// ended. Nothing is closed after it.
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

    /// The end of a turn in which something came.
    /// - Returns: look again after ``patience``.
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
                state.accounts[owner]!.waiting.append(item)
                users.insert(owner)
            } else if state.common?.add(item.number, of: item.user) != true {
                // Later: it has its hands full, or there is none.
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

    /// Whose worker closes what is this user's; nil: the common one does.
    private func owner(of user: UInt32, _ state: State) -> UInt32? {
        if state.accounts[user]?.worker != nil { return user }
        if !Self.isTrusted(user), state.accounts[Self.rest]?.worker != nil { return Self.rest }
        return nil
    }

    /// After ``patience``: what has not moved hangs, and whoever is met again is slow.
    /// - Returns: look again after ``patience``.
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

    /// Whose the common worker can become; nil: his own is busy, and nothing of his gets to this one.
    private func place(for user: UInt32, _ state: State) -> UInt32? {
        let isFree = Self.isTrusted(user) || state.hangingCount < Limit.hangingUsers
        let owner = isFree ? user : Self.rest
        return state.accounts[owner]?.worker == nil ? owner : nil
    }

    /// It hangs in something of the user's: what else it has goes where it belongs.
    private func leave(_ worker: DisposalWorker, to user: UInt32, _ state: inout State) {
        state.common = nil
        state.hangingCount += 1
        var account = state.accounts[user] ?? Account()
        account.worker = worker
        for (number, owner) in worker.takeBack() {
            let item = Item(number: number, user: owner, isHarmless: false)
            let isHis = owner == user || user == Self.rest && !Self.isTrusted(owner)
            if isHis { account.waiting.append(item) } else { state.fresh.append(item) }
        }
        state.accounts[user] = account
        worker.report()
        // It may have gone on meanwhile.
        settle(user, &state)
    }

    /// A user's worker has closed all that it had, or a worker was ended.
    /// - Returns: look again after ``patience``.
    public func heard() -> Bool {
        var key: UInt64 = 0
        while unsafe gr_epoll_next(reports.rawValue, &key) > 0 {}
        gr_eventfd_take(report.rawValue)
        return state.withLock { state in
            if state.common?.isGone == true { loseCommon(&state) }
            for user in state.accounts.filter({ $0.value.worker != nil }).keys {
                settle(user, &state)
            }
            return handOver(&state)
        }
    }

    /// Somebody has ended it: what it left goes to another one.
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
        guard let worker = state.accounts[user]?.worker else { return }
        if worker.isGone {
            // Somebody has ended it. If the rest hangs as well, that shows again.
            takeBack(worker, &state)
            state.fresh += state.accounts[user]!.waiting
            state.accounts[user]!.waiting = []
            return release(user, &state)
        }
        guard worker.isDone else { return }
        if state.accounts[user]!.waiting.isEmpty {
            worker.end()
            release(user, &state)
        } else {
            refill(&state, user)
        }
    }

    /// The user has no worker any more.
    private func release(_ user: UInt32, _ state: inout State) {
        state.hangingCount -= 1
        state.accounts[user]!.worker = nil
        if state.accounts[user]!.liveCount == 0 { state.accounts[user] = nil }
    }

    private func refill(_ state: inout State, _ user: UInt32) {
        guard let worker = state.accounts[user]?.worker else { return }
        var count = 0
        for item in state.accounts[user]!.waiting {
            guard worker.add(item.number, of: item.user) else { break }
            count += 1
        }
        state.accounts[user]!.waiting.removeFirst(count)
        worker.wake()
    }
}
