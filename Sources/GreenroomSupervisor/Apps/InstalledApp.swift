internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner

/// An app as the shell uses it: its manifest with everything resolved that could block later
/// (users, groups, paths, the program's eligibility).
struct InstalledApp: Sendable {
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

    var identifier: AppIdentifier
    var name: String
    var manifestPath: String
    var kind: Kind
    /// What is executed, after the search of `PATH`.
    var executablePath: String
    /// The program whose main is waited for: the executable itself, or the interpreter at the end
    /// of a script's chain.
    var pausedExecutablePath: String
    /// `Exec=` split into words; the first is argv[0].
    var arguments: [String]
    /// What instances get when the caller brings no environment of its own.
    var environment: [String]
    /// The same, as it goes to a paused instance.
    var encodedEnvironment: StringList
    var extraKeyNames: Set<String>
    /// The manifest's; nil is that of the caller, else the root directory.
    var workingDirectory: String?
    /// The manifest's; nil is that of the caller, else `defaultUmask`.
    var umask: UInt32?
    static let defaultUmask: UInt32 = 0o022
    /// Whom its instances run as.
    var account: Account
    var groups: [UInt32]
    /// False when instances simply keep the daemon's own credentials.
    var changesUser: Bool
    /// The manifest gives it groups beside its user's: not even that user may put code into it.
    var grantsGroups: Bool
    var noNewPrivileges: Bool
    /// What its instances are kept from; nil: nothing.
    var confinement: Confinement?
    /// Its filter's, without which a paused instance cannot take a terminal.
    var callForbiddenOnTerminal: String?
    /// Limits of each instance's cgroup.
    var cgroupSettings: [SpawnSpecification.CgroupSetting]
    /// The keys of [Sandbox] and [Resources] that are set, for people.
    var confinementKeys: [String]
    var limits: [ResourceLimit]
    var setsCommandLine: Bool
    var ineligibility: Ineligibility?
    var isPrewarmingWanted: Bool
    /// Identity of every file that the program is made from, for staleness.
    var fingerprint: [InspectedFile]
    /// What the core knows of it.
    var description: AppDescription
    /// What the daemon listens on for it.
    var sockets: [SocketSpecification]

    /// What a process gets of `arguments` before it is paused. A program's main has not run by then; an
    /// app made with an SDK runs its own, which may be a script of an interpreter's.
    var wordsBeforePause: ArraySlice<String> {
        switch kind {
        case .program: arguments.prefix(1)
        case .applicationKit: arguments[...]
        }
    }

    var readyCondition: ReadyCondition { description.readyCondition }

    /// What an SDK app may be asked for, and shows.
    var application = AppManifest.Application()
    var timer: AppManifest.Timer?
    var path: AppManifest.PathTriggers?
    var credentials: [AppManifest.Credential] = []

    var interface: String? { application.interface }
    var sceneConfiguration: String? { application.sceneConfiguration }
    /// Of its manifest's file; what there is no file of has the name that one would have.
    var fileName: String {
        if isMadeOnDemand || isInstance || isDesktopOnly { return "\(identifier).app" }
        return manifestPath.split(separator: "/").last.map(String.init) ?? ""
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
    var poolEnvironment: PoolEnvironment
}
