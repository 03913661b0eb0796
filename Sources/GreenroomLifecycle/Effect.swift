/// How much the kernel should favour an instance, through `oom_score_adj` and its CPU weight.
public enum Priority: UInt8, Sendable {
    case foreground
    case background
    case suspended
    case prewarmed
    /// The instance is on its way to the pause and nobody waits for it, so it runs only when a
    /// processor is otherwise idle.
    case preparing
}

/// What an instance is spawned for.
public enum SpawnPurpose: Hashable, Sendable {
    /// For the pool, with this environment and to this depth. The shell remembers which environment
    /// belongs to the key.
    case prewarm(EnvironmentKey, PrewarmDepth = .main)
    /// For a launch. Its origin says what the process begins with.
    case launch(LaunchOrigin, LaunchTerms)
}

/// What an instance is launched with in addition to what the request brought.
public struct LaunchTerms: Hashable, Sendable {
    public var inBackground: Bool
    /// How far the instance was prepared.
    public var depth: PrewarmDepth
    /// The daemon launches the app to run a task that the app has scheduled.
    public var isForTask: Bool
    /// The protected data of the app's user can be read.
    public var isProtectedDataAvailable: Bool
    /// Whether the app's archive follows the launch (`Effect.handOverState`).
    public var announcesState: Bool
    /// Whether the app, and whether this version of it, has never finished a launch.
    public var isFirstLaunch: Bool
    public var isFirstLaunchOfVersion: Bool

    public init(
        inBackground: Bool = false, depth: PrewarmDepth = .main, isForTask: Bool = false,
        isProtectedDataAvailable: Bool = true, announcesState: Bool = false,
        isFirstLaunch: Bool = true, isFirstLaunchOfVersion: Bool = true
    ) {
        self.inBackground = inBackground
        self.depth = depth
        self.isForTask = isForTask
        self.isProtectedDataAvailable = isProtectedDataAvailable
        self.announcesState = announcesState
        self.isFirstLaunch = isFirstLaunch
        self.isFirstLaunchOfVersion = isFirstLaunchOfVersion
    }

    /// Stands for the terms until the end of the event, when `completed` replaces it.
    static let atEndOfEvent = LaunchTerms()
}

/// What the shell needs to tell a step, besides the step itself.
public struct StepTerms: Hashable, Sendable {
    /// Whether the app has its client's terminal: ^Z may then have stopped it, so that it cannot
    /// answer.
    public var isAttached: Bool
    /// Whether the scene is connected with the state that is kept for its session.
    public var bringsState: Bool

    public init(isAttached: Bool = false, bringsState: Bool = false) {
        self.isAttached = isAttached
        self.bringsState = bringsState
    }

    /// Stands for the terms until the end of the event, when `completed` replaces it.
    static let atEndOfEvent = StepTerms()
}

/// Which scene of a running app gets a delivery, and whether the app is in the background or coming
/// to the foreground.
public struct DeliveryAddress: Hashable, Sendable {
    /// The connected scene used last; nil if none is connected yet.
    public var scene: SceneIdentifier?
    public var inBackground: Bool
    /// Whether the app is coming to the foreground and will be told willEnterForeground. The
    /// delivery comes after that.
    public var awaitsReturn: Bool

    public init(
        scene: SceneIdentifier? = nil, inBackground: Bool = false, awaitsReturn: Bool = false
    ) {
        self.scene = scene
        self.inBackground = inBackground
        self.awaitsReturn = awaitsReturn
    }

    /// Stands for the address until the end of the event, when `completed` replaces it.
    static let atEndOfEvent = DeliveryAddress()
}

/// What the shell must do, in this order. The shell decides nothing: what an effect carries is true
/// at the end of the event that it belongs to. To perform effects, the shell asks the core in only
/// two cases: when it carries one out later, about what may have changed by then (`launchTerms`,
/// `isProtectedDataAvailable`), and when a reply to a client says more than the core's answer
/// (`endsWithMainProcess`, `isPausedByReclaim`).
public enum Effect: Hashable, Sendable {
    /// Keep this record in the runtime state, in place of the instance's former one. This effect
    /// comes before those that make the record true.
    indirect case save(InstanceRecord)
    case erase(InstanceIdentifier)
    case saveApp(AppRecord)
    case eraseApp(AppIdentifier)
    /// Keep an app's scheduled work across a reboot.
    case saveTasks(AppIdentifier, AppTasks)

