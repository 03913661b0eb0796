internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner

/// An app as the shell uses it: its manifest with everything resolved that could block later
/// (users, groups, paths, the program's eligibility).
///
/// A class, for it is large and handed about a great deal: a copy would count two dozen references.
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
    /// What is executed, after the search of `PATH`.
    let executablePath: String
    /// The program whose main is waited for: the executable itself, or the interpreter at the end
    /// of a script's chain.
    let pausedExecutablePath: String
    /// `Exec=` split into words; the first is argv[0].
    let arguments: [String]
    /// What instances get when the caller brings no environment of its own.
    let environment: [String]
    /// The same, as it goes to a paused instance.
    let encodedEnvironment: StringList
    /// PATH in it.
    let searchPath: String
    let extraKeyNames: Set<String>
    /// The manifest's; nil is that of the caller, else the root directory.
    let workingDirectory: String?
    /// The manifest's; nil is that of the caller, else `defaultUmask`.
    let umask: UInt32?
    static let defaultUmask: UInt32 = 0o022
    /// Whom its instances run as.
    let account: Account
    let groups: [UInt32]
    /// False when instances simply keep the daemon's own credentials.
    let changesUser: Bool
    /// The manifest gives it what its user lacks, a group or a capability: not even that user chooses its
    /// environment, its descriptors or its directory. (Code of that user's can still get into one that has
    /// supplementary groups and nothing else, by ptrace(2): `AppManifest` warns of it.)
    let hasOwnRights: Bool
    /// Whose pool environments its own are.
    var poolOwner: PoolEnvironments.Owner {
        .init(user: account.user, app: identifier, hasOwnRights: hasOwnRights)
    }
    let noNewPrivileges: Bool
    /// What its instances are kept from; nil: nothing.
    var confinement: Confinement? { rareConfinement.value }
    private let rareConfinement: Boxed<Confinement>
    /// Its processes may not use the control socket.
    var isKeptFromControl: Bool { description.isKeptFromControl }
    /// Its filter's, without which a paused instance cannot take a terminal.
    var callForbiddenOnTerminal: String?
    /// Limits of each instance's cgroup.
    let cgroupSettings: [SpawnSpecification.CgroupSetting]
    /// The keys of [Sandbox] and [Resources] that are set, for people.
    let confinementKeys: [String]
    let limits: [ResourceLimit]
    let setsCommandLine: Bool
    let ineligibility: Ineligibility?
    var isPrewarmingWanted: Bool
    /// Identity of every file that the program is made from, for staleness.
    let fingerprint: [InspectedFile]
    /// What the core knows of it.
    var description: AppDescription
    /// What the daemon listens on for it.
    let sockets: [SocketSpecification]

    /// What a process gets of `arguments` before it is paused. A program's main has not run by then; an
    /// app made with an SDK runs its own, which may be a script of an interpreter's.
    var wordsBeforePause: ArraySlice<String> {
        switch kind {
        case .program: arguments.prefix(1)
        case .applicationKit: arguments[...]
        }
    }

    /// Where instances find their end of the app channel.
    var channelNumber: CInt {
        SpawnSpecification.channelNumber(
            openFiles: limits.first { $0.resource == .openFiles }?.soft)
    }

    var readyCondition: ReadyCondition { description.readyCondition }

    /// What an SDK app may be asked for, and shows.
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
    /// `Environment=`, for every caller.
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
    /// Of its manifest's file; what there is no file of has the name that one would have.
    var fileName: String {
        if isMadeOnDemand || isInstance || isDesktopOnly { return "\(identifier).app" }
        let slash = manifestPath.utf8.lastIndex(of: UInt8(ascii: "/"))
        return slash.map { String(manifestPath[manifestPath.utf8.index(after: $0)...]) } ?? ""
    }
    /// A template makes it.
    var isInstance = false
    /// Of the files that its manifest was read from.
    var sourceDigest: UInt64 = 0
    /// When it starts by itself.
    var startOccasions: Set<StartOccasion> = []
    /// Of its desktop entry, if it has one.
    var desktop: DesktopApp?
    /// No manifest adds to its desktop entry.
    var isDesktopOnly = false
    /// A template's instance that somebody asked for: forgotten when nothing of it is left.
    var isMadeOnDemand = false

    /// Of `environment`; computed once because the launch path compares it.
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
