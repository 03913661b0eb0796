// Filling the pools, after the event has been decided. Launches come first:
//   some are under way          → nothing, for `refillDelay` at most
//   an app lacks nothing         → it leaves the queue
//   the machine holds it back    → it waits until the machine is in another condition
//   no room in the budget        → it waits until there is more
//   its user has his share       → it waits until an instance ends
//   back-off or crash loop       → it has a deadline
//   else                         → one instance is made; while it lacks more, it stands in line again

extension Lifecycle {
    /// How long launches that are under way keep the pools from being filled. A burst is over by then, and
    /// where there is no end to launches, later ones gain from what is filled beside them.
    static let refillDelay = Duration.milliseconds(500)

    mutating func wantRefill(of app: AppIdentifier) { refills.append(app) }

    /// Starts what prewarms may be started. After a launch only a few apps are looked at. While a
    /// restart is under way none is: what the records say stands ready may not, and to look at all
    /// of them with each app that is installed anew would cost the square of their number.
    mutating func refill(looking effort: RefillEffort) {
        guard !isShuttingDown, !isAsleep, !isRestoring, pressure < .warning, effort != .none
        else { return }
        if let end = launchesFirst {
            if hasSomethingToRefill, deadlines[.refill] != end { deadlines.set(.refill, at: end) }
            return
        }
        var looks = effort == .little ? Self.refillsAfterLaunch : Int.max
        var due = min(looks, refills.dueCount + policy.concurrentPrewarms)
        while due > 0, hasFreeSlot, let app = refills.popDue() {
            due -= 1
            looks -= 1
            consider(app)
        }
        reconsiderCrowded(&looks)
        reconsiderUnshared(&looks)
    }

    private var hasFreeSlot: Bool { fillingCount < policy.concurrentPrewarms }

    /// Bytes that another paused instance may have.
    private var room: UInt64 {
        guard liveCount < policy.sharedInstanceLimit, prewarmedBytes < policy.prewarmByteBudget
        else { return 0 }
        return policy.prewarmByteBudget - prewarmedBytes
    }

    /// Until then launches come first; nil: none are under way, or have been for long.
    private var launchesFirst: Instant? {
        guard let end = underwaySince?.advanced(by: Self.refillDelay), end > now else { return nil }
        return end
    }

    private var hasSomethingToRefill: Bool {
        !refills.isEmpty || room > refills.barrenRoom || refills.mayShareAgain
    }

    mutating func launchGotUnderway() {
        if underwayCount == 0 { underwaySince = now }
        underwayCount += 1
    }

    mutating func launchIsDecided() {
        underwayCount -= 1
        guard underwayCount == 0 else { return }
        underwaySince = nil
        deadlines.remove(.refill)
    }

    /// Those that did not fit, once there is more room.
    private mutating func reconsiderCrowded(_ looks: inout Int) {
        var unseen = refills.crowdedCount
        while looks > 0, unseen > 0, hasFreeSlot, room > refills.barrenRoom,
            let app = refills.popCrowded()
        {
            unseen -= 1
            looks -= 1
            consider(app)
        }
        if unseen == 0 { refills.noneFits(into: room) }
    }

    /// Those whose users had their share, once an instance of anybody's has ended. Of each user only as many are looked
    /// at as there is room for.
    private mutating func reconsiderUnshared(_ looks: inout Int) {
        guard refills.mayShareAgain else { return }
        for user in refills.usersWithoutShare {
            while shareRefusal(of: user) == nil {
                guard looks > 0, hasFreeSlot else { return }
                guard let app = refills.popUnshared(of: user) else { break }
                looks -= 1
                consider(app)
            }
        }
        refills.sharesAreTaken()
    }

    private mutating func consider(_ app: AppIdentifier) {
        if lackingCount(app) <= 0 {
            serveWaiters(app)
        } else if mayWarm(app) {
            fill(app)
        } else if lackingCount(app) > 0 {
            refills.awaitMachine(app)
        }
    }

    /// The pool is full without a further prewarm, for example because fewer are kept now.
    private mutating func serveWaiters(_ app: AppIdentifier) {
        guard let entry = directory[app], !entry.prewarmWaiters.isEmpty, entry.filling.isEmpty,
            let ready = entry.pool.first
        else { return }
        self[app].prewarmWaiters = []
        for request in entry.prewarmWaiters { answer(request, .prewarmed(ready)) }
    }

    func lackingCount(_ identifier: AppIdentifier) -> Int {
        guard let app = directory[identifier] else { return 0 }
        return warmCount(of: identifier) - app.pool.count - app.filling.count
    }

    private mutating func fill(_ app: AppIdentifier) {
        if let refusal = fillRefusal(app) {
            refusePrewarms(of: app, refusal)
            let record = self[app].record
            let times = [record.prewarmRetryAt, record.crashLoopUntil].compactMap { $0 }
            if let last = times.max(), last > now { deadlines.set(.app(app), at: last) }
            return
        }
        let byteCount = reserve(for: app)
        guard byteCount <= room else {
            let isFull = liveCount >= policy.sharedInstanceLimit
            let limit = Refusal.tooManyInstances(limit: policy.sharedInstanceLimit)
            refusePrewarms(of: app, isFull ? limit : .overBudget(app))
            return refills.crowdOut(app, from: room)
        }
        // Each launch from the pool is refilled: else whoever launches from it would have no share.
        if let user = self[app].description?.user, let refusal = shareRefusal(of: user) {
            refusePrewarms(of: app, refusal)
            return refills.refuseShare(app, of: user)
        }
        spawnPrewarm(app, byteCount)
        if lackingCount(app) > 0 { wantRefill(of: app) }
    }

    private func reserve(for app: AppIdentifier) -> UInt64 {
        let measured = self[app].record.measuredByteCount
        return measured > 0 ? measured : policy.assumedPrewarmBytes
    }

    private mutating func spawnPrewarm(_ app: AppIdentifier, _ byteCount: UInt64) {
        let key = self[app].poolKey!
        let deadline = now.advanced(by: policy.pauseDeadline)
        let id = create(app, key: key, state: .prewarming, deadline: deadline) {
            $0.byteCount = byteCount
        }
        effects.append(.spawn(id, app, .prewarm(key)))
    }
}
