import GreenroomLifecycle

// The design's table of transitions, deliberately written a second time.
private let legal: [ExecutionState: Set<ExecutionState>] = [
    .prewarming: [.prewarmed, .terminating, .notRunning],
    .prewarmed: [.launching, .terminating, .notRunning],
    .launching: [.inactive, .background, .terminating, .notRunning],
    .inactive: [.active, .background, .terminating, .notRunning],
    .active: [.inactive, .terminating, .notRunning],
    .background: [.inactive, .suspended, .terminating, .notRunning],
    .suspended: [.background, .terminating, .notRunning],
    .terminating: [.notRunning],
    .notRunning: [],
]

extension Checker {
    /// Checks an effect before it is performed.
    mutating func check(
        _ effect: Effect, of event: Event, in world: World, at now: Instant
    ) throws(Violation) {
        try checkTriggered(event, effect, now)
        switch effect {
        case .save(let record): try save(record)
        case .erase(let id): try erase(id)
        case .saveApp(let record):
            try checkForceQuit(record, event)
            savedApps[record.app] = record
        case .eraseApp(let app):
            try require(
                !faulty.contains(app) || savedApps[app]?.isForceQuit != true,
                "the force quit of \(app) is forgotten with an error in its manifest")
            savedApps[app] = nil
            forgetFailures(of: app)
        case .spawn(let id, let app, let purpose):
            try checkSpawn(id, app, purpose, event, world, now)
            if case .launch = purpose { noteSeen(id, .application, world, isGiven: false) }
        case .go(let id, let origin, _):
            if case .request(let request) = origin, saved[id]?.depth == .window {
                try require(
                    launchedBy[request]?.reasonNotToHold == nil,
                    "told \(id) to go, which has read what the launch brings")
            }
            if case .request(let request) = origin, launchedBy[request]?.takesTerminal == true {
                try require(
                    saved[id].map { installed[$0.app]?.isColdOnTerminal } != true,
                    "told \(id) to go, which cannot take its launch's terminal")
            }
            // The instance may be ended later in the same event.
            let isIntended =
                saved[id].map {
                    $0.phase == .toldToGo || $0.state == .terminating
                } ?? false
            try require(isIntended, "told \(id) to go before that was saved")
            let process = world.processes[id]
            try require(process?.isPrewarm == true, "told \(id) to go, which is not prewarmed")
            try require(process?.wasToldToGo == false, "told \(id) to go twice")
            try require(process?.isFrozen == false, "told \(id) to go, which is frozen")
            try checkGeneration(id)
            try checkBeginning(id, now)
            try checkPriority(of: id)
            noteSeen(id, .application, world, isGiven: false)
        case .awaitStart(let id):
            try require(
                saved[id]?.phase == .toldToGo, "awaits \(id), which was not told to go")
        case .freeze(let id):
            // The instance's end, or its return, may have been ordered in the same event. If the
            // record says that it runs, the next supervisor thaws it.
            let state = saved[id]?.state
            let isIntended =
                state == .suspended || state == .terminating || states[id] == .suspended
            try require(isIntended, "froze \(id) before saving")
        case .freezePaused(let id):
            // A new supervisor may launch it in the same event. If the record says that it was told
            // to go, the next supervisor thaws it.
            let record = saved[id]
            let isIntended =
                record?.state == .prewarmed || record?.state == .terminating
                || record?.phase == .toldToGo && states[id] == .prewarmed
            try require(isIntended, "froze \(id), which is not paused")
            aired[id] = nil
        case .watchSettings(let id):
            try require(
                saved[id]?.depth == .window && world.processes[id]?.isFrozen == true,
                "has the settings of \(id) watched, which is not held")
        case .thaw(let id):
            try require(saved[id]?.state != .suspended, "thawed \(id), saved as suspended")
            try noteThaw(id, event, now)
        case .terminate(let id), .kill(let id):
            if case .terminate = effect { try checkOwnEnd(id, now) }
            signalled.insert(id)
            let isEnding = saved[id].map { $0.state == .terminating || $0.state == .notRunning }
            try require(isEnding ?? true, "ended \(id) in \(saved[id]!.state)")
        case .release(let id, _):
            try require(world.processes[id]?.isEmpty ?? true, "released \(id) with processes")
            try require(saved[id].map { $0.state == .notRunning } ?? true, "released live \(id)")
        case .applyPriority(let id, let priority): lull.priorities[id] = priority
        case .tell(let id, let step, _):
            try checkTold(id, step, world)
            if step.step == .willTerminate { signalled.insert(id) }
        case .notify(let id, _):
            // Uses the announced state, because the instance may be ended later in the same event.
            try require(states[id]?.isRunning == true, "notified \(id), which is not running")
            try require(states[id] != .suspended, "notified suspended \(id)")
        case .deliver(let id, let request, _):
            try require(owed[request] != nil, "delivered after the answer")
            try require(states[id] != .suspended, "delivered to suspended \(id)")
        case .inspectTracer(let id):
            try require(states[id]?.isRunning == true, "\(id) is overdue but not running")
            overdue.insert(id)
        case .answer(let request, let answer): try checkAnswer(request, answer, world)
        case .report(let occurrence): try checkOccurrence(occurrence, event, now)
        case .inspectConditions: break
        case .inspectFileLocks(let id):
            try require(states[id] == .background, "looked for locks outside background: \(id)")
            try checkSuspension(id, event, now)
            machine.inquiries.insert(id)
        case .inspectConnections(let id):
            try require(
                states[id] == .background || states[id] == .suspended,
                "looked for connections of \(id) in \(states[id]!)")
            let app = saved[id]!.app
            try require(installed[app]?.hasSockets == true, "\(app) has no sockets")
        case .pageOut(let id):
            try require(saved[id]?.state == .suspended, "pages out running \(id)")
        case .awaitConnection(let app): try checkListening(app)
        case .ignoreConnections: break
        case .keepState(let id, let app, let scene):
            try checkKept(id, app, scene, event, world)
        case .refuseState, .keepSessions, .noteVersion: break
        case .deleteState(let app, let scene): try checkDeleted(app, scene, world)
        case .handOverState(let id, let scene, let isThere):
            if isThere {
                try checkHandedOver(id, scene, world)
            } else {
                noteAbsent(id, scene, world)
            }
        case .learnLibraries(let id, let lesson): try checkLesson(id, lesson)
        case .saveTasks, .tellBackgroundTime, .tellExpiration, .startRun, .expireRun,
            .inspectTaskConditions, .setTaskAlarm:
            try checkTasks(effect, of: event, in: world, at: now)
        }
    }

