// Launches that use a prewarm which is still under way. A cold launch would do the same work from
// the beginning, so waiting saves the part of the prewarm that is done:
//
//   no prewarm of the app was measured yet          → cold
//   the prewarm goes to the app's first window      → cold: it pauses only when the app is at rest
//   the prewarm has just begun (`handoverTime`)     → cold: the pause itself would cost more
//   it takes half as long again as the last one did → cold: nobody knows when it will pause
//   otherwise                                       → the launch claims it
//
// If a launch starts cold or gives its claim up, the prewarm goes on for the pool. A claimed
// instance is told to go as soon as it is paused. If it ends before that, the launch is cold. No
// case takes a third process. A claim is not kept across a restart of the supervisor: the client
// repeats its launch, and the prewarm goes on.

extension Lifecycle {
    /// The time that the pause and GO take, which a cold launch does not need.
    static let handoverTime = Duration.microseconds(500)

    // MARK: Claiming

    /// The prewarm under way that would serve the launch sooner than a cold start.
    func prewarmToClaim(_ launch: LaunchRequest) -> InstanceIdentifier? {
        guard let app = directory[launch.app], let description = app.description,
            let measured = app.prewarmTime
        else { return nil }
        return app.filling.first {
            let (record, claim) = (self[$0].record, self[$0].claim)
            let elapsed = record.since.duration(to: now)
            return claim == nil && record.depth != .window
                && record.environmentKey == launch.environmentKey
                && record.generation == description.generation
                && elapsed >= Self.handoverTime && elapsed < measured * 3 / 2
        }
    }

    mutating func claim(_ id: InstanceIdentifier, for pending: PendingLaunch) {
        let app = pending.launch.app
        var pending = pending
        pending.hasClaimed = true
        self[id].claim = pending
        for waiter in pending.waiters { requests[waiter.request] = .claim(id) }
        let patience = (self[app].prewarmTime ?? .zero) * 3 / 2
        let end = self[id].record.since.advanced(by: patience)
        deadlines.set(.claim(id), at: max(end, Instant(nanoseconds: now.nanoseconds + 1)))
        reapplyPriority(id)
        reviewSocket(of: app)
    }

    func hasClaim(_ app: AppIdentifier) -> Bool {
        directory[app]?.filling.contains { self[$0].claim != nil } ?? false
    }

    /// The launch that waits for a prewarm does the work of a start that the daemon wants, so it goes
    /// on without its client.
    mutating func replaceStartByClaim(of app: AppIdentifier) {
        let id = directory[app]?.filling.first { self[$0].claim != nil }
        if let id { self[id].claim!.replacesStart = true }
    }

    /// The claim that the launch joins: the claim knows the launch's name, or the app runs only
    /// once.
    func claimToJoin(_ launch: LaunchRequest) -> InstanceIdentifier? {
        guard let app = directory[launch.app] else { return nil }
        let isSingle = joinsInstance(launch)
        return app.filling.first {
            guard let claim = self[$0].claim else { return false }
            return isSingle && !claim.launch.isAttached
                || claim.names.contains(launch.launchIdentifier)
        }
    }

    mutating func join(
        _ request: RequestIdentifier, _ launch: LaunchRequest, claimOf id: InstanceIdentifier
    ) {
        let name = launch.launchIdentifier
        let claim = self[id].claim!
        let isRepeated = claim.names.contains(name)
        self[id].claim!.waiters.append(
            LaunchWaiter(
                request: request, launchIdentifier: name, isRepeated: isRepeated,
                isJoining: name != claim.launch.launchIdentifier))
        if !isRepeated { self[id].claim!.joined.append(name) }
        if !launch.inBackground { self[id].claim!.launch.inBackground = false }
        requests[request] = .claim(id)
    }

    /// Called when a launch has begun, or ceased, to wait for the prewarm.
    private mutating func reapplyPriority(_ id: InstanceIdentifier) {
        guard let priority = priority(in: .prewarming, self[id].record) else { return }
        effects.append(.applyPriority(id, priority))
    }

    // MARK: The end of a claim

    mutating func removeClaim(of id: InstanceIdentifier) -> PendingLaunch? {
        guard let claim = table[id]?.claim else { return nil }
        self[id].claim = nil
        deadlines.remove(.claim(id))
        reviewSocket(of: claim.launch.app)
        return claim
    }

    /// A client has left whose launch waits for the prewarm. The launch is withdrawn, unless
    /// somebody else waits for it. The prewarm goes on for the pool.
    mutating func clientLeft(_ request: RequestIdentifier, claimOf id: InstanceIdentifier) {
        let app = self[id].record.app
        self[id].claim?.noteLeft(request)
        guard self[id].claim?.isForsaken == true, !isNeeded(app), let claim = removeClaim(of: id)
        else { return }
        reapplyPriority(id)
        refuseAll(claim, .cancelled(app))
        availabilityChanged(of: app)
    }

    /// The prewarm takes too long: its launch stops waiting. The prewarm goes on for the pool.
    mutating func claimTimedOut(_ id: InstanceIdentifier) {
        guard let claim = removeClaim(of: id) else { return }
        reapplyPriority(id)
        serveFormerClaim(claim)
    }

    /// Serves a launch after its claim, with the instance that has paused or cold. In the meantime
    /// another app may have begun to block it.
    mutating func serveFormerClaim(_ claim: PendingLaunch) {
        var pending = claim
        guard !pending.waiters.isEmpty || !pending.isRequested else {
            return availabilityChanged(of: claim.launch.app)
        }
        if isShuttingDown { return refuseAll(pending, .shuttingDown) }
        pending.takeFirstWaiter()
        admit(pending)
    }

    /// Serves launches whose prewarm has ended in this event: those of clients first, because they
    /// also do what the daemon's own launch was to do.
    mutating func serveLostClaims() {
        while !lostClaims.isEmpty {
            let next = lostClaims.firstIndex { !$0.waiters.isEmpty } ?? 0
            serveFormerClaim(lostClaims.remove(at: next))
        }
    }

    /// Refuses the launches that have claimed a prewarm of the app, because a client ended the app
    /// or an app that conflicts with it was launched.
    ///
    /// - Parameter isAll: whether to refuse the launches of clients too, not only the daemon's own.
    mutating func refuseClaims(of app: AppIdentifier, _ refusal: Refusal, isAll: Bool = true) {
        for id in directory[app]?.filling ?? [] {
            guard let claim = self[id].claim,
                isAll || claim.isOnlyOwn
            else { continue }
            _ = removeClaim(of: id)
            reapplyPriority(id)
            refuseAll(claim, refusal)
            availabilityChanged(of: app)
        }
    }
}

extension PendingLaunch {
    /// The names of the launch and of those that joined it.
    fileprivate var names: [LaunchIdentifier] { [launch.launchIdentifier] + joined }
}
