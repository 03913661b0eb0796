import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// The files of the manifests that the daemon reads; if no daemon answers, those that a daemon
/// would read here.
final class InstalledManifests {
    private let client: ControlClient?
    private(set) var folders: AppFolders
    private let machineValues: MachineValues

    convenience init(_ options: DaemonOptions) throws(Failure) {
        try self.init(socket: options.path)
    }

    /// - Parameter path: the daemon's socket.
    init(socket path: String) throws(Failure) {
        self.path = path
        var paths = SearchPath.paths(Caller.variables, isRoot: getuid() == 0)
        var found: Control.Description?
        var profilePaths = SearchPath.profiles(Caller.variables, isRoot: getuid() == 0)
        do throws(Failure) {
            let client = try ControlClient(path: path)
            // The daemon names the folders into which this process writes.
            try client.requireOwn()
            if case .described(let daemon) = try client.call(.describe) {
                if !daemon.appDirectories.isEmpty { paths = daemon.appDirectories }
                profilePaths = daemon.profileDirectories
                found = daemon
            }
            self.client = client
        } catch {
            // Files can be changed without a daemon.
            guard case .unreachable = error else { throw error }
            client = nil
        }
        folders = AppFolders(paths, user: client?.serverUser)
        machineValues = MachineValues(of: found, user: client?.serverUser)
        profileFolders = profilePaths
        runtimeDirectory = found?.surroundings?.runtimeDirectory
    }

    /// The daemon, for a verb that needs it.
    func needClient() throws(Failure) -> ControlClient {
        if let client { return client }
        return try ControlClient(path: path)
    }

    private let path: String
    /// The daemon's runtime directory; nil without a daemon.
    private let runtimeDirectory: String?

    /// The manifests of these folders, without a daemon.
    init(in folders: [String]) {
        client = nil
        path = SocketPath.system
        self.folders = AppFolders(folders)
        machineValues = MachineValues(of: nil, user: nil)
        profileFolders = []
        runtimeDirectory = nil
    }

    /// The folder in which changes are made. It has the highest precedence.
    var own: String { folders.paths.first ?? "." }

    /// The folder for files that are created at run time; nil if the daemon reads none.
    var volatileFolder: String? {
        Self.volatileFolder(
            among: folders.paths,
            [runtimeDirectory, SocketPath.runtimeDirectory.map { $0 + "/greenroom" }])
    }

    /// - Parameter own: the runtime directories of the daemon and of the caller. That of a user
    ///   need not be below /run, and a user may not write to the machine's folder there.
    static func volatileFolder(among paths: [String], _ own: [String?]) -> String? {
        let own = own.compactMap { $0.map { $0 + "/apps" } }
        return paths.first(where: own.contains) ?? paths.first { $0.hasPrefix("/run/") }
    }

