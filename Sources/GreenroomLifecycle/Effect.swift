/// What became of a launch.
public struct LaunchOutcome: Hashable, Sendable {
    public var instance: InstanceIdentifier
    public var kind: LaunchKind
    /// Set for a cold launch.
    public var coldReason: ColdReason?
    /// True if this repeats a recorded outcome instead of launching again.
    public var isRepeated: Bool
    public init(
        instance: InstanceIdentifier, kind: LaunchKind, coldReason: ColdReason? = nil,
        isRepeated: Bool = false
    ) {
        self.instance = instance
        self.kind = kind
        self.coldReason = coldReason
        self.isRepeated = isRepeated
    }
}

/// Why a request was not carried out.
public enum Refusal: Hashable, Sendable {
    /// No app of that name is installed.
    case noSuchApp(AppIdentifier)
    /// The app or instance that the request is about does not run.
    case notRunning(Target)
    /// The instance's state does not allow it, for example suspending a terminating instance.
    case illegalTransition(InstanceIdentifier, from: ExecutionState, Transition)
    /// The app cannot be prewarmed.
    case ineligible(AppIdentifier)
    /// Prewarms or launches of the app have failed lately.
    case backOff(AppIdentifier, until: Instant)
    /// The app has crashed too often lately.
    case crashLoop(AppIdentifier, until: Instant)
    /// There is no memory for another paused instance: the budget is used up, or memory is short.
    case overBudget(AppIdentifier)
    /// No more instances may exist. The limit is that of all users together.
    case tooManyInstances(limit: Int)
    /// The app's user has as many instances as that user's share allows.
    case tooManyInstancesOfUser(limit: Int)
    case spawnFailed(AppIdentifier, SpawnFailure)
    /// The instance ended before it reached what was asked for.
    case ended(InstanceIdentifier, ExitReason)
    case shuttingDown
    case freezeFailed(InstanceIdentifier)
    /// The daemon no longer starts the app by itself.
    case failed(AppIdentifier, SupervisionFailure)
    /// An app that it requires could not be started.
    indirect case dependencyFailed(AppIdentifier, on: AppIdentifier, Refusal)
    /// The app ended before it was ready.
    case requiredEnded(AppIdentifier, ExitReason)
    /// An app that conflicts with it was launched.
    case conflict(AppIdentifier, with: AppIdentifier)
    /// The app supports no scenes (`noScenes`), or only one (`singleScene`).
    case noScenes(AppIdentifier)
    case singleScene(AppIdentifier)
    /// The app has no session of that number.
    case noSuchScene(AppIdentifier, SceneIdentifier)
    case tooManyScenes(AppIdentifier, limit: Int)
    /// A client ended the app while its launch waited for other apps.
    case cancelled(AppIdentifier)
    /// The machine's condition does not allow prewarming.
    case held(AppIdentifier, PrewarmHold)
    /// A process of the instance holds a file lock. Frozen, it would make others wait.
    case holdsFileLock(InstanceIdentifier)
    /// The app runs already, or its triggers launched it too often.
    case notTriggered(AppIdentifier)
    /// The app has as many pending requests of that kind as it may have.
    case tooManyTasks(AppIdentifier, limit: Int)
    /// No scheduled task of that name is pending, or no task is running.
    case noSuchTask(AppIdentifier)
    /// A run of that app's scheduled work is under way, and there is one at a time.
    case runUnderWay(AppIdentifier)
}

/// The one answer to a request.
public enum Answer: Hashable, Sendable {
    case launched(LaunchOutcome)
    /// The instance is paused.
    case prewarmed(InstanceIdentifier)
    /// The request is done, and the instance is in this state now.
    case done(InstanceIdentifier, ExecutionState)
    indirect case exited(InstanceRecord)
    case refused(Refusal)
    /// The app's failures are forgotten.
    case reset(AppIdentifier)
    /// The session is discarded.
    case discarded(AppIdentifier, SceneIdentifier)
    /// The hint was taken. `isReady` says whether an instance is paused already.
    case prepared(AppIdentifier, isReady: Bool)
    /// The app's task is scheduled.
    case scheduled(AppIdentifier)
}

/// How much the kernel should favour an instance, by `oom_score_adj` and cpu weight.
public enum Priority: UInt8, Sendable {
    case foreground
    case background
    case suspended
    case prewarmed
}

