// Fills the pools at the end of an event. The first line that applies decides:
//   launches are under way       → nothing is filled, for at most `underwayLimit`
//   the app's pool is full       → the app leaves the queue
//   an app was just launched     → the app waits (`Lulls`)
//   the machine forbids it       → the app waits until the machine's condition changes
//   no room for its window       → it is not held (`Holding`)
//   a held one has the name      → that one is ended, and its end asks again (`freeName`)
//   no room in the budget        → the app waits until there is more room
//   its user has a full share    → the app waits until an instance ends
//   back-off or crash loop       → the app waits for its deadline
//   otherwise                    → one instance is made; if the app lacks more, it queues again

/// The launches that are not known to run yet.
struct LaunchesUnderWay: Hashable, Sendable {
    private(set) var count = 0
    /// Since when there has been at least one; nil if there is none.
    private(set) var since: Instant?

    mutating func add(at now: Instant) {
        if count == 0 { since = now }
        count += 1
    }

    mutating func removeOne() {
        count -= 1
        if count == 0 { since = nil }
    }
}

extension Lifecycle {
    /// Launches under way keep the pools from being filled for at most this long. Most bursts of
    /// launches are over by then. If launches never stop, later ones use the instances that are
    /// prewarmed after this time.
    static let underwayLimit = Duration.milliseconds(500)

    mutating func wantRefill(of app: AppIdentifier) { refills.append(app, of: user(of: app)) }

    /// Checks the apps that the machine's condition kept from being prewarmed.
    mutating func machineChanged() {
        while let app = refills.popWaitingForMachine() { wantRefill(of: app) }
    }

    /// Starts the prewarms that may be started. After a launch, only a few apps are checked. During
    /// a restart, no app is checked: instances that the records call paused may be gone, and
    /// checking all apps whenever one is installed again would take quadratic time.
    mutating func refill(_ effort: RefillEffort) {
        guard !isShuttingDown, !isAsleep, !isRestoring, pressure < .warning, effort != .none
        else { return }
        reviewLull()
        if let end = launchesFirst {
            if hasSomethingToRefill, deadlines[.refill] != end { deadlines.set(.refill, at: end) }
            return
        }
        var checks = effort == .little ? Self.refillsAfterLaunch : Int.max
        var due = min(checks, refills.dueCount + policy.concurrentPrewarms)
        while due > 0, let app = popDue() {
            due -= 1
            checks -= 1
            consider(app)
        }
        while checks > 0, hasFreeSlot, !takesTurns, let app = refills.popTurn() {
            checks -= 1
            consider(app)
        }
        reconsiderCrowded(&checks)
        reconsiderUnshared(&checks)
    }

    private var hasFreeSlot: Bool { filling.count < policy.concurrentPrewarms }

    /// The next app that may be prewarmed now. If all slots are taken, a user without any prewarm
    /// under way still gets one, until twice as many prewarms are under way. Otherwise programs
    /// that never pause would keep everybody's pools empty for twice `pauseDeadline`.
    private mutating func popDue() -> AppIdentifier? {
        if hasFreeSlot { return refills.popDue() }
        guard !refills.isEmpty, filling.count < 2 * policy.concurrentPrewarms else { return nil }
        let busy = Set(filling.map { user(of: self[$0].record.app) })
        guard let app = refills.popDue(where: { !busy.contains($0) }) else { return nil }
        guard busy.contains(user(of: app)) else { return app }
        // Since it was queued, the app has been installed again for another user.
        wantRefill(of: app)
        return nil
    }

    /// The room in both budgets. When it grows, an app may fit that did not fit before.
    private var room: UInt64 {
        let held = room(at: .window)
        return min(room(at: .main), .max - held) + held
    }

    /// The number of bytes that one more paused instance of this depth may use.
    private func room(at depth: PrewarmDepth) -> UInt64 {
        guard liveCount < policy.sharedInstanceLimit else { return 0 }
        if depth == .window { return windowRoom }
        return policy.prewarmByteBudget - min(prewarmedBytes, policy.prewarmByteBudget)
    }

    /// Launches have priority until this time; nil if none is under way, or if some have been under
    /// way for longer than `underwayLimit`.
    private var launchesFirst: Instant? {
        let end = underway.since?.advanced(by: Self.underwayLimit)
        return end.flatMap { $0 > now ? $0 : nil }
    }

    /// Whether a launch or a prewarm is under way, with which other work would compete.
    public var isStarting: Bool { underway.count > 0 || !filling.isEmpty }

