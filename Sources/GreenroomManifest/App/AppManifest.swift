public import UnitFile

/// An installed app, as its file `ID.app` describes it. Every path, user and group is still a name:
/// whoever loads manifests resolves them.
public struct AppManifest: Hashable, Sendable {
    /// Where the manifest was read, and where its identifier stands (line 1 if it is the file name).
    public var file: String
    public var identifierPosition: Position

    // MARK: [App]

    /// `Identifier=`: reverse-DNS; the file's name without `.app` unless set.
    public var identifier: String
    /// `Name=`: for people; the identifier unless set.
    public var name: String
    /// `Type=`
    public var kind: Kind
    /// `Exec=`: the program and its first arguments. The program is an absolute path, or a bare
    /// name if nobody looked it up. Empty if the desktop entry of the same identifier has it.
    public var command: [String]
    /// `Environment=`, in order; of one name the last assignment alone.
    public var environment: [EnvironmentVariable]
    /// `WorkingDirectory=`: absolute, or `~` for the home directory; nil is that of the caller.
    public var workingDirectory: String?
    /// `UMask=`; nil is that of the caller.
    public var umask: UInt32?
    /// `User=`, `Group=`: names or numbers; nil is the daemon's own.
    public var user: String?
    public var group: String?
    /// `SupplementaryGroups=`, beside those of the user.
    public var supplementaryGroups: [String]
    /// `LimitNOFILE=` and so on, in order of their numbers.
    public var limits: [ResourceLimit]
    /// `Instances=`
    public var isSingleInstance: Bool
    /// `ForegroundGroup=`
    public var foregroundGroup: ForegroundGroup
    /// `SuspendInBackground=`: yes for SDK apps, no for programs unless set.
    public var suspendsInBackground: Bool
    /// `ReadyOn=`
    public var readyCondition: ReadyCondition
    /// `LaunchDeadlineSec=`, `BackgroundGraceSec=`, `TerminateGraceSec=`; nil is the daemon's.
    public var launchDeadline: Duration?
    public var backgroundGrace: Duration?
    public var terminateGrace: Duration?

    // MARK: [Prewarm]

    public var prewarm: Prewarm
    /// [Supervision], [Dependencies], [Install]; nil where the manifest has none of their keys.
    public var supervision: SupervisionSettings?
    public var dependencies: DependencySettings?
    public var socket: SocketSettings?

    // MARK: [Install]

    /// `WantedBy=`: when it starts by itself once it is enabled.
    public var wantedBy: [StartOccasion]

    // MARK: [Sandbox], [Resources]

    public var sandbox: Sandbox
    public var resources: Resources

    // MARK: [Application]

    public var application = Application()
    /// `[Timer]`
    public var timer: Timer?
    /// `[Path]`
    public var path: PathTriggers?
    /// `LoadCredential=`, `SetCredential=`
    public var credentials: [Credential] = []
    /// `Version=`, `StateVersion=`, `Container=`
    public var setup = Setup()
    /// `KillMode=` of `[App]`; nil: `process` for what `run` started, else `control-group`.
    public var killMode: KillMode?

    /// Which processes end with the main one (systemd.kill(5)).
    public enum KillMode: String, CaseIterable, Sendable {
        /// All that it has started.
        case controlGroup = "control-group"
        /// None but itself, if it ends by itself.
        case process
    }
    /// `[LaunchScreen]`
    public var launchScreens: LaunchScreens?

    public enum Kind: String, CaseIterable, Sendable {
        /// Any executable, unaware of Greenroom.
        case program
        /// Linked with the SDK: pauses by itself and hears of its states.
        case applicationKit = "application-kit"
    }

    /// What makes a launched instance ready.
    public enum ReadyCondition: String, CaseIterable, Sendable {
        case exec
        /// sd_notify(3) READY=1
        case notify
        /// Its first byte on standard output or standard error.
        case firstOutput = "first-output"
        /// It listens on a socket.
        case listening
    }

    /// Apps of one group displace each other in the foreground.
    public enum ForegroundGroup: Hashable, Sendable {
        /// The default: that of the user's session.
        case session
        /// `none`: displaces nobody and is displaced by nobody.
        case none
        case named(String)
    }

    /// `[Prewarm]`: what to prepare, and when.
    public struct Prewarm: Hashable, Sendable {
        /// `Depth=`: `main` for a program, `application-main` for an SDK app unless set.
        public var depth: Depth
        /// `Count=`: how many paused instances to keep.
        public var count: Int
        /// `When=`
        public var occasion: Occasion
        /// `TimeToLiveSec=`; nil is the daemon's.
        public var timeToLive: Duration?
        /// `EnvironmentKeys=`: variables that the program reads before main, beside the usual ones:
        /// a launch where one differs cannot use a paused instance.
        public var environmentKeys: [String]
        /// `SetCommandLine=`: whether /proc/PID/cmdline is set at launch, which costs some 40 µs.
        public var setsCommandLine: Bool
    }

    /// It gives the app what the app's user lacks: groups or capabilities.
    public var grantsRights: Bool {
        group != nil || !supplementaryGroups.isEmpty || sandbox.ambientCapabilities != 0
    }

    /// How far prewarming goes.
    public enum Depth: String, CaseIterable, Sendable {
        case none
        case main
        case applicationMain = "application-main"
    }

    /// When an app is prewarmed without being asked.
    public enum Occasion: String, CaseIterable, Sendable {
        case boot, login, demand, never
    }
}

/// `NAME=value`
public struct EnvironmentVariable: Hashable, Sendable, CustomStringConvertible {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    public var description: String { "\(name)=\(value)" }
}
