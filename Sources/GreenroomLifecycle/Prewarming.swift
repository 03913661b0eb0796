// The pools. An app's pool is filled while
//   it is eligible, its occasion has come (or a client waits), nothing shuts down or sleeps,
//   no back-off and no crash loop runs, memory pressure is none, the machine allows (`Warming`),
//   fewer than `concurrentPrewarms` are on their way,
//   the instance limit allows, and the byte budget holds what it is assumed to need.
// Whoever waits for a slot or for bytes stands in the refill queue, in order of arrival; whoever
// waits for time has a deadline instead.

/// Apps whose pool may lack instances, each once, first come first.
struct RefillQueue: Hashable, Sendable {
    private var order: [AppIdentifier] = []
    private var known: Set<AppIdentifier> = []
    /// Those before it have been taken; they are cleared away once they are half of all, so that
    /// taking one costs the same however many wait.
    private var first = 0

    var count: Int { order.count - first }

    mutating func append(_ app: AppIdentifier) {
        if known.insert(app).inserted { order.append(app) }
    }

    /// Before the others.
    mutating func prepend(_ app: AppIdentifier) {
        if !known.insert(app).inserted {
            order.removeSubrange(..<first)
            first = 0
            order.removeAll { $0 == app }
        }
        order.insert(app, at: first)
    }

    mutating func popFirst() -> AppIdentifier? {
        guard first < order.count else { return nil }
        let app = order[first]
        first += 1
        if first * 2 >= order.count {
            order.removeFirst(first)
            first = 0
        }
        known.remove(app)
        return app
    }
}

extension Lifecycle {
    mutating func prewarmRequested(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ key: EnvironmentKey
    ) {
        guard let description = directory[app]?.description else {
            return refuse(request, .noSuchApp(app))
        }
        guard description.isEligible else { return refuse(request, .ineligible(app)) }
        if let refusal = fillRefusal(app) { return refuse(request, refusal) }
        if !directory[app]!.record.isPoolWanted { updateApp(app) { $0.isPoolWanted = true } }
        adoptKey(key, of: app, isWanted: true)
        let total = directory[app]!.pool.count + directory[app]!.filling.count
        let wanted = max(1, keptCount(of: app))
        if total >= wanted, let ready = usablePrewarm(app, key) {
            return answer(request, .prewarmed(ready))
        }
        directory[app]!.prewarmWaiters.append(request)
        requests[request] = .prewarm(app)
        wantRefill(of: app)
    }

    /// Why its pool may not be filled now, slots and bytes apart.
    func fillRefusal(_ app: AppIdentifier) -> Refusal? {
        let record = directory[app]!.record
        if isShuttingDown { return .shuttingDown }
        if let until = record.crashLoopUntil, until > now { return .crashLoop(app, until: until) }
        // Whose paused instances were reclaimed waits as well: told is what makes it wait.
        if pressure >= .warning { return .overBudget(app) }
        if let until = record.prewarmRetryAt, until > now { return .backOff(app, until: until) }
        return nil
    }

    mutating func wantRefill(of app: AppIdentifier) { refills.append(app) }

    /// Starts what prewarms may be started. After a launch only a few apps are looked at. While a
    /// restart is under way none is: what the records say stands ready may not, and to look at all
    /// of them with each app that is installed anew would cost the square of their number.
    mutating func refill(looking effort: RefillEffort) {
        guard !isShuttingDown, !isAsleep, !isRestoring, pressure < .warning else { return }
        var looks =
            switch effort {
            case .none: 0
            case .little: min(refills.count, Self.refillsAfterLaunch)
            case .full: refills.count + policy.concurrentPrewarms
            }
        var held: [AppIdentifier] = []
        while looks > 0, fillingCount < policy.concurrentPrewarms, let app = refills.popFirst() {
            looks -= 1
            if lackingCount(app) <= 0 {
                serveWaiters(app)
            } else if mayWarm(app) {
                fill(app)
            } else if lackingCount(app) > 0 {
                held.append(app)
            }
        }
        for app in held { wantRefill(of: app) }
    }

