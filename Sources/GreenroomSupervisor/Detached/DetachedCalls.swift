internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Has calls made that may wait for a stranger, by processes of their own: none of them is waited for on the loop.
///
/// One worker serves all apps. A job that it has not done within ``patience`` is its app's: so is the worker from then
/// on, with all that is asked about this app's processes, and another one serves the others. When it has come to the
/// end of that, it is ended. What is not known at the ``deadline`` will not be waited for any more. So nobody waits for
/// anybody else's processes, and each user has few workers that hang.
@LoopActor
final class DetachedCalls {
    private enum Limit {
        /// Jobs of an app that wait behind one that takes its time; the others are given up at once.
        static let waitingPerApp = 64
        /// Apps of a user, and of all but the trusted ones, that have a worker of their own at the same time. With as
        /// many, nothing more is begun for that user, or for anybody who is not trusted.
        static let workersPerUser = 4
        static let workers = 128
    }

    /// A thousand mappings are read in a millisecond.
    private static let patience = Duration.milliseconds(20)
    /// After an app's job was begun: what answers later answers never.
    private static let deadline = Duration.seconds(1)
    /// Behind launches and exits.
    private static let priority: Int64 = 1

    private struct Order {
        let app: AppIdentifier
        let user: UInt32
        let job: DetachedJob
        let onDone: (DetachedJob?) -> Void
        let onLate: (DetachedJob) -> Void
    }

    /// An app's worker.
    @LoopActor
    private final class Own {
        let worker: DetachedWorker
        var order: Order
        var waiting: [Order] = []
        /// Nobody waits for `order` any more.
        var isGivenUp = false
        var timer: EventSource?

        init(_ worker: DetachedWorker, at order: Order) {
            self.worker = worker
            self.order = order
        }
    }

    private var waiting: [Order] = []
    private var common: DetachedWorker?
    /// What the common worker is at.
    private var order: Order?
    private var own: [AppIdentifier: Own] = [:]

    private let report: FileDescriptor
    private var reports: EventSource?
    private var patienceTimer: EventSource?

    init() throws {
        report = try DetachedWorker.report()
        reports = try LoopActor.io(report.rawValue, .readable, priority: Self.priority) {
            [unowned self] _ in
            DetachedWorker.take(report)
            heard()
        }
        patienceTimer = try LoopActor.timer { [unowned self] in lostPatience() }
    }

    /// Has the job done.
    ///
    /// - Parameters:
    ///   - app, user: whose process may hold it up.
    ///   - first: before whatever waits.
    ///   - onDone: called once, possibly at once; nil: it was given up.
    ///   - onLate: called when it is done after it was given up.
    func make(
        _ job: DetachedJob, for app: AppIdentifier, of user: UInt32, first: Bool = false,
        onLate: @escaping (DetachedJob) -> Void = { _ in },
        then onDone: @escaping (DetachedJob?) -> Void
    ) {
        let order = Order(app: app, user: user, job: job, onDone: onDone, onLate: onLate)
        guard let own = own[app] else {
            waiting.insert(order, at: first ? 0 : waiting.count)
            return next()
        }
        guard !own.isGivenUp, own.waiting.count < Limit.waitingPerApp else { return onDone(nil) }
        own.waiting.insert(order, at: first ? 0 : own.waiting.count)
    }

    /// Ends the worker that serves all apps. No job may be given to it any more.
    /// - Returns: false if a worker is busy, and may hang.
    func end() -> Bool {
        guard order == nil, own.isEmpty else { return false }
        common?.end()
        common = nil
        return true
    }

    /// It may hang: then the worker will be its app's.
    private func mayBegin(_ order: Order) -> Bool {
        let count = own.values.count { $0.order.user == order.user }
        let isTrusted = order.user == 0 || order.user == geteuid()
        return count < Limit.workersPerUser && (isTrusted || own.count < Limit.workers)
    }

    private func next() {
        while order == nil, !waiting.isEmpty {
            let next = waiting.removeFirst()
            guard mayBegin(next) else {
                next.onDone(nil)
                continue
            }
            if common == nil { common = DetachedWorker(reportingTo: report) }
            guard let common else {
                next.onDone(nil)
                continue
            }
            order = next
            common.begin(next.job)
            try? patienceTimer?.setDeadline(after: Self.patience)
        }
    }

    private func heard() {
        if let done = order, common?.isBusy == false {
            order = nil
            done.onDone(done.job)
        }
        for (app, own) in own where !own.worker.isBusy { finished(own, of: app) }
        next()
    }

    private func finished(_ hand: Own, of app: AppIdentifier) {
        let (done, isLate) = (hand.order, hand.isGivenUp)
        if hand.waiting.isEmpty {
            hand.worker.end()
            own[app] = nil
        } else {
            hand.order = hand.waiting.removeFirst()
            hand.worker.begin(hand.order.job)
            try? hand.timer?.setDeadline(after: Self.deadline)
        }
        if isLate { done.onLate(done.job) } else { done.onDone(done.job) }
    }

    private func lostPatience() {
        guard let late = order, let worker = common else { return }
        if !worker.isBusy { return heard() }
        order = nil
        common = nil
        if worker.isGone {
            late.onDone(nil)
            return next()
        }
        let hand = Own(worker, at: late)
        own[late.app] = hand
        hand.waiting = waiting.filter { $0.app == late.app }
        waiting.removeAll { $0.app == late.app }
        hand.timer = try? LoopActor.timer { [unowned self] in giveUp(late.app) }
        try? hand.timer?.setDeadline(after: Self.deadline)
        next()
    }

    private func giveUp(_ app: AppIdentifier) {
        guard let hand = own[app], hand.worker.isBusy, !hand.isGivenUp else { return }
        let orders = [hand.order] + hand.waiting
        hand.isGivenUp = true
        hand.waiting = []
        for order in orders { order.onDone(nil) }
    }
}
