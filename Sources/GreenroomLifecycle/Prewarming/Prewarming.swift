// The pools. An app's pool is filled while
//   the app is eligible, its occasion has come (or a client waits), no shutdown, no sleep,
//   no back-off or crash loop runs, memory pressure is none, the machine allows it (`Warming`),
//   fewer than `concurrentPrewarms` instances are on their way to the pause (or, up to twice as
//   many, if none of them belongs to the app's user),
//   the instance limit allows it, and the byte budget has room for the expected size.
// The condition that is not met decides what the app waits for (`Refilling`, `RefillQueue`).

extension Lifecycle {
    mutating func prewarmRequested(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ key: EnvironmentKey
    ) {
        guard let entry = directory[app], entry.description != nil else {
            return refuse(request, .noSuchApp(app))
        }
        guard entry.isEligible else { return refuse(request, .ineligible(app)) }
        if let refusal = fillRefusal(app) { return refuse(request, refusal) }
        if !self[app].record.isPoolWanted {
            updateApp(app) { $0.isPoolWanted = true }
            limitAges(of: app)
        }
        setPoolKey(key, of: app, isWanted: true)
        let total = latestMembers(of: app).count
        let wanted = max(1, keptCount(of: app))
        if total >= wanted, let ready = usablePrewarm(app, key) {
            return answer(request, .prewarmed(ready))
        }
        self[app].prewarmWaiters.append(request)
        requests[request] = .prewarm(app)
        hurry(app)
        wantRefill(of: app)
    }

    /// Why the app's pool may not be filled now, apart from places and bytes; nil if it may be.
    func fillRefusal(_ app: AppIdentifier) -> Refusal? {
        let record = self[app].record
        if isShuttingDown { return .shuttingDown }
        if let until = record.crashLoopUntil, until > now { return .crashLoop(app, until: until) }
        // An app whose paused instances were reclaimed also has a retry time, but its client is
        // told about the pressure, which is the cause.
        if pressure >= .warning { return .overBudget(app) }
        if let until = record.prewarmRetryAt, until > now { return .backOff(app, until: until) }
        return nil
    }

    mutating func paused(
        _ id: InstanceIdentifier, byteCount: UInt64, hasOtherThreads: Bool, isTooEarly: Bool
    ) {
        guard let instance = table[id] else { return effects.append(.kill(id)) }
        // The instance is at the pause although it was told to go, so the order never reached it.
        if instance.record.phase == .toldToGo { return goFailed(id) }
        guard instance.record.state == .prewarming else { return }
        let app = instance.record.app
        if isTooEarly, demote(instance.record, .pausedElsewhere) {
            return end(id, .prewarmFailed, gently: false)
        }
        // Before main the app had no other thread: otherwise its libraries would not have been
        // learned.
        if hasOtherThreads, instance.record.depth == .libraries,
            demote(instance.record, .startsThreads)
        {
            return end(id, .prewarmFailed, gently: false)
        }
        dropUnopened(by: id)
        resize(id, to: byteCount)
        noteSize(of: self[id].record)
        self[app].unorderedKillCount = 0
        updateApp(app) { [now] in
            // If another instance was reclaimed while this one was on its way, the app must still
            // wait out the pause after a reclaim.
            if $0.prewarmRetryAt.map({ $0 <= now }) ?? true { $0.isReclaimed = false }
        }
        move(id, to: .prewarmed, deadline: ageLimit(pausedLifetime(of: app, timeToLive(of: app))))
        self[app].poolStaleness = nil
        self[app].prewarmTime = instance.record.since.duration(to: now)
        let claim = removeClaim(of: id)
        if let claim { serveFormerClaim(claim) }
        enforceBudget()
        let stayed = self[id].record.state == .prewarmed
        // Clients that wait for a prewarm now wait for the next one.
        if claim != nil, !stayed { return wantRefill(of: app) }
        if claim != nil { effects.append(.applyPriority(id, .prewarmed)) }
        if stayed, instance.preparation?.isCalled == true { return launchCalled(id) }
        if stayed { replaceBooted(of: app) }
        if stayed, hasOtherThreads {
            update(id) { $0.otherThreads = .frozen }
            effects.append(.freezePaused(id))
        }
        // Clients wait for an instance with the latest environment. If a held one turned out to be
        // too large, the next one is not held.
        let isLatest =
            self[id].record.environmentKey == self[app].poolKey
            && (stayed || instance.record.depth != .window)
        let waiters = isLatest ? self[app].prewarmWaiters : []
        if isLatest { self[app].prewarmWaiters = [] }
        for request in waiters {
            answer(request, stayed ? .prewarmed(id) : .refused(.overBudget(app)))
        }
        if lackingCount(app) > 0 { wantRefill(of: app) }
    }

    /// The freezer has stopped the threads of a paused instance, or could not.
    mutating func threadsWereFrozen(_ id: InstanceIdentifier, _ areFrozen: Bool) {
        guard let instance = table[id], instance.record.otherThreads == .frozen,
            !instance.isAiring
        else { return }
        let record = instance.record
        if !areFrozen { update(id) { $0.otherThreads = .running } }
        if !areFrozen || instance.pause?.wasFrozen != true {
            report(.pausedWithThreads(id, record.app, areFrozen: areFrozen))
        }
        self[id].pause?.wasFrozen = areFrozen
        if areFrozen, record.depth == .window { wasFrozenHeld(id) }
        // An unfrozen program in its main loop would keep working, and nobody would see why.
        guard !areFrozen, record.depth == .window else { return }
        if record.generation == self[record.app].description?.generation {
            demote(record.app, record, .notFrozen)
            wantRefill(of: record.app)
        }
        end(id, .prewarmFailed, gently: false)
    }

    func timeToLive(of app: AppIdentifier) -> Duration {
        self[app].description?.prewarmTimeToLive ?? policy.prewarmTimeToLive
    }

    /// When an instance that may be kept for this long from now on is too old. It is kept for at
    /// least a second, so that no manifest makes the pool fill and empty all the time.
    mutating func ageLimit(_ timeToLive: Duration) -> Instant {
        now.advanced(by: jitter.spread(max(.seconds(1), timeToLive)))
    }

    /// Whether a client's request for the pool is forgotten when an instance expires, because
    /// nobody has used the pool in all that time.
    func isGivenUpWhenExpired(_ app: AppIdentifier) -> Bool {
        switch directory[app]?.description?.prewarmOccasion {
        case .demand, .never, .auto, nil: true
        case .boot, .login: false
        }
    }

    mutating func expire(_ id: InstanceIdentifier) {
        let app = self[id].record.app
        updateApp(app) { record in
            record.prewarmFailures = 0
            record.prewarmRetryAt = nil
        }
        let isLatest = self[id].record.environmentKey == self[app].poolKey
        if isLatest, isGivenUpWhenExpired(app) { updateApp(app) { $0.isPoolWanted = false } }
        if outlivesLimit(self[id].record) { return outliveLimit(id) }
        end(id, .prewarmExpired, gently: false)
    }
}