    /// The pool is full without a further prewarm, for example because fewer are kept now.
    private mutating func serveWaiters(_ app: AppIdentifier) {
        guard let entry = directory[app], !entry.prewarmWaiters.isEmpty, entry.filling.isEmpty,
            let ready = entry.pool.first
        else { return }
        directory[app]!.prewarmWaiters = []
        for request in entry.prewarmWaiters { answer(request, .prewarmed(ready)) }
    }

    private func lackingCount(_ identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier] else { return 0 }
        return warmCount(of: identifier) - app.pool.count - app.filling.count
    }

    private mutating func fill(_ app: AppIdentifier) {
        if let refusal = fillRefusal(app) {
            refusePrewarms(of: app, refusal)
            let record = directory[app]!.record
            let times = [record.prewarmRetryAt, record.crashLoopUntil].compactMap { $0 }
            if let last = times.max(), last > now { deadlines.set(.app(app), at: last) }
            return
        }
        let byteCount = reserve(for: app)
        let sum = prewarmedBytes.addingReportingOverflow(byteCount)
        let isOver = sum.overflow || sum.partialValue > policy.prewarmByteBudget
        guard !isOver, liveCount < policy.instanceLimit else {
            let limit = Refusal.tooManyInstances(limit: policy.instanceLimit)
            refusePrewarms(of: app, isOver ? .overBudget(app) : limit)
            return wantRefill(of: app)
        }
        spawnPrewarm(app, byteCount)
        if lackingCount(app) > 0 { wantRefill(of: app) }
    }

    private func reserve(for app: AppIdentifier) -> UInt64 {
        let measured = directory[app]!.record.measuredByteCount
        return measured > 0 ? measured : policy.assumedPrewarmBytes
    }

    private mutating func spawnPrewarm(_ app: AppIdentifier, _ byteCount: UInt64) {
        let key = directory[app]!.poolKey!
        let deadline = now.advanced(by: policy.pauseDeadline)
        let id = create(app, key: key, state: .prewarming, deadline: deadline) {
            $0.byteCount = byteCount
        }
        effects.append(.spawn(id, app, .prewarm(key)))
    }

    mutating func paused(_ id: InstanceIdentifier, byteCount: UInt64) {
        guard let instance = table[id] else { return effects.append(.kill(id)) }
        // It stands at the pause although it was told to go: the word never reached it.
        if instance.isUndecided && instance.record.isResuming { return resumeFailed(id) }
        guard instance.record.state == .prewarming else { return }
        let app = instance.record.app
        resize(id, to: byteCount)
        let measured = table[id]!.record.byteCount
        updateApp(app) { $0.measuredByteCount = measured }
        let timeToLive =
            directory[app]!.description?.prewarmTimeToLive ?? policy.prewarmTimeToLive
        // Not below a second: a pool must not churn because of a manifest.
        let kept = jitter.spread(max(.seconds(1), pausedLifetime(of: app, timeToLive)))
        move(id, to: .prewarmed, deadline: now.advanced(by: kept))
        directory[app]!.poolIsStale = false
        holdBudget()
        let stayed = table[id]!.record.state == .prewarmed
        let waiters = directory[app]!.prewarmWaiters
        directory[app]!.prewarmWaiters = []
        for request in waiters {
            answer(request, stayed ? .prewarmed(id) : .refused(.overBudget(app)))
        }
        if lackingCount(app) > 0 { wantRefill(of: app) }
    }

    /// Nobody wanted it for its whole time: a pool that a client asked for is given up.
    func isGivenUpWhenExpired(_ app: AppIdentifier) -> Bool {
        switch directory[app]?.description?.prewarmOccasion {
        case .demand, .never, nil: true
        case .boot, .login: false
        }
    }

    mutating func expire(_ id: InstanceIdentifier) {
        let app = table[id]!.record.app
        updateApp(app) { record in
            record.prewarmFailures = 0
            record.prewarmRetryAt = nil
        }
        if isGivenUpWhenExpired(app) { updateApp(app) { $0.isPoolWanted = false } }
        end(id, .prewarmExpired, gently: false)
    }
}
