/// What a launch asks for.
public struct LaunchRequest: Hashable, Sendable {
    public var app: AppIdentifier
    public var launchIdentifier: LaunchIdentifier
    public var environmentKey: EnvironmentKey
    /// Launch the app without bringing it to the front.
    public var inBackground: Bool
    /// The app gets the client's own descriptors as its stdio, and the client waits for its end. It
    /// is always a new instance, is never suspended by itself, and never displaces the app in
    /// front.
    public var isAttached: Bool
    /// Set if the launch brings what no paused instance can take over: the app is launched cold,
    /// for this reason.
    public var coldReason: ColdReason?

    public init(
        app: AppIdentifier, launchIdentifier: LaunchIdentifier, environmentKey: EnvironmentKey,
        inBackground: Bool = false, isAttached: Bool = false, coldReason: ColdReason? = nil
    ) {
        self.app = app
        self.launchIdentifier = launchIdentifier
        self.environmentKey = environmentKey
        self.inBackground = inBackground
        self.isAttached = isAttached
        self.coldReason = coldReason
    }
}

/// What a request is about. An app stands for its most recently used running instance.
public enum Target: Hashable, Sendable {
    case app(AppIdentifier)
    case instance(InstanceIdentifier)
}

/// What a client can ask of a running instance.
public enum Transition: Hashable, Sendable {
    case foreground
    case background
    case suspend
    case resume
    /// SIGTERM, then SIGKILL after the grace.
    case terminate
    /// SIGKILL at once, because the user force-quits the app.
    case forceQuit
}

/// How short memory is.
public enum MemoryPressure: UInt8, Comparable, Sendable {
    case none
    /// End what nobody waits for: every prewarmed instance, then suspended ones.
    case warning
    /// End everything but what is in front, in steps: prewarmed, suspended, background.
    case critical
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// Everything that happens outside the core. The shell makes events and decides nothing.
public enum Event: Hashable, Sendable {
    // Configuration
    case policyChanged(Policy)
    /// An app is new, or its manifest or its executable has changed.
    case appInstalled(AppDescription)
    /// The app's manifest is gone. Its paused instances are ended; running ones stay.
    case appRemoved(AppIdentifier)
    /// The user of the apps with this foreground group has a session (`PrewarmOccasion.login`).
    case loggedIn(foregroundGroup: String)
    /// That user's last session ended. What was paused for it is ended; what runs stays.
    case loggedOut(foregroundGroup: String)

    // Requests
    case launchRequested(RequestIdentifier, LaunchRequest)
    /// Keep one paused instance more. Answered when it is paused or has failed.
    case prewarmRequested(RequestIdentifier, AppIdentifier, EnvironmentKey)
    case transitionRequested(RequestIdentifier, Target, Transition)
    /// Answered with the end of the instance, at once if the instance has ended already.
    case exitAwaited(RequestIdentifier, Target)
    /// The client of the request is gone, so no answer is owed any more. A launch under way goes
    /// on.
    case requestAbandoned(RequestIdentifier)

    // The world
    /// The kernel has executed the program.
    case spawned(InstanceIdentifier)
    case spawnFailed(InstanceIdentifier, SpawnFailure)
    /// The instance is at its pause point and holds this many bytes.
    case paused(InstanceIdentifier, byteCount: UInt64)
    /// The instance was told to go and has left the pause.
    case started(InstanceIdentifier)
    /// The instance's channel ended or failed before the instance started.
    case channelLost(InstanceIdentifier)
    case becameReady(InstanceIdentifier)
    /// The freezer has stopped every process of the instance.
    case frozen(InstanceIdentifier)
    /// The freezer could not stop it (or, without a freezer, SIGSTOP failed).
    case freezeFailed(InstanceIdentifier)
    /// The main process of the instance ended.
    case exited(InstanceIdentifier, ExitStatus)
    /// No process of the instance is left.
    case emptied(InstanceIdentifier)
    /// What was found of the instance, where nobody can tell what has happened to it.
    case reconciled(InstanceIdentifier, found: Finding)
    case becameStale(InstanceIdentifier)
    /// Before its pause point the instance was about to do this, and was stopped before it took
    /// effect.
    case misfired(InstanceIdentifier, Misfire)
    case memoryMeasured(InstanceIdentifier, byteCount: UInt64)
    case pressureChanged(MemoryPressure)
    /// `Lifecycle.nextDeadline` is reached.
    case deadlineReached
    /// Comes after `Lifecycle.init(restoring:…)`, once every difference between the records and the
    /// world was reported. The core then gives again the effects that the former supervisor may not
    /// have performed.
    case restored
    /// End every instance, with its grace.
    case shutdownRequested

