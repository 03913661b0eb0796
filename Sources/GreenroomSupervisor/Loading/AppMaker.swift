internal import DesktopEntry
internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd
internal import UnitFile

/// Makes an installed app from a manifest that was read, and resolves everything that the manifest
/// names.
@LoopActor
struct AppMaker {
    let cache: LoadingCache
    let dataFolders: DataFolders
    let shimPath: String
    let digest: KeyedDigest

    /// - Returns: nil if only a desktop entry describes the app, and that entry makes no app here.
    func make(
        of manifest: AppManifest, isDesktopOnly: Bool
    ) throws(LoadFailure) -> InstalledApp? {
        let desktop = try desktop(of: manifest, isAlone: isDesktopOnly)
        var command = manifest.command
        if let desktop, let own = try self.command(desktop) { command = own }
        guard let name = command.first else { return nil }
        let identity = try identity(of: manifest)
        var environment = environment(of: manifest, identity.account)
        guard
            var program = try program(
                name, command: command, of: manifest, in: environment, identity,
                desktop: desktop, isDesktopOnly: isDesktopOnly)
        else { return nil }
        let bootImports = program.depth.start?.imports ?? []
        program.depth.learn(
            from: cache.lists, cache.profiles, manifest, identity.account, program.facts, digest
        )
        if let runtime = program.depth.start?.runtime {
            environment = self.environment(
                of: manifest, identity.account, runtime: runtime,
                program.depth.learning?.learned?.variables ?? [])
        } else if program.depth.withholding != nil {
            environment = self.environment(of: manifest, identity.account, isWhole: true)
        }
        let app = app(
            of: manifest, program, command: cache.words(command), identity, environment,
            desktop: desktop, sockets: try sockets(of: manifest))
        addDetails(of: manifest, to: app)
        app.description.depth =
            program.depth.start != nil
            ? .runtime
            : program.depth.withholding != nil
                ? .window : program.depth.opensLibraries ? .libraries : .main
        if let learning = program.depth.learning {
            app.description.importBasis = learning.basis
            app.description.importsLearned = learning.learned?.lines.isEmpty == false
        }
        app.desktop = desktop
        app.isDesktopOnly = isDesktopOnly
        // If the generation of a paused instance is that of its app, the instance can still serve
        // the app. The next supervisor must find that out too, and it knows no former app to count
        // from. So the generation is a digest.
        app.description.generation = app.generation(digest)
        if app.description.importsLearned {
            addBoot(to: app, imports: bootImports)
        }
        return app
    }

    /// Adds what the app was before its imports were learned, when instances may have been paused
    /// that can still serve launches.
    private func addBoot(to app: InstalledApp, imports: [String]) {
        guard let learning = app.program.depth.learning else { return }
        app.description.bootGeneration = app.generation(
            digest, learning.bootKeyNames, imports: imports)
        let pool = learning.bootPool(of: app.environment.strings, app)
        app.description.bootKey = digest.key(of: pool, app.poolOwner)
    }

