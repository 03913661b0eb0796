// Apps that acknowledge their states (those made with the SDK). The daemon simply declares that an
// unmodified program is in front. An app made with the SDK is told each step, and its state is the
// one that it has acknowledged:
//
//   a goal for each scene → the next step → the app is told, with a cookie and a deadline → it
//   acknowledges → the scene moves → the app's state follows its scenes → the next step …
//
// One step is under way at a time. A warning is recorded after half of the step's time. When all of
// it is over, the shell is asked whether a debugger is attached to the app. If none is, the
// watchdog ends the app.

extension Lifecycle {
    /// How long the shell may take to look for a debugger, and the time until it looks again.
    static let debuggerInterval: Duration = .seconds(1)

    // MARK: Beginning

    /// The app has finished its launch sequence, so from now on it is told its states.
    mutating func beginConversation(_ id: InstanceIdentifier) {
        let app = self[id].record.app
        let inBackground = self[id].record.inBackground
        var scene = SceneRecord(scene: .application, goal: inBackground ? .background : .foreground)
        if directory[app]?.description?.scenes ?? .unsupported == .unsupported {
            // An app without scenes was inactive or in the background while it launched, so no
            // scene is to be connected.
            scene.isConnected = true
            scene.activation = inBackground ? .unattached : .foregroundInactive
        } else {
            scene.scene = latestSession(of: app)
        }
        self[id].isOverdue = false
        update(id) { [scene] in
            $0.course = $0.course.running(.arriving)
            $0.deadline = nil
            $0.conversation = Conversation(scenes: [scene])
        }
        finishedLaunching(app)
        tellDiscarded(id)
        if inBackground { return followScenes(id) }
        activate(id)
        followScenes(id)
    }

    // MARK: Goals

    /// Brings the scene used last to the front. If the app has no scene, one is opened.
    mutating func bringForward(_ id: InstanceIdentifier) {
        let record = self[id].record
        let scenes = scenesInFront(record)
        update(id) { [now, scenes] in
            $0.inBackground = false
            $0.lastUsed = now
            if $0.state == .background { $0.deadline = nil }
            $0.dialogue.scenes = scenes
        }
        stopClock(id)
        answerFreeze(of: id, .done(id, record.state))
        enterFront(self[id].record)
        proceed(id)
    }

    private mutating func scenesInFront(_ record: InstanceRecord) -> [SceneRecord] {
        var scenes = record.dialogue.scenes
        if record.dialogue.wantsForeground { return scenes }
        if let last = scenes.lastIndex(where: { $0.goal != .disconnected }) {
            scenes[last].goal = .foreground
            return scenes
        }
        let session = latestSession(of: record.app)
        if let index = scenes.firstIndex(where: { $0.scene == session }) {
            scenes[index].goal = .foreground
        } else if scenes.count < Conversation.sceneLimit {
            scenes.append(SceneRecord(scene: session, goal: .foreground))
        }
        return scenes
    }

    mutating func sendBack(_ id: InstanceIdentifier) {
        leaveFront(self[id].record)
        update(id) { record in
            record.inBackground = true
            record.isInterrupted = false
            for index in record.dialogue.scenes.indices
            where record.dialogue.scenes[index].goal == .foreground {
                record.dialogue.scenes[index].goal = .background
            }
        }
        proceed(id)
    }

    // MARK: Steps

    /// Tells the next step, unless one is under way or nothing is left to do.
    mutating func proceed(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard let conversation = record.conversation, conversation.pending == nil,
            record.state.isRunning, record.state != .suspended
        else { return }
        guard let (scene, step) = conversation.next(isInterrupted: isInterrupted(id))
        else { return settled(id) }
        tell(id, step, scene)
    }

    private mutating func tell(
        _ id: InstanceIdentifier, _ step: LifecycleStep, _ scene: SceneIdentifier
    ) {
        if step == .connect || step == .connectInBackground { prepareState(of: scene, for: id) }
        let half = now.advanced(by: policy.limit(of: step) / 2)
        update(id) {
            $0.dialogue.lastCookie += 1
            $0.dialogue.pending = PendingStep(
                step: step, scene: scene, cookie: $0.dialogue.lastCookie, deadline: half)
        }
        deadlines.set(.step(id), at: half)
        effects.append(.tell(id, self[id].record.dialogue.pending!, .atEndOfEvent))
    }

    /// No step is left: every scene has reached its goal.
    private mutating func settled(_ id: InstanceIdentifier) {
        let record = self[id].record
        // An instance that is still launching must first change its state (`followScenes`).
        guard record.state != .launching else { return }
        trialIsOver(for: id)
        answerGoal(of: id, .done(id, record.state))
        if record.state == .background { settleInBackground(id) }
    }

    mutating func acknowledged(_ id: InstanceIdentifier, _ cookie: UInt64) {
        guard let record = table[id]?.record, let pending = record.conversation?.pending,
            pending.cookie == cookie
        else { return }
        if record.state == .terminating, pending.step == .willTerminate { return agreedToEnd(id) }
        guard record.state.isRunning else { return }
        self[id].isOverdue = false
        self[id].savedScenes = []
        deadlines.remove(.step(id))
        var scenes = record.dialogue.scenes
        if let index = scenes.firstIndex(where: { $0.scene == pending.scene }) {
            let before = scenes[index].activation
            scenes[index].apply(pending.step)
            let after = scenes[index].activation
            if before != after, pending.scene != .application {
                report(.sceneChanged(id, record.app, pending.scene, after))
            }
            let isGone = pending.step == .disconnect && scenes[index].goal == .disconnected
            if isGone { scenes.remove(at: index) }
        }
        update(id) { [scenes] in
            $0.dialogue.scenes = scenes
            $0.dialogue.pending = nil
        }
        followScenes(id)
    }

