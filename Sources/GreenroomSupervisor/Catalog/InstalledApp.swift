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
        /// Speaks the app channel itself and pauses before application-main.
        case applicationKit
    }

    /// Why it is never prewarmed: a stable code and a sentence for people.
    struct Ineligibility: Hashable, Sendable {
        var code: String
        var text: String
    }

    let identifier: AppIdentifier
    let name: String
    let manifestPath: String
    let kind: Kind
    /// The path of the executable, after the search of `PATH`.
    let executablePath: String
    /// The program whose main the shim waits for: the executable itself, or the interpreter at the
    /// end of a script's chain.
    let pausedExecutablePath: String
    /// `Exec=` split into words; the first is argv[0].
    let arguments: [String]
    /// The environment that instances get if their caller brings none.
    let environment: [String]
    /// `environment`, encoded as it is sent to a paused instance.
    let encodedEnvironment: StringList
    /// The PATH in `environment`.
    let searchPath: String
    let extraKeyNames: Set<String>
    /// The manifest's working directory. If it is nil, the caller's is used, or else the root
    /// directory.
    let workingDirectory: String?
    /// The manifest's umask. If it is nil, the caller's is used, or else `defaultUmask`.
    let umask: UInt32?
    static let defaultUmask: UInt32 = 0o022
    /// The account that the app's instances run as.
    let account: Account
    let groups: [UInt32]
    /// False if instances keep the daemon's own credentials.
    let changesUser: Bool
    /// True if the manifest gives the app a group or a capability that its user lacks. Then not
    /// even that user may choose the app's environment, descriptors or directory. (Code of that
    /// user can still enter an app that has supplementary groups and nothing else, by ptrace(2):
    /// `AppManifest` warns of it.)
    let hasOwnRights: Bool
    /// The owner of the app's pool environments.
    var poolOwner: PoolEnvironments.Owner {
        .init(user: account.user, app: identifier, hasOwnRights: hasOwnRights)
    }
    let noNewPrivileges: Bool
    /// The confinement of the app's instances; nil if they are not confined.
    var confinement: Confinement? { rareConfinement.value }
    private let rareConfinement: Boxed<Confinement>
    /// True if the app's processes may not use the control socket.
    var isKeptFromControl: Bool { description.isKeptFromControl }
    /// A system call that the app's filter forbids and that a paused instance needs to take a
    /// terminal. Nil if there is none.
    var callForbiddenOnTerminal: String?
    /// Limits of each instance's cgroup.
    let cgroupSettings: [SpawnSpecification.CgroupSetting]
    /// The keys of [Sandbox] and [Resources] that are set, for people.
    let confinementKeys: [String]
    let limits: [ResourceLimit]
    let setsCommandLine: Bool
    let ineligibility: Ineligibility?
    var isPrewarmingWanted: Bool
    /// The identity of every file that the program is made from. If one changes, paused instances
    /// are stale.
    let fingerprint: [InspectedFile]
    /// What the core knows of the app.
    var description: AppDescription
    /// The sockets that the daemon listens on for the app.
    let sockets: [SocketSpecification]

    /// The words of `arguments` that a process gets before it is paused. For a program that is
    /// argv[0], because its main has not run by then. An app made with the SDK runs its own main,
    /// which may be a script that an interpreter runs, so it gets them all.
    var wordsBeforePause: ArraySlice<String> {
        switch kind {
        case .program: arguments.prefix(1)
        case .applicationKit: arguments[...]
        }
    }

    /// The descriptor number of the instances' end of the app channel.
    var channelNumber: CInt {
        SpawnSpecification.channelNumber(
            openFiles: limits.first { $0.resource == .openFiles }?.soft)
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

    /// The pool environment of `environment`, computed once because the launch path compares it.
    let poolEnvironment: PoolEnvironment

    init(
        identifier: AppIdentifier, name: String, manifestPath: String, kind: Kind,
        executablePath: String, pausedExecutablePath: String, arguments: [String],
        environment: [String], encodedEnvironment: StringList, searchPath: String,
        extraKeyNames: Set<String>,
        workingDirectory: String?, umask: UInt32?, account: Account, groups: [UInt32],
        changesUser: Bool, hasOwnRights: Bool, noNewPrivileges: Bool, confinement: Confinement?,
        cgroupSettings: [SpawnSpecification.CgroupSetting], confinementKeys: [String],
        limits: [ResourceLimit], setsCommandLine: Bool, ineligibility: Ineligibility?,
        isPrewarmingWanted: Bool, fingerprint: [InspectedFile], description: AppDescription,
        sockets: [SocketSpecification], poolEnvironment: PoolEnvironment
    ) {
        self.identifier = identifier
        self.name = name
        self.manifestPath = manifestPath
        self.kind = kind
        self.executablePath = executablePath
        self.pausedExecutablePath = pausedExecutablePath
        self.arguments = arguments
        self.environment = environment
        self.encodedEnvironment = encodedEnvironment
        self.searchPath = searchPath
        self.extraKeyNames = extraKeyNames
        self.workingDirectory = workingDirectory
        self.umask = umask
        self.account = account
        self.groups = groups
        self.changesUser = changesUser
        self.hasOwnRights = hasOwnRights
        self.noNewPrivileges = noNewPrivileges
        rareConfinement = Boxed(confinement)
        self.cgroupSettings = cgroupSettings
        self.confinementKeys = confinementKeys
        self.limits = limits
        self.setsCommandLine = setsCommandLine
        self.ineligibility = ineligibility
        self.isPrewarmingWanted = isPrewarmingWanted
        self.fingerprint = fingerprint
        self.description = description
        self.sockets = sockets
        self.poolEnvironment = poolEnvironment
    }
}
