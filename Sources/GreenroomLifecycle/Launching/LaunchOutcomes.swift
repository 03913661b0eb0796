// Outcomes of launches other than a plain start: repeated names, apps that run already, paused
// instances that do not start, and failures.

extension Lifecycle {
    mutating func repeatLaunch(
        _ request: RequestIdentifier, _ launch: LaunchRequest, of id: InstanceIdentifier
    ) {
        let instance = self[id]
        if instance.isUndecided {
            return wait(request, launch, for: id, isRepeated: true)
        }
        let served = instance.served.first { $0.launchIdentifier == launch.launchIdentifier }
        var outcome =
            served?.outcome
            ?? LaunchOutcome(
                instance: id, kind: instance.record.launchKind!,
                coldReason: instance.record.coldReason, anewReason: instance.record.anewReason)
        outcome.isRepeated = true
        answer(request, .launched(outcome))
    }

    /// The app runs already and has a single instance, which serves this launch too.
    mutating func join(
        _ request: RequestIdentifier, _ launch: LaunchRequest, _ id: InstanceIdentifier
    ) {
        self[launch.app].lastLaunched = now
        if self[id].record.state == .launching {
            if !launch.inBackground { update(id) { $0.inBackground = false } }
            if !launch.inBackground { self[id].launch?.launch.inBackground = false }
            showScreen(of: id, for: .request(request))
            if self[id].isUndecided {
                return wait(request, launch, for: id, isRepeated: false)
            }
        }
        let wasSuspended = self[id].record.state == .suspended
        if wasSuspended { thaw(id) }
        let outcome = LaunchOutcome(instance: id, kind: wasSuspended ? .resume : .foreground)
        update(id) { [now] in $0.lastUsed = now }
        let isReady =
            self[id].record.state != .launching || self[id].record.phase == .arriving
        if !launch.inBackground && isReady { activate(id) }
        // The delivery comes after willEnterForeground, as in UIKit.
        deliver(request, to: id)
        answer(request, .launched(outcome))
        remember(id, launch.launchIdentifier, outcome)
        report(.launched(.request(request), launch.launchIdentifier, launch.app, outcome))
    }

    private mutating func wait(
        _ request: RequestIdentifier, _ launch: LaunchRequest, for id: InstanceIdentifier,
        isRepeated: Bool
    ) {
        let name = launch.launchIdentifier
        let waiter = LaunchWaiter(
            request: request, launchIdentifier: name, isRepeated: isRepeated,
            isJoining: name != self[id].record.launchIdentifier)
        if self[id].launch == nil {
            // The launch was already under way before the supervisor restarted.
            self[id].launch = PendingLaunch(
                origin: .request(request), launch: launch, waiters: [])
        }
        self[id].launch!.waiters.append(waiter)
        requests[request] = .launch(id)
        // The name is remembered from now on, because the client may repeat it before the launch is
        // decided.
        if !isRepeated { remember(id, name, LaunchOutcome(instance: id, kind: .foreground)) }
    }

    /// Hands what the request brought to the instance. This comes before the answer, because an
    /// answered request is forgotten.
    mutating func deliver(_ request: RequestIdentifier, to id: InstanceIdentifier) {
        guard manner(of: self[id].record.app) == .acknowledging else { return }
        effects.append(.deliver(id, request, .atEndOfEvent))
    }

    /// Remembers a further launch of an instance under its own name.
    mutating func remember(
        _ id: InstanceIdentifier, _ name: LaunchIdentifier, _ outcome: LaunchOutcome
    ) {
        launchNames.add(name, of: self[id].record.app, id)
        self[id].served.append(ServedLaunch(launchIdentifier: name, outcome: outcome))
        guard self[id].served.count > Self.servedLaunchLimit else { return }
        forget(self[id].served.removeFirst().launchIdentifier, of: id)
    }

    /// Forgets the name of a launch that failed, and the names of those that joined it.
    private mutating func forgetUndecided(_ id: InstanceIdentifier) {
        if let name = self[id].record.launchIdentifier { forget(name, of: id) }
        for served in self[id].served { forget(served.launchIdentifier, of: id) }
        self[id].served = []
    }

