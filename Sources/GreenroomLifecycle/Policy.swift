/// When an app is prewarmed without being asked.
public enum PrewarmOccasion: UInt8, Sendable {
    /// As soon as the daemon runs (after a reboot).
    case boot
    /// As soon as the app's user has a login session.
    case login
    /// Only on request; the pool is then refilled after each launch.
    case demand
    case never
}

/// What makes a launched instance ready.
public enum ReadyCondition: UInt8, Sendable {
    /// The program was executed (or has left its pause).
    case exec
    /// `sd_notify` READY=1.
    case notify
    /// Its first byte on standard output or standard error.
    case firstOutput
    /// It listens on a socket.
    case listening
    /// The app says that its launch sequence is over (only apps that acknowledge their states).
    case finishedLaunching
}

/// What the core knows about an installed app. The shell makes it from the manifest.
public struct AppDescription: Hashable, Sendable {
    public var identifier: AppIdentifier
    /// Changes with the manifest or the executable. Paused instances of another generation are
    /// stale.
    public var generation: UInt64
    /// Apps of one group displace each other in the foreground; nil means that the app displaces no
    /// other.
    public var foregroundGroup: String?
    public var isSingleInstance: Bool
    /// How many paused instances to keep. 0 with occasion `.never`.
    public var prewarmCount: Int
    public var prewarmOccasion: PrewarmOccasion
    /// False when the program cannot be paused: it always launches cold.
    public var isEligible: Bool
    public var suspendsInBackground: Bool
    public var readyCondition: ReadyCondition
    /// Whether processes that the main process leaves behind live on (`KillMode=`). If nil, they
    /// live on only in attached instances.
    public var leavesRest: Bool?
    /// Whether a force quit lasts until the user launches the app. If nil, the policy says so, but
    /// not for a service.
    public var forceQuitLasts: Bool?
    /// The app's processes may not use the control socket.
    public var isKeptFromControl = false
    /// The app's own deadlines, where its manifest sets them.
    public var launchDeadline: Duration? {
        get { deadlines.launch }
        set { deadlines.launch = newValue }
    }
    public var backgroundGrace: Duration? {
        get { deadlines.background }
        set { deadlines.background = newValue }
    }
    public var terminateGrace: Duration? {
        get { deadlines.terminate }
        set { deadlines.terminate = newValue }
    }
    public var prewarmTimeToLive: Duration? {
        get { deadlines.prewarm }
        set { deadlines.prewarm = newValue }
    }
    private var rareDeadlines: Boxed<OwnDeadlines>
    private var deadlines: OwnDeadlines {
        get { rareDeadlines.value ?? OwnDeadlines() }
        set { rareDeadlines = Boxed(newValue == OwnDeadlines() ? nil : newValue) }
    }
    /// The environment of the user's session. The pool is filled with it until a launch or a
    /// prewarm brings another one.
    public var environmentKey: EnvironmentKey
    /// `[Supervision]`, `[Install]`, `[Dependencies]` and `[Socket]`, if the manifest has them.
    public var supervision: Boxed<Supervision>
    public var autostart: Boxed<Autostart>
    public var dependencies: Boxed<Dependencies>
    public var hasSockets: Bool
    /// The app is told its states and acknowledges them (it is made with the SDK).
    public var acknowledges = false
    public var scenes = SceneSupport.unsupported
    public var launchScreen = LaunchScreenUse.none
    /// The user whose protected data the app uses.
    public var user: UInt32 = 0
    /// The foreground group of its user's session, if the app's own group is another one or none.
    public var session: String?
    /// Digests of the app's version, and of the version of the state that it saves (one-time setup,
    /// restoration).
    public var version: UInt64 = 0
    public var stateVersion: UInt64 = 0

    public init(
        identifier: AppIdentifier, generation: UInt64 = 1, foregroundGroup: String? = nil,
        isSingleInstance: Bool = false, prewarmCount: Int = 1,
        prewarmOccasion: PrewarmOccasion = .boot, isEligible: Bool = true,
        suspendsInBackground: Bool = false, readyCondition: ReadyCondition = .exec,
        launchDeadline: Duration? = nil, backgroundGrace: Duration? = nil,
        terminateGrace: Duration? = nil, prewarmTimeToLive: Duration? = nil,
        environmentKey: EnvironmentKey = EnvironmentKey(0), supervision: Supervision? = nil,
        autostart: Autostart? = nil, dependencies: Dependencies? = nil, hasSockets: Bool = false
    ) {
        self.identifier = identifier
        self.generation = generation
        self.foregroundGroup = foregroundGroup
        self.isSingleInstance = isSingleInstance
        self.prewarmCount = prewarmCount
        self.prewarmOccasion = prewarmOccasion
        self.isEligible = isEligible
        self.suspendsInBackground = suspendsInBackground
        self.readyCondition = readyCondition
        self.rareDeadlines = .none
        self.environmentKey = environmentKey
        self.supervision = Boxed(supervision)
        self.autostart = Boxed(autostart)
        self.dependencies = Boxed(dependencies)
        self.hasSockets = hasSockets
        self.deadlines = OwnDeadlines(
            launch: launchDeadline, background: backgroundGrace, terminate: terminateGrace,
            prewarm: prewarmTimeToLive)
    }
}

