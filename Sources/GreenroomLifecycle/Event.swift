/// What a launch asks for.
public struct LaunchRequest: Hashable, Sendable {
    public var app: AppIdentifier
    public var launchIdentifier: LaunchIdentifier
    public var environmentKey: EnvironmentKey
    /// Start without coming to the front.
    public var inBackground: Bool
    /// The client's own descriptors are the app's stdio and it waits for the end: always a new
    /// instance, never suspended automatically, never displaces the foreground app.
    public var isAttached: Bool
    /// It brings what no paused instance can take: it is launched cold, for this reason.
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

/// Whom a request is about. An app means its most recently used running instance.
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
    /// SIGKILL at once: the user force-quits it.
    case forceQuit
}

/// How short memory is.
public enum MemoryPressure: UInt8, Comparable, Sendable {
    case none
    /// Give back what nobody waits for: every prewarmed instance, then suspended ones.
    case warning
    /// Give back everything but the foreground, in steps: prewarmed, suspended, background.
    case critical
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// Everything that the world tells the core. The shell makes events and decides nothing.
public enum Event: Hashable, Sendable {
    // Configuration
    case policyChanged(Policy)
    /// New or changed.
    case appInstalled(AppDescription)
    /// Its manifest is gone: paused instances go, running ones stay.
    case appRemoved(AppIdentifier)
    /// The user of the apps with this foreground group has a session (`PrewarmOccasion.login`).
    case loggedIn(foregroundGroup: String)
    /// That user's last session ended: what was kept for it goes, what runs stays.
    case loggedOut(foregroundGroup: String)

    // Requests
    case launchRequested(RequestIdentifier, LaunchRequest)
    /// Keep one (more) paused instance ready. Answered when it is paused or has failed.
    case prewarmRequested(RequestIdentifier, AppIdentifier, EnvironmentKey)
    case transitionRequested(RequestIdentifier, Target, Transition)
    /// Answered with the end of the instance, at once if it has ended already.
    case exitAwaited(RequestIdentifier, Target)
    /// Its client is gone: no answer is owed any more. A launch under way goes on.
    case requestAbandoned(RequestIdentifier)

    // The world
    /// The kernel has executed the program.
    case spawned(InstanceIdentifier)
    case spawnFailed(InstanceIdentifier, SpawnFailure)
    /// It stands at its pause point, holding this many bytes.
    case paused(InstanceIdentifier, byteCount: UInt64)
    /// Told to go, it has passed the pause.
    case started(InstanceIdentifier)
    /// Its channel ended or failed before it started.
    case channelLost(InstanceIdentifier)
    case becameReady(InstanceIdentifier)
    /// The freezer has stopped every process of it.
    case frozen(InstanceIdentifier)
    /// The freezer could not (or, degraded, SIGSTOP failed).
    case freezeFailed(InstanceIdentifier)
    /// Its main process ended.
    case exited(InstanceIdentifier, ExitStatus)
    /// No process of it is left.
    case emptied(InstanceIdentifier)
    /// What was found of it, where nobody can tell what has happened.
    case reconciled(InstanceIdentifier, found: Finding)
    case becameStale(InstanceIdentifier)
    /// Before its pause it was about to do this, and was stopped before that took effect.
    case misfired(InstanceIdentifier, Misfire)
    case memoryMeasured(InstanceIdentifier, byteCount: UInt64)
    case pressureChanged(MemoryPressure)
    /// `Lifecycle.nextDeadline` has come.
    case deadlineReached
    /// After `Lifecycle.init(restoring:…)`, once every difference to the world has been reported:
    /// what the last supervisor may have decided and not done is applied again.
    case restored
    /// End every instance, with its grace.
    case shutdownRequested