    /// Finds a manifest by its file's name, or by the last part of that if only one manifest has
    /// it.
    func name(_ text: String) throws(Failure) -> ManifestName {
        let name = ManifestName(text)
        let named = ManifestName(file: text)
        // The name becomes part of a path, which must not leave the folder.
        guard !name.file.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 }) else {
            if folders.file(of: named) != nil { return named }
            throw .manifest(.badName(text))
        }
        if folders.file(of: name) != nil { return name }
        // The name with the suffix is accepted as well.
        if named != name, folders.file(of: named) != nil { return named }
        let names = folders.files
        let matches = names.filter {
            $0.prefix.split(separator: ".").last.map(String.init) == name.prefix
                && ($0.instance == name.instance || ($0.isTemplate && name.isInstance))
        }
        switch matches.count {
        case 1:
            var match = matches[0]
            match.instance = name.instance
            return match
        case 0:
            throw .manifest(
                .noManifest(
                    text, folders: folders.paths,
                    suggestion: Spelling.closest(to: text, among: names.map(\.identifier))))
        case _: throw .ambiguous(text, matches.map(\.identifier))
        }
    }

    /// Finds a manifest, or returns the name of one that does not exist yet. A text that cannot be
    /// an app's name is treated as misspelt.
    func possibleName(_ text: String) throws(Failure) -> ManifestName {
        do throws(Failure) { return try name(text) } catch {
            let name = ManifestName(text)
            guard case .manifest(.noManifest(_, _, let suggestion)) = error else { throw error }
            guard
                ManifestName.isValid(name.identifier)
                    || machineValues.entries[name.identifier] != nil
            else { throw suggestion == nil ? .manifest(.badName(text)) : error }
            return name
        }
    }

    /// The files of a manifest, or the desktop entry of an app without a manifest.
    func paths(_ text: String) throws(Failure) -> [String] {
        do throws(Failure) { return try file(name(text)).paths } catch {
            guard case .manifest(.noManifest) = error, let entry = machineValues.entries[text]
            else {
                throw error
            }
            return [entry.path]
        }
    }

    func file(_ name: ManifestName) throws(Failure) -> AppFile {
        guard let file = folders.file(of: name) else {
            throw .manifest(.noManifest(name.identifier, folders: folders.paths, suggestion: nil))
        }
        return file
    }

    /// Reads a manifest with its drop-ins.
    func read(
        _ sources: [ManifestSource], _ name: ManifestName
    ) -> (manifest: AppManifest?, diagnostics: [Diagnostic]) {
        AppManifest.parse(sources, name: name, machineValues.context)
    }

    /// Desktop entries by identifier.
    var entries: [String: DesktopFolders.Entry] { machineValues.entries }
    var profiles: Profiles { machineValues.profiles }
    /// The folder of profiles with the highest precedence; nil if the daemon reads none.
    var profileFolder: String? { profileFolders.first }
    private let profileFolders: [String]

    /// The profiles for a command in all folders, also those that others of the same name replace.
    func allProfiles(for command: [String], app: String) -> [Profile] {
        let paths = [command[0], PathOwners.realPath(of: command[0])].compactMap(\.self)
        return profileFolders.flatMap { folder in
            let found = ProfileFolders([folder], user: client?.serverUser).profiles
            // Such a profile need not name a program.
            return found.all.filter { $0.window == .no && $0.identifier == app }
                + found.about(command, paths: paths, app: app)
        }
    }

    func account(_ user: String) throws(SystemError) -> Account? { try machineValues.account(user) }

    var checks: ManifestChecks {
        ManifestChecks(client: client, machineValues: machineValues, folders: folders)
    }

    /// Makes the daemon reload, if there is one.
    func reload(_ console: any Console) {
        guard let client else { return }
        do throws(Failure) { _ = try client.call(.reload) } catch {
            console.complain(
                "the files are changed, but greenroomd was not told: \(error.description)")
        }
    }

    /// Changes files. If that is refused, the error says who may change them.
    static func change<T>(_ work: () throws(SystemError) -> T) throws(Failure) -> T {
        do throws(SystemError) { return try work() } catch {
            throw error.code == EACCES || error.code == EPERM || error.code == EROFS
                ? .manifest(.notWritable(error)) : .system(error)
        }
    }
}

/// A verb that works on files and then tells the daemon.
protocol ManifestVerb: ParsableCommand {
    var daemon: DaemonOptions { get }
    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32
}

/// A verb that makes the same change for each of several apps.
protocol FileChangingVerb: ManifestVerb {
    var apps: [String] { get }
    var output: OutputOptions { get }
    func change(
        _ app: String, _ manifests: InstalledManifests, _ changes: inout FileChanges
    ) throws(Failure)
}

extension FileChangingVerb {
    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        try changeAll(manifests, console)
    }

    /// Changes that were made before a failure stay. The daemon and the user are told about them.
    func changeAll(
        _ manifests: InstalledManifests, _ console: any Console
    ) throws(Failure) -> Int32 {
        var changes = FileChanges()
        var failure: Failure?
        for app in apps where failure == nil {
            do throws(Failure) { try change(app, manifests, &changes) } catch { failure = error }
        }
        if failure == nil || !changes.changes.isEmpty {
            manifests.reload(console)
            changes.report(console, json: output.json)
        }
        if let failure { throw failure }
        return 0
    }
}

extension ManifestVerb {
    func execute(_ console: any Console) -> Int32 {
        do throws(Failure) {
            return try perform(InstalledManifests(daemon), console)
        } catch {
            console.complain(error.description)
            return error.exitCode
        }
    }

    mutating func run() throws {
        Caller.fillStandardDescriptors()
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }
}