    /// Moves the instance to the state that its scenes are in, then tells the next step.
    mutating func followScenes(_ id: InstanceIdentifier) {
        guard let wanted = self[id].record.dialogue.aggregate else { return proceed(id) }
        let state = self[id].record.state
        if wanted == .background {
            if state == .active { move(id, to: .inactive) }
            if state != .background { move(id, to: .background) }
        } else {
            if state != .inactive && state != wanted { move(id, to: .inactive) }
            if wanted == .active && state != .active { move(id, to: .active) }
        }
        proceed(id)
    }

    // MARK: Deadlines

    /// The first time, at half of the step's time, records a warning. The second time, the watchdog
    /// ends the app, unless a debugger is attached to it.
    mutating func stepDeadlineReached(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record else { return }
        guard let pending = record.conversation?.pending else { return ownEndIsOverdue(id) }
        if pending.isWarned { return becameOverdue(id) }
        report(.slowStep(id, record.app, pending.step, pending.scene))
        let rest = policy.limit(of: pending.step) / 2
        update(id) { [now] in
            $0.dialogue.pending!.isWarned = true
            $0.dialogue.pending!.deadline = now.advanced(by: rest)
        }
        deadlines.set(.step(id), at: self[id].record.dialogue.pending!.deadline)
    }

    /// The instance took too long to launch, or to acknowledge a step.
    mutating func becameOverdue(_ id: InstanceIdentifier) {
        let again = now.advanced(by: Self.debuggerInterval)
        if self[id].record.phase == .starting || self[id].record.isUndecided {
            update(id) { $0.deadline = again }
        } else {
            update(id) { $0.conversation?.pending?.deadline = again }
            deadlines.set(.step(id), at: again)
        }
        self[id].isOverdue = true
        effects.append(.inspectTracer(id))
    }

    /// No watchdog ends an app while a debugger is attached: the deadline is postponed until the
    /// debugger has detached.
    mutating func tracerInspected(_ id: InstanceIdentifier, isTraced: Bool) {
        guard table[id]?.isOverdue == true else { return }
        self[id].isOverdue = false
        let record = self[id].record
        guard !isTraced, record.state.isRunning else { return }
        if record.phase == .starting || record.isUndecided {
            launchFailed(record.app)
            end(id, .launchWatchdog, gently: false)
        } else if let pending = record.conversation?.pending {
            report(.missedStep(id, record.app, pending.step, pending.scene))
            if record.state == .launching { launchFailed(record.app) }
            end(id, .watchdog, gently: false)
        } else if isOutOfTime(record) {
            end(id, .backgroundTaskTimeout, gently: false)
        }
    }

    // MARK: Ending

    mutating func tellOfItsEnd(_ id: InstanceIdentifier) {
        tell(id, .willTerminate, .application)
        // The grace of the ending serves as the deadline of this step.
        deadlines.remove(.step(id))
    }

    /// The app has agreed to end and now exits by itself. A SIGTERM sent at once would often arrive
    /// before the app has exited.
    private mutating func agreedToEnd(_ id: InstanceIdentifier) {
        update(id) { $0.dialogue.pending = nil }
        awaitOwnEnd(id)
    }

    private mutating func awaitOwnEnd(_ id: InstanceIdentifier) {
        guard self[id].record.exitStatus == nil else { return }
        deadlines.set(.step(id), at: now.advanced(by: policy.exitGrace))
    }

    /// The app has agreed to end, but its process is still there after the exit grace.
    private mutating func ownEndIsOverdue(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard record.state == .terminating, record.exitStatus == nil else { return }
        effects.append(.terminate(id))
    }

    /// After a restart of the supervisor: tells willTerminate again, or, if the app has
    /// acknowledged that, gives it the exit grace again.
    mutating func awaitOwnEndAgain(_ id: InstanceIdentifier) {
        guard let pending = self[id].record.conversation?.pending,
            pending.step == .willTerminate
        else { return awaitOwnEnd(id) }
        effects.append(.tell(id, pending, .atEndOfEvent))
    }

    mutating func answerGoal(of id: InstanceIdentifier, _ answer: Answer) {
        let waiters = self[id].goalWaiters
        guard !waiters.isEmpty else { return }
        self[id].goalWaiters = []
        for request in waiters { self.answer(request, answer) }
    }

    // MARK: Coming back

    /// Repeats the step that a former supervisor told. The cookie shows the app whether it has done
    /// the step already.
    mutating func tellStepAgain(_ id: InstanceIdentifier) {
        guard let pending = self[id].record.conversation?.pending else { return proceed(id) }
        // `awaitOwnEndAgain` takes care of an instance that is being ended.
        guard self[id].record.state.isRunning else { return }
        if pending.step == .connect || pending.step == .connectInBackground {
            prepareState(of: pending.scene, for: id)
        }
        let deadline = max(pending.deadline, now.advanced(by: Self.debuggerInterval))
        update(id) { $0.dialogue.pending!.deadline = deadline }
        deadlines.set(.step(id), at: deadline)
        effects.append(.tell(id, self[id].record.dialogue.pending!, .atEndOfEvent))
    }
}

extension Policy {
    /// How long an app has for a step. Sources: Apple's documentation, and observations of Apple's
    /// systems.
    public func limit(of step: LifecycleStep) -> Duration {
        switch step {
        case .connect, .connectInBackground: connectDeadline
        case .willEnterForeground, .didBecomeActive, .willResignActive, .didEnterBackground,
            .disconnect, .willTerminate:
            stepDeadline
        }
    }
}
