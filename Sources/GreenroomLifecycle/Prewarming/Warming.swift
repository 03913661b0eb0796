// How many paused instances there should be now, and whether they may be made. `warmCount` alone
// answers the first question. The machine's condition answers the second; it is inspected only when
// something is about to be prewarmed.
//
//   a client waits for it (`prewarm`)  → now, unless memory is low
//   a hint (`prepare`), boot, login,
//   a refill after a launch or an end  → unless there is any obstacle
//   boot and login                     → not before the start delay is over
//
// A hint may be wrong, because a finger also goes down to scroll. So its prewarm takes no processor
// time from others, like all that nobody waits for, until a launch claims it or its time to pause is
// over for the first time.

/// Why nothing is prewarmed now, apart from memory pressure and the byte budget.
public enum PrewarmObstacle: UInt8, CaseIterable, Sendable {
    case lowMemory
    case highLoad
    case lowBattery
    case thermalStress

    /// Whether it stands in the way even of a prewarm that a client waits for, because that prewarm
    /// would do harm too.
    var bindsWishes: Bool { self == .lowMemory }
}

/// What is known about the machine's condition.
struct Conditions: Hashable, Sendable {
    var obstacle: PrewarmObstacle?
    var inspectedAt: Instant?
    /// When the machine is inspected again, while there is an obstacle.
    var nextInspection: Instant?
    /// The number of inspections in a row that found an obstacle.
    var obstacleCount: UInt32 = 0
    var isInspecting = false
}

extension Lifecycle {
    /// Nothing is prewarmed at boot or login before this time. The clock counts from the machine's
    /// boot.
    public var prewarmingStarts: Instant {
        Instant(nanoseconds: 0).advanced(by: policy.prewarmStartDelay)
    }

