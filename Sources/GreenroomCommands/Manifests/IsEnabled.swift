import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest

struct IsEnabled: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "is-enabled",
        abstract:
            "Say whether the daemon starts apps by itself: exit code 0 if one of them, else 1.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @Flag(name: .shortAndLong, help: "Print nothing.")
    var quiet = false

    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var isEnabled = false
        for app in apps {
            let name = try manifests.name(app)
            let word = try word(name, manifests)
            if word == "enabled" { isEnabled = true }
            if !quiet { console.line(word) }
        }
        return isEnabled ? 0 : 1
    }

    /// The words of systemctl(1).
    private func word(
        _ name: ManifestName, _ manifests: InstalledManifests
    ) throws(Failure) -> String {
        let file = try manifests.file(name)
        if file.isMasked { return "masked" }
        let occasions = StartOccasion.allCases
        if occasions.contains(where: { manifests.folders.enabled(for: $0).contains(name) }) {
            return "enabled"
        }
        let sources = try InstalledManifests.change { () throws(SystemError) in try file.read() }
        return manifests.read(sources, name).manifest?.wantedBy.isEmpty == false
            ? "disabled" : "static"
    }
}