    case spawn(InstanceIdentifier, AppIdentifier, SpawnPurpose)
    /// Tell the paused instance to go, for this launch.
    case go(InstanceIdentifier, LaunchOrigin, LaunchTerms)
    /// The instance's channel is lost, so find out in another way when the instance starts, and
    /// send `Event.started`: the instance closes its end of the channel when it starts.
    case awaitStart(InstanceIdentifier)
    /// Observe which libraries the instance opens after main while it starts, and send
    /// `Event.librariesLearned` with the same lesson.
    case learnLibraries(InstanceIdentifier, LibraryLesson)
    case freeze(InstanceIdentifier)
    /// Stop the other threads of a paused instance. Only the kernel's freezer can do that
    /// unnoticed.
    case freezePaused(InstanceIdentifier)
    case thaw(InstanceIdentifier)
    /// Have somebody watch the settings of the held instance's desktop, and send `Event.called` when
    /// one changes. Repeated each time the instance is frozen, in case nobody watches any more.
    case watchSettings(InstanceIdentifier)
    /// SIGTERM to the main process.
    case terminate(InstanceIdentifier)
    /// SIGKILL to every process of the instance.
    case kill(InstanceIdentifier)
    /// Drop the instance's descriptors and cgroup, because its end is recorded and no process is
    /// left. The app is nil if the core does not know the instance.
    case release(InstanceIdentifier, AppIdentifier?)
    case applyPriority(InstanceIdentifier, Priority)
    case answer(RequestIdentifier, Answer)
    case report(Occurrence)

    /// Watch the app's listening sockets until one is readable, then send `Event.connectionArrived`
    /// once.
    case awaitConnection(AppIdentifier)
    /// Stop watching the app's listening sockets.
    case ignoreConnections(AppIdentifier)
    /// Tell the app its next step. The same cookie may be told again.
    case tell(InstanceIdentifier, PendingStep, StepTerms)
    /// Tell the app something that needs no answer.
    case notify(InstanceIdentifier, Notice)
    /// Hand over what this request brought (a URL, a notification) to the app, which runs already.
    case deliver(InstanceIdentifier, RequestIdentifier, DeliveryAddress)
    /// Find out whether a debugger is attached to the instance, and send `Event.tracerInspected`.
    case inspectTracer(InstanceIdentifier)
    /// Find out what keeps apps from being prewarmed now, and send `Event.conditionsInspected`.
    case inspectConditions
    /// Find out whether a process of the instance holds a file lock, and send
    /// `Event.fileLocksInspected`.
    case inspectFileLocks(InstanceIdentifier)
    /// Find out whether somebody is connected to the instance through a socket of its app, or waits
    /// to be accepted, and send `Event.connectionsInspected`.
    case inspectConnections(InstanceIdentifier)
    /// Keep the archive that the app has just sent, in place of the former one.
    case keepState(InstanceIdentifier, AppIdentifier, SceneIdentifier)
    case refuseState(InstanceIdentifier, SceneIdentifier, StateRefusal)
    case deleteState(AppIdentifier, SceneIdentifier)
    /// Send the app the archive that is kept for it, or, if `isThere` is false, tell it that none
    /// will come.
    case handOverState(InstanceIdentifier, SceneIdentifier, isThere: Bool)
    case keepSessions(AppIdentifier, SessionList)
    /// Remember that the installed version of the app has finished a launch.
    case noteVersion(AppIdentifier)
    /// Page out the instance's memory, bit by bit, for as long as the instance is suspended.
    case pageOut(InstanceIdentifier)
    /// Tell the app how long it may go on in the background; nil means without a limit.
    case tellBackgroundTime(InstanceIdentifier, until: Instant?)
    /// Tell the app to end its background tasks, because otherwise it is ended at this time. May be
    /// repeated.
    case tellExpiration(InstanceIdentifier, at: Instant)
    /// Tell the app to run scheduled work. May be repeated with the same number.
    case startRun(InstanceIdentifier, ScheduledRun, until: Instant)
    case expireRun(InstanceIdentifier, ScheduledRun, at: Instant)
    /// Inspect the machine's condition, and send `Event.taskConditionsInspected`.
    case inspectTaskConditions
    /// At this time of the wall clock, in microseconds since 1970, send `Event.taskAlarmRang`; nil
    /// means never.
    case setTaskAlarm(Int64?)
}

extension Effect {
    /// The instance on whose process the effect acts. Such an effect must not overtake an earlier
    /// one on the same instance. Nil if the effect does not act on a process, or only spawns one;
    /// nil also for what an app is told about the state that it saves.
    public var target: InstanceIdentifier? {
        switch self {
        case .thaw(let instance), .applyPriority(let instance, _), .freeze(let instance),
            .freezePaused(let instance), .terminate(let instance), .kill(let instance),
            .release(let instance, _), .go(let instance, _, _), .awaitStart(let instance),
            .tell(let instance, _, _), .notify(let instance, _), .deliver(let instance, _, _),
            .inspectTracer(let instance), .inspectFileLocks(let instance),
            .inspectConnections(let instance), .pageOut(let instance),
            .learnLibraries(let instance, _), .watchSettings(let instance),
            .startRun(let instance, _, _), .expireRun(let instance, _, _),
            .tellBackgroundTime(let instance, _), .tellExpiration(let instance, _):
            instance
        case .save, .erase, .saveApp, .eraseApp, .saveTasks, .spawn, .answer, .report,
            .awaitConnection, .ignoreConnections, .inspectConditions, .keepState, .refuseState,
            .deleteState, .handOverState, .keepSessions, .noteVersion, .inspectTaskConditions,
            .setTaskAlarm:
            nil
        }
    }
}

