internal import GreenroomLifecycle

/// Decides which job is done next, and by which worker. ``DetachedCalls`` has the workers and the
/// timers.
///
/// One worker is common to all apps. It does one job, `current`, and the others wait. If that job
/// takes too long (`handOver`), the worker is left to the job's app, with every job that waits for
/// this app; the next job needs another common worker. An app's worker does its jobs one after
/// another. If one of them takes too long (`giveUp`), all jobs of the app are given up, and no
/// other is accepted for the app until its worker has done that job (`finish`).
struct DetachedQueue<Job> {
    /// At most this many jobs of an app wait for a slow one; further jobs are given up at once.
    static var waitingPerApp: Int { 64 }
    /// At most this many apps, of one user and of all users, have a worker of their own at a
    /// time. At the first limit nothing more is begun for that user; at the second, nothing for
    /// users that are not trusted.
    static var workersPerUser: Int { 4 }
    static var workers: Int { 128 }

    struct Order {
        /// The app whose process may delay the job, and its user.
        let app: AppIdentifier
        let user: UInt32
        let job: Job
    }

    /// An app that has a worker of its own.
    private struct Own {
        /// The order that the worker carries out.
        var order: Order
        var waiting: [Order]
        /// Nobody waits for `order` any more.
        var isGivenUp = false
    }

    /// The order that the common worker carries out.
    private(set) var current: Order?
    private var waiting: [Order] = []
    private var own: [AppIdentifier: Own] = [:]

    /// Accepts an order.
    ///
    /// - Parameter first: true if the order goes before those that wait.
    /// - Returns: false if the order is given up at once.
    mutating func add(_ order: Order, first: Bool = false) -> Bool {
        guard let former = own[order.app] else {
            waiting.insert(order, at: first ? 0 : waiting.count)
            return true
        }
        guard !former.isGivenUp, former.waiting.count < Self.waitingPerApp else { return false }
        own[order.app]!.waiting.insert(order, at: first ? 0 : former.waiting.count)
        return true
    }

    enum Step {
        /// The common worker does this job now.
        case begin(Order)
        case refuse(Order)
    }

    /// Takes the next order for the common worker. Returns nil if no order waits, or the worker
    /// does a job.
    mutating func next() -> Step? {
        guard current == nil, !waiting.isEmpty else { return nil }
        let order = waiting.removeFirst()
        guard mayBegin(order) else { return .refuse(order) }
        current = order
        return .begin(order)
    }

    /// Whether the app may have a worker of its own, which it needs if the job takes too long.
    private func mayBegin(_ order: Order) -> Bool {
        let count = own.values.count { $0.order.user == order.user }
        return count < Self.workersPerUser
            && (SharedLimit.isTrusted(order.user) || own.count < Self.workers)
    }

    /// Called when the common worker has done its job, or is gone.
    mutating func finishCurrent() -> Order? {
        defer { current = nil }
        return current
    }

    /// Called when the common worker's job takes too long.
    ///
    /// - Returns: the app that the worker is left to.
    mutating func handOver() -> AppIdentifier? {
        guard let late = finishCurrent() else { return nil }
        own[late.app] = Own(order: late, waiting: waiting.filter { $0.app == late.app })
        waiting.removeAll { $0.app == late.app }
        return late.app
    }

    /// Called when the app's worker has done its job.
    ///
    /// - Returns: that order, whether it was given up before, and the order that the worker carries
    ///   out next. Without a next one the app has no worker any more.
    mutating func finish(
        of app: AppIdentifier
    ) -> (done: Order, isLate: Bool, next: Order?)? {
        guard var former = own.removeValue(forKey: app) else { return nil }
        let (done, isLate) = (former.order, former.isGivenUp)
        if former.waiting.isEmpty { return (done, isLate, nil) }
        former.order = former.waiting.removeFirst()
        own[app] = former
        return (done, isLate, former.order)
    }

    /// Called when the job of the app's worker takes too long.
    ///
    /// - Returns: the orders that are given up.
    mutating func giveUp(_ app: AppIdentifier) -> [Order] {
        guard let late = own[app], !late.isGivenUp else { return [] }
        own[app] = Own(order: late.order, waiting: [], isGivenUp: true)
        return [late.order] + late.waiting
    }
}
