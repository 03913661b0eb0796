/// Everything about an instance that must outlive the supervisor. The core hands it out with
/// `Effect.save` and takes it back with `Lifecycle.init(restoring:…)`.
public struct InstanceRecord: Hashable, Sendable {
    public var instance: InstanceIdentifier
    public var app: AppIdentifier
    /// The generation of the `AppDescription` that the instance was made from.
    public var generation: UInt64
    public var environmentKey: EnvironmentKey
    /// How far the instance has got, and how far its end has: its state follows from both.
    public internal(set) var course: Course
    public internal(set) var end: InstanceEnd
    /// When the instance entered its state.
    public var since: Instant
    /// The one deadline of the state (pause, start, ready, background grace, terminate grace, TTL).
    public var deadline: Instant?
    /// Set once the instance was asked to launch.
    public var launchIdentifier: LaunchIdentifier?
    public var launchKind: LaunchKind?
    public var coldReason: ColdReason?
    public var inBackground: Bool
    public var isAttached: Bool
    /// When a launch or a request last used the instance.
    public var lastUsed: Instant
    /// The instance's memory in bytes as last measured. While the instance is prewarming, this is
    /// the memory that is set aside for it.
    public var byteCount: UInt64
    /// The daemon launched the instance by itself; no client asked for it.
    public var isAutomatic: Bool
    /// A client wants the instance to end, so the app is not restarted, whatever ends the instance.
    public var isEndOrdered: Bool
    /// Set for an app that acknowledges its states, once its launch sequence is over.
    public var conversation: Conversation?
    /// The instance's launch screen is on the display.
    public var showsLaunchScreen = false
    /// The kernel killed the instance after it had reached its own memory limit.
    public var wasOverOwnLimit = false
    /// A client has said that something covers the instance (`Interruptions`).
    public var isInterrupted = false
    /// What the threads besides the paused one did when the instance was last paused.
    public var otherThreads = OtherThreads.none
    /// The user as whom the instance runs, even if the manifest is gone or names another user now.
    /// Nil if a former daemon that did not save this has made the instance.
    public var user: UInt32?
    /// The instance's processes may not use the control socket. The restriction lasts even if the
    /// manifest is gone, or allows later instances to use the socket.
    public var isKeptFromControl = false
    /// The instance's user, if its processes may not use the control socket.
    public var confinedUser: UInt32? { isKeptFromControl ? user : nil }
    /// What keeps the instance running in the background.
    public var background: Boxed<BackgroundTime>
    /// The user whose shells have reported that the instance has the foreground. Since then they
    /// decide whether it is in front (`ForegroundReports`).
    public var shellUser: UInt32?
    /// How far the instance was prewarmed, or is to be.
    public var depth = PrewarmDepth.main
    /// Set if the instance's launch was started anew.
    public var anewReason: AnewReason?
    /// The instance has wanted a name on the session's message bus, which is watched while the
    /// instance is held (`HeldNames`).
    public var wantsName = false

    public init(
        instance: InstanceIdentifier, app: AppIdentifier, generation: UInt64,
        environmentKey: EnvironmentKey, saved: RecordedState, since: Instant
    ) {
        self.instance = instance
        self.app = app
        self.generation = generation
        self.environmentKey = environmentKey
        self.course = saved.course(since)
        self.end = saved.end(since)
        self.since = since
        self.deadline = saved.deadline
        self.conversation = saved.conversation
        self.inBackground = false
        self.isAttached = false
        self.lastUsed = since
        self.byteCount = 0
        self.isAutomatic = false
        self.isEndOrdered = false
        self.background = .none
    }
}

/// What happens to the threads of a paused instance besides the one that paused. A library or the
/// app started them before the pause, and a paused instance should not run.
public enum OtherThreads: UInt8, Sendable {
    case none = 0
    /// They are frozen until the launch.
    case frozen = 1
    /// They keep running, because they cannot be frozen.
    case running = 2
}

