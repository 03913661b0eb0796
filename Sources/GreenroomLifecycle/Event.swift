/// How short memory is.
public enum MemoryPressure: UInt8, Comparable, Sendable {
    case none
    /// End what nobody is using: first every prewarmed instance, then suspended ones.
    case warning
    /// End everything that is not in front, one instance after the other: prewarmed ones, then
    /// suspended ones, then those in the background.
    case critical
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// Everything that happens outside the core. The shell makes events and decides nothing.
public enum Event: Hashable, Sendable {
    // Configuration

    case policyChanged(Policy)
    /// An app is new, or its manifest or its executable has changed.
    case appInstalled(AppDescription)
    /// The app's manifest is gone or, if `isGone` is false, masked, faulty or not readable now;
    /// then a force quit stays in effect. The app's paused instances are ended; running ones stay.
    /// Also sent, before `restored`, for apps that a former supervisor installed and whose manifest
    /// is now masked or faulty.
    case appRemoved(AppIdentifier, isGone: Bool = true)
    /// The user of the apps with this foreground group has a login session
    /// (`PrewarmOccasion.login`).
    case loggedIn(foregroundGroup: String)
    /// That user's last login session ended. Instances paused for it are ended; others stay.
    case loggedOut(foregroundGroup: String)
    /// The login groups of all users who have an active session now: one that is in front of a
    /// display. Only for them are programs held at their windows. Until the first of these events,
    /// every user counts as active.
    case sessionsActive(foregroundGroups: Set<String>)
    /// A new plan: those apps among `Lifecycle.plannable` that are worth their memory now
    /// (`PrewarmOccasion.auto`). It replaces the former plan.
    case planned(Set<AppIdentifier>)
    /// Manifests were read again, so apps that were triggered too often can be triggered again.
    case triggersForgiven

    // Requests

    case requested(RequestIdentifier, Request)
    /// The client of the request is gone. A launch whose process is ordered goes on, and is still
    /// answered. A launch that waits for something else is withdrawn and refused, unless somebody
    /// else waits for it too (`BlockedLaunches`, `Claiming`). Any other request is forgotten.
    case requestAbandoned(RequestIdentifier)
    /// A client connects to a watched socket (`Effect.awaitConnection`), or sends to it.
    case connectionArrived(AppIdentifier)
    /// A client had this signal sent to the instance (signal(7)), so an end by that signal is no
    /// crash.
    case signalSent(InstanceIdentifier, signal: UInt8)

    // Instances

    /// The kernel has executed the program.
    case spawned(InstanceIdentifier)
    case spawnFailed(InstanceIdentifier, SpawnFailure)
    /// The instance was told to go and has left the pause. `anew` is the reason if it could not go
    /// on as the launch and was started anew.
    case started(InstanceIdentifier, anew: AnewReason? = nil)
    /// The instance's channel ended or failed before the instance started.
    case channelLost(InstanceIdentifier)
    case becameReady(InstanceIdentifier)
    /// The app says that it has drawn, so the user can see it.
    case drewFirstFrame(InstanceIdentifier)
    /// The freezer has stopped every process of the instance.
    case frozen(InstanceIdentifier)
    /// The freezer could not stop it (or, without a freezer, SIGSTOP failed).
    case freezeFailed(InstanceIdentifier)
    /// The main process of the instance ended.
    case exited(InstanceIdentifier, ExitStatus)
    /// No process of the instance is left.
    case emptied(InstanceIdentifier)
    /// Answers `Effect.inspectFileLocks`.
    case fileLocksInspected(InstanceIdentifier, holdsLock: Bool)
    /// Answers `Effect.inspectConnections`: whether somebody is connected to the instance through a
    /// socket of its app, or waits to be accepted.
    case connectionsInspected(InstanceIdentifier, isInUse: Bool)
    /// What the shell found of an instance, when nobody can tell what has happened to it.
    case reconciled(InstanceIdentifier, found: ReconciledFinding)

