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
    case noSuchApp(AppIdentifier)
    case notRunning(Target)
    /// The state does not allow it, for example suspending a terminating instance.
    case illegalTransition(InstanceIdentifier, from: ExecutionState, Transition)
    case ineligible(AppIdentifier)
    case backOff(AppIdentifier, until: Instant)
    case crashLoop(AppIdentifier, until: Instant)
    case overBudget(AppIdentifier)
    case tooManyInstances(limit: Int)
    /// Of the app's user, who has as many as that user's share allows.
    case tooManyInstancesOfUser(limit: Int)
    case spawnFailed(AppIdentifier, SpawnFailure)
    /// It ended before it reached what was asked for.
    case ended(InstanceIdentifier, ExitReason)
    case shuttingDown
    case freezeFailed(InstanceIdentifier)
    /// The daemon does not start it by itself any more.
    case failed(AppIdentifier, SupervisionFailure)
    /// Another app that it requires cannot be had.
    indirect case dependencyFailed(AppIdentifier, on: AppIdentifier, Refusal)
    /// It ended before it was ready.
    case requiredEnded(AppIdentifier, ExitReason)
    /// Another app was launched that it conflicts with.
    case conflict(AppIdentifier, with: AppIdentifier)
    /// The app supports no scenes, or one only.
    case noScenes(AppIdentifier)
    case singleScene(AppIdentifier)
    case noSuchScene(AppIdentifier, SceneIdentifier)
    case tooManyScenes(AppIdentifier, limit: Int)
    /// A client ended the app while its launch waited for other apps.
    case cancelled(AppIdentifier)
    /// The machine is in no condition for prewarming.
    case held(AppIdentifier, PrewarmHold)
    /// A process of it holds a file lock: frozen, it would make others wait.
    case holdsFileLock(InstanceIdentifier)
    /// It runs already, or its triggers launched it too often.
    case notTriggered(AppIdentifier)
    /// It has as many pending requests of that kind as it may.
    case tooManyTasks(AppIdentifier, limit: Int)
    /// Nothing of that name is pending, or running.
    case noSuchTask(AppIdentifier)
    /// Scheduled work of that app is being run: one at a time.
    case runUnderWay(AppIdentifier)
}

/// What a request is told, once.
public enum Answer: Hashable, Sendable {
    case launched(LaunchOutcome)
    case prewarmed(InstanceIdentifier)
    case done(InstanceIdentifier, ExecutionState)
    indirect case exited(InstanceRecord)
    case refused(Refusal)
    case reset(AppIdentifier)
    case discarded(AppIdentifier, SceneIdentifier)
    /// The hint was taken; whether an instance is paused already.
    case prepared(AppIdentifier, isReady: Bool)
    /// Its work is scheduled.
    case scheduled(AppIdentifier)
}

/// What the kernel should prefer, by `oom_score_adj` and cpu weight.
public enum Priority: UInt8, Sendable {
    case foreground
    case background
    case suspended
    case prewarmed
}

/// Why a process tree is wanted.
public enum SpawnPurpose: Hashable, Sendable {
    /// With this environment (the shell remembers which one belongs to the key).
    case prewarm(EnvironmentKey)
    /// With what this request brought.
    case launch(RequestIdentifier, LaunchTerms)
}

/// What an instance is launched with, beside what the request brought.
public struct LaunchTerms: Hashable, Sendable {
    public var inBackground: Bool
    /// Its user's protected data can be read.
    public var isProtectedDataAvailable: Bool
    /// Its archive follows its launch (`Effect.handOverState`).
    public var announcesState: Bool
    /// Neither the app, nor this version of it, has ever finished a launch.
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

/// Whom a delivery reaches in an app that runs already.
public struct DeliveryAddress: Hashable, Sendable {
    /// The connected scene used last; nil where none is connected yet.
    public var scene: SceneIdentifier?
    public var inBackground: Bool

