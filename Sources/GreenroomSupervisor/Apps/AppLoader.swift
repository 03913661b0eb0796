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
@LoopActor
struct AppLoader {
    let directories: [String]
    let shimPath: String
    let daemonEnvironment: [String]

    struct Result {
        var apps: [InstalledApp] = []
        var faults: [Control.ManifestFault] = []
        /// Programs that are not there (now): an upgrade may be about to bring them back.
        var missingPrograms: [String] = []
    }

    func load(reporter: Reporter) -> Result {
        let search = searchPath
        let read = ManifestDirectories(
            paths: directories, searchPath: search.split(separator: ":").map(String.init)
        ).read()
        var result = Result()
        for diagnostic in read.diagnostics {
            reporter.say(
                diagnostic.severity == .error ? .error : .warning, diagnostic.description)
            if diagnostic.severity == .error {
                result.faults.append(Control.ManifestFault(diagnostic))
            }
        }
        for (path, reason) in read.unreadable {
            reporter.say(.error, "\(path): \(reason)")
            result.faults.append(.init(file: path, line: 0, column: 0, message: reason))
        }
        let hasShim = unsafe access(shimPath, R_OK) == 0
        if !hasShim {
            reporter.sayOnce(
                "\(shimPath) is missing: programs launch cold; build it with make, or give --shim")
        }
        for manifest in read.manifests {
            do throws(LoadFailure) {
                result.apps.append(try install(manifest, search, hasShim: hasShim))
            } catch {
                reporter.say(.error, "\(manifest.file): \(error.message)")
                result.faults.append(
                    .init(file: manifest.file, line: 0, column: 0, message: error.message))
                if manifest.command[0].hasPrefix("/") {
                    result.missingPrograms.append(manifest.command[0])
                }
            }
        }
        return result
    }

    /// What is wrong with the world that a manifest names.
    private struct LoadFailure: Error { let message: String }

    private var searchPath: String {
        daemonEnvironment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? ExecutableInspection.defaultSearchPath
    }

    private func install(
        _ manifest: AppManifest, _ search: String, hasShim: Bool
    ) throws(LoadFailure) -> InstalledApp {
        let owner = try owner(of: manifest)
        let isSameUser = owner.account.user == getuid()
        let environment = SessionEnvironment.make(
            for: owner.account, daemon: daemonEnvironment, isSameUser: isSameUser,
            additions: manifest.environment.map(\.description))
        let facts: ExecutableFacts
        do throws(ExecutableError) {
            facts = try ExecutableInspection.inspect(
                path: manifest.command[0], searchPath: search)
        } catch {
            throw LoadFailure(message: error.description)
        }
        let extraKeys = Set(manifest.prewarm.environmentKeys)
        let ineligibility = ineligibility(of: manifest, facts, hasShim: hasShim)
        let isWanted =
            manifest.prewarm.depth != .none && manifest.prewarm.occasion != .never
            && manifest.prewarm.count > 0
        let pool = PoolEnvironment(of: environment, extraNames: extraKeys)
        return InstalledApp(
            identifier: AppIdentifier(manifest.identifier), name: manifest.name,
            manifestPath: manifest.file,
            kind: manifest.kind == .applicationKit ? .applicationKit : .program,
            executablePath: facts.path, pausedExecutablePath: facts.executable,
            arguments: manifest.command, environment: environment,
            encodedEnvironment: (try? StringList(environment)) ?? StringList(),
            extraKeyNames: extraKeys,
            workingDirectory: directory(of: manifest, owner.account),
            umask: manifest.umask, account: owner.account, groups: owner.groups,
            changesUser: owner.changes,
            grantsGroups: manifest.group != nil || !manifest.supplementaryGroups.isEmpty,
            noNewPrivileges: manifest.noNewPrivileges,
            limits: limits(of: manifest), setsCommandLine: manifest.prewarm.setsCommandLine,
            ineligibility: ineligibility, isPrewarmingWanted: isWanted, fingerprint: facts.files,
            description: description(
                of: manifest, account: owner.account, key: pool.key,
                isEligible: ineligibility == nil, isWanted: isWanted),
            application: manifest.application, timer: manifest.timer, poolEnvironment: pool)
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
    private func owner(of manifest: AppManifest) throws(LoadFailure) -> Owner {
        var account = try account(manifest.user)
        var changes = manifest.user != nil && account.user != getuid()
        if let name = manifest.group {
            account = account.with(group: try group(name, "Group="))
            changes = true
        }
        var groups = changes ? account.groups() : []
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

    private func account(_ name: String?) throws(LoadFailure) -> Account {
        let wanted = name ?? String(getuid())
        do throws(SystemError) {
            if let number = UInt32(wanted) {
                return try Account.numbered(number) ?? Account(unlisted: number, group: number)
            }
            if let account = try Account.named(wanted) { return account }
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
        var description = AppDescription(
            identifier: AppIdentifier(manifest.identifier), foregroundGroup: group,
            isSingleInstance: manifest.isSingleInstance,
            prewarmCount: isWanted ? manifest.prewarm.count : 0,
            prewarmOccasion: isWanted ? PrewarmOccasion(manifest.prewarm.occasion) : .never,
            isEligible: isEligible, suspendsInBackground: manifest.suspendsInBackground,
            readyCondition: ReadyCondition(manifest.readyCondition),
            launchDeadline: manifest.launchDeadline, backgroundGrace: manifest.backgroundGrace,
            terminateGrace: manifest.terminateGrace,
            prewarmTimeToLive: manifest.prewarm.timeToLive, environmentKey: key)
        description.user = account.user
        guard manifest.kind == .applicationKit else { return description }
        description.acknowledges = true
        description.readyCondition = .finishedLaunching
        description.scenes =
            !manifest.application.hasScenes
            ? .unsupported : manifest.application.hasMultipleScenes ? .multiple : .single
        return description
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