    private func app(
        of manifest: AppManifest, _ program: Program, command: [String],
        _ identity: InstalledApp.Identity,
        _ environment: InstalledApp.Environment, desktop: DesktopApp?,
        sockets: [SocketSpecification]
    ) -> InstalledApp {
        let identifier = manifest.identifier.compacted
        let isWanted =
            manifest.prewarm.depth != .none && manifest.prewarm.occasion != .never
            && manifest.prewarm.count > 0
        let poolOwner = PoolEnvironments.Owner(
            user: identity.account.user, app: AppIdentifier(identifier),
            hasOwnRights: identity.hasOwnRights)
        return InstalledApp(
            identifier: AppIdentifier(identifier),
            name: manifest.name == manifest.identifier
                ? desktop?.name ?? identifier : manifest.name.compacted,
            manifestPath: manifest.file.compacted,
            kind: manifest.kind == .applicationKit ? .applicationKit : .program,
            program: InstalledApp.Program(
                path: program.path, pausedPath: program.facts?.executable ?? program.path,
                fingerprint: program.facts?.files ?? [], ineligibility: program.ineligibility,
                depth: program.depth),
            command: InstalledApp.Command(
                arguments: command,
                workingDirectory: directory(of: manifest, identity.account) ?? desktop?.path,
                startDirectory: startDirectory(of: desktop, program, identity.account),
                umask: manifest.umask, setsCommandLine: manifest.prewarm.setsCommandLine,
                pausesByCall: manifest.prewarm.depth == .declared),
            environment: environment, identity: identity,
            restrictions: InstalledApp.Restrictions(
                noNewPrivileges: manifest.sandbox.noNewPrivileges,
                rareConfinement: Boxed(program.confinement),
                callForbiddenOnTerminal: program.callForbiddenOnTerminal,
                cgroupSettings: cgroupSettings(of: manifest), keys: manifest.confinementKeys,
                limits: limits(of: manifest)),
            isPrewarmingWanted: isWanted,
            description: AppDescription(
                manifest, identifier, user: identity.account.user,
                isDesktopApp: desktop?.command != nil,
                key: digest.key(of: environment.pool, poolOwner),
                isEligible: program.ineligibility == nil, isWanted: isWanted),
            sockets: sockets)
    }

    private func addDetails(of manifest: AppManifest, to app: InstalledApp) {
        app.application = manifest.application
        app.description.isKeptFromControl = manifest.sandbox.closesControl
        app.description.isColdOnTerminal = app.restrictions.callForbiddenOnTerminal != nil
        app.timer = manifest.timer
        app.path = manifest.path
        app.credentials = manifest.credentials
        app.ownEnvironment = manifest.environment.map(\.description)
        app.setup = manifest.setup
        app.description.version = VersionDigest.of(app.version)
        app.description.stateVersion = VersionDigest.of(app.stateVersion)
        app.launchScreens = manifest.launchScreens
    }

    private func sockets(
        of manifest: AppManifest
    ) throws(LoadFailure) -> [SocketSpecification] {
        do throws(SystemError) {
            return try manifest.socketSpecifications()
        } catch {
            throw LoadFailure(message: "\(error)")
        }
    }

    // MARK: The program

    private struct Program {
        var path: String
        /// Nil if the program was not inspected. That happens only to apps of desktop entries,
        /// which are then never paused.
        var facts: ExecutableFacts?
        var confinement: Confinement?
        var callForbiddenOnTerminal: String?
        var ineligibility: InstalledApp.Ineligibility?
        var depth = InstalledApp.Depth.main
    }

    /// - Returns: nil if only a desktop entry names the program and it is not there.
    private func program(
        _ name: String, command: [String], of manifest: AppManifest,
        in environment: InstalledApp.Environment,
        _ identity: InstalledApp.Identity, desktop: DesktopApp?, isDesktopOnly: Bool
    ) throws(LoadFailure) -> Program? {
        let program = ProgramName(name: name, searchPath: environment.searchPath)
        if isDesktopOnly {
            guard let path = cache.find(name) else { return nil }
            // A program for a terminal is not inspected, because the terminal is launched in its
            // place. If a program cannot be inspected, no manifest is at fault: whoever starts the
            // entry learns what is wrong with it.
            let isInspected =
                manifest.prewarm.depth != .none && desktop?.facts.isTerminal != true
                && (try? cache.facts(program)) != nil
            if !isInspected { return Program(path: path, ineligibility: .onlyDesktopEntry) }
        }
        let facts = try cache.facts(program)
        let sandbox = try self.sandbox(of: manifest, facts, cache.filters)
        var result = Program(
            path: facts.path, facts: facts, confinement: sandbox.confinement,
            callForbiddenOnTerminal: sandbox.callForbiddenOnTerminal,
            ineligibility: ineligibility(
                of: manifest, facts, environment.strings, isOwnUser: !identity.changesUser)
                ?? sandbox.ineligibility)
        if result.ineligibility == nil {
            result.depth = InstalledApp.Depth(
                of: manifest, command: command, facts, environment: environment.strings,
                cache.hooks, cache.withholding,
                profile: cache.profiles.allowing(
                    command, paths: [facts.path, facts.executable], app: manifest.identifier),
                hasFilters: sandbox.confinement?.filters.isEmpty == false,
                hasOwnMounts: sandbox.confinement?.hasOwnMounts == true,
                isOwnUser: !identity.changesUser && getuid() != 0,
                isRoot: identity.account.user == 0)
        }
        return result
    }

