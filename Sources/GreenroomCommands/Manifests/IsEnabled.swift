import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest

struct IsEnabled: ManifestVerb {
    static let configuration = CommandConfiguration(
        commandName: "is-enabled",
        abstract:
            "Say whether the daemon starts apps by itself: exit code 0 if it starts any of them, "
            + "else 1.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @Flag(name: .shortAndLong, help: "Print nothing.")
    var quiet = false

    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var isEnabled = false
        for app in apps {
            let name = try manifests.name(app)
            let word = try manifests.enablement(of: name)
            if word == "enabled" { isEnabled = true }
            if !quiet { console.line(word) }
        }
        return isEnabled ? 0 : 1
    }
}

extension InstalledManifests {
    /// Whether the daemon starts the app by itself, in a word of systemctl(1).
    func enablement(of name: ManifestName) throws(Failure) -> String {
        let file = try file(name)
        if file.isMasked { return "masked" }
        if StartOccasion.allCases.contains(where: { folders.enabled(for: $0).contains(name) }) {
            return "enabled"
        }
        let sources = try Self.change { () throws(SystemError) in try file.read() }
        return read(sources, name).manifest?.wantedBy.isEmpty == false ? "disabled" : "static"
    }
}