/// Why a process tree is wanted.
public enum SpawnPurpose: Hashable, Sendable {
    /// For the pool, with this environment. The shell remembers which environment belongs to the
    /// key.
    case prewarm(EnvironmentKey)
    /// For a launch, with what this request brought.
    case launch(RequestIdentifier, LaunchTerms)
}

/// What an instance is launched with in addition to what the request brought.
public struct LaunchTerms: Hashable, Sendable {
    public var inBackground: Bool
    /// The protected data of the app's user can be read.
    public var isProtectedDataAvailable: Bool
    /// The app's archive follows its launch (`Effect.handOverState`).
    public var announcesState: Bool
    /// Whether the app, and whether this version of it, has never finished a launch.
    public var isFirstLaunch: Bool
    public var isFirstLaunchOfVersion: Bool

    public init(
        inBackground: Bool = false, isProtectedDataAvailable: Bool = true,
        announcesState: Bool = false, isFirstLaunch: Bool = true,
        isFirstLaunchOfVersion: Bool = true
    ) {
        self.inBackground = inBackground
        self.isProtectedDataAvailable = isProtectedDataAvailable
        self.announcesState = announcesState
        self.isFirstLaunch = isFirstLaunch
        self.isFirstLaunchOfVersion = isFirstLaunchOfVersion
    }
}

/// Which part of a running app a delivery reaches, and where the app is.
public struct DeliveryAddress: Hashable, Sendable {
    /// The connected scene used last; nil if none is connected yet.
    public var scene: SceneIdentifier?
    public var inBackground: Bool

    public init(scene: SceneIdentifier? = nil, inBackground: Bool = false) {
        self.scene = scene
        self.inBackground = inBackground
    }
}

/// What happened, for clients that watch, the journal and the history.
public enum Record: Hashable, Sendable {
    case stateChanged(
        InstanceIdentifier, AppIdentifier, from: ExecutionState, to: ExecutionState,
        inBackground: Bool)
    case launched(RequestIdentifier, LaunchIdentifier, AppIdentifier, LaunchOutcome)
    indirect case exited(InstanceRecord)
    case reclaimed(
        InstanceIdentifier, AppIdentifier, byteCount: UInt64, MemoryPressure, from: ExecutionState)
    case pressureChanged(MemoryPressure)
    /// The app is not prewarmed again before `retryAt`.
    case prewarmFailed(AppIdentifier, ExitReason, retryAt: Instant)
    /// The app is not prewarmed again.
    case misfired(InstanceIdentifier, AppIdentifier, Misfire)
    /// The app is not prewarmed before `until`, and a client cannot launch it in the background.
    case crashLooped(AppIdentifier, until: Instant)
    case restartScheduled(AppIdentifier, at: Instant)
    case failed(AppIdentifier, SupervisionFailure)
    case sceneChanged(InstanceIdentifier, AppIdentifier, SceneIdentifier, ActivationState)
    /// Half of the step's time is over.
    case slowStep(InstanceIdentifier, AppIdentifier, LifecycleStep, SceneIdentifier)
    /// All of the step's time is over, and the watchdog ends the app.
    case missedStep(InstanceIdentifier, AppIdentifier, LifecycleStep, SceneIdentifier)
    case stateKept(InstanceIdentifier, AppIdentifier, SceneIdentifier)
    case stateRefused(InstanceIdentifier, AppIdentifier, SceneIdentifier, StateRefusal)
    case stateDeleted(AppIdentifier, SceneIdentifier, StateDeletion)
    /// The instance's launch screen is to be shown, for what this request brought; then, to be
    /// taken away.
    case launchScreenShown(InstanceIdentifier, AppIdentifier, RequestIdentifier)
    case launchScreenDropped(InstanceIdentifier, AppIdentifier, LaunchScreenEnd)
    /// The instance stalls within its own memory limit.
    case instanceStalled(InstanceIdentifier, AppIdentifier, MemoryPressure)
    case pagedOut(InstanceIdentifier, AppIdentifier, byteCount: UInt64)
    /// The app's triggers launched it so often in a row that they are ignored from now on.
    case triggersLeftAlone(AppIdentifier, launches: Int)
    /// The instance is told that its background time is about to end.
    case backgroundTimeExpiring(InstanceIdentifier, AppIdentifier)
    case runBegan(InstanceIdentifier, AppIdentifier, String)
    case runEnded(InstanceIdentifier, AppIdentifier, String, RunOutcome)
}