/// What happened in a prewarm and would happen again in every prewarm. Usually a library is the
/// cause.
public enum Misfire: Hashable, Sendable {
    /// A library or a held program would have run this program; nil if nobody knows which.
    case startsPrograms(String?)
    /// A library would have changed something that is lost when the instance is launched.
    case changesProcess
    /// The app's program loads no preload library (AT_SECURE in getauxval(3)), so it would have run
    /// instead of pausing.
    case secureExecution
    /// The following happen only to an instance that was to be held at its first window: it was
    /// about to own a name on a bus that nobody can watch, or a name that another process of the
    /// program owns; it uses its display in a way that does not let its windows be withheld; or it
    /// was about to show an icon in a panel or a notification.
    case ownsName
    case nameTaken
    case otherDisplay
    case showsNotice

    /// What is remembered about the app. If only its depth is to blame, `DepthRecord` remembers
    /// that.
    public enum Kind: UInt8, Sendable {
        case startsPrograms = 0
        case changesProcess = 1
        case secureExecution = 2
    }

    var kind: Kind? {
        switch self {
        case .startsPrograms: .startsPrograms
        case .changesProcess: .changesProcess
        case .secureExecution: .secureExecution
        case .ownsName, .nameTaken, .otherDisplay, .showsNotice: nil
        }
    }
}

/// Everything about an app that must outlive the supervisor.
public struct AppRecord: Hashable, Sendable {
    public var app: AppIdentifier
    /// The number of failed prewarms in a row, and of failed launches in a row. A success resets
    /// its number.
    public var prewarmFailures: UInt32
    public var prewarmRetryAt: Instant?
    /// The memory of the app's paused instances was reclaimed. Since then no prewarm has failed,
    /// and no instance was paused after `prewarmRetryAt`.
    public var isReclaimed: Bool
    public var launchFailures: UInt32
    public var launchRetryAt: Instant?
    /// Times of the latest crashes, oldest first; at most `Policy.crashLoopCount`.
    public var crashes: [Instant]
    public var crashLoopUntil: Instant?
    /// The generation of the `AppDescription` whose prewarm misfired. This generation is not
    /// prewarmed again.
    public var misfiredGeneration: UInt64? {
        get { boxedMisfire.value }
        set { boxedMisfire = Boxed(newValue) }
    }
    private var boxedMisfire = Boxed<UInt64>.none
    /// The kind of the misfire.
    public var misfireKind = Misfire.Kind.startsPrograms
    /// Whether the app is prewarmed less deep than its description says, and how many launches were
    /// started anew.
    public var depth: DepthRecord {
        get { boxedDepth.value ?? DepthRecord() }
        set { boxedDepth = Boxed(newValue == DepthRecord() ? nil : newValue) }
    }
    private var boxedDepth = Boxed<DepthRecord>.none
    /// The memory of the app's latest paused instance that was not held at a window, in bytes; 0
    /// before the first.
    public var measuredByteCount: UInt64
    /// The environment with which the app's pool is filled.
    public var poolKey: EnvironmentKey?
    /// A client asked for the pool (`PrewarmOccasion.demand`), so it is kept filled.
    public var isPoolWanted: Bool
    /// When the daemon starts the app by itself.
    public var startAt: Instant?
    /// The start at `startAt` is a restart. Otherwise boot or login asks for it.
    public var isRestart: Bool
    /// The number of restarts since a client last launched the app, and the number of restarts in a
    /// row, for the back-off.
    public var restartCount: UInt32
    public var restartStreak: UInt32
    /// The latest starts of the app, oldest first; at most `startLimitBurst`.
    public var starts: [Instant]
    /// Why the daemon no longer starts the app by itself.
    public var failure: SupervisionFailure?
    /// The user force-quit the app and has not launched it since.
    public var isForceQuit = false
    /// Whether the app was considered for autostart since the boot, and since its user logged in.
    public var hasSeenBoot: Bool
    public var hasSeenLogin: Bool
    /// The app's scene sessions, the one used last at the end, and the discarded sessions that the
    /// app was not told about; at most `sessionLimit` of each.
    public var sessions: [SceneIdentifier] = []
    public var discarded: [SceneIdentifier] = []
    /// The number of the latest scene session that was ever made.
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
