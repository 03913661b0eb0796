import GreenroomLifecycle

extension Checker {
    /// Notes an event before the core handles it.
    mutating func note(_ event: Event, at now: Instant) {
        touched = []
        former = [:]
        ending = []
        signalled = []
        forceQuit = nil
        displaced = []
        mayHaveRun = []
        countsAsReady = nil
        noteMachine(event, at: now)
        noteTasks(event)
        switch event {
        case .paused(let id, let byteCount, _, _), .memoryMeasured(let id, let byteCount):
            if let app = saved[id]?.app { held.noteSize(of: app, byteCount) }
        case _: break
        }
        switch event {
        case .policyChanged(let new): policy = new
        case .appInstalled(let description): noteInstall(description)
        case .appRemoved(let app, let isGone):
            forget(app)
            if isGone { faulty.remove(app) } else { faulty.insert(app) }
        case .loggedIn(let group):
            held.loggedIn.insert(group)
            churn = [:]
        case .sessionsActive(let groups):
            held.active = groups
            churn = [:]
        case .requested(let identifier, let request):
            owed[identifier] = request
            note(request, identifier)
        case .requestAbandoned(let request):
            // A launch is answered all the same.
            switch owed[request] {
            case .launch, .trigger: break
            case _: owed[request] = nil
            }
        case .reconciled(let id, let finding): noteFinding(id, finding)
        case .exited(let id, let status):
            noteUnheardEnd(id)
            if case .signaled(9, _) = status { notePoolTaken(id, now) }
            noteExit(id, status, now)
        case .channelLost(let id): notePoolTaken(id, now)
        case .called(let id, isLaunch: true): noteCall(id)
        case .shutdownRequested: isShuttingDown = true
        case .shutdownCancelled:
            isShuttingDown = false
            churn = [:]
        case .loggedOut(let group):
            held.loggedIn.remove(group)
            churn = [:]
        case .planned(let apps):
            plan = apps
            churn = [:]
        case .sleepChanged(let now): isAsleep = now
        case .started(let id, _): noteStarted(id)
        case .deadlineReached: noteExpiries(now)
        case .signalSent(let id, let signal): sentSignals[id, default: []].insert(signal)
        case .sessionLockChanged(let user, let isLocked):
            if isLocked { locked.insert(user) } else { locked.remove(user) }
        case .foregroundReported(let shell, let report): noteReport(shell, report)
        case .librariesLearned(let lesson, let count, _),
            .librariesRecalled(let lesson, let count, _, _):
            if count > 0 { learned.insert(lesson) }
        case .acknowledged(let id, let cookie): noteAgreement(id, cookie, now)
        case .timesRecalled, .tracerInspected, .significantTimeChanged, .pressureChanged,
            .stallReported,
            .conditionsInspected,
            .fileLocksInspected, .connectionsInspected, .outOfMemory, .drewFirstFrame,
            .instanceStalled, .pagedOut,
            .triggersForgiven:
            break
        case .spawned, .spawnFailed, .paused, .becameReady, .frozen, .freezeFailed,
            .emptied, .opening, .openingFailed, .becameStale, .misfired, .nameWatched, .called,
            .memoryMeasured,
            .connectionArrived,
            .stateFound, .stateLost, .stateReported:
            break
        case .restored: isRestoring = false
        case .backgroundTaskBegan, .backgroundTaskEnded, .tasksCancelled,
            .tasksRestored, .runCompleted, .taskConditionsInspected, .taskAlarmRang:
            break
        }
    }

    private mutating func note(_ request: Request, _ identifier: RequestIdentifier) {
        switch request {
        case .launch(let launch), .trigger(let launch, _):
            launchedBy[identifier] = launch
            churn[launch.app] = nil
            let reasons = [ColdReason.reclaimed, .backOff].filter { isTrue($0, of: launch.app) }
            // A repeated call gets what the first one has begun.
            reasonsWhenAsked[launch.app, default: [:]][launch.launchIdentifier, default: []]
                .formUnion(reasons)
        case .prewarm(let app, _), .prepare(let app):
            churn[app] = nil
            wished.insert(app)
        case .transition(let target, let transition):
            noteEnd(of: target, ordered: transition)
            noteForceQuit(target, transition)
        case .resetFailed(let app): forgive(app)
        case .awaitExit, .scene, .submitTask, .runTask, .expireTask: break
        }
    }