    // Prewarming

    /// The instance is at its pause point and holds this many bytes. It may have threads besides
    /// the one that paused, and it may have paused before it reached the requested depth.
    case paused(
        InstanceIdentifier, byteCount: UInt64, hasOtherThreads: Bool = false,
        isTooEarly: Bool = false)
    /// The paused instance is out of date: something that it was made from has changed.
    case becameStale(InstanceIdentifier, because: Staleness = .program)
    /// Before its pause point, the instance was about to do this, and was stopped before it did.
    case misfired(InstanceIdentifier, Misfire)
    /// Before its pause, the instance is about to open the library with this index in its list, or
    /// could not open it. Nil means that all are open.
    case opening(InstanceIdentifier, Int?)
    case openingFailed(InstanceIdentifier, Int)
    /// Answers `Effect.learnLibraries`: how many libraries are known to be opened after main. The
    /// lesson is complete if the instance was observed for as long as a start takes.
    case librariesLearned(LibraryLesson, count: Int, isComplete: Bool)
    /// The same, learned by a former supervisor.
    /// - Parameter dropCount: how many others were left out.
    case librariesRecalled(LibraryLesson, count: Int, dropCount: Int = 0, isComplete: Bool)
    /// How long the app's launches took, measured by a former supervisor.
    case timesRecalled(AppIdentifier, DepthTimes)
    /// The instance, which is to be held at its first window, is about to own a name on a message
    /// bus. From now on, calls to that name are reported.
    case nameWatched(InstanceIdentifier)
    /// Somebody has called a name that the instance owns on a message bus. `isLaunch` says whether
    /// the call starts the program or brings it to the front; the instance answers any other call
    /// by itself. A changed setting of the desktop counts as such another call, and may come to an
    /// instance without a name.
    case called(InstanceIdentifier, isLaunch: Bool)
    /// Answers `Effect.inspectConditions`.
    case conditionsInspected(PrewarmObstacle?)

    // Apps that acknowledge their states

    /// The app has done the step with that cookie.
    case acknowledged(InstanceIdentifier, cookie: UInt64)
    /// Answers `Effect.inspectTracer`: whether a debugger is attached to the instance (TracerPid,
    /// proc(5)).
    case tracerInspected(InstanceIdentifier, isTraced: Bool)

    // Memory

    case memoryMeasured(InstanceIdentifier, byteCount: UInt64)
    case pressureChanged(MemoryPressure)
    /// Tasks stall now because memory is short. The level falls by itself later; `none` ends the
    /// pressure at once.
    case stallReported(MemoryPressure)
    /// The tasks of this instance alone stall, because it is at its own memory limit.
    case instanceStalled(InstanceIdentifier, MemoryPressure)
    /// The kernel killed the instance, certainly or probably, because memory was short. Sent before
    /// `exited`.
    case outOfMemory(InstanceIdentifier, isCertain: Bool, isOwnLimit: Bool)
    /// Answers `Effect.pageOut`: how many bytes of the instance have left memory.
    case pagedOut(InstanceIdentifier, byteCount: UInt64)

    // The daemon, the machine and its users

    /// `Lifecycle.nextDeadline` is reached.
    case deadlineReached
    /// Sent after `Lifecycle.init(restoring:…)`, once every difference between the records and the
    /// world was reported. The core then repeats the effects that the former supervisor may not
    /// have performed.
    case restored
    /// End every instance, with its grace.
    case shutdownRequested
    /// The machine does not shut down after all: launches are served again, and autostart applies.
    case shutdownCancelled
    /// The machine is about to sleep, or is awake again. Nothing is prewarmed in between.
    case sleepChanged(isAsleep: Bool)
    /// The clock was set, midnight has passed, or the time zone changed.
    case significantTimeChanged
    /// The user's session was locked or unlocked, which takes protected data away or gives it back.
    case sessionLockChanged(user: UInt32, isLocked: Bool)
    /// A shell says which app has the foreground of its display (`ForegroundReports`). Nil when the
    /// shell is gone, so that its report no longer holds.
    case foregroundReported(ShellIdentifier, ForegroundReport?)