    /// Only an instance of the installed generation is launched, or one of the generation that the
    /// app had before its imports were learned.
    private func checkGeneration(_ id: InstanceIdentifier) throws(Violation) {
        guard let record = saved[id], let description = installed[record.app] else { return }
        try require(
            [description.generation, description.bootGeneration].contains(record.generation),
            "told \(id) to go, which is stale")
    }

    /// Prewarms beyond the limit, up to twice the limit in all, are each their user's only one.
    /// Records are saved before the first of them is spawned, so later ones do not count yet.
    private func checkConcurrency(
        _ id: InstanceIdentifier, _ app: AppIdentifier
    ) throws(Violation) {
        let limit = policy.concurrentPrewarms
        if prewarmingCount <= limit { return }
        let begun = saved.values.filter { $0.state == .prewarming && $0.instance <= id }
        if begun.count <= limit { return }
        let own = begun.count { installed[$0.app]?.user == installed[app]?.user }
        try require(begun.count <= 2 * limit && own == 1, "too many prewarms at once")
    }

    /// A user who has instances gets another only if the number that is free for all users is
    /// greater than the user's own; the administrator always gets one. Instances that the same
    /// event began after this launch (refills, for example) did not exist when the launch was
    /// decided.
    private func checkShare(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ event: Event
    ) throws(Violation) {
        guard case .requested(_, .launch(let launch)) = event, launch.app == app,
            let user = installed[app]?.user, user != policy.administrator
        else { return }
        let before = saved.values.filter { $0.state != .notRunning && $0.instance < id }
        let own = before.count { installed[$0.app]?.user == user }
        let free = policy.sharedInstanceLimit - before.count
        try require(free > 0, "users took the administrator's part")
        try require(
            own == 0 || own < min(free, policy.instancesPerUser),
            "user \(user) has \(own) of \(before.count) instances and got another")
    }