    mutating func forget(_ name: LaunchIdentifier, of id: InstanceIdentifier) {
        launchNames.remove(name, of: self[id].record.app, id)
    }

    /// A paused instance was told to go and did not start: another paused instance serves the
    /// launch, or a cold one does. The caller ends this instance.
    ///
    /// - Parameters:
    ///   - reason: why, if the launch is cold.
    ///   - isDepthToBlame: whether the depth caused the failure. The next prewarm is less deep, so it
    ///     need not wait.
    mutating func relaunch(
        insteadOf id: InstanceIdentifier, after reason: ColdReason = .goFailed,
        isDepthToBlame: Bool = false
    ) {
        var pending = self[id].launch
        let record = self[id].record
        pending?.joined = self[id].served.map(\.launchIdentifier)
        forgetUndecided(id)
        self[id].launch = nil
        update(id) {
            $0.course = .ordered
            $0.launchIdentifier = nil
            $0.launchKind = nil
        }
        if reason == .goFailed, !isDepthToBlame { prewarmFailed(record.app, .goFailed) }
        guard var pending else { return wantRefill(of: record.app) }
        if pending.isForsaken, !isNeeded(record.app) {
            refuseAll(pending, .cancelled(record.app))
            return wantRefill(of: record.app)
        }
        if isShuttingDown { return refuseAll(pending, .shuttingDown) }
        pending.takeFirstWaiter()
        // Another held instance has the same display.
        if record.depth == .window, reason == .goFailed {
            pending.goAttempts = PendingLaunch.goAttemptLimit
        }
        begin(pending, after: reason)
    }

    mutating func goFailed(_ id: InstanceIdentifier, isDepthToBlame: Bool = false) {
        relaunch(insteadOf: id, isDepthToBlame: isDepthToBlame)
        end(id, .goFailed, gently: false)
    }

    /// Refuses the launch of an undecided instance. The launch's name can be used again.
    mutating func failLaunch(_ id: InstanceIdentifier, _ refusal: Refusal) {
        guard self[id].isUndecided else { return }
        forgetUndecided(id)
        update(id) { $0.launchIdentifier = nil }
        if let pending = self[id].launch {
            self[id].launch = nil
            refuseAll(pending, refusal)
        }
        wantRefill(of: self[id].record.app)
    }

    mutating func refuseAll(_ pending: PendingLaunch, _ refusal: Refusal) {
        for waiter in pending.waiters { refuse(waiter.request, refusal) }
    }

    /// Why every launch of the app is cold, whatever the launch brings; nil if not every launch is.
    func reasonBeforeAnyLaunch(_ app: AppIdentifier) -> ColdReason? {
        guard let app = directory[app], let description = app.description else { return nil }
        if !app.isEligible { return .ineligible }
        let isDisabled = description.prewarmOccasion == .never || description.prewarmCount <= 0
        return isDisabled && app.pool.isEmpty && app.filling.isEmpty ? .prewarmingDisabled : nil
    }

    /// Why a launch with this environment would be cold now; nil if a paused instance can serve it.
    public func coldReason(for app: AppIdentifier, key: EnvironmentKey) -> ColdReason? {
        guard let app = directory[app], app.description != nil else { return .noneReady }
        if usablePrewarm(app.record.app, key) != nil { return nil }
        if let reason = reasonBeforeAnyLaunch(app.record.app) { return reason }
        let others = (app.pool + app.filling).map { self[$0].record }
        if !app.value.knows(key), others.contains(where: { $0.environmentKey != key }) {
            return .environmentMismatch
        }
        if app.record.isReclaimed { return .reclaimed }
        if let staleness = app.poolStaleness { return staleness.coldReason }
        if let until = app.record.prewarmRetryAt, until > now { return .backOff }
        if let until = app.record.crashLoopUntil, until > now { return .backOff }
        return .noneReady
    }
}