    private var hasSomethingToRefill: Bool {
        !refills.isEmpty || room > refills.barrenRoom || refills.mayShareAgain
    }

    mutating func launchGotUnderway() { underway.add(at: now) }

    mutating func launchIsDecided() {
        underway.removeOne()
        if underway.count == 0 { deadlines.remove(.refill) }
    }

    /// Checks the apps that did not fit, once there is more room.
    private mutating func reconsiderCrowded(_ checks: inout Int) {
        var unseen = refills.crowdedCount
        while checks > 0, unseen > 0, hasFreeSlot, room > refills.barrenRoom,
            let app = refills.popCrowded()
        {
            unseen -= 1
            checks -= 1
            consider(app)
        }
        if unseen == 0 { refills.noneFits(into: room) }
    }

    /// Checks the apps of users whose share was full, after any instance has ended. Checks only as
    /// many apps of a user as the user's share has room for.
    private mutating func reconsiderUnshared(_ checks: inout Int) {
        guard refills.mayShareAgain else { return }
        for user in refills.usersWithoutShare {
            while shareRefusal(of: user) == nil {
                guard checks > 0, hasFreeSlot else { return }
                guard let app = refills.popUnshared(of: user) else { break }
                checks -= 1
                consider(app)
            }
        }
        refills.sharesAreUsedUp()
    }

    private mutating func consider(_ app: AppIdentifier) {
        if lackingCount(app) <= 0 {
            serveWaiters(app)
        } else if mustAwaitLull(app) {
            awaitLull(app)
        } else if takesTurns, !isUrgent(app) {
            refills.awaitTurn(app)
        } else if mayWarm(app) {
            fill(app)
        } else if lackingCount(app) > 0 {
            refills.awaitMachine(app)
        }
    }

    /// Answers clients that wait for a prewarm if the pool is full without another one, for example
    /// because the pool was made smaller.
    private mutating func serveWaiters(_ app: AppIdentifier) {
        guard let entry = directory[app], !entry.prewarmWaiters.isEmpty, entry.filling.isEmpty,
            let ready = latestMembers(of: app).first ?? entry.pool.first
        else { return }
        self[app].prewarmWaiters = []
        for request in entry.prewarmWaiters { answer(request, .prewarmed(ready)) }
    }

    func lackingCount(_ identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier] else { return 0 }
        return warmCount(of: identifier)
            - (app.formerKeys.isEmpty && !withSpares.contains(identifier)
                ? app.pool.count + app.filling.count : latestMembers(of: identifier).count)
    }

    private mutating func fill(_ app: AppIdentifier) {
        if let refusal = fillRefusal(app) {
            refusePrewarms(of: app, refusal)
            let record = self[app].record
            let times = [record.prewarmRetryAt, record.crashLoopUntil].compactMap { $0 }
            if let last = times.max(), last > now { deadlines.set(.app(app), at: last) }
            return
        }
        let depth = depthThatFits(app)
        if depth == .window, !freeName(of: app) { return }
        let byteCount = reserve(for: app, depth)
        if byteCount > room(at: depth), !withSpares.isEmpty { endSpares() }
        guard byteCount <= room(at: depth) else {
            let isFull = liveCount >= policy.sharedInstanceLimit
            let limit = Refusal.tooManyInstances(limit: policy.sharedInstanceLimit)
            refusePrewarms(of: app, isFull ? limit : .overBudget(app))
            return refills.crowdOut(app, from: room)
        }
        // The share applies here too. Each launch from the pool is followed by a new prewarm, so
        // without the share a user who keeps launching would have no limit.
        if let user = self[app].description?.user, let refusal = shareRefusal(of: user) {
            endBooted(of: app)
            refusePrewarms(of: app, refusal)
            return refills.refuseShare(app, of: user)
        }
        spawnPrewarm(app, depth, byteCount)
        if lackingCount(app) > 0 { wantRefill(of: app) }
    }

    private mutating func spawnPrewarm(
        _ app: AppIdentifier, _ depth: PrewarmDepth, _ byteCount: UInt64
    ) {
        let key = self[app].poolKey!
        let deadline = now.advanced(by: policy.pauseDeadline)
        let id = create(app, key: key, state: .prewarming, deadline: deadline) {
            $0.byteCount = byteCount
            $0.depth = depth
        }
        let isAwaited = isPrewarmAwaited(app)
        self[id].preparation?.isHurried = isAwaited
        effects.append(.spawn(id, app, .prewarm(key, depth)))
    }
}
