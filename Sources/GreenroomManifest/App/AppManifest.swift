public import UnitFile

/// An app, as its file `ID.app` describes it. Every path, user and group is still a name, which the
/// loader of manifests resolves.
public struct AppManifest: Hashable, Sendable {
    /// The file of the manifest.
    public var file: String
    /// The position of the identifier; line 1 if it comes from the file's name.
    public var identifierPosition: Position

    // MARK: [App]

    /// `Identifier=`, in reverse-DNS form; the file's name without `.app` unless set.
    public var identifier: String
    /// `Name=`: the name for humans; the identifier unless set.
    public var name: String
    /// `Type=`
    public var kind: Kind
    /// `Exec=`: the program and its first arguments. The program is an absolute path, or a bare
    /// name if it was not looked up. Empty if the desktop entry with the same identifier has the
    /// command.
    public var command: [String]
    /// `Environment=`, in order. Only the last assignment of each name is kept.
    public var environment: [EnvironmentVariable]
    /// `WorkingDirectory=`: absolute, or `~` for the home directory; nil means the caller's.
    public var workingDirectory: String?
    /// `UMask=`; nil means the caller's.
    public var umask: UInt32?
    /// `User=`, `Group=`: names or numbers; nil means the daemon's own.
    public var user: String?
    public var group: String?
    /// `SupplementaryGroups=`, in addition to those of the user.
    public var supplementaryGroups: [String]
    /// `LimitNOFILE=` and so on, in the order of their numbers.
    public var limits: [ResourceLimit]
    /// `Instances=`
    public var isSingleInstance: Bool
    /// `ForegroundGroup=`
    public var foregroundGroup: ForegroundGroup
    /// `SuspendInBackground=`; true for SDK apps and false for programs unless set.
    public var suspendsInBackground: Bool
    /// `ReadyOn=`
    public var readyCondition: ReadyCondition
    /// `LaunchDeadlineSec=`, `BackgroundGraceSec=`, `TerminateGraceSec=`; nil means the daemon's.
    public var launchDeadline: Duration?
    public var backgroundGrace: Duration?
    public var terminateGrace: Duration?

    // MARK: [Prewarm]

    public var prewarm: Prewarm
    /// `[Supervision]`, `[Dependencies]`, `[Socket]`; nil if the manifest has none of their keys.
    public var supervision: SupervisionSettings?
    public var dependencies: DependencySettings?
    public var socket: SocketSettings?

    // MARK: [Install]

    /// `WantedBy=`: when the daemon starts the app, once it is enabled.
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
    /// `KillMode=` in `[App]`; nil means `process` for instances that `run` started, else
    /// `control-group`.
    public var killMode: KillMode?

    /// Which processes are ended when the main process ends by itself (systemd.kill(5)).
    public enum KillMode: String, CaseIterable, Sendable {
        /// All processes that it has started.
        case controlGroup = "control-group"
        /// No other process.
        case process
    }
    /// `[LaunchScreen]`
    public var launchScreens: LaunchScreens?

    public enum Kind: String, CaseIterable, Sendable {
        /// Any executable that does not know about Greenroom.
        case program
        /// An app that uses an SDK: it pauses by itself and is told of its states.
        case applicationKit = "application-kit"
    }

    /// When a launched instance is ready.
    public enum ReadyCondition: String, CaseIterable, Sendable {
        case exec
        /// When it has sent READY=1 (sd_notify(3)).
        case notify
        /// When it has written its first byte to standard output or standard error.
        case firstOutput = "first-output"
        /// When it listens on a socket.
        case listening
    }

    /// At most one app of a group is in the foreground.
    public enum ForegroundGroup: Hashable, Sendable {
        /// The group of the user's session, which is the default.
        case session
        /// `none`: the app neither displaces others nor is displaced.
        case none
        case named(String)
    }

    /// `[Prewarm]`: what to prepare, and when.
    public struct Prewarm: Hashable, Sendable {
        /// `Depth=`; `main` for a program and `application-main` for an SDK app unless set.
        public var depth: Depth
        /// `Count=`: how many paused instances to keep.
        public var count: Int
        /// `When=`
        public var occasion: Occasion
        /// `TimeToLiveSec=`; nil means the daemon's.
        public var timeToLive: Duration?
        /// `EnvironmentKeys=`: variables that the program reads before main, in addition to the
        /// usual ones. A launch in which one differs cannot use a paused instance.
        public var environmentKeys: [String]
        /// `SetCommandLine=`: whether /proc/PID/cmdline is set at launch, which costs about 40 µs.
        public var setsCommandLine: Bool
    }

    /// Whether the manifest gives the app rights that its user lacks: groups or capabilities.
    public var grantsRights: Bool {
        group != nil || !supplementaryGroups.isEmpty || sandbox.ambientCapabilities != 0
    }

    /// How far prewarming goes.
    public enum Depth: String, CaseIterable, Sendable {
        case none
        case main
        case applicationMain = "application-main"
    }

    /// When the daemon prewarms an app.
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
