internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Has other processes make the calls that may wait for a stranger, so that the loop waits for none
/// of them.
///
/// One worker serves all apps. If a job is not done within ``patience``, the worker is left to the
/// job's app, with everything else that is asked about this app's processes, and a new worker
/// serves the other apps. A worker that was left to an app is ended when it has done all of that. A
/// job that is not done by the ``deadline`` is given up. So nobody waits for another app's
/// processes, and each user has only a few workers that hang.
@LoopActor
final class DetachedCalls {
    private enum Limit {
        /// At most this many jobs of an app wait for a slow one; further jobs are given up at once.
        static let waitingPerApp = 64
        /// At most this many apps, of one user and of all users, have a worker of their own at a
        /// time. At the first limit nothing more is begun for that user; at the second, nothing for
        /// users that are not trusted.
        static let workersPerUser = 4
        static let workers = 128
    }

    /// A thousand mappings are read in a millisecond.
    private static let patience = Duration.milliseconds(20)
    /// How long an app's own worker may take for a job. A call that takes longer is taken to hang
    /// for ever.
    private static let deadline = Duration.seconds(1)
    /// After launches and exits.
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
    /// The order that the common worker carries out.
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

    /// Has a worker do the job.
    ///
    /// - Parameters:
    ///   - app, user: the app whose process may delay the job, and its user.
    ///   - first: true if the job goes before those that wait.
    ///   - onDone: called once, possibly before this returns; with nil if the job was given up.
    ///   - onLate: called when the job is done after it was given up.
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

    /// False if too many workers have been left to apps already: this job may hang, too.
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
