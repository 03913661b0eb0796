import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check manifests before they are installed.",
        discussion: "Needs no daemon. Exit code 2 if one of them has an error.")

    @Argument(
        help: ArgumentHelp("Manifests, named ID.app.", valueName: "file"),
        completion: .file(extensions: ["app"]))
    var files: [String]

    func run() throws {
        let code = execute(StandardConsole())
        if code != 0 { throw ExitCode(code) }
    }

    func execute(_ console: any Console) -> Int32 {
        var failed = false
        var context = World(environment: Caller.variables).context
        context.findExecutable = ManifestFile.findExecutable
        let entries = DesktopFolders(SearchPath.desktop(Caller.variables)).entries
        context.hasDesktopEntry = { entries[$0] != nil }
        for file in files {
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
}
