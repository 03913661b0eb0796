/// When an app is prewarmed without being asked.
public enum PrewarmOccasion: UInt8, Sendable {
    /// As soon as the daemon runs (after a reboot).
    case boot
    /// Once its user has a session.
    case login
    /// Only on request, and refilled after a launch.
    case demand
    case never
}

/// What makes a launched instance ready.
public enum ReadyCondition: UInt8, Sendable {
    /// The program was executed (or has passed its pause).
    case exec
    /// `sd_notify` READY=1.
    case notify
    /// Its first byte on standard output or standard error.
    case firstOutput
    /// It listens on a socket.
    case listening
    /// The app says that its launch sequence is over (apps that acknowledge their states).
    case finishedLaunching
}

/// What the core knows about an installed app. The shell makes it from the manifest.
public struct AppDescription: Hashable, Sendable {
    public var identifier: AppIdentifier
    /// Changes with the manifest or the executable: paused instances of another generation are stale.
    public var generation: UInt64
    /// Apps of one group displace each other in the foreground; nil displaces nobody.
    public var foregroundGroup: String?
    public var isSingleInstance: Bool
    /// How many paused instances to keep. 0 with occasion `.never`.
    public var prewarmCount: Int
    public var prewarmOccasion: PrewarmOccasion
    /// False when the program cannot be paused: it always launches cold.
    public var isEligible: Bool
    public var suspendsInBackground: Bool
    public var readyCondition: ReadyCondition
    /// Whether what its main process leaves behind lives on (`KillMode=`); nil: behind a client only.
    public var leavesRest: Bool?
    /// Its processes may not use the control socket.
    public var isKeptFromControl = false
    /// Own deadlines of the app, where its manifest sets them.
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
    /// The environment of its user's session: what its pool is filled with until a launch or a
    /// prewarm brings another.
    public var environmentKey: EnvironmentKey
    /// `[Supervision]`, `[Install]`, `[Dependencies]` and `[Socket]`, where the manifest has them.
    public var supervision: Boxed<Supervision>
    public var autostart: Boxed<Autostart>
    public var dependencies: Boxed<Dependencies>
    public var hasSockets: Bool
    /// It is told its states and acknowledges them (made with the SDK).
    public var acknowledges = false
    public var scenes = SceneSupport.unsupported
    public var launchScreen = LaunchScreenUse.none
    /// Whose protected data it uses.
    public var user: UInt32 = 0
    /// The foreground group of its user's session, where its own is another or none.
    public var session: String?
    /// Digests of its version, and of that of the state which it saves (one-time setup, restoration).
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

/// Few manifests set any, and four of them are more than the rest of a description.
private struct OwnDeadlines: Hashable, Sendable {
    var launch: Duration?
    var background: Duration?
    var terminate: Duration?
    var prewarm: Duration?
}

/// The daemon-wide defaults and limits. Sources: what peers publish, named with each.
public struct Policy: Hashable, Sendable {
    /// From the launch to its ready condition (Apple, observed).
    public var launchDeadline: Duration = .seconds(20)
    /// From spawn to the pause point.
    public var pauseDeadline: Duration = .seconds(20)
    /// From GO to STARTED.
    public var startDeadline: Duration = .seconds(2)
    /// From entering the background to being frozen (Android 14).
    public var backgroundGrace: Duration = .seconds(10)
    /// From SIGTERM to SIGKILL (Apple, OpenHarmony).
    public var terminateGrace: Duration = .seconds(5)
    /// From an app's acknowledgement of willTerminate to SIGTERM: it ends by itself meanwhile.
    public var exitGrace: Duration = .milliseconds(500)
    /// From ordering a freeze to believing it, where the freezer says neither yes nor no: a task
    /// in an uninterruptible sleep is stopped the moment that it leaves it.
    public var freezeDeadline: Duration = .seconds(2)
    /// From SIGKILL to the next one, and for how long after the order to end they are repeated:
    /// after a minute only the kernel can help (an uninterruptible sleep).
    public var killRetry: Duration = .seconds(1)
    public var killPersistence: Duration = .seconds(60)
    /// How long a paused instance is kept, with a jitter of ± 10 % (OpenWhisk).
    public var prewarmTimeToLive: Duration = .seconds(600)
    /// Paused instances together never exceed this many bytes.
    public var prewarmByteBudget: UInt64 = 1 << 30
    /// Assumed for a prewarm whose memory has not been measured yet, in bytes.
    public var assumedPrewarmBytes: UInt64 = 16 << 20
    /// At most this many prewarms run towards their pause at once.
    public var concurrentPrewarms: Int = 2
    /// Back-off after a failed prewarm or launch: doubles from `first` to `cap`.
    public var backOffFirst: Duration = .seconds(1)
    public var backOffCap: Duration = .seconds(300)
    /// This many crashes within the window make a crash loop (Android).
    public var crashLoopCount: Int = 2
    public var crashLoopWindow: Duration = .seconds(120)
    /// Between two steps of taking memory back while pressure lasts, so that the first can show.
    public var reclaimInterval: Duration = .seconds(1)
    /// How long an app whose paused instance was reclaimed is not prewarmed again.
    public var reclaimPause: Duration = .seconds(30)
    /// Instances alive at once, of all users and of one, and ended ones that are remembered.
    public var instanceLimit: Int = 2048
    public var instancesPerUser: Int = 2048
    /// The user that shares with nobody: whoever the daemon runs as.
    public var administrator: UInt32 = 0
    public var rememberedExits: Int = 256
    /// From telling an app a step to its acknowledgement, with a warning at half time (Apple,
    /// OpenHarmony); the connection of a scene belongs to the launch and has more.
    public var stepDeadline: Duration = .seconds(5)
    public var connectDeadline: Duration = .seconds(10)

    /// Without another report of it, how long a level of memory pressure lasts.
    public var pressureQuietTime: Duration = .seconds(10)
    /// Whether the shell looks at the machine before a prewarm, and how long that is believed.
    public var inspectsConditions = false
    public var conditionsLifetime: Duration = .seconds(5)
    /// While the machine is in no condition, the pause between two looks doubles to the cap.
    public var conditionsRetryFirst: Duration = .seconds(10)
    public var conditionsRetryCap: Duration = .seconds(300)
    /// From the machine's boot to the first prewarm that nobody asked for.
    public var prewarmStartDelay: Duration = .zero
    /// How long a hint is believed.
    public var hintLifetime: Duration = .seconds(30)
    /// Whether the shell looks for file locks before it freezes, and the grace of who holds one.
    public var inspectsFileLocks = false
    public var fileLockGrace: Duration = .seconds(5)
    /// The largest archive that is kept, of an app or of a scene.
    public var stateByteLimit: UInt64 = 32 << 10
    /// Whether what suspended instances hold is taken out of memory.
    public var pagesOutSuspended = false

    /// How long background tasks keep an app from being suspended (Apple, observed), and a run of
    /// scheduled work: a refresh (Apple), and processing, “minutes” (Apple).
    public var backgroundTaskLimit: Duration = .seconds(30)
    public var refreshTaskLimit: Duration = .seconds(30)
    public var processingTaskLimit: Duration = .seconds(300)
    /// How long before its end an app is told, where the limit has room for it.
    public var expirationLead: Duration = .seconds(5)
    /// How long nobody must have used an app before processing begins.
    public var taskIdleTime: Duration = .seconds(60)
    /// While the machine stands in the way of scheduled work: from one look at it to the next.
    public var taskRetry: Duration = .seconds(60)

    public init() {}
}
