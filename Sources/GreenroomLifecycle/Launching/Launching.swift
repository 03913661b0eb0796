// Launches. Each launch passes `admit`, which blocks it while other apps prevent it
// (`BlockedLaunches`), and then `serve`. In this order:
//   1. a name already used       → the recorded outcome, or that of the launch under way
//   2. a single instance runs    → it comes to the front (kind foreground, or resume if frozen);
//                                  while it is ending, the launch is blocked. Files reach a program
//                                  through another process of it, which passes them on and ends
//   3. a usable paused instance  → it is told to go, the oldest first; if that fails, one more
//   4. a prewarm under way       → it is awaited, if that is sooner (`Claiming`)
//   5. cold.
// A launch is answered when its program is known to run: `started` or `spawned`. The work does not
// grow with the number of apps or instances.

extension Lifecycle {
    mutating func launchRequested(_ request: RequestIdentifier, _ launch: LaunchRequest) {
        if isShuttingDown { return refuse(request, .shuttingDown) }
        if let known = launchNames[launch.app, launch.launchIdentifier] {
            return repeatLaunch(request, launch, of: known)
        }
        guard directory[launch.app]?.description != nil else {
            return refuse(request, .noSuchApp(launch.app))
        }
        if !launch.inBackground { schedule.lastUse = now }
        let waiter = LaunchWaiter(request: request, launchIdentifier: launch.launchIdentifier)
        var pending = PendingLaunch(origin: .request(request), launch: launch, waiters: [waiter])
        if isBlocked(launch) { return block(pending) }
        if let running = instanceToJoin(launch) { return join(request, launch, running) }
        if let id = claimToJoin(launch) { return join(request, launch, claimOf: id) }
        // A user's launch is always tried. A background launch that nobody waits for is not.
        if launch.inBackground, !launch.isAttached,
            let record = directory[launch.app]?.record, let refusal = launchRefusal(record)
        {
            return refuse(request, refusal)
        }
        self[launch.app].lastLaunched = now
        self[launch.app].hintedUntil = nil
        if launch.isByUser { forgetForceQuit(of: launch.app) }
        if !launch.isAttached {
            pending.replacesStart = self[launch.app].record.startAt != nil
            beginAnew(launch.app)
        }
        admit(pending)
    }

    /// The running instance that serves the launch, if the app runs only once. The instances of
    /// other apps are not searched, because there may be a thousand.
    func instanceToJoin(_ launch: LaunchRequest) -> InstanceIdentifier? {
        guard let app = directory[launch.app], joinsInstance(launch) else { return nil }
        return app.running.filter { self[$0].record.exitStatus == nil }.max(by: isUsedBefore)
    }

    /// Whether a running instance of the app serves the launch.
    func joinsInstance(_ launch: LaunchRequest) -> Bool {
        guard !launch.isAttached else { return false }
        switch launch.joining {
        case .singleInstance: return directory[launch.app]?.description?.isSingleInstance == true
        case .anyInstance: return true
        case .none: return false
        }
    }

    private func launchRefusal(_ app: AppRecord) -> Refusal? {
        if isForceQuit(app.app) { return .forceQuit(app.app) }
        if let failure = app.failure { return .failed(app.app, failure) }
        if let until = app.crashLoopUntil, until > now { return .crashLoop(app.app, until: until) }
        if let until = app.launchRetryAt, until > now { return .backOff(app.app, until: until) }
        return nil
    }

    /// Whether a new instance could serve the launch at once.
    func isFree(_ launch: LaunchRequest) -> Bool {
        blocked[launch.app] == nil && dependents.conflicting[launch.app] == nil
            && directory[launch.app]?.description?.dependencies.value == nil
            && !awaitsFormerEnd(launch) && instanceToJoin(launch) == nil
            && directory[launch.app].map { launchRefusal($0.record) == nil } == true
    }

    /// Every launch comes here. It is served now, or as soon as no other app blocks it.
    mutating func admit(_ pending: PendingLaunch) {
        let app = pending.launch.app
        if blocked[app] != nil { return block(pending) }
        if directory[app]?.description?.dependencies.value == nil,
            dependents.conflicting[app] == nil, !awaitsFormerEnd(pending.launch)
        {
            return serve(pending)
        }
        // The app counts as blocked from the start, so that an app that depends on it does not
        // start it again.
        blocked[app] = BlockedLaunches(launches: [pending])
        for waiter in pending.waiters { requests[waiter.request] = .blocked(app) }
        reviewBlockers(of: app)
    }

