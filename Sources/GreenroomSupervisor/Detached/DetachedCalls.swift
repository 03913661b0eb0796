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
/// processes, and each user has only a few workers that hang. ``DetachedQueue`` makes these
/// decisions; the workers and the timers are here.
@LoopActor
final class DetachedCalls {
    /// A thousand mappings are read in a millisecond.
    private static let patience = Duration.milliseconds(20)
    /// How long an app's own worker may take for a job. A call that takes longer is taken to hang
    /// for ever.
    private static let deadline = Duration.seconds(1)
    /// How long, at most, a busy worker delays the end of this process.
    private static let farewell = Duration.milliseconds(200)

    private struct Job {
        let calls: DetachedJob
        let onDone: (DetachedJob?) -> Void
        let onLate: (DetachedJob) -> Void
    }

    /// An app's worker.
    private struct Own {
        let worker: DetachedWorker
        let timer: EventSource?
    }

    private var queue = DetachedQueue<Job>()
    private var common: DetachedWorker?
    private var own: [AppIdentifier: Own] = [:]

    private let report: FileDescriptor
    private var reports: EventSource?
    private var patienceTimer: EventSource?

    init() throws {
        report = try DetachedWorker.report()
        reports = try LoopActor.io(
            report.rawValue, .readable, priority: LoopPriority.detachedCalls
        ) { [unowned self] _ in
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
        let job = Job(calls: job, onDone: onDone, onLate: onLate)
        guard queue.add(.init(app: app, user: user, job: job), first: first) else {
            return onDone(nil)
        }
        if own[app] == nil { next() }
    }

    /// Ends the workers. No job may be given to them any more, and what they have found is dropped.
    /// Workers that nobody delays are done in a moment.
    /// - Returns: false if one is still busy after ``farewell``, and may hang.
    func end() -> Bool {
        let workers = own.values.map(\.worker) + [common].compactMap(\.self)
        let end = MonotonicClock.nanoseconds + UInt64(Self.farewell / .nanoseconds(1))
        while true {
            DetachedWorker.take(report)
            guard workers.contains(where: \.isBusy) else { break }
            let now = MonotonicClock.nanoseconds
            guard now < end else { return false }
            let left = CInt((end - now) / 1_000_000) + 1
            _ = try? report.waitUntilReadable(milliseconds: left)
        }
        for worker in workers { worker.end() }
        own = [:]
        common = nil
        return true
    }

    private func next() {
        while let step = queue.next() {
            switch step {
            case .refuse(let order): order.job.onDone(nil)
            case .begin(let order):
                if common == nil { common = DetachedWorker(reportingTo: report) }
                guard let common else {
                    _ = queue.finishCurrent()
                    order.job.onDone(nil)
                    continue
                }
                common.begin(order.job.calls)
                try? patienceTimer?.setDeadline(after: Self.patience)
            }
        }
    }

    private func heard() {
        if common?.isBusy == false, let job = queue.finishCurrent()?.job { job.onDone(job.calls) }
        for (app, own) in own where !own.worker.isBusy { finished(own, of: app) }
        next()
    }

    private func finished(_ hand: Own, of app: AppIdentifier) {
        guard let (done, isLate, next) = queue.finish(of: app) else { return }
        if let next {
            hand.worker.begin(next.job.calls)
            try? hand.timer?.setDeadline(after: Self.deadline)
        } else {
            hand.worker.end()
            own[app] = nil
        }
        if isLate { done.job.onLate(done.job.calls) } else { done.job.onDone(done.job.calls) }
    }

    private func lostPatience() {
        guard queue.current != nil, let worker = common else { return }
        if !worker.isBusy { return heard() }
        common = nil
        if worker.isGone {
            queue.finishCurrent()?.job.onDone(nil)
            return next()
        }
        guard let app = queue.handOver() else { return }
        let timer = try? LoopActor.timer { [unowned self] in giveUp(app) }
        own[app] = Own(worker: worker, timer: timer)
        try? timer?.setDeadline(after: Self.deadline)
        next()
    }

    private func giveUp(_ app: AppIdentifier) {
        guard own[app]?.worker.isBusy == true else { return }
        for order in queue.giveUp(app) { order.job.onDone(nil) }
    }
}