    private func ineligibility(
        of manifest: AppManifest, _ facts: ExecutableFacts, _ environment: [String],
        isOwnUser: Bool
    ) -> InstalledApp.Ineligibility? {
        // An SDK app pauses by itself, however it is linked.
        if manifest.kind == .applicationKit { return nil }
        let objection = facts.eligibility.reason ?? ExecutableInspection.objection(to: environment)
        if let reason = objection {
            return .init(code: reason.code, text: reason.explanation)
        }
        return cache.shim.objection(at: shimPath, isOwnUser: isOwnUser)
            .map { .init(code: "no_shim", text: $0) }
    }

    private func environment(
        of manifest: AppManifest, _ account: Account, runtime: Runtime? = nil,
        _ readByImports: [String] = [], isWhole: Bool = false
    ) -> InstalledApp.Environment {
        let own =
            manifest.setup.hasContainer ? dataFolders.environment(of: manifest.identifier) : []
        return cache.environment(
            of: account, additions: own + manifest.environment.map(\.description),
            extraKeys: manifest.prewarm.environmentKeys + readByImports, runtime: runtime,
            isWhole: isWhole)
    }

    private func directory(of manifest: AppManifest, _ account: Account) -> String? {
        manifest.workingDirectory == "~" ? account.home : manifest.workingDirectory
    }

    /// Launchers start the programs of desktop entries in the home directory: a file manager shows
    /// it, and dialogs begin there. A confined program may not be able to enter it. Another user's
    /// home directory may be on a file system of that user's that does not answer.
    private func startDirectory(
        of desktop: DesktopApp?, _ program: Program, _ account: Account
    ) -> String {
        let wantsHome =
            desktop?.command != nil && program.confinement == nil && account.user == getuid()
        return wantsHome && FileStatus(path: account.home)?.kind == .folder
            ? account.home : "/"
    }

    private func limits(of manifest: AppManifest) -> [ResourceLimit] {
        manifest.limits.compactMap { limit in
            ResourceLimit.Resource(rawValue: limit.resource.number).map {
                ResourceLimit($0, soft: limit.soft, hard: limit.hard)
            }
        }
    }

    // MARK: Who it runs as

    /// Users and groups by name or number (systemd.exec(5), User=).
    private func identity(
        of manifest: AppManifest
    ) throws(LoadFailure) -> InstalledApp.Identity {
        var account = try cache.account(manifest.user)
        var changes = manifest.user != nil && account.user != getuid()
        if let name = manifest.group {
            account = account.with(group: try cache.group(name, "Group="))
            changes = true
        }
        var groups: [gid_t] = []
        if changes { groups = cache.groups(of: account) }
        for name in manifest.supplementaryGroups {
            groups.append(try cache.group(name, "SupplementaryGroups="))
            changes = true
        }
        if changes, getuid() != 0 {
            throw LoadFailure(
                message: "User=, Group= and SupplementaryGroups= need greenroomd to run as root")
        }
        return InstalledApp.Identity(
            account: account, groups: groups, changesUser: changes,
            hasOwnRights: manifest.grantsRights)
    }
}

extension InstalledApp.Ineligibility {
    fileprivate static let onlyDesktopEntry = Self(
        code: "desktop_entry",
        text: "only a desktop entry makes this app; a manifest of its name, which needs no Exec=, "
            + "lets it be prewarmed")
}
