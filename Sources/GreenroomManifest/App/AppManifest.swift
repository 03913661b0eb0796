public import UnitFile

/// An app, as its file `ID.app` describes it. Every path, user and group is still a name, which the
/// loader of manifests resolves.
@dynamicMemberLookup
public struct AppManifest: Hashable, Sendable {
    /// The file of the manifest.
    public var file: String
    /// The position of the identifier; line 1 if it comes from the file's name.
    public var identifierPosition: Position

    // MARK: [App]

    /// `Identifier=`, in reverse-DNS form. Unless set, the file's name without `.app`.
    public var identifier: String
    /// `Name=`: the name for people. Unless set, the identifier.
    public var name: String
    /// `Exec=`: the program and its first arguments. The program is an absolute path, or a bare
    /// name if it was not looked up. Empty if the desktop entry with the same identifier has the
    /// command.
    public var command: [String]
    /// `User=`: a name or a number; nil means the daemon's own.
    public var user: String?
    /// The other keys of `[App]`, which are read as members of the manifest.
    public var app: AppSection

    public subscript<T>(dynamicMember key: KeyPath<AppSection, T>) -> T { app[keyPath: key] }

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
    /// `[LaunchScreen]`
    public var launchScreens: LaunchScreens?

    public enum Kind: String, CaseIterable, Sendable {
        /// Any executable that does not know about Greenroom.
        case program
        /// An app that uses an SDK: it pauses by itself and is told its states.
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
        /// `session`: the group of the user's session.
        case session
        /// `none`: the app neither displaces others nor is displaced.
        case none
        case named(String)
    }

    /// Whether the manifest gives the app rights that its user lacks: groups or capabilities.
    public var grantsRights: Bool {
        app.group != nil || !app.supplementaryGroups.isEmpty || sandbox.ambientCapabilities != 0
    }

    /// How far prewarming goes.
    public enum Depth: String, CaseIterable, Sendable {
        case none
        case main
        /// Before main, with those libraries open that earlier launches opened after main.
        case libraries
        /// After an interpreter has booted.
        case runtime
        /// In the program's main loop, with its first window made and not shown.
        case window
        /// Where the program calls `greenroom_prewarm_pause`.
        case declared
        /// As deep as the program allows.
        case auto
        case applicationMain = "application-main"
    }

    /// The interpreter that runs a program.
    public enum Runtime: String, CaseIterable, Sendable {
        /// The interpreter that the program's name indicates.
        case auto
        case none
        case python, node, ruby, perl, java, r, emacs
    }

    /// When the daemon prewarms an app.
    public enum Occasion: String, CaseIterable, Sendable {
        case boot, login, demand, never, auto
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