    private mutating func checkSpawn(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ purpose: SpawnPurpose, _ event: Event,
        _ world: World, _ now: Instant
    ) throws(Violation) {
        try require(world.processes[id]?.isLost ?? true, "spawned \(id) twice")
        try require(saved[id] != nil, "spawned \(id), which is not saved")
        try require(!isShuttingDown, "spawned \(id) while shutting down")
        try require(liveCount <= policy.instanceLimit, "more instances than allowed")
        try checkShare(id, app, event)
        if case .reconciled(id, found: _) = event, case .prewarm = purpose {
            return try require(saved[id]!.state == .prewarming, "ordered \(id) again")
        }
        guard case .prewarm(let key, let depth) = purpose else {
            if case .requested(_, .launch(let launch)) = event, launch.app == app,
                launch.inBackground,
                !launch.isAttached, let until = crashLoopUntil[app]
            {
                try require(until <= now, "background launch of \(app) in a crash loop")
            }
            try checkColdReason(saved[id]!, now)
            return try checkBeginning(id, now)
        }
        try require(installed[app]?.isEligible == true, "prewarmed an ineligible app")
        try require(
            savedApps[app]?.misfiredGeneration != installed[app]?.generation,
            "prewarmed \(app), which misfired")
        if installed[app]?.prewarmOccasion == .auto {
            try require(
                plan.contains(app) || wished.contains(app)
                    || savedApps[app]?.isPoolWanted == true,
                "prewarmed \(app), which is in no plan")
        }
        try checkDepth(depth, of: app, key)
        try require(pressure == .none, "prewarmed under pressure")
        try require(!isAsleep, "prewarmed on the way to sleep")
        try checkConditions(app, now)
        try checkConcurrency(id, app)
        try checkLull(id, app, now)
        try require(retryAt[app].map { $0 <= now } ?? true, "prewarmed \(app) in its back-off")
        try require(
            crashLoopUntil[app].map { $0 <= now } ?? true, "prewarmed \(app) in a crash loop")
        churn[app, default: (now, 0)].count += 1
        let (since, count) = churn[app]!
        let allowed =
            Int64(installed[app]!.prewarmCount + 2)
            * (4 + since.duration(to: now).components.seconds)
        try require(Int64(count) <= allowed, "\(app) is prewarmed in a loop")
    }

    /// If a launch was cold because of a failure or a reclaim, there must have been one.
    private func checkColdReason(_ record: InstanceRecord, _ now: Instant) throws(Violation) {
        guard let reason = record.coldReason else { return }
        let reasons = record.launchIdentifier.flatMap { reasonsWhenAsked[record.app]?[$0] } ?? []
        try require(
            isTrue(reason, of: record.app) || reasons.contains(reason)
                || reason == .backOff && crashLoops(record.app, now),
            "\(record.app) had no \(reason) to be cold for")
    }

    private func crashLoops(_ app: AppIdentifier, _ now: Instant) -> Bool {
        savedApps[app]?.crashLoopUntil.map { $0 > now } ?? false
    }

    /// Whether the app has that reason, if it is one that can be known.
    func isTrue(_ reason: ColdReason, of app: AppIdentifier) -> Bool {
        switch reason {
        case .reclaimed: poolReclaimed.contains(app)
        case .backOff: savedApps[app].map { $0.prewarmFailures > 0 } ?? false
        case _: true
        }
    }