    private mutating func noteUnheardEnd(_ id: InstanceIdentifier) {
        guard unheard.contains(id), let record = saved[id], record.state == .launching,
            record.launchedAt == nil
        else { return }
        mayHaveRun.insert(id)
        retryAt[record.app] = nil
    }

    /// A launch that may have run must not be forgotten, because it would be launched again under
    /// its name.
    private mutating func noteFinding(_ id: InstanceIdentifier, _ finding: ReconciledFinding) {
        if finding == .unheard { return noteUnheard(id) }
        guard let record = saved[id], record.state == .launching, record.launchedAt == nil else {
            return
        }
        switch finding {
        case .nothing: if record.phase == .toldToGo { mayHaveRun.insert(id) }
        case .remains: mayHaveRun.insert(id)
        case .noChannel: if record.phase == .toldToGo { unheard.insert(id) }
        case .unfit, .unheard: return
        }
        if mayHaveRun.contains(id), record.phase == .toldToGo { retryAt[record.app] = nil }
    }

    /// A running program may have reported that it is ready while nobody listened.
    private mutating func noteUnheard(_ id: InstanceIdentifier) {
        guard let record = saved[id], record.state == .launching, record.launchedAt != nil,
            record.conversation == nil, installed[record.app]?.acknowledges != true
        else { return }
        countsAsReady = id
    }

    private mutating func noteStarted(_ id: InstanceIdentifier) {
        guard let record = saved[id] else { return }
        retryAt[record.app] = nil
        if record.phase == .toldToGo, record.depth == .window { windowMissedAt[record.app] = nil }
    }

    private mutating func noteInstall(_ description: AppDescription) {
        let app = description.identifier
        if let old = installed[app], old.generation != description.generation {
            forgetFailures(of: app)
        }
        installed[app] = description
        faulty.remove(app)
        frontsMayDiffer = true
        churn[app] = nil
    }

    private mutating func forget(_ app: AppIdentifier) {
        installed[app] = nil
        // The file stays, in case the app returns. The core has forgotten it.
        tasks.pending[app] = nil
        tasks.forced.remove(app)
        forgetFailures(of: app)
    }

    mutating func forgetFailures(of app: AppIdentifier) {
        retryAt[app] = nil
        crashes[app] = nil
        crashLoopUntil[app] = nil
        windowMissedAt[app] = nil
        poolReclaimed.remove(app)
        starts[app] = nil
    }

    /// An instance that was paused for its whole time makes up for earlier failures. One that was told
    /// to go and is unheard has started by now, if it ever does, or its program shows no window.
    private mutating func noteExpiries(_ now: Instant) {
        for record in saved.values {
            guard let deadline = record.deadline, deadline <= now else { continue }
            if record.state == .prewarmed { retryAt[record.app] = nil }
            guard record.phase == .toldToGo else { continue }
            if record.depth != .window {
                noteUnheardEnd(record.instance)
            } else if windowMissedAt[record.app] == nil {
                windowMissedAt[record.app] = now
            }
        }
    }

    /// A crash is the end of a launched instance by a signal that neither the daemon nor a client
    /// sent. SIGHUP, SIGINT, SIGPIPE and SIGTERM are not crashes.
    private mutating func noteExit(
        _ id: InstanceIdentifier, _ status: ExitStatus, _ now: Instant
    ) {
        guard case .signaled(let signal, _) = status, ![1, 2, 13, 15].contains(signal),
            sentSignals[id]?.contains(signal) != true, let record = saved[id],
            record.endReason == nil, record.exitStatus == nil, record.state != .prewarming,
            record.state != .prewarmed,
            record.state != .notRunning, record.phase != .toldToGo
        else { return }
        guard installed[record.app] != nil, !wasChosenForOthers(record, status) else { return }
        crashes[record.app, default: []].append(now)
        let recent = crashes[record.app]!.filter { $0.duration(to: now) <= policy.crashLoopWindow }
        if recent.count >= policy.crashLoopCount {
            crashLoopUntil[record.app] = now.advanced(by: policy.crashLoopWindow)
        }
    }

    /// The kernel killed a paused instance to free memory for others. That counts as a reclaim, not
    /// as a failure.
    private mutating func notePoolTaken(_ id: InstanceIdentifier, _ now: Instant) {
        guard let record = saved[id], record.endReason == nil,
            record.state == .prewarming || record.state == .prewarmed,
            machine.takenForOthers.contains(id)
        else { return }
        poolReclaimed.insert(record.app)
        machine.poolTaken = record.app
        let pause = now.advanced(by: policy.reclaimPause)
        if installed[record.app] != nil {
            retryAt[record.app] = max(retryAt[record.app] ?? pause, pause)
        }
    }

