/// Everything of an instance that must outlive the supervisor. The core gives it out with
/// `Effect.save` and takes it back with `Lifecycle.init(restoring:…)`.
public struct InstanceRecord: Hashable, Sendable {
    public var instance: InstanceIdentifier
    public var app: AppIdentifier
    /// Of the `AppDescription` it was made from.
    public var generation: UInt64
    public var environmentKey: EnvironmentKey
    public var state: ExecutionState
    /// When it entered the state.
    public var since: Instant
    /// The one deadline of the state (pause, start, ready, background grace, terminate grace, TTL).
    public var deadline: Instant?
    /// Set once it was asked to launch.
    public var launchIdentifier: LaunchIdentifier?
    public var launchKind: LaunchKind?
    public var coldReason: ColdReason?
    public var progress: LaunchProgress
    public var inBackground: Bool
    public var isAttached: Bool
    /// When a launch or a request last brought it forward.
    public var lastUsed: Instant
    /// Its memory as last measured; while it is prewarming, what is set aside for it.
    public var byteCount: UInt64
    /// Why it is being ended, decided when the end was ordered.
    public var endReason: ExitReason?
    /// Set once its main process has ended.
    public var exitStatus: ExitStatus?
    public var lastState: ExecutionState?
    public var endedAt: Instant?
    /// False while processes of it may remain.
    public var isEmpty: Bool
    /// The daemon launched it for its own reasons.
    public var isAutomatic: Bool
    /// A client wants its end: it is not restarted, whatever ends it.
    public var isEndOrdered: Bool
    /// Of an app that acknowledges its states, once its launch sequence is over.
    public var conversation: Conversation?
    /// Its launch screen is on the display.
    public var showsLaunchScreen = false
    /// The kernel ended it, and it had reached a limit of memory of its own.
    public var wasOverOwnLimit = false
    /// Whose it is, if its processes may not use the control socket: also when its manifest is gone, or allows it
    /// to later ones.
    public var confinedUser: UInt32?
    /// What keeps it running in the background.
    public var background: Boxed<BackgroundTime>

    public init(
        instance: InstanceIdentifier, app: AppIdentifier, generation: UInt64,
        environmentKey: EnvironmentKey, state: ExecutionState, since: Instant
    ) {
        self.instance = instance
        self.app = app
        self.generation = generation
        self.environmentKey = environmentKey
        self.state = state
        self.since = since
        self.progress = .none
        self.inBackground = false
        self.isAttached = false
        self.lastUsed = since
        self.byteCount = 0
        self.isEmpty = false
        self.isAutomatic = false
        self.isEndOrdered = false
        self.background = .none
    }
}

/// What a library did in a prewarm that each prewarm would do again.
public enum Misfire: Hashable, Sendable {
    /// It would have run this program (nil: not known which).
    case startsPrograms(String?)
    /// Something that a launch would lose.
    case changesProcess
    /// The app's own program loads no preload library (AT_SECURE in getauxval(3)): it would run.
    case secureExecution

    public enum Kind: UInt8, Sendable {
        case startsPrograms = 0
        case changesProcess = 1
        case secureExecution = 2
    }

    var kind: Kind {
        switch self {
        case .startsPrograms: .startsPrograms
        case .changesProcess: .changesProcess
        case .secureExecution: .secureExecution
        }
    }
}

/// What must be remembered about an app across a restart of the supervisor.
public struct AppRecord: Hashable, Sendable {
    public var app: AppIdentifier
    /// Consecutive failures of prewarms and of launches; reset by a success.
    public var prewarmFailures: UInt32
    public var prewarmRetryAt: Instant?
    /// The memory of its paused instances was taken back; since then none failed, and none was paused
    /// after `prewarmRetryAt`.
    public var isReclaimed: Bool
    public var launchFailures: UInt32
    public var launchRetryAt: Instant?
    /// Times of the latest crashes, oldest first, at most `Policy.crashLoopCount`.
    public var crashes: [Instant]
    public var crashLoopUntil: Instant?
    /// Of the `AppDescription` whose prewarm misfired: it is not prewarmed.
    public var misfiredGeneration: UInt64? {
        get { boxedMisfire.value }
        set { boxedMisfire = Boxed(newValue) }
    }
    private var boxedMisfire = Boxed<UInt64>.none
    /// Of the misfire.
    public var misfireKind = Misfire.Kind.startsPrograms
    /// Memory of its latest paused instance, in bytes; 0 before the first.
    public var measuredByteCount: UInt64
    /// The environment that its pool is filled with.
    public var poolKey: EnvironmentKey?
    /// A client asked for it (`PrewarmOccasion.demand`), so the pool is kept filled.
    public var isPoolWanted: Bool
    /// When the daemon starts it by itself.
    public var startAt: Instant?
    /// That start is a restart; otherwise boot or login asks for it.
    public var isRestart: Bool
    /// Restarts since a client last launched it, and those in a row, for the back-off.
    public var restartCount: UInt32
    public var restartStreak: UInt32
    /// Its latest starts, oldest first, at most `startLimitBurst`.
    public var starts: [Instant]
    /// Why it is not started by the daemon any more.
    public var failure: SupervisionFailure?
    /// It was looked at for autostart since the boot, and since its user logged in.
    public var hasSeenBoot: Bool
    public var hasSeenLogin: Bool
    /// Its scene sessions, the one used last at the end, and those discarded that it has not heard
    /// of; at most `sessionLimit` each.
    public var sessions: [SceneIdentifier] = []
    public var discarded: [SceneIdentifier] = []
    /// The youngest session there ever was.
    public var lastSession: UInt32 = 0

    public init(app: AppIdentifier) {
        self.app = app
        self.prewarmFailures = 0
        self.isReclaimed = false
        self.launchFailures = 0
        self.crashes = []
        self.measuredByteCount = 0
        self.isPoolWanted = false
        self.isRestart = false
        self.restartCount = 0
        self.restartStreak = 0
        self.starts = []
        self.hasSeenBoot = false
        self.hasSeenLogin = false
    }
}