    private mutating func checkAnswer(
        _ request: RequestIdentifier, _ answer: Answer, _ world: World
    ) throws(Violation) {
        try require(owed.removeValue(forKey: request) != nil, "answered \(request) unasked")
        switch answer {
        case .launched(let outcome, _): try checkLaunched(request, outcome, world)
        case .prewarmed(let id):
            try require(saved[id]?.state == .prewarmed, "\(id) is said to be prewarmed")
        case .done(let id, let state):
            try require(state == .notRunning || saved[id] != nil, "done with unknown \(id)")
        case .exited(let record):
            // Processes that a client's program leaves behind live on after it has ended.
            let hasLeftRest =
                record.isAttached && record.exitStatus != nil && record.state.isRunning
            try require(
                hasLeftRest || (record.state == .notRunning && record.isEmpty),
                "an end was answered before it came")
        case .refused, .accepted, .prepared: break
        case .discarded(let app, let scene):
            let sessions = savedApps[app]?.sessions ?? []
            try require(!sessions.contains(scene), "discarded \(scene) and kept it")
            try require(world.states[app]?[scene] == nil, "kept the state of discarded \(scene)")
        }
    }

    private mutating func checkLaunched(
        _ request: RequestIdentifier, _ outcome: LaunchOutcome, _ world: World
    ) throws(Violation) {
        let id = outcome.instance
        let process = world.processes[id]
        try require(process?.isSpawned == true, "launched \(id), which was never spawned")
        try checkDepth(outcome, process)
        if outcome.kind == .prewarmed || outcome.kind == .startedAnew {
            // An instance that is unheard, or ended so, may have run. Its launch counts, also when it
            // is repeated.
            let mayHaveRun = unheard.contains(id) || saved[id]?.exitStatus == .unknown
            try require(
                process!.hasStarted || mayHaveRun, "launched \(id), which has not started")
        }
        try require(saved[id]?.launchedAt != nil, "launched \(id), which is not saved")
        tally.note(outcome)
        guard let launch = launchedBy[request] else { return }
        // The instance that was launched under a name serves that name for as long as the instance
        // is remembered.
        let name = launch.launchIdentifier
        if let former = served[name], let record = saved[former], record.app == launch.app,
            record.launchIdentifier == name
        {
            try require(former == id, "launch \(name) served by \(former) and \(id)")
            try require(outcome.isRepeated, "launch \(name) was served twice")
        }
        served[name] = id
    }

    private mutating func checkOccurrence(
        _ occurrence: Occurrence, _ event: Event, _ now: Instant
    ) throws(Violation) {
        switch occurrence {
        case .stateChanged(let id, _, let from, let to, _):
            try checkMove(id, from, to, event, now)
        case .reclaimed(let id, let app, _, let level, let state):
            try require(states[id] == state, "reclaimed \(id) from \(state)")
            if state == .prewarming || state == .prewarmed { poolReclaimed.insert(app) }
            if case .instanceStalled(id, level) = event {
                reclaimed.insert(id)
                return try checkStalledEnd(id, now)
            }
            try checkReclaim(id, level)
        case .prewarmFailed(let app, _, let until):
            try require(machine.poolTaken != app, "a kernel kill counts as failure of \(app)")
            let longest = max(policy.backOffCap, policy.reclaimPause)
            let isBounded = until > now && until <= now.advanced(by: longest)
            try require(isBounded, "back-off of \(app) is unbounded")
            // An app that is removed and returns counts as new.
            if installed[app] != nil { retryAt[app] = until }
        case .exited(let record):
            tally.note(record)
            try checkMachineEnd(record, now)
            scenes[record.instance] = nil
            try require(
                record.endReason != .watchdog || overdue.contains(record.instance),
                "the watchdog ended \(record.instance), which was in time")
        case .restartScheduled(let app, let at): try checkRestart(of: app, at: at, event, now)
        case .sceneChanged(let id, _, let scene, let to): try checkScene(id, scene, to)
        case .missedStep(let id, _, _, _):
            try require(overdue.contains(id), "\(id) missed a step that was not overdue")
        case .pressureChanged(let level):
            try require(level == pressure, "the pressure is \(pressure), not \(level)")
        case .launchScreenShown(let id, _, _): try checkScreenShown(id)
        case .launchScreenDropped(let id, _, _):
            try require(screens.remove(id) != nil, "dropped an unshown launch screen of \(id)")
        case .instanceStalled(let id, _, _):
            try require(states[id]?.isRunning == true, "\(id) stalls but does not run")
            machine.stalledAt[id] = now
        case .triggersLeftAlone(let app, let count):
            try require(count >= triggerLimit.burst, "triggers of \(app) ignored too soon")
        case .failed: tally.failures += 1
        case .librariesLearned(_, let count):
            try require(count > 0, "learned no libraries")
        case .libraryDropped(let id, let lesson, _, _):
            try require(
                saved[id]?.depth == .libraries && learned.contains(lesson),
                "left out a library of \(id), which opens none")
            tally.droppedLibraries += 1
        case .depthTimed(let app): try checkTiming(app, event)
        case .demoted(let id, let app, let fault, _, _, _): try checkDemotion(id, app, fault, event)
        case .launched, .misfired, .crashLooped, .slowStep, .pagedOut, .pausedWithThreads: break
        case .stateKept, .stateRefused, .stateDeleted: break
        case .backgroundTimeExpiring, .runBegan: break
        case .runEnded(let id, _, let identifier, let outcome):
            try noteEnded(id, identifier, outcome)
        }
    }