    // State preservation

    /// What is kept for an app. Sent after `appInstalled`.
    case stateFound(AppIdentifier, KeptState)
    /// The shell no longer has the archive, or could not write it.
    case stateLost(AppIdentifier, SceneIdentifier)
    /// What the app says about its state or that of one of its scenes.
    case stateReported(InstanceIdentifier, SceneIdentifier, StateWish)

    // Background time and scheduled work

    /// `task` is the app's own number for the task.
    case backgroundTaskBegan(InstanceIdentifier, task: UInt64)
    case backgroundTaskEnded(InstanceIdentifier, task: UInt64)
    /// The app cancels these scheduled tasks; nil means all of its tasks.
    case tasksCancelled(AppIdentifier, [String]?)
    /// What an app had scheduled before. Sent before `restored` for apps that are installed by
    /// then.
    case tasksRestored(AppIdentifier, AppTasks)
    case runCompleted(InstanceIdentifier, run: UInt64, RunOutcome)
    /// Answers `Effect.inspectTaskConditions`.
    case taskConditionsInspected(TaskConditions)
    /// The time of `Effect.setTaskAlarm` has come, or all scheduled work is to be reviewed.
    case taskAlarmRang
}

extension Lifecycle {
    mutating func decide(_ event: Event) {
        switch event {
        case .policyChanged(let policy): policyChanged(policy)
        case .appInstalled(let description): appInstalled(description)
        case .appRemoved(let app, let isGone): appRemoved(app, isGone: isGone)
        case .loggedIn(let group): loggedIn(group)
        case .loggedOut(let group): loggedOut(group)
        case .sessionsActive(let groups): sessionsActive(groups)
        case .planned(let apps): planned(apps)
        case .triggersForgiven: triggers = [:]
        case .requested(let identifier, let request): requested(identifier, request)
        case .requestAbandoned(let request): abandon(request)
        case .connectionArrived(let app): connectionArrived(app)
        case .signalSent(let id, let signal): table[id]?.sentSignals.insert(signal)
        case .spawned(let id): spawned(id)
        case .spawnFailed(let id, let failure): spawnFailed(id, failure)
        case .started(let id, let reason): startReported(id, reason)
        case .channelLost(let id): channelLost(id)
        case .becameReady(let id): readinessReported(id)
        case .drewFirstFrame(let id): drewFirstFrame(id)
        case .frozen(let id): wasFrozen(id)
        case .freezeFailed(let id): freezeFailed(id)
        case .exited(let id, let status): exited(id, status)
        case .emptied(let id): emptied(id)
        case .fileLocksInspected(let id, let holdsLock):
            fileLocksInspected(id, holdsLock: holdsLock)
        case .connectionsInspected(let id, let isInUse):
            connectionsInspected(id, isInUse: isInUse)
        case .reconciled(let id, let finding): reconciled(id, finding)
        case .paused(let id, let byteCount, let hasOtherThreads, let isTooEarly):
            paused(
                id, byteCount: byteCount, hasOtherThreads: hasOtherThreads, isTooEarly: isTooEarly)
        case .becameStale(let id, let staleness): becameStale(id, staleness)
        case .misfired(let id, let misfire): misfired(id, misfire)
        case .opening(let id, let index): opening(id, index)
        case .openingFailed(let id, let index): openingFailed(id, index)
        case .librariesLearned(let lesson, let count, let isComplete):
            librariesLearned(lesson, count: count, isComplete: isComplete)
        case .librariesRecalled(let lesson, let count, let dropCount, let isComplete):
            librariesRecalled(lesson, count: count, dropCount: dropCount, isComplete: isComplete)
        case .timesRecalled(let app, let times): timesRecalled(app, times)
        case .nameWatched(let id): nameWatched(id)
        case .called(let id, let isLaunch): called(id, isLaunch: isLaunch)
        case .conditionsInspected(let obstacle): conditionsInspected(obstacle)
        case .acknowledged(let id, let cookie): acknowledged(id, cookie)
        case .tracerInspected(let id, let isTraced): tracerInspected(id, isTraced: isTraced)
        case .memoryMeasured(let id, let byteCount): memoryMeasured(id, byteCount: byteCount)
        case .pressureChanged(let pressure): pressureChanged(pressure)
        case .stallReported(let level): stallReported(level)
        case .instanceStalled(let id, let level): instanceStalled(id, level)
        case .outOfMemory(let id, let isCertain, let isOwnLimit):
            outOfMemory(id, isCertain: isCertain, isOwnLimit: isOwnLimit)
        case .pagedOut(let id, let byteCount): pagedOut(id, byteCount: byteCount)
        case .deadlineReached: deadlineReached()
        case .restored: finishRestoring()
        case .shutdownRequested: shutdownRequested()
        case .shutdownCancelled: shutdownCancelled()
        case .sleepChanged(let isAsleep):
            self.isAsleep = isAsleep
            schedule.needsReview = true
        case .significantTimeChanged:
            timeChanged()
            schedule.needsReview = true
        case .sessionLockChanged(let user, let isLocked):
            sessionLockChanged(ofUser: user, isLocked: isLocked)
        case .foregroundReported(let shell, let report): foregroundReported(shell, report)
        case .stateFound(let app, let kept): stateFound(app, kept)
        case .stateLost(let app, let scene): stateLost(app, scene)
        case .stateReported(let id, let scene, let wish): stateReported(id, scene, wish)
        case .backgroundTaskBegan(let id, let task): backgroundTaskBegan(id, task)
        case .backgroundTaskEnded(let id, let task): backgroundTaskEnded(id, task)
        case .tasksCancelled(let app, let identifiers): tasksCancelled(app, identifiers)
        case .tasksRestored(let app, let tasks): tasksRestored(app, tasks)
        case .runCompleted(let id, let run, let outcome): runCompleted(id, run: run, outcome)
        case .taskConditionsInspected(let conditions): taskConditionsInspected(conditions)
        case .taskAlarmRang: taskAlarmRang()
        }
    }
}

/// How much of the refill queue is checked after an event.
enum RefillEffort: Sendable {
    /// A launch is under way, and its answer comes first.
    case none
    /// A launch has just been answered: do no work that grows with the number of apps.
    case little
    case full
}

extension Event {
    var refillEffort: RefillEffort {
        switch self {
        case .requested(_, .launch), .requested(_, .trigger), .called: .none
        case .opening, .openingFailed: .none
        case .started, .spawned: .little
        case .policyChanged, .appInstalled, .appRemoved, .loggedIn, .loggedOut,
            .sessionsActive, .planned, .triggersForgiven, .requested, .requestAbandoned,
            .connectionArrived, .signalSent, .spawnFailed, .channelLost, .becameReady,
            .drewFirstFrame, .frozen, .freezeFailed,
            .exited, .emptied, .fileLocksInspected, .connectionsInspected, .reconciled, .paused,
            .becameStale, .misfired, .librariesLearned, .librariesRecalled, .timesRecalled,
            .nameWatched, .conditionsInspected, .acknowledged, .tracerInspected, .memoryMeasured,
            .pressureChanged, .stallReported, .instanceStalled, .outOfMemory, .pagedOut,
            .deadlineReached, .restored, .shutdownRequested, .shutdownCancelled, .sleepChanged,
            .significantTimeChanged, .sessionLockChanged, .foregroundReported, .stateFound,
            .stateLost, .stateReported, .backgroundTaskBegan, .backgroundTaskEnded, .tasksCancelled,
            .tasksRestored, .runCompleted, .taskConditionsInspected, .taskAlarmRang:
            .full
        }
    }
}