extension Lifecycle {
    /// The effects of the event, each with the values that hold at the end of the event.
    mutating func takeEffects() -> [Effect] {
        var result: [Effect] = []
        result.reserveCapacity(dirtyInstances.count + dirtyApps.count + effects.count)
        for id in dirtyInstances where table[id] != nil {
            self[id].isDirty = false
            checkSaved(self[id].record)
            result.append(.save(self[id].record))
        }
        for app in dirtyApps where directory[app]?.isDirty == true {
            self[app].isDirty = false
            if !self[app].isRemoved || self[app].record.isForceQuit {
                result.append(.saveApp(self[app].record))
            }
        }
        // Tasks are saved after the records and before other effects, so an app is told about a run
        // only once both are saved.
        for app in schedule.dirtyApps {
            result.append(.saveTasks(app, schedule.apps[app] ?? AppTasks()))
        }
        schedule.dirtyApps.removeAll(keepingCapacity: true)
        for effect in effects {
            checkOrder(effect)
            if let effect = completed(effect) { result.append(effect) }
        }
        dirtyInstances.removeAll(keepingCapacity: true)
        dirtyApps.removeAll(keepingCapacity: true)
        effects.removeAll(keepingCapacity: true)
        return result
    }

    /// The effect with the values that hold at the end of the event. They may have changed since
    /// the effect was decided: for example, a launch that joins an instance brings it to the front.
    /// Nil for a step that was replaced in the same event, because that step is not told.
    private func completed(_ effect: Effect) -> Effect? {
        switch effect {
        case .spawn(let id, let app, .launch(let origin, _)):
            .spawn(id, app, .launch(origin, launchTerms(of: id)))
        case .go(let id, let origin, _): .go(id, origin, launchTerms(of: id))
        case .deliver(let id, let request, _): .deliver(id, request, deliveryAddress(of: id))
        case .tell(let id, let step, _):
            table[id]?.record.conversation?.pending?.cookie == step.cookie
                ? .tell(id, step, stepTerms(of: id, step)) : nil
        case .answer(let request, .launched(let outcome, _)):
            .answer(
                request, .launched(outcome, inBackground: isInBackground(outcome.instance)))
        case .report(.stateChanged(let id, let app, let from, let to, _)):
            .report(
                .stateChanged(id, app, from: from, to: to, inBackground: isInBackground(id)))
        case .spawn(_, _, .prewarm), .answer, .report, .save, .erase, .saveApp, .eraseApp,
            .saveTasks, .awaitStart, .learnLibraries, .freeze, .freezePaused, .thaw, .watchSettings,
            .terminate, .kill, .release,
            .applyPriority, .awaitConnection, .ignoreConnections, .notify, .inspectTracer,
            .inspectConditions, .inspectFileLocks, .inspectConnections, .keepState, .refuseState,
            .deleteState, .handOverState, .keepSessions, .noteVersion, .pageOut,
            .tellBackgroundTime,
            .tellExpiration, .startRun, .expireRun, .inspectTaskConditions, .setTaskAlarm:
            effect
        }
    }

    /// The terms of a launch of the instance at this moment.
    public func launchTerms(of id: InstanceIdentifier) -> LaunchTerms {
        guard let record = table[id]?.record else { return LaunchTerms() }
        let first = isFirstLaunch(of: record.app)
        let user = directory[record.app]?.description?.user
        return LaunchTerms(
            inBackground: record.inBackground, depth: record.depth,
            isForTask: isLaunchedForTask(record.app),
            isProtectedDataAvailable: user.map(isProtectedDataAvailable(toUser:)) ?? true,
            announcesState: announcesState(to: id), isFirstLaunch: first.ever,
            isFirstLaunchOfVersion: first.ofVersion)
    }

    private func deliveryAddress(of id: InstanceIdentifier) -> DeliveryAddress {
        DeliveryAddress(
            scene: table[id]?.record.conversation?.scenes.last { $0.isConnected }?.scene,
            inBackground: isInBackground(id),
            awaitsReturn: table[id]?.record.conversation?.awaitsReturn ?? false)
    }

    private func stepTerms(of id: InstanceIdentifier, _ step: PendingStep) -> StepTerms {
        StepTerms(
            isAttached: table[id]?.record.isAttached ?? false,
            bringsState: isHandedOver(step.scene, to: id))
    }

    private func isInBackground(_ id: InstanceIdentifier) -> Bool {
        table[id]?.record.inBackground ?? false
    }
}
