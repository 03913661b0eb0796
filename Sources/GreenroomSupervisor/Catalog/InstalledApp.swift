internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner

/// An app as the shell uses it: its manifest with everything resolved that could block later
/// (users, groups, paths, the program's eligibility).
///
/// A class because it is large and passed around often: copying a structure would retain two dozen
/// references.
final class InstalledApp {
    enum Kind: Hashable, Sendable {
        /// An unmodified program: paused by the preload shim.
        case program
        /// An app made with the SDK: it speaks the app channel itself and pauses before
        /// application-main.
        case applicationKit
    }

    /// Why the app is never prewarmed: a stable code and a sentence for people.
    struct Ineligibility: Hashable, Sendable {
        var code: String
        var text: String
    }

    /// The program that instances execute.
    struct Program {
        /// The path of the executable, after the search of `PATH`.
        let path: String
        /// The program whose main the shim waits for: the executable itself, or the interpreter at
        /// the end of a script's chain.
        let pausedPath: String
        /// The identity of every file that the program is made from. If one changes, paused
        /// instances are stale.
        let fingerprint: [InspectedFile]
        let ineligibility: Ineligibility?
        let depth: Depth
    }

    /// How far instances are prewarmed.
    struct Depth {
        /// How the interpreter is started. Nil if the program pauses before main.
        var start: RuntimeStart?
        /// Whether the libraries that the program opens after main are opened before the pause.
        var opensLibraries = false
        /// The library that withholds the program's windows, if the program is held at its first
        /// window.
        var withholding: String?
        /// Whether the program is held only if it is no client of a Wayland compositor.
        var isHeldOnlyOnX11 = false
        /// The file of the profile that has the program held. Nil if the manifest asks for that.
        var profile: String?
        /// The daemon's files that run in the interpreter, or in the program.
        let files: [InspectedFile]
        /// For a script, the words of its process up to the script.
        let scriptWords: [String]
        /// Nil if the interpreter's imports are not learned, because they cannot be inspected, or
        /// because the manifest has a list.
        var learning: Learning?
        /// Why the app is not prewarmed deeper. Nil if it is, or if no interpreter runs its
        /// program.
        let objection: Ineligibility?

        static let main = Depth(start: nil, files: [], scriptWords: [], objection: nil)
        static let libraries = Depth(
            start: nil, opensLibraries: true, files: [], scriptWords: [], objection: nil)
    }

    /// What the app's launches may teach about its imports.
    struct Learning: Equatable {
        /// A digest of what a list of imports depends on: the user, the command line, the program's
        /// files and the settings of the manifest.
        let basis: UInt64
        /// What the launches had taught when the app was made.
        let learned: LearnedImports?
        /// Neither these modules nor modules that import them may be imported before the pause.
        let excluded: [String]
        /// Names of variables that counted for the pool before anything was learned.
        let bootKeyNames: Set<String>
        /// The script that the manifest names after the interpreter. The first lines of a script
        /// decide what may be imported, so after an edit everything is learned anew.
        var script: InspectedFile?
        /// What a profile says of modules that would be refused, and the profile's file.
        var vouching: Vouching?
        var profile: String?
    }

    /// How the program is executed, as far as the manifest says.
    struct Command {
        /// `Exec=` split into words; the first is argv[0].
        let arguments: [String]
        /// Nil means the caller's directory or, if there is none, `startDirectory`.
        let workingDirectory: String?
        /// The working directory of a launch that brings none.
        let startDirectory: String
        /// Nil means the caller's umask or, if there is none, `defaultUmask`.
        let umask: UInt32?
        let setsCommandLine: Bool
        /// True if the program itself calls `greenroom_prewarm_pause`, instead of being paused
        /// before main.
        let pausesByCall: Bool
    }

    /// The environment that instances get if their caller brings none.
    struct Environment {
        let strings: [String]
        /// `strings`, encoded as they are sent to a paused instance.
        let encoded: StringList
        /// The PATH in `strings`.
        let searchPath: String
        /// Names of variables that count for the pool, in addition to those that every program
        /// reads.
        let extraKeyNames: Set<String>
        /// The interpreter, if instances pause after its boot: its variables count too.
        let runtime: Runtime?
        /// Whether all variables count, because the program reads them before its pause.
        let isWhole: Bool
        /// The pool environment of `strings`, computed once because the launch path compares it.
        let pool: PoolEnvironment
    }

    /// The user and the groups that instances run as.
    struct Identity {
        let account: Account
        let groups: [UInt32]
        /// False if instances keep the daemon's own credentials.
        let changesUser: Bool
        /// True if the manifest gives the app a group or a capability that its user lacks. Then not
        /// even that user may choose the app's environment, descriptors or directory. (Code of that
        /// user can still enter an app that has supplementary groups and nothing else, by
        /// ptrace(2): `AppManifest` warns of it.)
        let hasOwnRights: Bool
    }

