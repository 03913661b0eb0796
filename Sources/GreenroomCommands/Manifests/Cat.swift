import AppFolders
import ArgumentParser
import GreenroomControl
import GreenroomLinux
import GreenroomManifest

struct Cat: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "cat",
        abstract:
            "Show the files from which an app's manifest is read, in the order in which they take effect."
    )

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var isFirst = true
        for app in apps {
            for path in try manifests.paths(app) {
                let source = try InstalledManifests.change { () throws(SystemError) in
                    try AppFile.source(path)
                }
                console.write(isFirst ? "# \(path)\n" : "\n# \(path)\n")
                isFirst = false
                let text = String(decoding: source.bytes, as: UTF8.self)
                console.write(text.isEmpty || text.hasSuffix("\n") ? text : text + "\n")
            }
        }
        return 0
    }
}
