/// What happened, for clients that watch, for the journal and for metrics. Two parts of the shell
/// also learn from occurrences what later prewarms load before their pause. `ImportLearning` acts
/// on `exited`, `launched`, `demoted`, `depthTimed` and `pressureChanged`; `LibraryLearner` on
/// `demoted`, `libraryDropped` and `depthTimed`. `WarmPlanning` makes plans on `exited` and
/// `pressureChanged`.
public enum Occurrence: Hashable, Sendable {
    case stateChanged(
        InstanceIdentifier, AppIdentifier, from: ExecutionState, to: ExecutionState,
        inBackground: Bool)
    case launched(LaunchOrigin, LaunchIdentifier, AppIdentifier, LaunchOutcome)
    indirect case exited(InstanceRecord)
    case reclaimed(
        InstanceIdentifier, AppIdentifier, byteCount: UInt64, MemoryPressure, from: ExecutionState)
    case pressureChanged(MemoryPressure)
    /// The paused instance has threads besides the one that paused. They are frozen until its
    /// launch, or keep running because they cannot be frozen.
    case pausedWithThreads(InstanceIdentifier, AppIdentifier, areFrozen: Bool)
    /// The app is not prewarmed again before `retryAt`.
    case prewarmFailed(AppIdentifier, ExitReason, retryAt: Instant)
    /// The app is not prewarmed again.
    case misfired(InstanceIdentifier, AppIdentifier, Misfire)
    /// From now on the app pauses before main, in every environment or only in the instance's.
    /// `program` is the program that the app was about to start, if known.
    case demoted(
        InstanceIdentifier, AppIdentifier, DepthFault, of: PrewarmDepth, program: String?,
        isEverywhere: Bool)
    /// The app was seen to open this many libraries after main, more than were known.
    case librariesLearned(AppIdentifier, count: Int)
    /// A library is not opened before the pause any more: the one with this index in the list that
    /// the instance was given.
    case libraryDropped(InstanceIdentifier, LibraryLesson, index: Int, DepthFault)
    /// A measured launch has changed what is known about the time that the app's depth saves.
    case depthTimed(AppIdentifier)
    /// Before `until`, the app is not prewarmed, and no client can launch it in the background.
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
    /// The instance's launch screen is to be shown for this launch.
    case launchScreenShown(InstanceIdentifier, AppIdentifier, LaunchOrigin)
    /// The instance's launch screen is to be taken away.
    case launchScreenDropped(InstanceIdentifier, AppIdentifier, LaunchScreenEnd)
    /// The instance stalls within its own memory limit.
    case instanceStalled(InstanceIdentifier, AppIdentifier, MemoryPressure)
    case pagedOut(InstanceIdentifier, AppIdentifier, byteCount: UInt64)
    /// The app's triggers launched it so often in a row that they are ignored from now on.
    case triggersLeftAlone(AppIdentifier, launchCount: Int)
    /// The instance is told that its background time is about to end.
    case backgroundTimeExpiring(InstanceIdentifier, AppIdentifier)
    case runBegan(InstanceIdentifier, AppIdentifier, String)
    case runEnded(InstanceIdentifier, AppIdentifier, String, RunOutcome)
}

extension Lifecycle {
    mutating func report(_ occurrence: Occurrence) { effects.append(.report(occurrence)) }
}
