// Exported, because every user of the core must give it a policy.
@_exported public import GreenroomPolicy

/// The life of every app and instance as a value: events in, effects out; no clock, no descriptor,
/// no `await`. The same seed and the same events give the same effects.
///
/// **Priorities of the deciders**, highest first:
/// 1. *Ending* (`Ending`): an instance that has ended or is being ended does nothing else.
/// 2. *Shutdown*: ends everything and refuses every launch.
/// 3. *Launching* (`Launching`): a user's launch is always tried, whatever the back-off says.
/// 4. *Foreground* (`Foreground`): at most one instance of a group is in front. What a shell
/// reports takes precedence over what launches imply (`ForegroundReports`).
/// 5. *Reclaiming* (`Reclaiming`): ends prewarmed, suspended, then background instances, and never
/// one in front.
/// 6. *Suspending* (`Suspending`): after the background grace.
/// 7. *Prewarming* (`Prewarming`): last, and only if nothing above prevents it.
///
/// **Effects** of one event: first all saves, so that the runtime state is true before anything is
/// done; then the others in the order in which they were decided. What `handle` reviews after every
/// event comes last: the pools are refilled, sockets are watched, frozen apps are paged out.
public struct Lifecycle: Hashable, Sendable {
    /// At most this many further launches of an instance are remembered: more than a person starts
    /// while one client reconnects.
    static let servedLaunchLimit = 8
    /// At most this many apps are checked for a refill after a launch, whose cost must not grow
    /// with the number of apps. Every other event checks all apps for which it may have changed
    /// something.
    static let refillsAfterLaunch = 4

    /// The memory of an instance is counted as at most this many bytes (a pebibyte), so that sums
    /// cannot overflow.
    static let byteCountLimit: UInt64 = 1 << 50

    public internal(set) var policy: Policy
    /// The identifier that the next instance will get.
    public internal(set) var nextInstance: InstanceIdentifier
    public internal(set) var pressure = MemoryPressure.none
    /// The pressure was reported by the kernel, which repeats its report while the pressure lasts.
    var isPressureReported = false
    var lastReclaim: Instant?
    var conditions = Conditions()
    public internal(set) var isShuttingDown = false
    /// Bytes held by, and set aside for, prewarmed instances; at most the policy's budget.
    /// Instances held at a window have a budget of their own and are counted apart.
    public internal(set) var prewarmedBytes: UInt64 = 0
    public internal(set) var heldBytes: UInt64 = 0
    /// The number of instances that have not ended.
    public internal(set) var liveCount = 0
    /// The machine sleeps, or is about to.
    public internal(set) var isAsleep = false

    var table: [InstanceIdentifier: Entry<Instance>] = [:]
    var directory: [AppIdentifier: Entry<App>] = [:]
    var launchNames = LaunchNames()
    /// The instances in front of each group: at most one, and those that shells name
    /// (`ForegroundReports`).
    var fronts: [String: Set<InstanceIdentifier>] = [:]
    /// What each shell has reported last, and the running instances that shells have named.
    var reports: [ShellIdentifier: ForegroundReport] = [:]
    var shown: Set<InstanceIdentifier> = []
    var ended = RememberedEnds()
    var requests: [RequestIdentifier: WaitingPlace] = [:]
    var deadlines = DeadlineQueue()
    var refills = RefillQueue()
    /// Launches whose prewarm has ended in this event.
    var lostClaims: [PendingLaunch] = []
    /// The instances on their way to the pause.
    var filling: Set<InstanceIdentifier> = []
    /// Apps that may have more paused instances than the manifest's number (`spareCount`).
    var withSpares: Set<AppIdentifier> = []
    var underway = LaunchesUnderWay()
    /// Apps of which instances are to be held instead of paused ones as soon as the machine permits
    /// it (`Holding`).
    var toBeHeld: Set<AppIdentifier> = []
    /// The time after launches in which no pool is filled (`Lulls`).
    var lull: Lull?
    /// Foreground groups whose user has a login session.
    var loginGroups: Set<String> = []
    /// Foreground groups whose user has an active session; nil while nobody follows sessions
    /// (`Holding`).
    var activeGroups: Set<String>?
    /// The apps of the last plan (`Planning`).
    var plan: Set<AppIdentifier> = []
    /// Users whose login session is locked, so that their protected data cannot be read.
    public internal(set) var lockedUsers: Set<UInt32> = []
    var jitter: Jitter
    /// Launches that other apps block, by app (`BlockedLaunches`).
    var blocked: [AppIdentifier: BlockedLaunches] = [:]
    var dependents = Dependents()
    /// `Event.restored` has come, so autostart and restarts may begin.
    var isRestored = false
    /// True from `init(restoring:…)` to `Event.restored`: until then, what the records say may be
    /// out of date.
    var isRestoring = false
    var socketReviews: Set<AppIdentifier> = []
    /// The triggers of apps that were triggered lately.
    var triggers: [AppIdentifier: Triggers] = [:]
    /// Apps that became ready or ended in this event, and why they ended, for launches that wait
    /// for them.
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
    /// latest known time is used. Events about unknown or ended instances do no harm.
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        self.now = max(now, self.now)
        decide(event)
        repeat {
            serveLostClaims()
            reviewAvailability()
            reviewSchedule()
            // To make room, this may end a prewarm for which a launch waits.
            refill(event.refillEffort)
        } while !lostClaims.isEmpty
        reviewSockets()
        pageOutFrozen()
        checkEvent(event)
        return takeEffects()
    }
}
