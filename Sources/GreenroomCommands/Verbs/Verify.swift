import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check manifests before they are installed.",
        discussion: """
            Reads the manifests as the running daemon would, or, if none runs, as the service would. \
            Exit code 2 if a manifest has an error.
            """)

    @Argument(
        help: ArgumentHelp("Manifests, named ID.app.", valueName: "file"),
        completion: .file(extensions: ["app"]))
    var files: [String]

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }

    func execute(_ console: any Console) -> Int32 {
        var failed = false
        let context = world.context
        for file in files {
            if let objection = ManifestFile.objection(to: file) {
                console.complain(objection)
                failed = true
                continue
            }
            do throws(SystemError) {
                let bytes = try ManifestFile.read(file)
                let (manifest, diagnostics) = AppManifest.parse(
                    [ManifestSource(bytes, file: file)], name: ManifestName(file: file), context)
                for diagnostic in diagnostics { console.complain(diagnostic.description) }
                if let manifest {
                    console.line("\(file): \(manifest.identifier): good")
                } else {
                    failed = true
                }
            } catch {
                console.complain(error.description)
                failed = true
            }
        }
        return failed ? 2 : 0
    }
    private var world: World {
        let client = try? ControlClient(path: SocketPath.find(option: daemon.socket))
        return World(of: try? client?.describe().get(), user: client?.serverUser)
    }
}
