/// When an app is prewarmed without being asked.
public enum PrewarmOccasion: UInt8, Sendable {
    /// As soon as the daemon runs (after a reboot).
    case boot
    /// As soon as the app's user has a login session.
    case login
    /// Only on request; the pool is then refilled after each launch.
    case demand
    case never
    /// While the last plan contains the app (`Planning`), and on request as with `demand`.
    case auto
}

/// What makes a launched instance ready.
public enum ReadyCondition: UInt8, Sendable {
    /// The program was executed (or has left its pause).
    case exec
    /// `sd_notify` READY=1.
    case notify
    /// The app has written a byte to standard output or standard error.
    case firstOutput
    /// The app listens on a socket.
    case listening
    /// The app says that its launch sequence is over (only apps that acknowledge their states).
    case finishedLaunching
}

/// What the core knows about an installed app. The shell makes it from the manifest.
public struct AppDescription: Hashable, Sendable {
    public var identifier: AppIdentifier
    /// Changes with the manifest or the executable. Paused instances of another generation are
    /// stale.
    public var generation: UInt64 = 1
    /// Apps of one group displace each other in the foreground; nil means that the app displaces no
    /// other.
    public var foregroundGroup: String?
    public var isSingleInstance = false
    /// How many paused instances to keep. 0 with occasion `.never`.
    public var prewarmCount: Int
    public var prewarmOccasion: PrewarmOccasion
    /// False when the program cannot be paused: it always launches cold.
    public var isEligible = true
    /// How far the app is prewarmed as long as that works (`Depths`).
    public var depth = PrewarmDepth.main
    /// If the imports of the app's interpreter are learned: a digest of everything that a learned
    /// list depends on, and whether instances import a learned list before their pause.
    public var importBasis: UInt64? {
        get { rare.importBasis }
        set { rare.importBasis = newValue }
    }
    public var importsLearned: Bool {
        get { rare.importsLearned }
        set { rare.importsLearned = newValue }
    }
    /// If instances import a learned list: the generation that the app had without the list, and
    /// the key of its environment then (`Booted`).
    public var bootGeneration: UInt64? {
        get { rare.bootGeneration }
        set { rare.bootGeneration = newValue }
    }
    public var bootKey: EnvironmentKey? {
        get { rare.bootKey }
        set { rare.bootKey = newValue }
    }
    public var suspendsInBackground = false
    public var readyCondition = ReadyCondition.exec
    /// Whether processes that the main process leaves behind keep running (`KillMode=`). If nil,
    /// they do so only in attached instances. Never nil if the command is a desktop entry's.
    public var leavesRest: Bool?
    /// Whether a force quit lasts until the user launches the app. If nil, the policy decides,
    /// except for a service, where it does not last.
    public var forceQuitLasts: Bool?
    /// The app's processes may not use the control socket.
    public var isKeptFromControl = false
    /// Launches that take a terminal are cold: the app's filter of system calls would keep a paused
    /// instance from taking it.
    public var isColdOnTerminal: Bool {
        get { rare.isColdOnTerminal }
        set { rare.isColdOnTerminal = newValue }
    }
    /// The app's own deadlines, where its manifest sets them.
    public var launchDeadline: Duration? {
        get { rare.deadlines.launch }
        set { rare.deadlines.launch = newValue }
    }
    public var backgroundGrace: Duration? {
        get { rare.deadlines.background }
        set { rare.deadlines.background = newValue }
    }
    public var terminateGrace: Duration? {
        get { rare.deadlines.terminate }
        set { rare.deadlines.terminate = newValue }
    }
    public var prewarmTimeToLive: Duration? {
        get { rare.deadlines.prewarm }
        set { rare.deadlines.prewarm = newValue }
    }
    /// The identifiers of the tasks that the app may schedule.
    public var scheduledTasks: [String] {
        get { rare.scheduledTasks }
        set { rare.scheduledTasks = newValue }
    }
    private var boxedRare = Boxed<RareSettings>.none
    private var rare: RareSettings {
        get { boxedRare.value ?? RareSettings() }
        set { boxedRare = Boxed(newValue == RareSettings() ? nil : newValue) }
    }
    /// The environment of the user's login session. The pool is filled with it until a launch or a
    /// prewarm brings another one.
    public var environmentKey = EnvironmentKey(0)
    /// `[Supervision]`, `[Install]`, `[Dependencies]` and `[Socket]`, if the manifest has them.
    public var supervision = Boxed<Supervision>.none
    public var autostart = Boxed<Autostart>.none
    public var dependencies = Boxed<Dependencies>.none
    public var hasSockets = false
    /// The app is told its states and acknowledges them (it is made with the SDK).
    public var acknowledges = false
    public var scenes = SceneSupport.unsupported
    public var launchScreen = LaunchScreenUse.none
    /// The user whose protected data the app uses.
    public var user: UInt32 = 0
    /// The foreground group of its user's login session, if the app itself has another group or
    /// none.
    public var userLoginGroup: String?
    /// Digests of the app's version, and of the version of the state that it saves (one-time setup,
    /// restoration).
    public var version: UInt64 = 0
    public var stateVersion: UInt64 = 0

    /// All other members get the value that applies if the manifest does not set them.
    public init(
        identifier: AppIdentifier, prewarmCount: Int = 1, prewarmOccasion: PrewarmOccasion = .boot
    ) {
        self.identifier = identifier
        self.prewarmCount = prewarmCount
        self.prewarmOccasion = prewarmOccasion
    }
}

/// Settings that few manifests use. Together they are larger than the rest of a description.
private struct RareSettings: Hashable, Sendable {
    var deadlines = OwnDeadlines()
    var scheduledTasks: [String] = []
    var importBasis: UInt64?
    var importsLearned = false
    var bootGeneration: UInt64?
    var bootKey: EnvironmentKey?
    var isColdOnTerminal = false
}

private struct OwnDeadlines: Hashable, Sendable {
    var launch: Duration?
    var background: Duration?
    var terminate: Duration?
    var prewarm: Duration?
}