    /// Serves a launch that nothing blocks, with the running instance or with another one.
    mutating func serve(_ pending: PendingLaunch) {
        let launch = pending.launch
        guard let description = directory[launch.app]?.description else {
            return refuseAll(pending, .noSuchApp(launch.app))
        }
        if !pending.isRequested {
            clearStart(launch.app)
            let isServed = directory[launch.app]?.running.isEmpty == false || hasClaim(launch.app)
            // Clients may have joined it while it waited for a prewarm.
            if isServed, pending.waiters.isEmpty {
                if pending.isTriedAgain { replaceStartByClaim(of: launch.app) }
                return
            }
            let supervision = description.supervision.value ?? Supervision()
            if !pending.hasClaimed, !pending.hasMadePlace, pending.coldReason == nil {
                guard mayStart(launch.app, supervision) else {
                    return fail(launch.app, .startLimit)
                }
                countStart(launch.app, supervision)
            }
        }
        if let running = instanceToJoin(launch) {
            for waiter in pending.waiters {
                if let known = launchNames[launch.app, waiter.launchIdentifier] {
                    repeatLaunch(waiter.request, launch, of: known)
                } else {
                    join(waiter.request, launch, running)
                }
            }
            return
        }
        if let id = claimToJoin(launch) {
            for waiter in pending.waiters {
                var own = launch
                own.launchIdentifier = waiter.launchIdentifier
                join(waiter.request, own, claimOf: id)
            }
            return
        }
        begin(pending, after: nil)
    }

    /// Serves a launch from the pool, or cold. `failure` says why the last attempt failed.
    mutating func begin(_ pending: PendingLaunch, after failure: ColdReason?) {
        let launch = pending.launch
        if let reason = pending.coldReason { return launchCold(pending, reason) }
        if let reason = ownColdReason(launch) {
            // Paused instances are kept for launches that they can serve.
            return launchCold(pending, reasonBeforeAnyLaunch(launch.app) ?? reason)
        }
        if pending.goAttempts < PendingLaunch.goAttemptLimit, let id = usablePrewarm(for: launch) {
            tellToGo(id, pending)
        } else if failure == nil, !pending.hasClaimed, let id = prewarmToClaim(launch) {
            claim(id, for: pending)
        } else {
            let reason = failure ?? coldReason(for: launch.app, key: launch.environmentKey)
            // From now on the pool has another environment. That may end an instance that owns a name,
            // and the launch waits for it.
            if hasInstanceWantingName(launch.app) {
                setPoolKey(launch.environmentKey, of: launch.app, isWanted: false)
            }
            launchCold(pending, reason ?? .noneReady)
        }
        setPoolKey(launch.environmentKey, of: launch.app, isWanted: false)
    }

    /// Why no paused instance of the app can take over what the launch brings.
    private func ownColdReason(_ launch: LaunchRequest) -> ColdReason? {
        if let reason = launch.coldReason { return reason }
        if launch.takesTerminal, directory[launch.app]?.description?.isColdOnTerminal == true {
            return usablePrewarm(for: launch) == nil
                ? coldReason(for: launch.app, key: launch.environmentKey) ?? .noneReady : .goFailed
        }
        guard let reason = launch.reasonNotToHold, usablePrewarm(for: launch) == nil else {
            return nil
        }
        let isHeld = usablePrewarm(launch.app, launch.environmentKey) != nil
        guard isHeld || depth(of: launch.app, launch.environmentKey) == .window else { return nil }
        // Without a held instance, the caller's state was compared with nothing.
        if !isHeld, reason == .callerState {
            return coldReason(for: launch.app, key: launch.environmentKey) ?? reason
        }
        return reason
    }

    private func usablePrewarm(for launch: LaunchRequest) -> InstanceIdentifier? {
        usablePrewarm(
            launch.app, launch.environmentKey, mayBeHeld: launch.reasonNotToHold == nil)
            ?? bootedPrewarm(for: launch)
    }

    func usablePrewarm(
        _ app: AppIdentifier, _ key: EnvironmentKey, mayBeHeld: Bool = true
    ) -> InstanceIdentifier? {
        guard let app = directory[app], let description = app.description else { return nil }
        return app.pool.first {
            let record = self[$0].record
            return record.environmentKey == key && record.generation == description.generation
                && (mayBeHeld || record.depth != .window)
        }
    }

    mutating func tellToGo(_ id: InstanceIdentifier, _ pending: PendingLaunch) {
        var pending = pending
        pending.goAttempts += 1
        update(id) { $0.launchKind = .prewarmed }
        assign(pending, to: id)
        // The launch waits for these effects, so they come before effects that only inform others.
        if self[id].record.otherThreads == .frozen { effects.append(.thaw(id)) }
        effects.append(.go(id, pending.origin, .atEndOfEvent))
        move(id, to: .launching, deadline: now.advanced(by: policy.startDeadline))
        showScreen(of: id, for: pending.origin)
    }

