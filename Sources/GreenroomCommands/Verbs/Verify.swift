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
            As the daemon that answers would install them, if you may administer it; otherwise as far \
            as that can be told without it. Exit code 2 if one of them has an error.
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
        let world = World(of: description, user: client?.serverUser)
        let directories =
            description?.appDirectories ?? SearchPath.paths(Caller.variables, isRoot: getuid() == 0)
        let checks = ManifestChecks(
            client: client, world: world,
            folders: AppFolders(directories, user: client?.serverUser))
        var (drafts, good): ([ManifestChecks.Draft], [String: String]) = ([], [:])
        for file in files {
            guard let bytes = read(file, console) else { continue }
            if file.split(separator: "/").last == "greenroom.conf" {
                let (settings, diagnostics) = DaemonConfiguration.parse(bytes, file: file)
                for diagnostic in diagnostics { console.report(diagnostic.description) }
                if settings != nil { good[file] = "good" }
                continue
            }
            guard file.hasSuffix(AppManifest.fileSuffix) else {
                console.report("\(file): a manifest's file is named ID.app, and this one is not")
                continue
            }
            let source = ManifestSource(bytes, file: file)
            let name = ManifestName(file: file)
            let (manifest, diagnostics) = AppManifest.parse([source], name: name, world.context)
            for diagnostic in diagnostics { console.report(diagnostic.description) }
            guard let manifest else { continue }
            drafts.append(.init(manifest: manifest, name: name, sources: [source]))
            good[file] = "\(manifest.identifier): good"
        }
        for fault in checks.faults(of: drafts) {
            console.report(fault.description)
            good[fault.file] = nil
        }
        for file in files { good[file].map { console.line("\(file): \($0)") } }
        return files.allSatisfy { good[$0] != nil } ? 0 : 2
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
