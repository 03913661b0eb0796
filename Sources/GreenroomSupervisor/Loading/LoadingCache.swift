internal import AppFolders
internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

/// What one loading of manifests looks up once and shares between apps; dropped after the loading.
final class LoadingCache {
    let shim: PreloadLibrary
    let hooks: RuntimeHooks
    let withholding: WithholdingLibrary
    let lists: ImportLists
    var profiles: Profiles { profileFolders.profiles }
    private let profileFolders: ProfileFolders
    let defaultOccasion: AppManifest.Occasion
    let filters = CompiledFilters()
    /// Desktop entries by identifier.
    var entries: [String: DesktopFolders.Entry] { machineValues.entries }
    var refusedEntries: [(path: String, objection: PathOwners.Objection)] {
        machineValues.desktop.refused
    }
    /// The command that opens a terminal for a program, to be put before the program's own words;
    /// searched for when the first app needs a terminal.
    private(set) lazy var terminal: [String]? = machineValues.terminal
    /// The variables of the daemon's environment.
    let variables: [String: String]
    private(set) var programs: [ProgramName: ExecutableFacts]
    private let machineValues: MachineValues
    private let daemonEnvironment: [String]
    private var environments: [[String]: InstalledApp.Environment] = [:]
    /// Commands that consist of a program alone.
    private var commands: [String: [String]] = [:]
    private var groups: [UInt32: [gid_t]] = [:]

    /// - Parameter programs: the programs that a former loading inspected. One that has not changed
    ///   is not inspected again.
    init(
        daemonEnvironment: [String], desktopPaths: [String], shimPath: String,
        hooks: RuntimeHooks, lists: ImportLists, profiles: ProfileFolders,
        programs: [ProgramName: ExecutableFacts], defaultOccasion: AppManifest.Occasion
    ) {
        self.defaultOccasion = defaultOccasion
        self.daemonEnvironment = daemonEnvironment
        variables = SearchPath.variables(of: daemonEnvironment)
        machineValues = MachineValues(environment: variables, desktopPaths: desktopPaths)
        shim = PreloadLibrary(path: shimPath)
        self.hooks = hooks
        withholding = WithholdingLibrary(beside: shimPath)
        self.lists = lists
        profileFolders = profiles
        self.programs = Self.unchanged(programs)
    }

    var manifestContext: ManifestContext {
        var context = machineValues.context
        // An app runs even without its launch screen.
        let look = context.checkLaunchScreen
        context.checkLaunchScreen = { look?($0)?.forLoading }
        context.defaultOccasion = defaultOccasion
        context.profiles = profiles
        return context
    }

    // MARK: Programs

    /// The programs that have not changed. Each file is looked at once, however many apps share it.
    private static func unchanged(
        _ programs: [ProgramName: ExecutableFacts]
    ) -> [ProgramName: ExecutableFacts] {
        var identities: [String: FileIdentity?] = [:]
        return programs.filter { _, facts in
            facts.files.allSatisfy { file in
                let now = identities[file.path] ?? FileIdentity(path: file.path)
                identities[file.path] = .some(now)
                return now == file.identity
            }
        }
    }

    func find(_ program: String) -> String? { machineValues.findExecutable(program) }

    func facts(_ program: ProgramName) throws(LoadFailure) -> ExecutableFacts {
        if let known = programs[program] { return known }
        do throws(ExecutableError) {
            let facts = try ExecutableInspection.inspect(
                path: program.name, searchPath: program.searchPath)
            programs[program] = facts
            return facts
        } catch {
            let isMissing =
                switch error {
                case .notFound, .notExecutable, .notAFile: true
                case .served, .interpreterNotFound, .tooManyInterpreters, .badFirstLine: false
                }
            throw LoadFailure(message: error.description, isMissingProgram: isMissing)
        }
    }

    /// The words of a command, copied. Apps with the same one-word command share one copy.
    func words(_ command: [String]) -> [String] {
        guard let program = command.first, command.count == 1 else {
            return command.map(\.compacted)
        }
        if let known = commands[program] { return known }
        let made = [program.compacted]
        commands[program] = made
        return made
    }

