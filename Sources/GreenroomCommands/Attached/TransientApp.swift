import AppFolders
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// An app that exists while `run --property` runs its program: a manifest in the folder for files that
/// are created at run time, which this process removes at the end. If this process is killed, the next
/// `run --property` removes it.
struct TransientApp {
    /// The app's identifier.
    let name: String
    private let file: String
    private let manifests: InstalledManifests

    private static let prefix = "transient.run-"

    /// Writes the manifest, and has the daemon read it.
    ///
    /// - Parameters:
    ///   - program: a path, or a name that PATH has.
    ///   - properties: `KEY=VALUE`, or `SECTION.KEY=VALUE`.
    init(
        _ program: String, _ properties: [String], _ options: DaemonOptions,
        _ console: any Console
    ) throws(Failure) {
        let text = try Self.text(Self.path(of: program), properties)
        manifests = try InstalledManifests(options)
        let folder = manifests.volatileFolder ?? manifests.own
        Self.removeForgotten(in: folder)
        name = "\(Self.prefix)\(getpid())-\(String(MonotonicClock.nanoseconds, radix: 36))"
        file = "\(folder)/\(name)\(AppManifest.fileSuffix)"
        let name = ManifestName(name)
        let source = ManifestSource(Array(text.utf8), file: file)
        let (manifest, diagnostics) = manifests.read([source], name)
        // An unknown key was meant for this run, so it is a fault here and not only a warning.
        var faults = diagnostics.map(\.description)
        if let manifest {
            faults += manifests.checks.faults(
                of: [.init(manifest: manifest, name: name, sources: [source])]
            ).map(\.description)
        }
        guard faults.isEmpty else { throw .manifest(.badManifest(faults)) }
        let file = file
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(folder)
            // Variables may hold secrets.
            try SmallFile.replace(file, with: text, mode: 0o600)
        }
        manifests.reload(console)
    }

    /// Removes the app. Its instance has ended.
    func remove(_ console: any Console) {
        do throws(SystemError) { try AppFolderChange.remove(file) } catch {
            console.complain("\(error)")
        }
        manifests.reload(console)
    }

    private static func text(
        _ program: String, _ properties: [String]
    ) throws(Failure) -> String {
        var sections = ["App": ["Exec=" + UnitFile.quoted(program)]]
        for property in properties {
            let (section, assignment) = try split(property)
            sections[section, default: []].append(assignment)
        }
        // Other apps stay in front, as when a shell starts a program.
        for (section, standard) in [("App", "ForegroundGroup=none"), ("Prewarm", "When=never")] {
            let key = standard.prefix { $0 != "=" } + "="
            if sections[section]?.contains(where: { $0.hasPrefix(key) }) != true {
                sections[section, default: []].append(standard)
            }
        }
        return sections.map { "[\($0)]\n" + $1.joined(separator: "\n") + "\n" }.joined()
    }

    private static func split(
        _ property: String
    ) throws(Failure) -> (section: String, assignment: String) {
        guard let equals = property.firstIndex(of: "="),
            !property.contains(where: \.isNewline)
        else { throw .manifest(.badProperty(property, "it is not KEY=VALUE")) }
        let name = property[..<equals]
        if let dot = name.firstIndex(of: ".") {
            return (String(name[..<dot]), String(property[property.index(after: dot)...]))
        }
        let sections = AppManifest.sections(of: String(name))
        guard let section = sections.first else {
            throw .manifest(.badProperty(property, "no section has the key; see greenroom.app(5)"))
        }
        guard sections.count == 1 else {
            let choices = sections.map { "\($0).\(name)=" }.joined(separator: " or ")
            throw .manifest(.badProperty(property, "write \(choices)"))
        }
        return (section, property)
    }

    private static func path(of program: String) throws(Failure) -> String {
        guard !program.contains("/") else {
            let path = unsafe realpath(program, nil)
            defer { unsafe free(path) }
            guard let path = unsafe path else {
                throw .system(SystemError(code: errno, call: "realpath", subject: program))
            }
            return unsafe String(cString: path)
        }
        guard let path = ProgramSearch(program).next else {
            throw .system(SystemError(code: ENOENT, call: "execve", subject: program))
        }
        return path
    }

    /// Removes the apps of processes that were killed.
    private static func removeForgotten(in folder: String) {
        for name in (try? FolderContents.names(in: folder)) ?? [] where name.hasPrefix(prefix) {
            let digits = name.dropFirst(prefix.count).prefix { $0.isNumber }
            guard let pid = pid_t(digits), pid > 0, kill(pid, 0) != 0, errno == ESRCH else {
                continue
            }
            try? AppFolderChange.remove("\(folder)/\(name)")
        }
    }
}