/// What the shell must do, in this order. The shell decides nothing, and need not ask the core:
/// what an effect carries is true at the end of the event that it belongs to.
public enum Effect: Hashable, Sendable {
    /// Keep this record in the runtime state, in place of the instance's former one. Comes before
    /// the effects that make the record true.
    indirect case save(InstanceRecord)
    case erase(InstanceIdentifier)
    case saveApp(AppRecord)
    case eraseApp(AppIdentifier)
    /// Keep an app's scheduled work across a reboot.
    case saveTasks(AppIdentifier, AppTasks)

    case spawn(InstanceIdentifier, AppIdentifier, SpawnPurpose)
    /// Tell the paused instance to go, for this request.
    case go(InstanceIdentifier, RequestIdentifier, LaunchTerms)
    /// The instance's channel is lost, so find out in another way when it starts (`Event.started`):
    /// it closes its end of the channel then.
    case awaitStart(InstanceIdentifier)
    case freeze(InstanceIdentifier)
    case thaw(InstanceIdentifier)
    /// SIGTERM to the main process.
    case terminate(InstanceIdentifier)
    /// SIGKILL to every process of the instance.
    case kill(InstanceIdentifier)
    /// Drop the instance's descriptors and cgroup: its end is recorded and no process is left.
    case release(InstanceIdentifier)
    case applyPriority(InstanceIdentifier, Priority)
    case answer(RequestIdentifier, Answer)
    case record(Record)

    /// Watch the app's listening sockets until one is readable, then send `Event.connectionArrived`
    /// once.
    case awaitConnection(AppIdentifier)
    /// Stop watching the app's listening sockets.
    case ignoreConnections(AppIdentifier)
    /// Tell the app its next step. The same cookie may come again.
    case tell(InstanceIdentifier, PendingStep)
    /// Tell the app something that needs no answer.
    case notify(InstanceIdentifier, Notice)
    /// Hand what this request brought (a URL, a notification) to the app that runs already.
    case deliver(InstanceIdentifier, RequestIdentifier, DeliveryAddress)
    /// Find out whether a debugger is attached to the instance, and send `Event.tracerInspected`.
    case inspectTracer(InstanceIdentifier)
    /// Find out what holds prewarming, and send `Event.conditionsInspected`.
    case inspectConditions
    /// Find out whether a process of the instance holds a file lock, and send
    /// `Event.fileLocksInspected`.
    case inspectFileLocks(InstanceIdentifier)
    /// Keep the archive that the app has just sent, in place of the former one.
    case keepState(InstanceIdentifier, AppIdentifier, SceneIdentifier)
    case refuseState(InstanceIdentifier, SceneIdentifier, StateRefusal)
    case deleteState(AppIdentifier, SceneIdentifier)
    /// Send the app what is kept for it, or tell it that nothing will come after all.
    case handOverState(InstanceIdentifier, SceneIdentifier, isThere: Bool)
    case keepSessions(AppIdentifier, SessionList)
    /// Remember that the installed version of the app has finished a launch.
    case noteVersion(AppIdentifier)
    /// Move what the instance holds out of memory, bit by bit, for as long as it is suspended.
    case pageOut(InstanceIdentifier)
    /// Tell the app how long it may go on in the background; nil means without a limit.
    case tellBackgroundTime(InstanceIdentifier, until: Instant?)
    /// Tell the app to end its background tasks, or it is ended at this time. May come again.
    case tellExpiration(InstanceIdentifier, at: Instant)
    /// Tell the app to run scheduled work. The same number may come again.
    case startRun(InstanceIdentifier, ScheduledRun, until: Instant)
    case expireRun(InstanceIdentifier, ScheduledRun, at: Instant)
    /// Find out the machine's condition, and send `Event.taskConditionsInspected`.
    case inspectTaskConditions
    /// At this time of the wall clock, in microseconds since 1970, send `Event.taskAlarmRang`; nil
    /// means never.
    case setTaskAlarm(Int64?)
}