    /// Whether an app is still what its desktop entry, its program and its launches would make of
    /// it.
    func isCurrent(_ app: InstalledApp) -> Bool {
        let entry = entries[app.identifier.rawValue]
        guard app.desktop?.digest == entry?.digest else { return false }
        // The program of an app that is never paused was not inspected.
        if app.isDesktopOnly, app.program.fingerprint.isEmpty {
            return FileStatus(path: app.program.path)?.kind == .file
        }
        if let learning = app.program.depth.learning {
            let learned = lists.learned(for: app.identifier, learning.basis)
            guard learning.learned == learned else { return false }
            if let script = learning.script, FileIdentity(path: script.path) != script.identity {
                return false
            }
            let profile = app.program.depth.start.flatMap(profiles.vouching)
            guard profile?.vouching == learning.vouching else { return false }
        }
        guard let facts = programs[app.programName] else { return false }
        return facts.path == app.program.path && facts.files == app.program.fingerprint
            && app.program.depth.files.allSatisfy { FileIdentity(path: $0.path) == $0.identity }
    }

    // MARK: Environments

    /// - Parameters:
    ///   - additions: `NAME=value`, in the order in which they are set.
    ///   - extraKeys: names of variables that count for the pool, in addition to those that every
    ///     program reads.
    ///   - isWhole: whether all variables count, except those of the caller's own surroundings.
    func environment(
        of account: Account, additions: [String], extraKeys: [String], runtime: Runtime?,
        isWhole: Bool
    ) -> InstalledApp.Environment {
        let kind = isWhole ? "whole" : runtime?.rawValue ?? ""
        let key = ["\(account.user)", "\(additions.count)", kind] + additions + extraKeys
        if let known = environments[key] { return known }
        let strings = LoginEnvironment.make(
            for: account, daemon: daemonEnvironment, isSameUser: account.user == getuid(),
            additions: additions)
        let extraNames = Set(extraKeys)
        let made = InstalledApp.Environment(
            strings: strings, encoded: (try? StringList(strings)) ?? StringList(),
            searchPath: ProgramName.searchPath(of: strings), extraKeyNames: extraNames,
            runtime: runtime, isWhole: isWhole,
            pool: PoolEnvironment(
                of: strings, extraNames: extraNames, runtime: runtime, isWhole: isWhole))
        environments[key] = made
        return made
    }

    // MARK: Users

    /// The account with this name or number (systemd.exec(5), User=); nil is the daemon's own user.
    func account(_ name: String?) throws(LoadFailure) -> Account {
        let wanted = name ?? String(getuid())
        do throws(SystemError) {
            if let account = try machineValues.account(name) { return account }
        } catch {
            throw LoadFailure(message: "User=\(wanted): \(error)")
        }
        throw LoadFailure(message: "User=\(wanted): no such user")
    }

    func group(_ name: String, _ key: String) throws(LoadFailure) -> gid_t {
        if let number = UInt32(name) { return number }
        do throws(SystemError) {
            if let group = try Account.group(named: name) { return group }
        } catch {
            throw LoadFailure(message: "\(key)\(name): \(error)")
        }
        throw LoadFailure(message: "\(key)\(name): no such group")
    }

    /// The groups that the user is in.
    func groups(of account: Account) -> [gid_t] {
        let found = groups[account.user] ?? account.groups()
        groups[account.user] = found
        return found
    }

    // MARK: The machineValues

    /// A digest of what manifests depend on and do not contain: accounts, sessions, the shim, the
    /// terminal, the profiles.
    func digestOfMachine(_ apps: [InstalledApp]) -> Int {
        var hasher = Hasher()
        for path in ["/etc/passwd", "/etc/group"] { hasher.combine(FileIdentity(path: path)) }
        for user in Set(apps.map(\.account.user)).sorted() {
            hasher.combine(user)
            hasher.combine(LoginEnvironment.Surroundings(ofUser: user).variables.count)
        }
        let needsTerminal = apps.contains { $0.desktop?.facts.isTerminal == true }
        hasher.combine(needsTerminal ? terminal ?? [] : [])
        hasher.combine("\(shim)")
        hasher.combine(hooks.fingerprint)
        hasher.combine(profileFolders.digest)
        return hasher.finalize()
    }
}

extension String {
    /// A copy in memory of its own. If the strings that are kept lay among those that are freed
    /// after thousands of manifests were read, whole pages could not be given back.
    var compacted: String { String(decoding: Array(utf8), as: UTF8.self) }
}
