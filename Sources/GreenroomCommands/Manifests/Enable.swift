import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest
import UnitFile

struct Enable: FileChangingVerb {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make the daemon start apps by itself.",
        discussion: """
            The daemon starts them at boot, at login or both, as WantedBy= in [Install] of their \
            manifests says. Does not start them now.
            """)

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

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

struct Disable: FileChangingVerb {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Stop the daemon from starting apps by itself.",
        discussion: "Does not end them now.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

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