    private mutating func checkMove(
        _ id: InstanceIdentifier, _ from: ExecutionState, _ to: ExecutionState, _ event: Event,
        _ now: Instant
    ) throws(Violation) {
        touched.insert(id)
        if let known = states[id] {
            try require(known == from, "\(id) is \(known) and left \(from)")
            try require(legal[from]!.contains(to), "illegal: \(id) from \(from) to \(to)")
        } else {
            let isFirst = from == .notRunning && (to == .prewarming || to == .launching)
            try require(isFirst, "\(id) began as \(to)")
        }
        if to == .prewarmed, let app = saved[id]?.app,
            savedApps[app]?.prewarmRetryAt.map({ $0 <= now }) ?? true
        {
            poolReclaimed.remove(app)
        }
        if to == .suspended {
            try checkSuspension(id, event, now)
            try checkNothingOpen(id)
        }
        if !to.isRunning { tasks.open[id] = nil }
        if to == .terminating { ending.insert(id) }
        if to == .active || to == .inactive { frontsMayDiffer = true }
        if to == .background { backgroundSince[id] = now }
        if to.isForeground { machine.fileLockedSince[id] = nil }
        states[id] = to
    }

    private func checkSuspension(
        _ id: InstanceIdentifier, _ event: Event, _ now: Instant
    ) throws(Violation) {
        if case .requested(_, .transition(_, .suspend)) = event { return }
        if case .fileLocksInspected(id, false) = event {
            return try require(machine.inquiries.contains(id), "suspended \(id) without asking")
        }
        // An app that acknowledges its states is suspended after its acknowledgement.
        let isAsked = owed.values.contains {
            if case .transition(_, .suspend) = $0 { true } else { false }
        }
        if isAsked && saved[id]?.conversation != nil { return }
        // A client, which may have left, asked for the suspension, and a file lock delayed it.
        if machine.fileLockedSince[id] != nil { return }
        let record = saved[id]!
        try require(!record.isAttached, "suspended attached \(id) without a request")
        let grace = installed[record.app]?.backgroundGrace ?? policy.backgroundGrace
        let due = backgroundSince[id]!.advanced(by: grace)
        try require(due <= now, "suspended \(id) before its background time was over")
    }

    private mutating func checkReclaim(
        _ id: InstanceIdentifier, _ level: MemoryPressure
    ) throws(Violation) {
        reclaimed.insert(id)
        try require(level >= .warning && level == pressure, "reclaimed \(id) without pressure")
        try require(saved[id]?.isAttached == false, "reclaimed attached \(id)")
        switch states[id]! {
        case .prewarming, .prewarmed: break
        case .suspended: try requireNone([.prewarming, .prewarmed], before: id)
        case .background:
            try require(level == .critical, "reclaimed background \(id) at \(level)")
            try requireNone([.prewarming, .prewarmed, .suspended], before: id)
        case .launching, .inactive, .active, .terminating, .notRunning:
            throw Violation("reclaimed \(id) in \(states[id]!)")
        }
    }

    private func requireNone(
        _ better: Set<ExecutionState>, before id: InstanceIdentifier
    ) throws(Violation) {
        let skipped = states.first {
            better.contains($0.value) && saved[$0.key]?.isAttached == false
        }
        try require(skipped == nil, "reclaimed \(id) before \(skipped!.key)")
    }
}
