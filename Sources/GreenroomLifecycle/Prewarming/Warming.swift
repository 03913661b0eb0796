// What should be warm now, and whether it may be made so. The first question is answered in one
// place, `warmCount`; the second by what the kernel says of the machine, looked up only when something
// is about to be prewarmed.
//
//   a client waits for it (`prewarm`)  → now, unless memory is low
//   a hint (`prepare`), boot, login,
//   a refill after a launch or an end  → unless anything holds it back
//   boot and login                     → not before the start delay

/// Why nothing is prewarmed now, besides pressure and the byte budget.
public enum PrewarmHold: UInt8, CaseIterable, Sendable {
    case lowMemory
    case highLoad
    case lowBattery
    case thermalStress

    /// Even one that a client waits for would do harm.
    var bindsWishes: Bool { self == .lowMemory }
}

/// What is known of the machine.
struct Conditions: Hashable, Sendable {
    var hold: PrewarmHold?
    var inspectedAt: Instant?
    /// While held: when it is looked at again.
    var nextLook: Instant?
    /// Looks in a row that found a hold.
    var heldCount: UInt32 = 0
    var isInspecting = false
}

extension Lifecycle {
    /// Before this nothing is prewarmed at boot or login: the clock counts from the machine's boot.
    public var prewarmingStarts: Instant {
        Instant(nanoseconds: 0).advanced(by: policy.prewarmStartDelay)
    }

    /// How many paused instances of an app should stand ready now: of all that is prewarmed, refilled,
    /// renewed or kept, this decides.
    func warmCount(of identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier] else { return 0 }
        let isAsked = !app.prewarmWaiters.isEmpty || isHinted(app)
        return max(keptCount(of: identifier), isAsked && app.isEligible ? 1 : 0)
    }

    /// How many of them without being asked: what the manifest says, from boot, from login, or once they were
    /// asked for.
    func keptCount(of identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier], let description = app.description,
            app.isEligible
        else { return 0 }
        switch description.prewarmOccasion {
        case .boot: return max(0, description.prewarmCount)
        case .login:
            let hasSession = description.loginGroup.map(sessions.contains) == true
            return app.record.isPoolWanted || hasSession ? max(0, description.prewarmCount) : 0
        case .demand: return app.record.isPoolWanted ? max(0, description.prewarmCount) : 0
        case .never: return 0
        }
    }

    private func isHinted(_ app: App) -> Bool { app.hintedUntil.map { $0 > now } ?? false }

    /// Whether the machine allows it. What holds it back is looked up again when that is too old to
    /// believe, and then refilling goes on by itself.
    mutating func mayWarm(_ app: AppIdentifier) -> Bool {
        let isWish = !self[app].prewarmWaiters.isEmpty
        let isUrgent = isWish || isHinted(self[app])
        if !isUrgent, now < prewarmingStarts {
            deadlines.set(.conditions, at: prewarmingStarts)
            return false
        }
        guard policy.inspectsConditions else { return true }
        guard !needsInspection(isUrgent: isUrgent) else {
            inspectConditions()
            return false
        }
        guard let hold = conditions.hold else { return true }
        if isWish {
            guard hold.bindsWishes else { return true }
            refusePrewarms(of: app, .held(app, hold))
        }
        deadlines.set(.conditions, at: conditions.nextLook)
        return false
    }

    private func needsInspection(isUrgent: Bool) -> Bool {
        guard let at = conditions.inspectedAt else { return true }
        let isFresh = at.advanced(by: policy.conditionsLifetime) > now
        if let nextLook = conditions.nextLook, !isUrgent { return nextLook <= now }
        return !isFresh
    }

    private mutating func inspectConditions() {
        guard !conditions.isInspecting else { return }
        conditions.isInspecting = true
        effects.append(.inspectConditions)
    }

    mutating func conditionsInspected(_ hold: PrewarmHold?) {
        refills.machineChanged()
        conditions.isInspecting = false
        conditions.hold = hold
        conditions.inspectedAt = now
        guard hold != nil else {
            conditions.heldCount = 0
            conditions.nextLook = nil
            return deadlines.remove(.conditions)
        }
        conditions.heldCount = min(conditions.heldCount, 30) + 1
        let factor = Int64(1) << Int64(conditions.heldCount - 1)
        let pause = min(policy.conditionsRetryCap, policy.conditionsRetryFirst * factor)
        conditions.nextLook = now.advanced(by: jitter.spread(max(.seconds(1), pause)))
    }

    // MARK: Hints

    /// Somebody is about to launch it (the finger is down). Nothing waits for it.
    mutating func prepareRequested(_ request: RequestIdentifier, _ app: AppIdentifier) {
        guard let entry = directory[app], let description = entry.description else {
            return refuse(request, .noSuchApp(app))
        }
        guard entry.isEligible, description.prewarmOccasion != .never else {
            return refuse(request, .ineligible(app))
        }
        let isReady = entry.poolKey.map { usablePrewarm(app, $0) != nil } ?? false
        if !isReady, let refusal = fillRefusal(app) { return refuse(request, refusal) }
        answer(request, .prepared(app, isReady: isReady))
        guard !isReady, !isShuttingDown else { return }
        self[app].hintedUntil = now.advanced(by: policy.hintLifetime)
        // Before the others: somebody is on the way.
        refills.prepend(app)
    }

    /// What is paused for a hint alone does not stay longer than the hint is believed.
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

    /// As it is installed now. Another program may do without what this one starts.
    var hasMisfired: Bool {
        description != nil && record.misfiredGeneration == description?.generation
    }
}
