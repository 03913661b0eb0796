internal import AppFolders
internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Makes installed apps out of manifests: everything that could block later (users, groups, paths,
/// the program itself) is resolved here, once, when manifests are loaded.
///
/// `ManifestReading` goes through the files, `AppMaker` makes an app of each, and `LoadingCache` asks
/// the machine. A manifest is not read again if its files, its program and the machine around it
/// have not changed.
@LoopActor
final class AppLoader {
    let places: ManifestPlaces
    let shimPath: String
    private let hooks: RuntimeHooks
    private let lists: ImportLists
    private var profiles: ProfileFolders?
    private let daemonEnvironment: [String]
    private let dataFolders: DataFolders
    private let digest: KeyedDigest
    /// What is known of each program that was inspected.
    private var programs: [ProgramName: ExecutableFacts] = [:]
    private var worldDigest = 0
    /// `DefaultWhen=`, and what it was when the apps were read.
    var defaultOccasion: AppManifest.Occasion
    private var formerOccasion: AppManifest.Occasion?
    /// What the last loading found wrong.
    private(set) var complaints: Set<String> = []

    init(
        places: ManifestPlaces, shimPath: String, hooks: RuntimeHooks, lists: ImportLists,
        daemonEnvironment: [String], dataFolders: DataFolders, digest: KeyedDigest,
        defaultOccasion: AppManifest.Occasion = .boot
    ) {
        self.defaultOccasion = defaultOccasion
        self.places = places
        self.shimPath = shimPath
        self.hooks = hooks
        self.lists = lists
        self.daemonEnvironment = daemonEnvironment
        self.dataFolders = dataFolders
        self.digest = digest
    }

    /// The part of the daemon's environment with which manifests are read.
    var readingEnvironment: [String] { MachineValues.environment(daemonEnvironment) }

    /// The files that the programs of all apps consist of.
    var programFiles: Set<String> {
        Set(programs.values.flatMap { $0.files.map(\.path) }).union(hookFiles).union(scripts)
    }
    /// The scripts of apps whose manifests name an interpreter.
    private var scripts: Set<String> = []
    /// The daemon's files that run in the interpreters of apps.
    private var hookFiles: Set<String> = []

    /// Reads all manifests at once, at start-up.
    func load(former: [InstalledApp], log: Log) -> LoadResult {
        let reading = ManifestReading(self, former: former, log: log)
        while !reading.isOver { reading.proceed() }
        return reading.result
    }

    /// Makes the cache of one loading.
    func begin(_ log: Log) -> LoadingCache {
        let profiles = ProfileFolders(places.profileDirectories, former: profiles)
        if profiles.digest != self.profiles?.digest { say(profiles, log) }
        self.profiles = profiles
        let cache = LoadingCache(
            daemonEnvironment: daemonEnvironment, desktopPaths: places.desktop.paths,
            shimPath: shimPath, hooks: hooks, lists: lists, profiles: profiles,
            programs: programs, defaultOccasion: defaultOccasion)
        if let objection = cache.shim.objection(at: shimPath, isOwnUser: getuid() != 0) {
            let whose = cache.shim.obstacle == nil ? "other users' programs" : "programs"
            log.sayOnce("\(whose) launch cold: \(objection)")
        }
        programs = cache.programs
        return cache
    }

    /// Logs what is wrong with profiles. A faulty profile is ignored, and no app is refused because
    /// of it.
    private func say(_ profiles: ProfileFolders, _ log: Log) {
        for (path, objection) in profiles.refused {
            log.say(.warning, "\(path): not read: \(objection)")
        }
        for diagnostic in profiles.diagnostics { log.say(.warning, diagnostic.description) }
    }

    func maker(_ cache: LoadingCache) -> AppMaker {
        AppMaker(cache: cache, dataFolders: dataFolders, shimPath: shimPath, digest: digest)
    }

    /// Whether accounts, sessions and the shim are what they were when these apps were read.
    func isWorldSame(for apps: [InstalledApp], _ cache: LoadingCache) -> Bool {
        cache.digestOfMachine(apps) == worldDigest && cache.defaultOccasion == formerOccasion
    }

    func end(_ result: LoadResult, _ cache: LoadingCache) {
        let apps = result.unchanged + result.apps
        let used = Set(apps.map(\.programName))
        programs = cache.programs.filter { used.contains($0.key) }
        // The digest covers the users that own the apps now.
        worldDigest = cache.digestOfMachine(apps)
        formerOccasion = cache.defaultOccasion
        complaints = result.complaints
        hookFiles = Set(apps.flatMap { $0.program.depth.files.map(\.path) })
        scripts = Set(apps.compactMap { $0.program.depth.learning?.script?.path })
    }

    /// Keeps what was found out about the program of an installed app.
    func keep(_ program: ExecutableFacts?, of app: InstalledApp) {
        programs[app.programName] = program
    }

    /// The app that a template makes for an instance's name; nil if there is no such template, or
    /// if `mayBe` refuses the app's owner. The owner is checked before the program is inspected,
    /// because strangers ask for any name.
    func instantiate(
        _ name: ManifestName, log: Log,
        _ mayBe: (Account) throws(ControlError) -> Bool
    ) throws(ControlError) -> (app: InstalledApp, program: ExecutableFacts?)? {
        guard name.isInstance, ManifestName.isValid(name.identifier) else { return nil }
        let folders = AppFolders(places.directories)
        guard let file = folders.file(of: name), !file.isMasked else { return nil }
        let cache = begin(log)
        var result = LoadResult()
        guard let manifest = result.read(file, cache, log),
            let owner = try? cache.account(manifest.user), try mayBe(owner)
        else { return nil }
        do throws(LoadFailure) {
            guard let app = try maker(cache).make(of: manifest, isDesktopOnly: false) else {
                return nil
            }
            app.isInstance = true
            app.sourceDigest = file.digest
            app.becomeOnDemand()
            return (app, cache.programs[app.programName])
        } catch {
            result.report(error, of: manifest, log)
            return nil
        }
    }
}

extension InstalledApp {
    /// Marks the app as made on demand. It was not there at boot or login, and it gets no pool for
    /// these occasions: a pool would keep it from being forgotten.
    func becomeOnDemand() {
        isMadeOnDemand = true
        switch description.prewarmOccasion {
        case .boot, .login, .auto:
            description.prewarmOccasion = .never
            description.prewarmCount = 0
            isPrewarmingWanted = false
        case .demand, .never: break
        }
    }
}

/// Where manifests, profiles and desktop entries lie.
struct ManifestPlaces: Sendable {
    /// The folders of manifests, in order of precedence.
    let directories: [String]
    /// Where the system's daemon has its apps; empty for that daemon itself.
    var systemDirectories: [String] = []
    /// The folders of profiles, in order of precedence.
    var profileDirectories: [String] = []
    var desktop = DesktopSource()
}