    /// How many paused instances an app should have now. Prewarms, refills and renewals all follow
    /// this number.
    func warmCount(of identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier] else { return 0 }
        let isAsked = !app.prewarmWaiters.isEmpty || isHinted(app)
        return max(keptCount(of: identifier), isAsked && app.isEligible ? 1 : 0)
    }

    /// How many paused instances an app should have if no client waits: the manifest's number from
    /// boot on, from login on, while the plan contains the app, or once a client has asked for
    /// them; otherwise 0.
    func keptCount(of identifier: AppIdentifier) -> Int {
        let wanted = wantedCount(of: identifier)
        return wanted > 1 && hasInstanceWantingName(identifier) ? 1 : wanted
    }

    private func wantedCount(of identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier], let description = app.description,
            app.isEligible
        else { return 0 }
        switch description.prewarmOccasion {
        case .boot: return max(0, description.prewarmCount)
        case .login:
            let isWarm = app.record.isPoolWanted || hasSession(description.value)
            return isWarm ? max(0, description.prewarmCount) : 0
        case .auto:
            let isWarm = app.record.isPoolWanted || isPlanned(description.value)
            return isWarm ? max(0, description.prewarmCount) : 0
        case .demand: return app.record.isPoolWanted ? max(0, description.prewarmCount) : 0
        case .never: return 0
        }
    }

    func hasSession(_ description: AppDescription) -> Bool {
        description.loginGroup.map(loginGroups.contains) == true
    }

    /// Whether a client waits for a prewarm of the app, or is about to launch it.
    func isUrgent(_ app: AppIdentifier) -> Bool {
        guard let entry = directory[app] else { return false }
        return isPrewarmAwaited(app) || isHinted(entry)
    }

    /// Whether a client waits for a prewarm of the app.
    func isPrewarmAwaited(_ app: AppIdentifier) -> Bool {
        directory[app]?.prewarmWaiters.isEmpty == false
    }

    /// A client has begun to wait for a prewarm that nobody had waited for.
    mutating func hurry(_ app: AppIdentifier) {
        for id in self[app].filling where self[id].claim == nil {
            effects.append(.applyPriority(id, .prewarmed))
        }
    }

    private func isHinted(_ app: Entry<App>) -> Bool { app.hintedUntil.map { $0 > now } ?? false }

    /// Whether the machine allows a prewarm. If what is known about the machine is too old, the
    /// machine is inspected again, and refilling continues after that.
    mutating func mayWarm(_ app: AppIdentifier) -> Bool {
        let isWish = !self[app].prewarmWaiters.isEmpty
        let isUrgent = isUrgent(app)
        if !isUrgent, now < prewarmingStarts {
            deadlines.set(.conditions, at: prewarmingStarts)
            return false
        }
        guard policy.inspectsConditions else { return true }
        guard !needsInspection(isUrgent: isUrgent) else {
            inspectConditions()
            return false
        }
        guard let obstacle = conditions.obstacle else { return true }
        if isWish {
            guard obstacle.bindsWishes else { return true }
            refusePrewarms(of: app, .obstructed(app, obstacle))
        }
        deadlines.set(.conditions, at: conditions.nextInspection)
        return false
    }

    private func needsInspection(isUrgent: Bool) -> Bool {
        guard let at = conditions.inspectedAt else { return true }
        let isFresh = at.advanced(by: policy.conditionsLifetime) > now
        if let next = conditions.nextInspection, !isUrgent { return next <= now }
        return !isFresh
    }

    mutating func inspectConditions() {
        guard !conditions.isInspecting else { return }
        conditions.isInspecting = true
        effects.append(.inspectConditions)
    }

    mutating func conditionsInspected(_ obstacle: PrewarmObstacle?) {
        machineChanged()
        conditions.isInspecting = false
        conditions.obstacle = obstacle
        conditions.inspectedAt = now
        guard obstacle != nil else {
            conditions.obstacleCount = 0
            conditions.nextInspection = nil
            deadlines.remove(.conditions)
            let apps = toBeHeld.sorted()
            toBeHeld = []
            return holdInstead(of: apps)
        }
        conditions.obstacleCount = min(conditions.obstacleCount, 30) + 1
        let factor = Int64(1) << Int64(conditions.obstacleCount - 1)
        let pause = min(policy.conditionsRetryCap, policy.conditionsRetryFirst * factor)
        conditions.nextInspection = now.advanced(by: jitter.spread(max(.seconds(1), pause)))
        if !toBeHeld.isEmpty { deadlines.set(.conditions, at: conditions.nextInspection) }
    }

    // MARK: Hints

    /// A client is about to launch the app (the finger is down). Nobody waits for the result.
    mutating func prepareRequested(_ request: RequestIdentifier, _ app: AppIdentifier) {
        guard let entry = directory[app], let description = entry.description else {
            return refuse(request, .noSuchApp(app))
        }
        guard entry.isEligible, description.prewarmOccasion != .never else {
            return refuse(request, .ineligible(app))
        }
        let ready = entry.poolKey.flatMap { usablePrewarm(app, $0) }
        if ready == nil, let refusal = fillRefusal(app) { return refuse(request, refusal) }
        answer(request, .prepared(app, isReady: ready != nil))
        guard !isShuttingDown else { return }
        if let ready { return airForHint(ready) }
        self[app].hintedUntil = now.advanced(by: policy.hintLifetime)
        // This app goes first, because its launch is near.
        refills.prepend(app, of: user(of: app))
    }

    /// An instance that is paused only for a hint does not stay longer than the hint counts.
    func pausedLifetime(of app: AppIdentifier, _ timeToLive: Duration) -> Duration {
        let isHintedOnly =
            self[app].hintedUntil != nil
            && keptCount(of: app) == 0
            && self[app].prewarmWaiters.isEmpty
        return isHintedOnly ? min(timeToLive, policy.hintLifetime) : timeToLive
    }
}

extension App {
    var isEligible: Bool { description?.isEligible == true && !hasMisfired }

    /// Whether the installed generation misfired. Another build may not start the program that this
    /// one started.
    var hasMisfired: Bool {
        description != nil && record.misfiredGeneration == description?.generation
    }
}
