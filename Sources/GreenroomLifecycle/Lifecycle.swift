/// The life of every app and instance as a value: events in, effects out; no clock, no descriptor,
/// no `await`. The same seed and the same events give the same effects.
///
/// **Priorities of the deciders**, highest first:
/// 1. *Ending* (`Ending`): an instance that has ended or is being ended does nothing else.
/// 2. *Shutdown*: ends everything and refuses every launch.
/// 3. *Launching* (`Launching`): a user's launch is always tried, whatever the back-off says.
/// 4. *Foreground* (`Foreground`): at most one instance of a group is in front.
/// 5. *Reclaiming* (`Reclaiming`): ends prewarmed, suspended, then background instances, and never
/// one in front.
/// 6. *Suspending* (`Suspending`): after the background grace.
/// 7. *Prewarming* (`Prewarming`): last, and only if nothing above prevents it.
///
/// **Effects** of one event: first all saves, so that the runtime state is true before anything is
/// done; then the others in the order of decision. Refilling the pools comes last.
public struct Lifecycle: Hashable, Sendable {
    /// At most this many further launches are remembered of an instance: more than a person starts
    /// while one client reconnects.
    static let servedLaunchLimit = 8
    /// At most this many apps are checked for a refill after a launch, whose cost must not grow
    /// with the number of apps. Every other event checks all apps that it may have changed
    /// something for.
    static let refillsAfterLaunch = 4

    /// An instance counts as holding at most this many bytes (a pebibyte), so that sums cannot
    /// overflow.
    static let byteCountLimit: UInt64 = 1 << 50

    public internal(set) var policy: Policy
    /// The identifier that the next instance will get.
    public internal(set) var nextInstance: InstanceIdentifier
    public internal(set) var pressure = MemoryPressure.none
    /// The kernel reported the pressure, and repeats its report while the pressure lasts.
    var isPressureReported = false
    var lastReclaim: Instant?
    var conditions = Conditions()
    public internal(set) var isShuttingDown = false
    /// Bytes held by, and set aside for, prewarmed instances; at most the policy's budget.
    public internal(set) var prewarmedBytes: UInt64 = 0
    /// The number of instances that have not ended.
    public internal(set) var liveCount = 0
    /// The machine sleeps, or is about to.
    public internal(set) var isAsleep = false

    var table: [InstanceIdentifier: Instance] = [:]
    var directory: [AppIdentifier: App] = [:]
    var launchNames = LaunchNames()
    var fronts: [String: InstanceIdentifier] = [:]
    /// The remembered ends, oldest first.
    var ended: [InstanceIdentifier] = []
    var requests: [RequestIdentifier: WaitingPlace] = [:]
    var deadlines = DeadlineQueue()
    var refills = RefillQueue()
    var fillingCount = 0
    /// The number of launches that are not known to run yet, and since when there has been at least
    /// one.
    var underwayCount = 0
    var underwaySince: Instant?
    /// Foreground groups whose user has a session.
    var sessions: Set<String> = []
    /// Users whose session is locked, so that their protected data cannot be read.
    public internal(set) var lockedUsers: Set<UInt32> = []
    var jitter: Jitter
    /// Launches that other apps block, by app (`BlockedLaunches`).
    var blocked: [AppIdentifier: BlockedLaunches] = [:]
    /// For each app, the apps that name it in Conflicts=, and the apps that name it in Requires=.
    var conflicting: [AppIdentifier: Set<AppIdentifier>] = [:]
    var requiring: [AppIdentifier: Set<AppIdentifier>] = [:]
    /// `Event.restored` has come, so autostart and restarts may begin.
    var isRestored = false
    /// True from `init(restoring:…)` to `Event.restored`: what the records say may not be true yet.
    var isRestoring = false
    var socketReviews: Set<AppIdentifier> = []
    /// The triggers of apps that were triggered lately.
    var triggers: [AppIdentifier: Triggers] = [:]
    /// Apps that became ready or ended in this event, and why, for launches that wait for them.
    var availabilityReviews: [AppIdentifier: ExitReason?] = [:]
    /// The tasks that apps have scheduled, and the run that is under way.
    var schedule = Schedule()

    // Used while one event is handled.
    var now = Instant(nanoseconds: 0)
    var effects: [Effect] = []
    /// Instances whose freeze was confirmed, or counts as confirmed, in this event.
    var frozen: [InstanceIdentifier] = []
    var dirtyInstances: [InstanceIdentifier] = []
    var dirtyApps: [AppIdentifier] = []

    public init(policy: Policy, seed: UInt64) {
        self.policy = policy
        self.nextInstance = InstanceIdentifier(1)
        self.jitter = Jitter(seed: seed)
    }

    /// When `Event.deadlineReached` is due; nil while nothing is pending.
    public var nextDeadline: Instant? { deadlines.soonest }

