import AppFolders
import ArgumentParser
import Glibc
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check manifests and greenroom.conf before they are installed.",
        discussion: """
            Checks them as the daemon that answers would, if you may administer it; otherwise as far \
            as possible without it. Exit code 2 if one of them has an error.
            """)

    @Argument(
        help: ArgumentHelp("Manifests, named ID.app, and greenroom.conf.", valueName: "file"),
        completion: .file(extensions: ["app", "conf"]))
    var files: [String]

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }

    func execute(_ console: any Console) -> Int32 {
        let client = try? ControlClient(path: daemon.path)
        let description = try? client?.describe().get()
        let machineValues = MachineValues(of: description, user: client?.serverUser)
        let directories =
            description?.appDirectories ?? SearchPath.paths(Caller.variables, isRoot: getuid() == 0)
        let folders = AppFolders(directories, user: client?.serverUser)
        let checks = ManifestChecks(client: client, machineValues: machineValues, folders: folders)
        var (drafts, good): ([ManifestChecks.Draft], [String: String]) = ([], [:])
        for file in files {
            if file.split(separator: "/").last == "greenroom.conf" {
                if isGood(configuration: file, of: client, description, console) {
                    good[file] = "good"
                }
                continue
            }
            let name = ManifestName(file: file)
            let isNamed = file.hasSuffix(AppManifest.fileSuffix)
            if isNamed, FileStatus(path: file)?.isMask == true {
                good[file] = "good; it masks \(name.identifier)"
                continue
            }
            if isNamed, let objection = objection(to: file, name, in: folders) {
                console.report("\(file): not read: \(objection)")
                continue
            }
            guard let bytes = read(file, console) else { continue }
            guard isNamed else {
                console.report("\(file): a manifest's file is named ID.app, and this one is not")
                continue
            }
            let sources: [ManifestSource]
            do throws(SystemError) {
                sources = try [.init(bytes, file: file)] + dropIns(of: name, in: folders)
            } catch {
                console.report("\(file): \(error)")
                continue
            }
            let (manifest, diagnostics) = AppManifest.parse(
                sources, name: name, machineValues.context)
            for diagnostic in diagnostics { console.report(diagnostic.description) }
            guard let manifest else { continue }
            drafts.append(.init(manifest: manifest, name: name, sources: sources))
            good[file] = "\(manifest.identifier): good"
        }
        for fault in checks.faults(of: drafts) {
            console.report(fault.description)
            // A fault may be in a drop-in.
            for draft in drafts where draft.sources.contains(where: { $0.file == fault.file }) {
                good[draft.manifest.file] = nil
            }
        }
        for file in files { good[file].map { console.line("\(file): \($0)") } }
        return files.allSatisfy { good[$0] != nil } ? 0 : 2
    }

    /// The installed drop-ins, which extend the manifest as soon as it is installed.
    private func dropIns(
        of name: ManifestName, in folders: AppFolders
    ) throws(SystemError) -> [ManifestSource] {
        var sources: [ManifestSource] = []
        for part in folders.dropIns(of: name) { sources.append(try AppFile.source(part.path)) }
        return sources
    }

    /// Why the daemon would not read the manifest: another user could change one of its drop-ins
    /// or, if it is already installed, the manifest itself.
    private func objection(
        to file: String, _ name: ManifestName, in folders: AppFolders
    ) -> PathOwners.Objection? {
        if let installed = folders.file(of: name), let objection = installed.objection,
            let place = Self.place(of: installed.main.path), place == Self.place(of: file)
        {
            return objection
        }
        return folders.objection(toDropIns: folders.dropIns(of: name), of: name)
    }

    /// The path of a file, with the links on the way to its folder resolved.
    private static func place(of path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        return PathOwners.realPath(of: path.contains("/") ? path.directory : ".")
            .map { "\($0)/\(name)" }
    }

    private func isGood(
        configuration file: String, of client: ControlClient?, _ daemon: Control.Description?,
        _ console: any Console
    ) -> Bool {
        guard let bytes = read(file, console) else { return false }
        let (settings, diagnostics) = DaemonConfiguration.parse(bytes, file: file)
        for diagnostic in diagnostics { console.report(diagnostic.description) }
        for (key, name) in settings?.groupNames ?? []
        where UInt32(name) == nil && (try? Account.group(named: name)) == .some(nil) {
            console.report("\(file): warning: \(key)\(name): no such group")
        }
        if let client, let own = daemon?.surroundings?.configurationFile,
            let place = PathOwners.realPath(of: own), place == PathOwners.realPath(of: file),
            let objection = PathOwners(user: client.serverUser).objection(to: own)
        {
            console.report("\(file): not read: \(objection)")
            return false
        }
        return settings != nil
    }

    private func read(_ file: String, _ console: any Console) -> [UInt8]? {
        if let objection = ManifestFile.objection(to: file) {
            console.complain(objection)
            return nil
        }
        do throws(SystemError) { return try ManifestFile.read(file) } catch {
            console.complain(error.description)
            return nil
        }
    }
}