    // Supervision
    /// Forget the app's failure, and its latest starts, crashes and failed launches.
    case resetFailedRequested(RequestIdentifier, AppIdentifier)
    /// A client connects to a watched socket (`Effect.awaitConnection`), or sends to it.
    case connectionArrived(AppIdentifier)
    // Apps that acknowledge their states
    /// The app has done the step with that cookie.
    case acknowledged(InstanceIdentifier, cookie: UInt64)
    /// Answers `Effect.inspectTracer`: whether a debugger is attached to the instance (TracerPid,
    /// proc(5)).
    case tracerInspected(InstanceIdentifier, isTraced: Bool)
    /// A client asks, or, without a request, the app itself.
    case sceneRequested(RequestIdentifier?, AppIdentifier, SceneRequest)
    /// The user's session was locked or unlocked, which takes protected data away or gives it back.
    case sessionLockChanged(user: UInt32, isLocked: Bool)
    /// The clock was set, midnight has passed, or the time zone changed.
    case significantTimeChanged
    // The machine's own life
    /// The machine is about to sleep, or is awake again. Nothing is prewarmed in between.
    case sleepChanged(isAsleep: Bool)
    /// The machine goes on after all: launches are served again, and autostart applies.
    case shutdownCancelled
    // Memory and the machine
    /// Tasks stall now because memory is short. The level falls by itself later; `none` ends it at
    /// once.
    case stallReported(MemoryPressure)
    /// Answers `Effect.inspectConditions`.
    case conditionsInspected(PrewarmHold?)
    /// The app will probably be launched soon. Answered at once.
    case prepareRequested(RequestIdentifier, AppIdentifier)
    /// Answers `Effect.inspectFileLocks`.
    case fileLocksInspected(InstanceIdentifier, holdsLock: Bool)
    /// The kernel killed the instance because memory was short; certainly, or probably. Comes
    /// before `exited`.
    case outOfMemory(InstanceIdentifier, isCertain: Bool, isOwnLimit: Bool)
    /// A client had this signal sent to the instance (signal(7)), so an end by that signal is no
    /// crash.
    case signalSent(InstanceIdentifier, signal: UInt8)
    // State preservation
    /// What is kept for an app; comes after `appInstalled`.
    case stateFound(AppIdentifier, KeptState)
    /// The shell no longer has the archive, or could not write it.
    case stateLost(AppIdentifier, SceneIdentifier)
    /// What the app says about its state or that of one of its scenes.
    case stateReported(InstanceIdentifier, SceneIdentifier, StateWish)

    // Launch screens
    /// The app says that the user can see it.
    case drewFirstFrame(InstanceIdentifier)

    /// The tasks of this instance alone stall, because it is at its own memory limit.
    case instanceStalled(InstanceIdentifier, MemoryPressure)
    /// Answers `Effect.pageOut`: how many bytes of the instance have left memory.
    case pagedOut(InstanceIdentifier, byteCount: UInt64)
    /// What the app waits for has happened (`[Path]`): launch it, unless it runs.
    case triggered(RequestIdentifier, LaunchRequest, TriggerLimit)
    /// Manifests were read again, so apps that were triggered too often may be triggered again.
    case triggersForgiven

    // Background time and scheduled work
    /// With the app's own number for the task.
    case backgroundTaskBegan(InstanceIdentifier, task: UInt64)
    case backgroundTaskEnded(InstanceIdentifier, task: UInt64)
    /// The app asks, and is answered.
    case taskSubmitted(RequestIdentifier, AppIdentifier, ScheduledTask)
    /// The app asks; nil cancels all of its tasks.
    case tasksCancelled(AppIdentifier, [String]?)
    /// What an app had scheduled before. Comes before `restored` for apps that are installed by
    /// then.
    case tasksRestored(AppIdentifier, AppTasks)
    case runCompleted(InstanceIdentifier, run: UInt64, RunOutcome)
    /// Answers `Effect.inspectTaskConditions`.
    case taskConditionsInspected(TaskConditions)
    /// The time of `Effect.setTaskAlarm` has come, or all scheduled work is to be reviewed.
    case taskAlarmRang
    /// Run a pending scheduled task now, whatever holds it. Answered when the app has been told.
    case runTaskRequested(RequestIdentifier, AppIdentifier, identifier: String)
    /// End the time of the app's run, or of its background tasks, now.
    case expireTaskRequested(RequestIdentifier, AppIdentifier)
}
