internal import AppFolders
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
    let shimPath: String
    let daemonEnvironment: [String]
    private let variables: [String: String]
    /// What programs were found to be, by the name that was inspected.
    private var programs: [String: ExecutableFacts] = [:]
    private var worldDigest: UInt64 = 0

    init(directories: [String], shimPath: String, daemonEnvironment: [String]) {
        self.directories = directories
        self.shimPath = shimPath
        self.daemonEnvironment = daemonEnvironment
        variables = SearchPath.variables(of: daemonEnvironment)
    }

    struct Result {
        /// New ones, and those of which anything may have changed.
        var apps: [InstalledApp] = []
        /// Those that are what they were.
        var unchanged: [InstalledApp] = []
        var faults: [Control.ManifestFault] = []
        /// Programs that are not there (now): an upgrade may be about to bring them back.
        var missingPrograms: [String] = []
    }

    /// What one loading looks up once and shares between apps; gone after it.
    private final class Shared {
        let world: World
        let hasShim: Bool
        var environments: [[String]: AppEnvironment] = [:]
        var programs: [String: ExecutableFacts] = [:]
        var groups: [UInt32: [gid_t]] = [:]
        init(_ world: World, hasShim: Bool) {
            self.world = world
            self.hasShim = hasShim
        }
    }

    /// The environments that an app's instances may get.
    private struct AppEnvironment {
        var strings: [String]
        var encoded: StringList
        var pool: PoolEnvironment
    }

    func load(former: [InstalledApp], reporter: Reporter) -> Result {
        let hasShim = unsafe access(shimPath, R_OK) == 0
        if !hasShim {
            reporter.sayOnce(
                "\(shimPath) is missing: programs launch cold; build it with make, or give --shim")
        }
        let shared = Shared(World(environment: variables), hasShim: hasShim)
        keepPrograms(shared)
        let world = digestOfWorld(former, hasShim: hasShim)
        var known: [String: InstalledApp] = [:]
        if world == worldDigest {
            for app in former { known[app.fileName] = app }
        }
        worldDigest = world

        let folders = AppFolders(directories)
        var result = Result()
        for (path, reason) in folders.unreadable {
            reporter.say(.error, "\(path): \(reason)")
            result.faults.append(.init(file: path, line: 0, column: 0, message: reason))
        }
        let enabled = EnabledApps(folders)
        var names = folders.names
        let own = Set(names)
        // Instances have no file of their own: they were asked for, or are enabled.
        let onDemand = Set(former.filter(\.isMadeOnDemand).map { ManifestName($0.fileName) })
        names += onDemand.union(enabled.names.filter(\.isInstance)).subtracting(own)
            .sorted { $0.identifier < $1.identifier }
        var manifests: [(AppManifest, AppFile)] = []
        for name in names {
            guard let file = folders.file(of: name), !file.isMasked else { continue }
            if var app = known[name.file], app.sourceDigest == file.digest, isCurrent(app) {
                app.startOccasions = enabled.occasions(of: name)
                result.unchanged.append(app)
                continue
            }
            if let manifest = read(file, shared, reporter, &result) {
                manifests.append((manifest, file))
            }
        }
        let isTaken = Dictionary(
            result.unchanged.map { ($0.identifier.rawValue, $0.manifestPath) },
            uniquingKeysWith: { first, _ in first })
        for (manifest, file) in unique(manifests, isTaken, reporter, &result) {
            do throws(LoadFailure) {
                var app = try install(manifest, shared)
                app.fileName = file.name.file
                app.sourceDigest = file.digest
                app.startOccasions = enabled.occasions(of: file.name)
                if onDemand.contains(file.name), app.startOccasions.isEmpty { app.becomeOnDemand() }
                result.apps.append(app)
            } catch {
                report(error, of: manifest, reporter, &result)
            }
        }
        programs = shared.programs
        return result
    }

    /// The app that a template makes for an instance's name; nil if there is no such template.
    func instantiate(_ name: ManifestName, reporter: Reporter) -> InstalledApp? {
        guard name.isInstance, ManifestName.isValid(name.identifier) else { return nil }
        let folders = AppFolders(directories)
        guard let file = folders.file(of: name), !file.isMasked else { return nil }
        let shared = Shared(
            World(environment: variables), hasShim: unsafe access(shimPath, R_OK) == 0)
        keepPrograms(shared)
        var result = Result()
        guard let manifest = read(file, shared, reporter, &result) else { return nil }
        do throws(LoadFailure) {
            var app = try install(manifest, shared)
            app.fileName = name.file
            app.sourceDigest = file.digest
            app.becomeOnDemand()
            programs[manifest.command[0]] = shared.programs[manifest.command[0]]
            return app
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
        let (manifest, diagnostics) = AppManifest.parse(
            sources, name: file.name, shared.world.context)
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
        reporter.say(.error, "\(manifest.file): \(failure.message)")
        result.faults.append(
            .init(file: manifest.file, line: 0, column: 0, message: failure.message))
        if let program = manifest.command.first, program.hasPrefix("/") {
            result.missingPrograms.append(program)
        }
    }

    /// The first of each identifier; those that are installed already come before.
    private func unique(
        _ manifests: [(AppManifest, AppFile)], _ taken: [String: String], _ reporter: Reporter,
        _ result: inout Result
    ) -> [(AppManifest, AppFile)] {
        let (_, diagnostics) = AppManifest.withoutDuplicates(manifests.map(\.0))
        report(diagnostics, reporter, &result)
        var seen = taken
        return manifests.filter { manifest, _ in
            if let other = seen[manifest.identifier] {
                if taken[manifest.identifier] != nil {
                    report(
                        LoadFailure(
                            message: "the identifier \(manifest.identifier) is already that of "
                                + "\(other); set another Identifier="), of: manifest, reporter,
                        &result)
                }
                return false
            }
            seen[manifest.identifier] = manifest.file
            return true
        }
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

    private func isCurrent(_ app: InstalledApp) -> Bool {
        guard let facts = programs[app.arguments[0]] else { return false }
        return facts.path == app.executablePath && facts.files == app.fingerprint
    }

    /// Of what manifests name and no manifest's file shows: accounts, sessions, the shim.
    private func digestOfWorld(_ apps: [InstalledApp], hasShim: Bool) -> UInt64 {
        let files = ["/etc/passwd", "/etc/group"].map { "\(FileIdentity(path: $0), default: "-")" }
        let sessions = Set(apps.map(\.account.user)).sorted().map { user in
            "\(user) \(unsafe access("/run/user/\(user)", F_OK) == 0)"
        }
        return PoolEnvironment.digest(files + sessions + ["\(hasShim)"])
    }

    /// What is wrong with the world that a manifest names.
    private struct LoadFailure: Error { let message: String }

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
            throw LoadFailure(message: error.description)
        }
    }

    private func environment(
        of manifest: AppManifest, _ account: Account, _ shared: Shared
    ) -> AppEnvironment {
        let additions = manifest.environment.map(\.description)
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

    private func install(
        _ manifest: AppManifest, _ shared: Shared
    ) throws(LoadFailure) -> InstalledApp {
        let owner = try owner(of: manifest, shared)
        let environment = environment(of: manifest, owner.account, shared)
        let facts = try facts(manifest.command[0], shared)
        let ineligibility = ineligibility(of: manifest, facts, hasShim: shared.hasShim)
        let isWanted =
            manifest.prewarm.depth != .none && manifest.prewarm.occasion != .never
            && manifest.prewarm.count > 0
        var app = InstalledApp(
            identifier: AppIdentifier(manifest.identifier), name: manifest.name,
            manifestPath: manifest.file,
            kind: manifest.kind == .applicationKit ? .applicationKit : .program,
            executablePath: facts.path, pausedExecutablePath: facts.executable,
            arguments: manifest.command, environment: environment.strings,
            encodedEnvironment: environment.encoded,
            extraKeyNames: Set(manifest.prewarm.environmentKeys),
            workingDirectory: directory(of: manifest, owner.account),
            umask: manifest.umask, account: owner.account, groups: owner.groups,
            changesUser: owner.changes,
            grantsGroups: manifest.group != nil || !manifest.supplementaryGroups.isEmpty,
            noNewPrivileges: manifest.noNewPrivileges,
            limits: limits(of: manifest), setsCommandLine: manifest.prewarm.setsCommandLine,
            ineligibility: ineligibility, isPrewarmingWanted: isWanted, fingerprint: facts.files,
            description: description(
                of: manifest, account: owner.account, key: environment.pool.key,
                isEligible: ineligibility == nil, isWanted: isWanted),
            poolEnvironment: environment.pool)
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
        of manifest: AppManifest, account: Account, key: EnvironmentKey, isEligible: Bool,
        isWanted: Bool
    ) -> AppDescription {
        let group: String? =
            switch manifest.foregroundGroup {
            case .session: Self.group(ofUser: account.user)
            case .none: nil
            case .named(let name): name
            }
        return AppDescription(
            identifier: AppIdentifier(manifest.identifier), foregroundGroup: group,
            isSingleInstance: manifest.isSingleInstance,
            prewarmCount: isWanted ? manifest.prewarm.count : 0,
            prewarmOccasion: isWanted ? PrewarmOccasion(manifest.prewarm.occasion) : .never,
            isEligible: isEligible, suspendsInBackground: manifest.suspendsInBackground,
            readyCondition: ReadyCondition(manifest.readyCondition),
            launchDeadline: manifest.launchDeadline, backgroundGrace: manifest.backgroundGrace,
            terminateGrace: manifest.terminateGrace,
            prewarmTimeToLive: manifest.prewarm.timeToLive, environmentKey: key)
    }
}

extension InstalledApp {
    /// It was not there at boot or login, and no pool keeps it from being forgotten.
    fileprivate mutating func becomeOnDemand() {
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
        }
    }
}