    public init(scene: SceneIdentifier? = nil, inBackground: Bool = false) {
        self.scene = scene
        self.inBackground = inBackground
    }
}

/// What happened, for watchers, the journal and history.
public enum Record: Hashable, Sendable {
    case stateChanged(
        InstanceIdentifier, AppIdentifier, from: ExecutionState, to: ExecutionState,
        inBackground: Bool)
    case launched(RequestIdentifier, LaunchIdentifier, AppIdentifier, LaunchOutcome)
    indirect case exited(InstanceRecord)
    case reclaimed(
        InstanceIdentifier, AppIdentifier, byteCount: UInt64, MemoryPressure, from: ExecutionState)
    case pressureChanged(MemoryPressure)
    case prewarmFailed(AppIdentifier, ExitReason, retryAt: Instant)
    /// It is not prewarmed again.
    case misfired(InstanceIdentifier, AppIdentifier, Misfire)
    case crashLooped(AppIdentifier, until: Instant)
    case restartScheduled(AppIdentifier, at: Instant)
    case failed(AppIdentifier, SupervisionFailure)
    case sceneChanged(InstanceIdentifier, AppIdentifier, SceneIdentifier, ActivationState)
    /// Half its time is over.
    case slowStep(InstanceIdentifier, AppIdentifier, LifecycleStep, SceneIdentifier)
    /// All of it: the watchdog ends the app.
    case missedStep(InstanceIdentifier, AppIdentifier, LifecycleStep, SceneIdentifier)
    case stateKept(InstanceIdentifier, AppIdentifier, SceneIdentifier)
    case stateRefused(InstanceIdentifier, AppIdentifier, SceneIdentifier, StateRefusal)
    case stateDeleted(AppIdentifier, SceneIdentifier, StateDeletion)
    /// Its launch screen is to be shown, for what this request brought; is to go.
    case launchScreenShown(InstanceIdentifier, AppIdentifier, RequestIdentifier)
    case launchScreenDropped(InstanceIdentifier, AppIdentifier, LaunchScreenEnd)
    /// It stalls within its own limit.
    case instanceStalled(InstanceIdentifier, AppIdentifier, MemoryPressure)
    case pagedOut(InstanceIdentifier, AppIdentifier, byteCount: UInt64)
    /// Its triggers launched it so often in a row that they are left alone.
    case triggersLeftAlone(AppIdentifier, launches: Int)
    /// It is told that its background time is about to end.
    case backgroundTimeExpiring(InstanceIdentifier, AppIdentifier)
    case runBegan(InstanceIdentifier, AppIdentifier, String)
    case runEnded(InstanceIdentifier, AppIdentifier, String, RunOutcome)
}

/// What the shell must do, in this order. It decides nothing about them, and asks the core nothing to
/// perform them: what an effect carries holds when its event has been decided to the end.
public enum Effect: Hashable, Sendable {
    /// Keep this in the runtime state, replacing the instance's former record. Comes before the
    /// effects that make it true.
    indirect case save(InstanceRecord)
    case erase(InstanceIdentifier)
    case saveApp(AppRecord)
    case eraseApp(AppIdentifier)
    /// Keep an app's scheduled work across a reboot.
    case saveTasks(AppIdentifier, AppTasks)

    case spawn(InstanceIdentifier, AppIdentifier, SpawnPurpose)
    /// Tell the paused instance to go, as this request.
    case go(InstanceIdentifier, RequestIdentifier, LaunchTerms)
    /// Say when it starts (`Event.started`), though its channel is lost: it has closed its end by then.
    case awaitStart(InstanceIdentifier)
    case freeze(InstanceIdentifier)
    case thaw(InstanceIdentifier)
    /// SIGTERM to the main process.
    case terminate(InstanceIdentifier)
    /// SIGKILL to every process of it.
    case kill(InstanceIdentifier)
    /// Its end is recorded and no process is left: forget descriptors and cgroup.
    case release(InstanceIdentifier)
    case applyPriority(InstanceIdentifier, Priority)
    case answer(RequestIdentifier, Answer)
    case record(Record)

    /// Watch the app's listening sockets until one is readable (`Event.connectionArrived`, once).
    case awaitConnection(AppIdentifier)
    case ignoreConnections(AppIdentifier)
    /// Tell the app its next step. May come again with the same cookie.
    case tell(InstanceIdentifier, PendingStep)
    /// Tell the app something that needs no answer.
    case notify(InstanceIdentifier, Notice)
    /// Hand what this request brought (a URL, a notification) to the app that runs already.
    case deliver(InstanceIdentifier, RequestIdentifier, DeliveryAddress)
    /// Say whether a debugger holds it: `Event.tracerInspected`.
    case inspectTracer(InstanceIdentifier)
    /// Say what holds prewarming back: `Event.conditionsInspected`.
    case inspectConditions
    /// Say whether a process of it holds a file lock: `Event.fileLocksInspected`.
    case inspectFileLocks(InstanceIdentifier)
    /// Keep what the app has just reported, in the place of what was kept before.
    case keepState(InstanceIdentifier, AppIdentifier, SceneIdentifier)
    case refuseState(InstanceIdentifier, SceneIdentifier, StateRefusal)
    case deleteState(AppIdentifier, SceneIdentifier)
    /// Send the app what is kept, or word that it cannot have it after all.
    case handOverState(InstanceIdentifier, SceneIdentifier, isThere: Bool)
    case keepSessions(AppIdentifier, SessionList)
    /// The installed version of it has finished a launch: remember it.
    case noteVersion(AppIdentifier)
    /// Take what it holds out of memory, bit by bit, for as long as it is suspended.
    case pageOut(InstanceIdentifier)
    /// Tell the app how long it may go on in the background; nil: without a limit.
    case tellBackgroundTime(InstanceIdentifier, until: Instant?)
    /// Tell it to end its tasks, for then it is ended. May come again.
    case tellExpiration(InstanceIdentifier, at: Instant)
    /// Tell it to run scheduled work. May come again with the same number.
    case startRun(InstanceIdentifier, ScheduledRun, until: Instant)
    case expireRun(InstanceIdentifier, ScheduledRun, at: Instant)
    /// Say how the machine is: `Event.taskConditionsInspected`.
    case inspectTaskConditions
    /// Ring at this time of the wall clock, in microseconds since 1970: `Event.taskAlarmRang`; nil: never.
    case setTaskAlarm(Int64?)
}