    private mutating func launchCold(_ pending: PendingLaunch, _ reason: ColdReason) {
        let launch = pending.launch
        guard let description = directory[launch.app]?.description else {
            return giveUp(pending, .noSuchApp(launch.app))
        }
        if awaitNameHolders(pending, reason) { return }
        if let refusal = shareRefusal(of: description.user) {
            if !makePlace(for: pending, of: description.user) { giveUp(pending, refusal) }
            return
        }
        if ownColdReason(launch) == nil { noteMiss(of: launch.app) }
        let deadline = now.advanced(by: description.launchDeadline ?? policy.launchDeadline)
        let id = create(
            launch.app, key: launch.environmentKey, state: .launching, deadline: deadline
        ) {
            $0.launchKind = .cold
            $0.coldReason = reason
            $0.inBackground = launch.inBackground
            $0.isAttached = launch.isAttached
        }
        assign(pending, to: id)
        effects.append(.spawn(id, launch.app, .launch(pending.origin, .atEndOfEvent)))
        showScreen(of: id, for: pending.origin)
    }

    private mutating func assign(_ pending: PendingLaunch, to id: InstanceIdentifier) {
        update(id) { [now] in
            $0.isAutomatic = pending.origin.isAutomatic
            $0.launchIdentifier = pending.launch.launchIdentifier
            $0.inBackground = pending.launch.inBackground
            $0.isAttached = pending.launch.isAttached
            $0.lastUsed = now
        }
        self[id].launch = pending
        self[id].toldAt = now
        noteNamed(id)
        announceState(to: id)
        launchNames.add(pending.launch.launchIdentifier, of: pending.launch.app, id)
        for waiter in pending.waiters { requests[waiter.request] = .launch(id) }
        for name in pending.joined {
            remember(id, name, LaunchOutcome(instance: id, kind: .foreground))
        }
    }

    mutating func spawned(_ id: InstanceIdentifier) {
        guard let instance = table[id] else { return effects.append(.kill(id)) }
        if let priority = priority(in: instance.record.state, instance.record) {
            effects.append(.applyPriority(id, priority))
        }
        if instance.record.phase == .ordered { beganRunning(id) }
    }

    mutating func started(_ id: InstanceIdentifier, anew reason: AnewReason? = nil) {
        guard let instance = table[id] else { return effects.append(.kill(id)) }
        guard instance.record.phase == .toldToGo else { return }
        let isUnheard = instance.prewarm == .toldToGo(hasChannel: false)
        if let app = directory[instance.record.app], app.record.prewarmFailures > 0 {
            updateApp(app.record.app) {
                $0.prewarmFailures = 0
                if !$0.isReclaimed { $0.prewarmRetryAt = nil }
            }
        }
        noteStart(id, anew: reason)
        beganRunning(id)
        learnLibraries(of: id)
        // Nobody has heard what the program has said since.
        if isUnheard, self[id].record.phase == .starting { mayBeReady(id) }
    }

    /// The launch is decided: its answer comes first, then readiness and the refill.
    mutating func beganRunning(_ id: InstanceIdentifier) {
        launchIsDecided()
        update(id) { [now] in $0.course = .running(.starting, since: now) }
        let record = self[id].record
        let takesOutput = self[id].launch?.launch.takesOutput == true
        let work = self[id].launch?.launch.work ?? 0
        settle(id)
        handOverAnnounced(to: id)
        handOverWithheld(to: id)
        thawForwardee(of: record)
        wantRefill(of: record.app)
        let description = self[record.app].description
        if let supervision = description?.supervision.value, !record.isAttached,
            !record.isAutomatic
        {
            countStart(record.app, supervision)
        }
        let condition = description?.readyCondition ?? .exec
        // If the daemon does not see the output, the app counts as ready once it runs.
        let isReady = condition == .exec || condition == .firstOutput && takesOutput
        beginLull(after: id, tellsReadiness: !isReady)
        if isReady {
            self[id].work = work
            return becameReady(id)
        }
        let deadline = description?.launchDeadline ?? policy.launchDeadline
        update(id) { $0.deadline = $0.since.advanced(by: deadline) }
    }

    private mutating func settle(_ id: InstanceIdentifier) {
        guard let pending = self[id].launch else { return }
        self[id].launch = nil
        let record = self[id].record
        let outcome = LaunchOutcome(
            instance: id, kind: record.launchKind!, coldReason: record.coldReason,
            anewReason: record.anewReason)
        for waiter in pending.waiters {
            var own = outcome
            if waiter.isJoining { own = LaunchOutcome(instance: id, kind: .foreground) }
            own.isRepeated = waiter.isRepeated
            if waiter.isJoining && !waiter.isRepeated { deliver(waiter.request, to: id) }
            answer(waiter.request, .launched(own))
        }
        report(.launched(pending.origin, pending.launch.launchIdentifier, record.app, outcome))
    }

    /// A program that is ready is certainly running, so this also decides a launch whose `started`
    /// or `spawned` has not arrived yet.
    mutating func becameReady(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record else { return }
        if record.isUndecided { beganRunning(id) }
        // `beganRunning` may have made the instance ready already.
        launchHasSettled(id)
        guard self[id].record.phase == .starting else { return }
        let app = record.app
        if self[app].record.launchFailures > 0 {
            updateApp(app) {
                $0.launchFailures = 0
                $0.launchRetryAt = nil
            }
        }
        enter(id)
    }
}