    // Supervision
    /// Forget that the app failed, and its latest starts, crashes and failures.
    case resetFailedRequested(RequestIdentifier, AppIdentifier)
    /// Somebody connects to a socket that is watched (`Effect.awaitConnection`), or sends to it.
    case connectionArrived(AppIdentifier)
    // Apps that acknowledge their states
    /// The app has done the step with that cookie.
    case acknowledged(InstanceIdentifier, cookie: UInt64)
    /// Answers `Effect.inspectTracer`: whether a debugger holds it (TracerPid, proc(5)).
    case tracerInspected(InstanceIdentifier, isTraced: Bool)
    /// Of a client, or without a request of the app itself.
    case sceneRequested(RequestIdentifier?, AppIdentifier, SceneRequest)
    /// The user's session was locked or unlocked: protected data comes and goes.
    case sessionLockChanged(user: UInt32, isLocked: Bool)
    /// The clock was set, midnight has passed, or the time zone changed.
    case significantTimeChanged
    // The machine's own life
    /// The machine is about to sleep, or awake again: nothing is prewarmed in between.
    case sleepChanged(isAsleep: Bool)
    /// The machine goes on after all: launches are served, what starts by itself starts.
    case shutdownCancelled
    // Memory and the machine
    /// Tasks stall for want of memory now. The level falls by itself; `none` ends it.
    case stallReported(MemoryPressure)
    /// Answers `Effect.inspectConditions`.
    case conditionsInspected(PrewarmHold?)
    /// A hint that the app will be launched soon. Answered at once.
    case prepareRequested(RequestIdentifier, AppIdentifier)
    /// Answers `Effect.inspectFileLocks`.
    case fileLocksInspected(InstanceIdentifier, holdsLock: Bool)
    /// The kernel took it for want of memory, surely or probably. Comes before `exited`.
    case outOfMemory(InstanceIdentifier, isCertain: Bool, isOwnLimit: Bool)
    /// A client had this signal sent to it (signal(7)): an end by that signal is no crash.
    case signalSent(InstanceIdentifier, signal: UInt8)
    // State preservation
    /// What is kept for an app; comes after `appInstalled`.
    case stateFound(AppIdentifier, KeptState)
    /// The shell has it no more, or could not write it.
    case stateLost(AppIdentifier, SceneIdentifier)
    /// The app's word about its state, or that of a scene of it.
    case stateReported(InstanceIdentifier, SceneIdentifier, StateWish)

    // Launch screens
    /// The user sees the app: it says so itself.
    case drewFirstFrame(InstanceIdentifier)

    /// Tasks of this instance alone stall: for want of memory within its own limit.
    case instanceStalled(InstanceIdentifier, MemoryPressure)
    /// Answers `Effect.pageOut`: what of it has left memory.
    case pagedOut(InstanceIdentifier, byteCount: UInt64)
    /// What the app waits for is there (`[Path]`): to be launched, unless it runs.
    case triggered(RequestIdentifier, LaunchRequest, TriggerLimit)
    /// Manifests were read anew: what was triggered too often may be tried again.
    case triggersForgiven

    // Background time and scheduled work
    /// With the app's own number for the task.
    case backgroundTaskBegan(InstanceIdentifier, task: UInt64)
    case backgroundTaskEnded(InstanceIdentifier, task: UInt64)
    /// Of the app itself, which is answered.
    case taskSubmitted(RequestIdentifier, AppIdentifier, ScheduledTask)
    /// Of the app itself; nil for all.
    case tasksCancelled(AppIdentifier, [String]?)
    /// What an installed app had asked for; before `restored` for those that are installed by then.
    case tasksRestored(AppIdentifier, AppTasks)
    case runCompleted(InstanceIdentifier, run: UInt64, RunOutcome)
    /// Answers `Effect.inspectTaskConditions`.
    case taskConditionsInspected(TaskConditions)
    /// What `Effect.setTaskAlarm` was set to has come, or everything is to be looked at again.
    case taskAlarmRang
    /// Run a pending request now, whatever holds it. Answered when the app has been told.
    case runTaskRequested(RequestIdentifier, AppIdentifier, identifier: String)
    /// End the time of its run, or of its background tasks, now.
    case expireTaskRequested(RequestIdentifier, AppIdentifier)
}