    /// Decides what follows from `event`. If `now` is earlier than the latest known time, the
    /// latter counts. Events about unknown or ended instances do no harm.
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        self.now = max(now, self.now)
        decide(event)
        reviewAvailability()
        reviewSchedule()
        refill(looking: event.refillEffort)
        reviewSockets()
        pageOutFrozen()
        checkEvent(event)
        return takeEffects()
    }

    private mutating func decide(_ event: Event) {
        switch event {
        case .policyChanged(let policy): policyChanged(policy)
        case .appInstalled(let description): appInstalled(description)
        case .appRemoved(let app): appRemoved(app)
        case .loggedIn(let group): loggedIn(group)
        case .loggedOut(let group): loggedOut(group)
        case .launchRequested(let request, let launch): launchRequested(request, launch)
        case .prewarmRequested(let request, let app, let key): prewarmRequested(request, app, key)
        case .transitionRequested(let request, let target, let transition):
            transitionRequested(request, target, transition)
        case .exitAwaited(let request, let target): exitAwaited(request, target)
        case .requestAbandoned(let request): abandon(request)
        case .spawned(let id): spawned(id)
        case .spawnFailed(let id, let failure): spawnFailed(id, failure)
        case .paused(let id, let byteCount): paused(id, byteCount: byteCount)
        case .started(let id): started(id)
        case .channelLost(let id): channelLost(id)
        case .becameReady(let id): becameReady(id)
        case .frozen(let id): wasFrozen(id)
        case .freezeFailed(let id): freezeFailed(id)
        case .exited(let id, let status): exited(id, status)
        case .emptied(let id): emptied(id)
        case .reconciled(let id, let finding): reconciled(id, finding)
        case .becameStale(let id): becameStale(id)
        case .misfired(let id, let misfire): misfired(id, misfire)
        case .memoryMeasured(let id, let byteCount): memoryMeasured(id, byteCount: byteCount)
        case .pressureChanged(let pressure): pressureChanged(pressure)
        case .deadlineReached: deadlineReached()
        case .restored: finishRestoring()
        case .shutdownRequested: shutdownRequested()
        case .resetFailedRequested(let request, let app): resetFailedRequested(request, app)
        case .connectionArrived(let app): connectionArrived(app)
        case .acknowledged(let id, let cookie): acknowledged(id, cookie)
        case .tracerInspected(let id, let isTraced): tracerInspected(id, isTraced: isTraced)
        case .sceneRequested(let request, let app, let wish):
            sceneRequested(request, app, wish)
        case .sessionLockChanged(let user, let isLocked):
            sessionLockChanged(ofUser: user, isLocked: isLocked)
        case .significantTimeChanged:
            timeChanged()
            schedule.needsReview = true
        case .sleepChanged(let isAsleep):
            self.isAsleep = isAsleep
            schedule.needsReview = true
        case .shutdownCancelled: shutdownCancelled()
        case .stallReported(let level): stallReported(level)
        case .conditionsInspected(let hold): conditionsInspected(hold)
        case .prepareRequested(let request, let app): prepareRequested(request, app)
        case .fileLocksInspected(let id, let holdsLock):
            fileLocksInspected(id, holdsLock: holdsLock)
        case .outOfMemory(let id, let isCertain, let isOwnLimit):
            outOfMemory(id, isCertain: isCertain, isOwnLimit: isOwnLimit)
        case .signalSent(let id, let signal): table[id]?.sentSignals.insert(signal)
        case .stateFound(let app, let kept): stateFound(app, kept)
        case .stateLost(let app, let scene): stateLost(app, scene)
        case .stateReported(let id, let scene, let wish): stateReported(id, scene, wish)
        case .drewFirstFrame(let id): drewFirstFrame(id)
        case .instanceStalled(let id, let level): instanceStalled(id, level)
        case .pagedOut(let id, let byteCount): pagedOut(id, byteCount: byteCount)
        case .triggered(let request, let launch, let limit): triggered(request, launch, limit)
        case .triggersForgiven: triggers = [:]
        case .backgroundTaskBegan(let id, let task): backgroundTaskBegan(id, task)
        case .backgroundTaskEnded(let id, let task): backgroundTaskEnded(id, task)
        case .taskSubmitted(let request, let app, let task): taskSubmitted(request, app, task)
        case .tasksCancelled(let app, let identifiers): tasksCancelled(app, identifiers)
        case .tasksRestored(let app, let tasks): tasksRestored(app, tasks)
        case .runCompleted(let id, let run, let outcome): runCompleted(id, run: run, outcome)
        case .taskConditionsInspected(let conditions): taskConditionsInspected(conditions)
        case .taskAlarmRang: taskAlarmRang()
        case .runTaskRequested(let request, let app, let identifier):
            runTaskRequested(request, app, identifier)
        case .expireTaskRequested(let request, let app): expireTaskRequested(request, app)
        }
    }

    private mutating func takeEffects() -> [Effect] {
        var result: [Effect] = []
        result.reserveCapacity(dirtyInstances.count + dirtyApps.count + effects.count)
        for id in dirtyInstances where table[id] != nil {
            self[id].isDirty = false
            checkSaved(self[id].record)
            result.append(.save(self[id].record))
        }
        for app in dirtyApps where directory[app]?.isDirty == true {
            self[app].isDirty = false
            if !self[app].isRemoved { result.append(.saveApp(self[app].record)) }
        }
        // After the records, so that an app is told of a run only once both are saved.
        for app in schedule.dirtyApps {
            result.append(.saveTasks(app, schedule.apps[app] ?? AppTasks()))
        }
        schedule.dirtyApps.removeAll(keepingCapacity: true)
        for effect in effects where isWanted(effect) { result.append(completed(effect)) }
        dirtyInstances.removeAll(keepingCapacity: true)
        dirtyApps.removeAll(keepingCapacity: true)
        effects.removeAll(keepingCapacity: true)
        return result
    }

    mutating func report(_ record: Record) { effects.append(.record(record)) }

    /// A step that was replaced in the same event is not told.
    private func isWanted(_ effect: Effect) -> Bool {
        guard case .tell(let id, let step) = effect else { return true }
        return table[id]?.record.conversation?.pending?.cookie == step.cookie
    }

    /// The effect with what is true at the end of the event. A later part of the event may have
    /// changed it: a launch that joins an instance brings it to the front.
    private func completed(_ effect: Effect) -> Effect {
        switch effect {
        case .spawn(let id, let app, .launch(let request, _)):
            .spawn(id, app, .launch(request, launchTerms(of: id)))
        case .go(let id, let request, _): .go(id, request, launchTerms(of: id))
        case .deliver(let id, let request, _): .deliver(id, request, deliveryAddress(of: id))
        case .record(.stateChanged(let id, let app, let from, let to, _)):
            .record(
                .stateChanged(
                    id, app, from: from, to: to,
                    inBackground: table[id]?.record.inBackground ?? false))
        case _: effect
        }
    }

    /// The terms of the instance's launch if it is launched now.
    public func launchTerms(of id: InstanceIdentifier) -> LaunchTerms {
        guard let record = table[id]?.record else { return LaunchTerms() }
        let first = isFirstLaunch(of: record.app)
        let user = directory[record.app]?.description?.user
        return LaunchTerms(
            inBackground: record.inBackground,
            isProtectedDataAvailable: user.map(isProtectedDataAvailable(toUser:)) ?? true,
            announcesState: announcesState(to: id), isFirstLaunch: first.ever,
            isFirstLaunchOfVersion: first.ofVersion)
    }

    private func deliveryAddress(of id: InstanceIdentifier) -> DeliveryAddress {
        let record = table[id]?.record
        return DeliveryAddress(
            scene: record?.conversation?.scenes.last { $0.isConnected }?.scene,
            inBackground: record?.inBackground ?? false)
    }
}