    /// Whether the kernel killed the instance in the background, and not because of its own limit.
    private func wasChosenForOthers(_ record: InstanceRecord, _ status: ExitStatus) -> Bool {
        guard case .signaled(9, _) = status else { return false }
        return (record.state == .background || record.state == .suspended)
            && machine.outOfMemory.contains(record.instance)
            && !machine.overOwnLimit.contains(record.instance)
    }

    /// Checks the invariants after all effects of an event have been performed.
    mutating func checkStep(
        _ event: Event, nextDeadline: Instant?, at now: Instant
    ) throws(Violation) {
        for id in touched {
            try checkTouched(id, nextDeadline)
            if let record = saved[id] { try checkPhase(record, former[id], event) }
        }
        try checkForceQuitNoted()
        for id in mayHaveRun {
            guard let record = saved[id] else { continue }
            try require(
                record.launchIdentifier != nil, "\(id) may have run, and its launch is forgotten")
        }
        if let id = countsAsReady, let record = saved[id] {
            try require(record.state != .launching, "\(id) may be ready, and is waited for")
        }
        for id in ending {
            try require(signalled.contains(id), "\(id) is being ended without a signal")
        }
        if isRestoring { return }
        try checkTime(at: now)
        try checkAiring(at: now)
        try checkHeld(at: now)
        try checkAges()
        try require(prewarmedBytes <= policy.prewarmByteBudget, "prewarmed memory over budget")
        try require(
            endedCount <= max(1, policy.rememberedExits), "more ends remembered than allowed")
        if event == .deadlineReached {
            try require(nextDeadline.map { $0 > now } ?? true, "a past deadline was left over")
        }
        if frontsMayDiffer { try checkFronts() }
        frontsMayDiffer = false
    }

    /// Only what a plan keeps stays paused without a limit, and only if nothing of it runs.
    private mutating func checkAges() throws(Violation) {
        tally.ageless += ageless.count
        for id in ageless {
            let record = saved[id]!
            guard let app = installed[record.app] else {
                throw Violation("\(id) is paused without a limit, and its app is gone")
            }
            try require(
                plan.contains(record.app) && app.prewarmOccasion == .auto
                    && app.prewarmTimeToLive == nil && record.depth != .window,
                "\(id) is paused without a limit")
        }
    }

    private func checkTouched(
        _ id: InstanceIdentifier, _ nextDeadline: Instant?
    ) throws(Violation) {
        guard let record = saved[id] else { return }
        try require(
            states[id] == record.state, "\(id) is \(states[id]!) and saved as \(record.state)")
        if record.endReason == .reclaimed {
            try require(reclaimed.contains(id), "\(id) was reclaimed without a record")
        }
        try checkConversation(record, nextDeadline)
        try checkInterruption(record)
        try checkScreen(record)
        if let deadline = record.deadline, record.state != .notRunning {
            try require(
                nextDeadline.map { $0 <= deadline } ?? false, "the deadline of \(id) is forgotten")
        }
    }

    /// Checks the instance that the core believes to be in front: it runs, belongs to the group,
    /// and is in front or on its way there.
    func checkHolder(_ id: InstanceIdentifier?, of group: String) throws(Violation) {
        guard let id else { return }
        guard let record = saved[id], let state = states[id] else {
            throw Violation("\(id) is in front of \(group) but unknown")
        }
        let isThere = state == .active || state == .inactive
        let isComing = record.conversation != nil && !record.inBackground && state.isRunning
        try require(
            (isThere || isComing) && !record.isAttached,
            "\(id) is in front of \(group), and is \(state)")
        try require(
            installed[record.app]?.foregroundGroup == group, "\(id) is in front of another group")
    }

    private func checkFronts() throws(Violation) {
        var fronts: [String: InstanceIdentifier] = [:]
        for (id, state) in states where state == .active || state == .inactive {
            guard let record = saved[id], !record.isAttached,
                // A displaced app that acknowledges its states may still be leaving the front.
                record.conversation == nil || !record.inBackground,
                // Shells decide about instances that they have named.
                record.shellUser == nil, !isNamed(id),
                let group = installed[record.app]?.foregroundGroup
            else { continue }
            try require(fronts[group] == nil, "\(id) and \(fronts[group]!) are both in front")
            fronts[group] = id
        }
    }
}
