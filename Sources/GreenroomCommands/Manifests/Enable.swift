import AppFolders
import ArgumentParser
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Enable: FileChangingVerb {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make the daemon start apps by itself.",
        discussion: """
            The daemon starts them at boot, at login or both, as WantedBy= in [Install] of their \
            manifests says.
            """)

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @Flag(help: "Launch them now as well, in the background, if they do not run.")
    var now = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func change(
        _ app: String, _ manifests: InstalledManifests, _ changes: inout FileChanges
    ) throws(Failure) {
        let name = try manifests.name(app)
        let file = try manifests.file(name)
        guard !file.isMasked else { throw .manifest(.masked(name.identifier, by: file.main.path)) }
        guard !name.isTemplate else { throw .manifest(.isTemplate(name.identifier)) }
        let sources = try InstalledManifests.change { () throws(SystemError) in try file.read() }
        let (manifest, diagnostics) = manifests.read(sources, name)
        guard let manifest else { throw .manifest(.badManifest(diagnostics.map(\.description))) }
        guard !manifest.wantedBy.isEmpty else { throw .manifest(.notInstallable(name.identifier)) }
        for occasion in manifest.wantedBy {
            let folder = "\(manifests.own)/\(occasion.folder)"
            let link = "\(folder)/\(name.file)"
            let isNew = try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.makeFolder(folder)
                return try AppFolderChange.link(link, to: file.main.path)
            }
            if isNew { changes.add(.linked, link, to: file.main.path) }
        }
    }
}

extension Enable: StartChangingVerb {
    func followNow(_ app: String, _ client: ControlClient) throws(Failure) {
        guard try client.running(app).isEmpty else { return }
        var call = Control.LaunchCall(repeatable: app, environment: [], arguments: [])
        call.isBackground = true
        _ = try FollowedLaunch.begin(client, call)
    }
}

extension Disable: StartChangingVerb {
    func followNow(_ app: String, _ client: ControlClient) throws(Failure) {
        for instance in try client.running(app) {
            _ = try client.call(.transition(.terminate, .instance(instance.instance)))
        }
    }
}

/// A verb that changes whether apps start by themselves, and with `--now` starts or ends them as well.
protocol StartChangingVerb: FileChangingVerb {
    var now: Bool { get }
    func followNow(_ app: String, _ client: ControlClient) throws(Failure)
}

extension StartChangingVerb {
    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        let code = try changeAll(manifests, console)
        guard now else { return code }
        for app in apps {
            try followNow(manifests.name(app).identifier, manifests.needClient())
        }
        return code
    }
}

struct Disable: FileChangingVerb {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Stop the daemon from starting apps by itself.",
        discussion: "Removes the links that enable has made.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @Flag(help: "End their running instances as well.")
    var now = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func change(
        _ app: String, _ manifests: InstalledManifests, _ changes: inout FileChanges
    ) throws(Failure) {
        // An app whose manifest was removed may have left its links.
        let name = try manifests.possibleName(app)
        for occasion in StartOccasion.allCases {
            let folder = "\(manifests.own)/\(occasion.folder)"
            let link = "\(folder)/\(name.file)"
            guard AppFolderChange.target(of: link) != nil else { continue }
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.remove(link)
            }
            AppFolderChange.removeIfEmpty(folder)
            changes.add(.removed, link)
        }
    }
}