/// How much of the refill queue is checked after an event.
enum RefillEffort: Sendable {
    /// A launch is under way, and its answer comes first.
    case none
    /// A launch has just been answered: no work that grows with the number of apps.
    case little
    case full
}

extension Event {
    fileprivate var refillEffort: RefillEffort {
        switch self {
        case .launchRequested, .triggered: .none
        case .started, .spawned: .little
        case .policyChanged, .appInstalled, .appRemoved, .loggedIn, .prewarmRequested,
            .transitionRequested, .exitAwaited, .requestAbandoned,
            .spawnFailed, .paused, .channelLost, .becameReady, .frozen, .freezeFailed, .exited,
            .emptied, .reconciled, .becameStale, .misfired, .memoryMeasured, .pressureChanged,
            .deadlineReached,
            .restored, .shutdownRequested, .resetFailedRequested, .connectionArrived,
            .acknowledged, .tracerInspected, .sceneRequested, .sessionLockChanged,
            .significantTimeChanged, .loggedOut, .sleepChanged, .shutdownCancelled,
            .stallReported, .conditionsInspected, .prepareRequested, .fileLocksInspected,
            .outOfMemory, .signalSent, .stateFound, .stateLost, .stateReported, .drewFirstFrame,
            .instanceStalled, .pagedOut, .triggersForgiven,
            .backgroundTaskBegan, .backgroundTaskEnded, .taskSubmitted,
            .tasksCancelled, .tasksRestored, .runCompleted, .taskConditionsInspected,
            .taskAlarmRang, .runTaskRequested, .expireTaskRequested:
            .full
        }
    }
}