    /// What instances may not do, and how much they may use.
    struct Restrictions {
        let noNewPrivileges: Bool
        /// The confinement of the app's instances; nil if they are not confined.
        var confinement: Confinement? { rareConfinement.value }
        let rareConfinement: Boxed<Confinement>
        /// A system call that the app's filter forbids and that a paused instance needs to take a
        /// terminal. Nil if there is none.
        let callForbiddenOnTerminal: String?
        /// Limits of each instance's cgroup.
        let cgroupSettings: [SpawnSpecification.CgroupSetting]
        /// The keys of [Sandbox] and [Resources] that are set, for people.
        let keys: [String]
        let limits: [ResourceLimit]
    }

    let identifier: AppIdentifier
    let name: String
    let manifestPath: String
    let kind: Kind
    let program: Program
    let command: Command
    static let defaultUmask: UInt32 = 0o022
    let environment: Environment
    let identity: Identity
    var account: Account { identity.account }
    /// The owner of the app's pool environments.
    var poolOwner: PoolEnvironments.Owner {
        .init(user: account.user, app: identifier, hasOwnRights: identity.hasOwnRights)
    }
    let restrictions: Restrictions
    /// True if the app's processes may not use the control socket.
    var isKeptFromControl: Bool { description.isKeptFromControl }
    var isPrewarmingWanted: Bool
    /// What the core knows of the app.
    var description: AppDescription
    /// The sockets that the daemon listens on for the app.
    let sockets: [SocketSpecification]

    /// The words of `arguments` that a process gets before it is paused. A program gets only
    /// argv[0], because its main has not run by then. An app made with the SDK runs its own main,
    /// which may be a script that an interpreter runs, so it gets all words.
    var wordsBeforePause: ArraySlice<String> {
        switch kind {
        case .program: command.arguments.prefix(1)
        case .applicationKit: command.arguments[...]
        }
    }

    /// The descriptor number of the instances' end of the app channel.
    var channelNumber: CInt {
        SpawnSpecification.channelNumber(
            openFiles: restrictions.limits.first { $0.resource == .openFiles }?.soft)
    }

    var readyCondition: ReadyCondition { description.readyCondition }

    /// What an app made with the SDK can be asked for, and what it shows.
    var application: AppManifest.Application {
        get { rareApplication.value ?? AppManifest.Application() }
        set { rareApplication = Boxed(newValue == AppManifest.Application() ? nil : newValue) }
    }
    private var rareApplication = Boxed<AppManifest.Application>.none
    var timer: AppManifest.Timer? {
        get { rareTimer.value }
        set { rareTimer = Boxed(newValue) }
    }
    private var rareTimer = Boxed<AppManifest.Timer>.none
    var path: AppManifest.PathTriggers? {
        get { rarePath.value }
        set { rarePath = Boxed(newValue) }
    }
    private var rarePath = Boxed<AppManifest.PathTriggers>.none
    var credentials: [AppManifest.Credential] = []
    /// The variables of `Environment=`, which apply to every caller.
    var ownEnvironment: [String] = []
    var setup: AppManifest.Setup {
        get { rareSetup.value ?? AppManifest.Setup() }
        set { rareSetup = Boxed(newValue == AppManifest.Setup() ? nil : newValue) }
    }
    private var rareSetup = Boxed<AppManifest.Setup>.none
    var version: String { setup.version }
    var hasContainer: Bool { setup.hasContainer }
    var stateVersion: String { setup.stateVersion ?? setup.version }

    var launchScreens: AppManifest.LaunchScreens? {
        get { rareLaunchScreens.value }
        set { rareLaunchScreens = Boxed(newValue) }
    }
    private var rareLaunchScreens = Boxed<AppManifest.LaunchScreens>.none

    var interface: String? { application.interface }
    var sceneConfiguration: String? { application.sceneConfiguration }
    /// The name of the manifest's file. An app without a file has the name that its file would
    /// have.
    var fileName: String {
        if isMadeOnDemand || isInstance || isDesktopOnly { return "\(identifier).app" }
        let slash = manifestPath.utf8.lastIndex(of: UInt8(ascii: "/"))
        return slash.map { String(manifestPath[manifestPath.utf8.index(after: $0)...]) } ?? ""
    }
    /// True if a template makes the app.
    var isInstance = false
    /// The digest of the files that the manifest was read from.
    var sourceDigest: UInt64 = 0
    /// The occasions on which the app starts by itself.
    var startOccasions: Set<StartOccasion> = []
    /// The app's desktop entry, if it has one.
    var desktop: DesktopApp?
    /// True if the app has a desktop entry and no manifest.
    var isDesktopOnly = false
    /// True if the app is an instance of a template and was made because somebody asked for it. It
    /// is removed from the catalog when nothing of it is left.
    var isMadeOnDemand = false

    init(
        identifier: AppIdentifier, name: String, manifestPath: String, kind: Kind,
        program: Program, command: Command, environment: Environment, identity: Identity,
        restrictions: Restrictions, isPrewarmingWanted: Bool, description: AppDescription,
        sockets: [SocketSpecification]
    ) {
        self.identifier = identifier
        self.name = name
        self.manifestPath = manifestPath
        self.kind = kind
        self.program = program
        self.command = command
        self.environment = environment
        self.identity = identity
        self.restrictions = restrictions
        self.isPrewarmingWanted = isPrewarmingWanted
        self.description = description
        self.sockets = sockets
    }
}
