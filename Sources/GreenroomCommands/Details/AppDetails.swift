import ArgumentParser
import GreenroomControl
import GreenroomLinux

/// What `status` shows of an app in addition to its instances, as systemctl(1) does of a unit.
struct AppDetails {
    let app: String
    /// The manifest's file and its drop-ins; empty if this user may not know them.
    var files: [String] = []
    /// Whether the daemon starts the app by itself, in a word of systemctl(1).
    var enablement: String?
    var processes: [(instance: UInt64, InstanceProcesses)] = []
    /// The latest lines of the app in the journal, oldest first.
    var log: [String] = []

    private static let lineCount = 10

    init(app: String) { self.app = app }

    /// - Parameters:
    ///   - manifests: nil if they belong to another user.
    ///   - knowsProcesses: whether the daemon's process numbers mean the same processes here.
    ///   - isUsers: whether the app belongs to the user's own daemon.
    init(
        of app: String, _ instances: [Control.InstanceStatus], _ manifests: InstalledManifests?,
        knowsProcesses: Bool, isUsers: Bool
    ) {
        self.init(app: app)
        if let manifests {
            files = (try? manifests.paths(app)) ?? []
            enablement = try? manifests.enablement(of: manifests.name(app))
        }
        for instance in instances where knowsProcesses && instance.exit == nil {
            guard let process = instance.processId,
                let found = InstanceProcesses(of: process, app: app, instance: instance.instance)
            else { continue }
            processes.append((instance.instance, found))
        }
        let words = ["--lines=\(Self.lineCount)", "--no-pager", "--output=short"]
        guard let logs = try? Logs.parse(words) else { return }
        // Without --quiet, journalctl prints a line if there are no entries.
        log = Journal.text(logs.arguments(for: [app], isUsers: isUsers) + ["--quiet"])
            .split(separator: "\n").map(String.init)
    }
}