/// Few manifests set any of them, and the four together are larger than the rest of a description.
private struct OwnDeadlines: Hashable, Sendable {
    var launch: Duration?
    var background: Duration?
    var terminate: Duration?
    var prewarm: Duration?
}

/// The daemon-wide defaults and limits. The name in brackets is the source: a system whose
/// published or observed value this is.
public struct Policy: Hashable, Sendable {
    /// From the launch until the ready condition is met (Apple, observed).
    public var launchDeadline: Duration = .seconds(20)
    /// From spawn to the pause point.
    public var pauseDeadline: Duration = .seconds(20)
    /// From GO to STARTED.
    public var startDeadline: Duration = .seconds(2)
    /// From entering the background to being frozen (Android 14).
    public var backgroundGrace: Duration = .seconds(10)
    /// From SIGTERM to SIGKILL (Apple, OpenHarmony).
    public var terminateGrace: Duration = .seconds(5)
    /// From an app's acknowledgement of willTerminate to SIGTERM. The app exits by itself
    /// in the meantime.
    public var exitGrace: Duration = .milliseconds(500)
    /// From the order to freeze until the instance counts as frozen, if the freezer answers neither
    /// yes nor no. A task in an uninterruptible sleep is stopped the moment it leaves that sleep.
    public var freezeDeadline: Duration = .seconds(2)
    /// From one SIGKILL to the next, and how long SIGKILL is repeated after the order to end. After
    /// a minute only the kernel can help (an uninterruptible sleep).
    public var killRetry: Duration = .seconds(1)
    public var killPersistence: Duration = .seconds(60)
    /// How long a paused instance is kept, ± 10 % (OpenWhisk).
    public var prewarmTimeToLive: Duration = .seconds(600)
    /// All paused instances together hold at most this many bytes.
    public var prewarmByteBudget: UInt64 = 1 << 30
    /// The size assumed of a paused instance before one was measured, in bytes.
    public var assumedPrewarmBytes: UInt64 = 16 << 20
    /// At most this many instances are on their way to the pause at once.
    public var concurrentPrewarms: Int = 2
    /// The back-off after a failed prewarm or launch doubles from the first value to the cap.
    public var backOffFirst: Duration = .seconds(1)
    public var backOffCap: Duration = .seconds(300)
    /// This many crashes within the window make a crash loop (Android).
    public var crashLoopCount: Int = 2
    public var crashLoopWindow: Duration = .seconds(120)
    /// Whether an app that its user force-quit is launched by nobody but the user (Apple).
    public var forceQuitLasts = true
    /// The time between two reclaims while pressure lasts, so that the first can have an
    /// effect.
    public var reclaimInterval: Duration = .seconds(1)
    /// How long an app is not prewarmed after one of its paused instances was reclaimed.
    public var reclaimPause: Duration = .seconds(30)
    /// At most this many instances alive at once, in all and for each user; and at most this many
    /// ended ones that are remembered.
    public var instanceLimit: Int = 2048
    public var instancesPerUser: Int = 2048
    /// The user whom the daemon runs as. The shares of users do not apply to this one.
    public var administrator: UInt32 = 0
    public var rememberedExits: Int = 256
    /// From telling an app a step to its acknowledgement, with a warning after half of the time
    /// (Apple, OpenHarmony). Connecting a scene is part of the launch and has more time.
    public var stepDeadline: Duration = .seconds(5)
    public var connectDeadline: Duration = .seconds(10)

    /// How long a level of memory pressure lasts without another report of it.
    public var pressureQuietTime: Duration = .seconds(10)
    /// Whether the shell inspects the machine before a prewarm, and how long the result counts.
    public var inspectsConditions = false
    public var conditionsLifetime: Duration = .seconds(5)
    /// While the machine's condition does not allow prewarming, the time between two inspections
    /// doubles from the first value to the cap.
    public var conditionsRetryFirst: Duration = .seconds(10)
    public var conditionsRetryCap: Duration = .seconds(300)
    /// From the machine's boot to the first prewarm that no client asked for.
    public var prewarmStartDelay: Duration = .zero
    /// How long a hint counts.
    public var hintLifetime: Duration = .seconds(30)
    /// Whether the shell looks for file locks before it freezes an instance, and how long an
    /// instance may keep one.
    public var inspectsFileLocks = false
    public var fileLockGrace: Duration = .seconds(5)
    /// An archive has at most this many bytes, that of an app or of a scene.
    public var stateByteLimit: UInt64 = 32 << 10
    /// Whether the memory of suspended instances is paged out.
    public var pagesOutSuspended = false

    /// How long background tasks keep an app from being suspended (Apple, observed), and the
    /// longest run of scheduled work: a refresh (Apple), and processing, “minutes” (Apple).
    public var backgroundTaskLimit: Duration = .seconds(30)
    public var refreshTaskLimit: Duration = .seconds(30)
    public var processingTaskLimit: Duration = .seconds(300)
    /// How long before the end an app is told about it, if the limit is long enough.
    public var expirationLead: Duration = .seconds(5)
    /// Processing begins only if nobody has used an app for this long.
    public var taskIdleTime: Duration = .seconds(60)
    /// The time between two inspections while the machine's condition holds scheduled work.
    public var taskRetry: Duration = .seconds(60)

    public init() {}
}
