internal import AppFolders
internal import DesktopEntry
internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Makes installed apps out of manifests: everything that could block later (users, groups, paths,
/// the program itself) is resolved here, once, when manifests are loaded.
///
/// A manifest whose files, program and world are what they were is not read again.
@LoopActor
final class AppLoader {
    let directories: [String]
    let desktop: DesktopSource
    let shimPath: String
    let daemonEnvironment: [String]
    let containers: Containers
    private let variables: [String: String]
    /// What programs were found to be, by the name that was inspected.
    private var programs: [String: ExecutableFacts] = [:]
    private var worldDigest: UInt64 = 0

    init(
        directories: [String], desktop: DesktopSource, shimPath: String,
        daemonEnvironment: [String], containers: Containers
    ) {
        self.directories = directories
        self.desktop = desktop
        self.shimPath = shimPath
        self.daemonEnvironment = daemonEnvironment
        self.containers = containers
        variables = SearchPath.variables(of: daemonEnvironment)
    }

    /// The files that the programs of all apps consist of.
    var programFiles: Set<String> { Set(programs.values.flatMap { $0.files.map(\.path) }) }

    struct Result {
        /// New ones, and those of which anything may have changed.
        var apps: [InstalledApp] = []
        /// Those that are what they were, and those of them that start on other occasions now.
        var unchanged: [InstalledApp] = []
        var moved: [InstalledApp] = []
        var faults: [Control.ManifestFault] = []
        /// Programs that are not there (now): an upgrade may be about to bring them back.
        var missingPrograms: [String] = []
    }

    /// What one loading looks up once and shares between apps; gone after it.
    private final class Shared {
        let world: World
        var entries: [String: DesktopFolders.Entry] = [:]
        var terminal: [String]?
        let hasShim: Bool
        var environments: [[String]: AppEnvironment] = [:]
        var programs: [String: ExecutableFacts] = [:]
        /// Of commands that are a program and nothing else.
        private var commands: [String: [String]] = [:]
        var groups: [UInt32: [gid_t]] = [:]
        let filters = CompiledFilters()
        init(_ world: World, hasShim: Bool) {
            self.world = world
            self.hasShim = hasShim
        }

        func command(_ program: String) -> [String] {
            if let known = commands[program] { return known }
            let made = [program.compacted]
            commands[program] = made
            return made
        }
    }

    /// The environments that an app's instances may get.
    private struct AppEnvironment {
        var strings: [String]
        var encoded: StringList
        var pool: PoolEnvironment
    }

    /// All of it at once, at start-up.
    func load(former: [InstalledApp], reporter: Reporter) -> Result {
        let reading = Reading(self, former: former, reporter: reporter)
        while !reading.isOver { reading.proceed() }
        return reading.result
    }

    /// One reading of everything, in steps so short that other events of the loop can have their turns
    /// between them: there may be thousands of manifests.
    @LoopActor
    final class Reading {
        private enum Step {
            case folders
            case names(AppFolders, EnabledApps)
            case files(AppFolders, EnabledApps, at: Int)
            case choice(EnabledApps)
            case apps(EnabledApps, at: Int)
            case end
            case over
        }

        private(set) var result = Result()
        /// As they were when it began.
        let former: [InstalledApp]
        private let loader: AppLoader
        private let reporter: Reporter
        private let shared: Shared
        private var known: [String: InstalledApp] = [:]
        private var names: [ManifestName] = []
        private var onDemand: Set<ManifestName> = []
        private var manifests: [(AppManifest, AppFile)] = []
        private var step = Step.folders

        init(_ loader: AppLoader, former: [InstalledApp], reporter: Reporter) {
            self.loader = loader
            self.former = former
            self.reporter = reporter
            shared = loader.begin(reporter)
            if loader.digestOfWorld(former, shared) == loader.worldDigest {
                for app in former { known[app.fileName] = app }
            }
        }

        var isOver: Bool {
            if case .over = step { true } else { false }
        }

        /// Takes one step.
        func proceed() {
            switch step {
            case .folders: readFolders()
            case .names(let folders, let enabled):
                collectNames(folders, enabled)
                step = .files(folders, enabled, at: 0)
            case .files(let folders, let enabled, let index):
                guard index < names.count else { return step = .choice(enabled) }
                look(at: names[index], folders, enabled)
                step = .files(folders, enabled, at: index + 1)
            case .choice(let enabled):
                let entries = loader.desktopApps(besides: names, manifests, known, shared, &result)
                manifests =
                    loader.withoutCircles(
                        loader.unique(manifests, reporter, &result), former: result.unchanged,
                        reporter, &result)
                    + entries
                step = .apps(enabled, at: 0)
            case .apps(let enabled, let index):
                guard index < manifests.count else { return step = .end }
                install(manifests[index].0, manifests[index].1, enabled)
                step = .apps(enabled, at: index + 1)
            case .end:
                loader.end(result, shared)
                step = .over
            case .over: break
            }
        }

        private func readFolders() {
            let folders = AppFolders(loader.directories)
            for (path, reason) in folders.unreadable {
                reporter.say(.error, "\(path): \(reason)")
                result.faults.append(.init(file: path, line: 0, column: 0, message: reason))
            }
            step = .names(folders, EnabledApps(folders))
        }

        private func collectNames(_ folders: AppFolders, _ enabled: EnabledApps) {
            names = folders.names
            // Instances have no file of their own: they were asked for, or are enabled.
            onDemand = Set(
                former.filter(\.isMadeOnDemand).map { ManifestName(file: $0.fileName) })
            let fileless = onDemand.union(enabled.names.filter(\.isInstance))
            if !fileless.isEmpty {
                names += fileless.subtracting(names).sorted { $0.identifier < $1.identifier }
            }
        }

        private func look(at name: ManifestName, _ folders: AppFolders, _ enabled: EnabledApps) {
            guard let file = folders.file(of: name), !file.isMasked else { return }
            if let app = known[name.file], app.sourceDigest == file.digest,
                loader.isCurrent(app, shared)
            {
                result.unchanged.append(app)
                let occasions = enabled.occasions(of: name)
                if app.startOccasions != occasions { result.moved.append(app) }
                app.startOccasions = occasions
            } else if let manifest = loader.read(file, shared, reporter, &result) {
                manifests.append((manifest, file))
            }
        }

        private func install(_ manifest: AppManifest, _ file: AppFile, _ enabled: EnabledApps) {
            do throws(LoadFailure) {
                guard let app = try loader.install(manifest, file.isEntry, shared) else { return }
                app.isInstance = file.name.isInstance
                app.sourceDigest = file.digest
                app.startOccasions = enabled.occasions(of: file.name)
                if onDemand.contains(file.name), app.startOccasions.isEmpty { app.becomeOnDemand() }
                result.apps.append(app)
            } catch {
                loader.report(error, of: manifest, reporter, &result)
            }
        }
    }

    private func begin(_ reporter: Reporter) -> Shared {
        let hasShim = unsafe access(shimPath, R_OK) == 0
        if !hasShim {
            reporter.sayOnce(
                "\(shimPath) is missing: programs launch cold; build it with make, or give --shim")
        }
        let shared = Shared(World(environment: variables), hasShim: hasShim)
        shared.entries = DesktopFolders(desktop.paths).entries
        shared.terminal = shared.world.terminal
        keepPrograms(shared)
        return shared
    }

    private func end(_ result: Result, _ shared: Shared) {
        let apps = result.unchanged + result.apps
        let used = Set(apps.map { $0.arguments[0] })
        programs = shared.programs.filter { used.contains($0.key) }
        // With the users of the apps as they are now.
        worldDigest = digestOfWorld(apps, shared)
    }

    /// For an app that is installed: what was found out about its program.
    func keep(_ program: ExecutableFacts?, of app: InstalledApp) {
        programs[app.arguments[0]] = program
    }

    /// The app that a template makes for an instance's name; nil if there is no such template, or it may
    /// not be. Whose it would be is asked before its program is looked into: strangers ask for anything.
    func instantiate(
        _ name: ManifestName, reporter: Reporter,
        _ mayBe: (Account) throws(ControlError) -> Bool
    ) throws(ControlError) -> (app: InstalledApp, program: ExecutableFacts?)? {
        guard name.isInstance, ManifestName.isValid(name.identifier) else { return nil }
        let folders = AppFolders(directories)
        guard let file = folders.file(of: name), !file.isMasked else { return nil }
        let shared = Shared(
            World(environment: variables), hasShim: unsafe access(shimPath, R_OK) == 0)
        shared.entries = DesktopFolders(desktop.paths).entries
        keepPrograms(shared)
        var result = Result()
        guard let manifest = read(file, shared, reporter, &result),
            let owner = try? account(manifest.user, shared), try mayBe(owner)
        else { return nil }
        do throws(LoadFailure) {
            guard let app = try install(manifest, false, shared) else { return nil }
            app.isInstance = true
            app.sourceDigest = file.digest
            app.becomeOnDemand()
            return (app, shared.programs[app.arguments[0]])
        } catch {
            report(error, of: manifest, reporter, &result)
            return nil
        }
    }

    private func read(
        _ file: AppFile, _ shared: Shared, _ reporter: Reporter, _ result: inout Result
    ) -> AppManifest? {
        let sources: [ManifestSource]
        do throws(SystemError) { sources = try file.read() } catch {
            reporter.say(.error, error.description)
            result.faults.append(
                .init(
                    file: error.subject ?? file.main.path, line: 0, column: 0,
                    message: SystemError.text(of: error.code)))
            return nil
        }
        var context = shared.world.context
        context.hasDesktopEntry = { shared.entries[$0] != nil }
        // Without its screen an app still runs.
        context.checkLaunchScreen = { LaunchScreenFile.look($0)?.forLoading }
        let (manifest, diagnostics) = AppManifest.parse(sources, name: file.name, context)
        report(diagnostics, reporter, &result)
        return manifest
    }

    private func report(
        _ diagnostics: [Diagnostic], _ reporter: Reporter, _ result: inout Result
    ) {
        for diagnostic in diagnostics {
            reporter.say(
                diagnostic.severity == .error ? .error : .warning, diagnostic.description)
            if diagnostic.severity == .error {
                result.faults.append(Control.ManifestFault(diagnostic))
            }
        }
    }

    private func report(
        _ failure: LoadFailure, of manifest: AppManifest, _ reporter: Reporter,
        _ result: inout Result
    ) {
        reporter.say(.error, "\(manifest.file): \(failure.message)", of: manifest.identifier)
        result.faults.append(
            .init(file: manifest.file, line: 0, column: 0, message: failure.message))
        if failure.isMissingProgram, let program = manifest.command.first, program.hasPrefix("/") {
            result.missingPrograms.append(program)
        }
    }

    /// Those that do not wait for themselves by way of others, the unchanged ones included.
    private func withoutCircles(
        _ manifests: [(AppManifest, AppFile)], former: [InstalledApp], _ reporter: Reporter,
        _ result: inout Result
    ) -> [(AppManifest, AppFile)] {
        guard manifests.contains(where: { $0.0.dependencies != nil }) else { return manifests }
        let others = former.map { app in
            let dependencies = app.description.dependencies.value
            let names = (dependencies?.requires ?? []) + (dependencies?.after ?? [])
            return (app.identifier.rawValue, names.map(\.rawValue))
        }
        let (kept, diagnostics) = AppManifest.withoutCircles(manifests.map(\.0), beside: others)
        report(diagnostics, reporter, &result)
        let names = Set(kept.map(\.identifier))
        return manifests.filter { names.contains($0.0.identifier) }
    }

    /// The first of each identifier; those that are installed already come before.
    private func unique(
        _ manifests: [(AppManifest, AppFile)], _ reporter: Reporter, _ result: inout Result
    ) -> [(AppManifest, AppFile)] {
        guard !manifests.isEmpty else { return [] }
        let taken = Dictionary(
            result.unchanged.map { ($0.identifier.rawValue, $0.manifestPath) },
            uniquingKeysWith: { first, _ in first })
        let (kept, diagnostics) = AppManifest.withoutDuplicates(
            manifests.map(\.0), beside: taken)
        report(diagnostics, reporter, &result)
        let files = Set(kept.map(\.file))
        return manifests.filter { files.contains($0.0.file) }
    }

    // MARK: What need not be done again

    /// Programs that are what they were; each file is looked at once, however many apps share it.
    private func keepPrograms(_ shared: Shared) {
        var identities: [String: FileIdentity?] = [:]
        shared.programs = programs.filter { _, facts in
            facts.files.allSatisfy { file in
                let now = identities[file.path] ?? FileIdentity(path: file.path)
                identities[file.path] = .some(now)
                return now == file.identity
            }
        }
        programs = shared.programs
    }

    private func isCurrent(_ app: InstalledApp, _ shared: Shared) -> Bool {
        let entry = shared.entries[app.identifier.rawValue]
        guard app.desktop?.digest == entry?.digest else { return false }
        // One that is never paused has not been looked into.
        if app.isDesktopOnly { return FileStatus(path: app.executablePath)?.kind == .file }
        guard let facts = programs[app.arguments[0]] else { return false }
        return facts.path == app.executablePath && facts.files == app.fingerprint
    }

    /// Of what manifests name and no manifest's file shows: accounts, sessions, the shim.
    private func digestOfWorld(_ apps: [InstalledApp], _ shared: Shared) -> UInt64 {
        let files = ["/etc/passwd", "/etc/group"].map { "\(FileIdentity(path: $0), default: "-")" }
        let sessions = Set(apps.map(\.account.user)).sorted().map { user in
            "\(user) \(SessionEnvironment.Surroundings(ofUser: user).variables.count)"
        }
        return PoolEnvironment.digest(
            files + sessions + ["\(shared.hasShim)"] + (shared.terminal ?? []))
    }

    // MARK: Desktop entries

    /// Apps that only a desktop entry makes.
    private func desktopApps(
        besides names: [ManifestName], _ others: [(AppManifest, AppFile)],
        _ known: [String: InstalledApp], _ shared: Shared, _ result: inout Result
    ) -> [(AppManifest, AppFile)] {
        guard desktop.makesApps else { return [] }
        let taken = Set(names.map(\.identifier))
            .union(result.unchanged.map(\.identifier.rawValue))
            .union(others.map(\.0.identifier))
        var manifests: [(AppManifest, AppFile)] = []
        for entry in shared.entries.values.sorted(by: { $0.identifier < $1.identifier })
        where !taken.contains(entry.identifier) {
            let file = AppFile(entry: entry)
            if let app = known[file.name.file], app.isDesktopOnly,
                app.sourceDigest == file.digest, isCurrent(app, shared)
            {
                result.unchanged.append(app)
                continue
            }
            // It asks for nothing: everything is the default but prewarming.
            var context = ManifestContext()
            context.hasDesktopEntry = { _ in true }
            let source = ManifestSource(
                Array("[App]\n[Prewarm]\nDepth=none\n".utf8), file: entry.path)
            if let manifest = AppManifest.parse([source], name: file.name, context).manifest {
                manifests.append((manifest, file))
            }
        }
        return manifests
    }

    /// Nil if the entry makes no app: another type, hidden, its program not installed.
    private func entry(
        of manifest: AppManifest, isAlone: Bool, _ shared: Shared
    ) throws(LoadFailure) -> DesktopApp? {
        let needsCommand = manifest.command.isEmpty
        guard let file = shared.entries[manifest.identifier] else { return nil }
        func none(_ reason: String) throws(LoadFailure) -> DesktopApp? {
            if isAlone || !needsCommand { return nil }
            throw LoadFailure(message: "\(file.path) \(reason); set Exec= in [App]")
        }
        let found: DesktopEntry?
        do throws(DesktopEntry.Mistake) {
            found = try DesktopFolders.read(file, locale: Locale(environment: variables))
        } catch {
            if isAlone || !needsCommand { return nil }
            throw LoadFailure(
                message: "\(file.path):\(error.line):\(error.column): \(error.message)")
        }
        guard let entry = found else { return try none("is no application") }
        if entry.isHidden { return try none("is hidden") }
        if let program = entry.tryExec, find(program, shared) == nil {
            return try none("has a TryExec= that is not installed")
        }
        guard entry.command != nil else { return try none("has no Exec=") }
        let desktops = (variables["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":").map(
            String.init)
        return DesktopApp(
            entry, isCommandUsed: needsCommand, isShown: entry.isShown(in: desktops),
            path: entry.path, digest: file.digest, terminal: shared.terminal
        ) { find($0, shared) }
    }

    private func find(_ program: String, _ shared: Shared) -> String? {
        guard program.hasPrefix("/") else { return shared.world.findExecutable(program) }
        return unsafe access(program, X_OK) == 0 ? program : nil
    }

    /// What is wrong with the world that a manifest names.
    struct LoadFailure: Error {
        let message: String
        /// The program is not there (now): an upgrade may be about to bring it back.
        var isMissingProgram = false
    }

    private var searchPath: String {
        daemonEnvironment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? ExecutableInspection.defaultSearchPath
    }

    private func facts(_ program: String, _ shared: Shared) throws(LoadFailure) -> ExecutableFacts {
        if let known = shared.programs[program] { return known }
        do throws(ExecutableError) {
            let facts = try ExecutableInspection.inspect(path: program, searchPath: searchPath)
            shared.programs[program] = facts
            return facts
        } catch {
            let isMissing =
                switch error {
                case .notFound, .notExecutable: true
                case .interpreterNotFound, .tooManyInterpreters, .badFirstLine: false
                }
            throw LoadFailure(message: error.description, isMissingProgram: isMissing)
        }
    }

    private func command(_ desktop: DesktopApp) throws(LoadFailure) -> [String]? {
        guard let command = desktop.command else { return nil }
        do throws(DesktopEntry.Command.Refusal) {
            return try command.arguments(
                name: desktop.name, icon: desktop.facts.icon, file: desktop.facts.file)
        } catch {
            throw LoadFailure(message: "\(desktop.facts.file): \(error)")
        }
    }

    private func environment(
        of manifest: AppManifest, _ account: Account, _ shared: Shared
    ) -> AppEnvironment {
        let own = manifest.setup.hasContainer ? containers.environment(of: manifest.identifier) : []
        let additions = own + manifest.environment.map(\.description)
        let extraKeys = manifest.prewarm.environmentKeys
        let key = ["\(account.user)", "\(additions.count)"] + additions + extraKeys
        if let known = shared.environments[key] { return known }
        let strings = SessionEnvironment.make(
            for: account, daemon: daemonEnvironment, isSameUser: account.user == getuid(),
            additions: additions)
        let made = AppEnvironment(
            strings: strings, encoded: (try? StringList(strings)) ?? StringList(),
            pool: PoolEnvironment(of: strings, extraNames: Set(extraKeys)))
        shared.environments[key] = made
        return made
    }

    /// - Returns: nil if only a desktop entry makes it and that is none for an app here.
    private func install(
        _ manifest: AppManifest, _ isDesktopOnly: Bool, _ shared: Shared
    ) throws(LoadFailure) -> InstalledApp? {
        let desktop = try entry(of: manifest, isAlone: isDesktopOnly, shared)
        var command = manifest.command
        if let desktop, let own = try self.command(desktop) { command = own }
        guard let program = command.first else { return nil }
        command =
            command.count == 1 ? shared.command(program) : command.map(\.compacted)
        let owner = try owner(of: manifest, shared)
        let environment = environment(of: manifest, owner.account, shared)
        let inspected = isDesktopOnly ? nil : try facts(program, shared)
        guard let path = inspected?.path ?? find(program, shared) else { return nil }
        let sandbox = try inspected.map { facts throws(LoadFailure) in
            try self.sandbox(of: manifest, facts, shared.filters)
        }
        let ineligibility =
            if let inspected {
                self.ineligibility(of: manifest, inspected, hasShim: shared.hasShim)
                    ?? sandbox?.ineligibility
            } else {
                InstalledApp.Ineligibility?.some(.onlyDesktopEntry)
            }
        let isWanted =
            manifest.prewarm.depth != .none && manifest.prewarm.occasion != .never
            && manifest.prewarm.count > 0
        let sockets: [SocketSpecification]
        do throws(SystemError) {
            sockets = try manifest.socketSpecifications()
        } catch {
            throw LoadFailure(message: "\(error)")
        }
        let identifier = manifest.identifier.compacted
        let name =
            manifest.name == manifest.identifier
            ? desktop?.name ?? identifier : manifest.name.compacted
        let app = InstalledApp(
            identifier: AppIdentifier(identifier), name: name,
            manifestPath: manifest.file.compacted,
            kind: manifest.kind == .applicationKit ? .applicationKit : .program,
            executablePath: path, pausedExecutablePath: inspected?.executable ?? path,
            arguments: command, environment: environment.strings,
            encodedEnvironment: environment.encoded,
            extraKeyNames: Set(manifest.prewarm.environmentKeys),
            workingDirectory: directory(of: manifest, owner.account) ?? desktop?.path,
            umask: manifest.umask, account: owner.account, groups: owner.groups,
            changesUser: owner.changes,
            grantsGroups: manifest.group != nil || !manifest.supplementaryGroups.isEmpty,
            noNewPrivileges: manifest.sandbox.noNewPrivileges,
            confinement: sandbox?.confinement,
            cgroupSettings: cgroupSettings(of: manifest),
            confinementKeys: manifest.confinementKeys,
            limits: limits(of: manifest), setsCommandLine: manifest.prewarm.setsCommandLine,
            ineligibility: ineligibility, isPrewarmingWanted: isWanted,
            fingerprint: inspected?.files ?? [],
            description: description(
                of: manifest, identifier, account: owner.account, key: environment.pool.key,
                isEligible: ineligibility == nil, isWanted: isWanted),
            sockets: sockets, poolEnvironment: environment.pool)
        app.application = manifest.application
        app.timer = manifest.timer
        app.path = manifest.path
        app.credentials = manifest.credentials
        app.setup = manifest.setup
        app.description.version = VersionDigest.of(app.version)
        app.description.stateVersion = VersionDigest.of(app.stateVersion)
        app.launchScreens = manifest.launchScreens
        app.callForbiddenOnTerminal = sandbox?.callForbiddenOnTerminal
        app.desktop = desktop
        app.isDesktopOnly = isDesktopOnly
        // A generation is a promise that paused instances are still what they should be, also to
        // the next supervisor, which knows no former app to count from: hence a digest.
        app.description.generation = app.generation
        return app
    }

    private func ineligibility(
        of manifest: AppManifest, _ facts: ExecutableFacts, hasShim: Bool
    ) -> InstalledApp.Ineligibility? {
        // An SDK app pauses by itself, however it is linked.
        if manifest.kind == .applicationKit { return nil }
        if let reason = facts.eligibility.reason {
            return .init(code: reason.code, text: reason.explanation)
        }
        return hasShim
            ? nil : .init(code: "no_shim", text: "\(shimPath), the preload shim, is missing")
    }

    private func directory(of manifest: AppManifest, _ account: Account) -> String? {
        manifest.workingDirectory == "~" ? account.home : manifest.workingDirectory
    }

    private func limits(of manifest: AppManifest) -> [GreenroomLinux.ResourceLimit] {
        manifest.limits.compactMap { limit in
            GreenroomLinux.ResourceLimit.Resource(rawValue: limit.resource.number).map {
                GreenroomLinux.ResourceLimit($0, soft: limit.soft, hard: limit.hard)
            }
        }
    }

    // MARK: Users

    private struct Owner {
        var account: Account
        var groups: [gid_t]
        /// False when instances keep the daemon's credentials as they are.
        var changes: Bool
    }

    /// Users and groups by name or number (systemd.exec(5), User=).
    private func owner(
        of manifest: AppManifest, _ shared: Shared
    ) throws(LoadFailure) -> Owner {
        var account = try account(manifest.user, shared)
        var changes = manifest.user != nil && account.user != getuid()
        if let name = manifest.group {
            account = account.with(group: try group(name, "Group="))
            changes = true
        }
        var groups: [gid_t] = []
        if changes {
            groups = shared.groups[account.user] ?? account.groups()
            shared.groups[account.user] = groups
        }
        for name in manifest.supplementaryGroups {
            groups.append(try group(name, "SupplementaryGroups="))
            changes = true
        }
        if changes, getuid() != 0 {
            throw LoadFailure(
                message: "User=, Group= and SupplementaryGroups= need greenroomd to run as root")
        }
        return Owner(account: account, groups: groups, changes: changes)
    }

    private func account(_ name: String?, _ shared: Shared) throws(LoadFailure) -> Account {
        let wanted = name ?? String(getuid())
        do throws(SystemError) {
            if let account = try shared.world.account(name) { return account }
        } catch {
            throw LoadFailure(message: "User=\(wanted): \(error)")
        }
        throw LoadFailure(message: "User=\(wanted): no such user")
    }

    private func group(_ name: String, _ key: String) throws(LoadFailure) -> gid_t {
        if let number = UInt32(name) { return number }
        do throws(SystemError) {
            if let group = try Account.group(named: name) { return group }
        } catch {
            throw LoadFailure(message: "\(key)\(name): \(error)")
        }
        throw LoadFailure(message: "\(key)\(name): no such group")
    }

    /// The foreground group of a user's session, which is the default of that user's apps.
    nonisolated static func group(ofUser user: uid_t) -> String { "user-\(user)" }

    private func description(
        of manifest: AppManifest, _ identifier: String, account: Account, key: EnvironmentKey,
        isEligible: Bool, isWanted: Bool
    ) -> AppDescription {
        let group: String? =
            switch manifest.foregroundGroup {
            case .session: Self.group(ofUser: account.user)
            case .none: nil
            case .named(let name): name
            }
        var description = AppDescription(
            identifier: AppIdentifier(identifier), foregroundGroup: group,
            isSingleInstance: manifest.isSingleInstance,
            prewarmCount: isWanted ? manifest.prewarm.count : 0,
            prewarmOccasion: isWanted ? PrewarmOccasion(manifest.prewarm.occasion) : .never,
            isEligible: isEligible, suspendsInBackground: manifest.suspendsInBackground,
            readyCondition: ReadyCondition(manifest.readyCondition),
            launchDeadline: manifest.launchDeadline, backgroundGrace: manifest.backgroundGrace,
            terminateGrace: manifest.terminateGrace,
            prewarmTimeToLive: manifest.prewarm.timeToLive, environmentKey: key,
            supervision: manifest.supervision.map(Supervision.init),
            dependencies: manifest.dependencies.map(Dependencies.init),
            hasSockets: manifest.socket != nil)
        description.user = account.user
        description.session = Self.group(ofUser: account.user)
        description.launchScreen = LaunchScreenUse(manifest.launchScreens)
        guard manifest.kind == .applicationKit else { return description }
        description.acknowledges = true
        description.readyCondition = .finishedLaunching
        description.scenes =
            !manifest.application.hasScenes
            ? .unsupported : manifest.application.hasMultipleScenes ? .multiple : .single
        return description
    }
}

extension InstalledApp.Ineligibility {
    fileprivate static let onlyDesktopEntry = Self(
        code: "desktop_entry",
        text: "only a desktop entry makes this app: a manifest of the same name with [Prewarm] "
            + "asks for prewarming")
}

extension InstalledApp {
    /// It was not there at boot or login, and no pool keeps it from being forgotten.
    fileprivate func becomeOnDemand() {
        isMadeOnDemand = true
        switch description.prewarmOccasion {
        case .boot, .login:
            description.prewarmOccasion = .never
            description.prewarmCount = 0
            isPrewarmingWanted = false
        case .demand, .never: break
        }
    }
}

extension String {
    /// A copy in memory of its own: what stays of a manifest is not to stand among what is freed
    /// after thousands were read, which would keep whole pages from being given back.
    fileprivate var compacted: String { String(decoding: Array(utf8), as: UTF8.self) }
}

extension PrewarmOccasion {
    init(_ occasion: AppManifest.Occasion) {
        switch occasion {
        case .boot: self = .boot
        case .login: self = .login
        case .demand: self = .demand
        case .never: self = .never
        }
    }
}

extension ReadyCondition {
    init(_ condition: AppManifest.ReadyCondition) {
        switch condition {
        case .exec: self = .exec
        case .notify: self = .notify
        case .firstOutput: self = .firstOutput
        case .listening: self = .listening
        }
    }
}
