import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest

struct Mask: FileChangingVerb {
    static let configuration = CommandConfiguration(
        commandName: "mask",
        abstract: "Make apps impossible to start, whoever installs them.",
        discussion: "Links their manifests to /dev/null. Running instances go on.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func change(
        _ app: String, _ manifests: InstalledManifests, _ changes: inout FileChanges
    ) throws(Failure) {
        // An app that is not installed can be masked as well.
        let name = try manifests.possibleName(app)
        let path = "\(manifests.own)/\(name.file)"
        let isLink = AppFolderChange.target(of: path) != nil
        guard isLink || FileStatus(path: path) == nil else { throw .manifest(.inTheWay(path)) }
        let isNew = try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.makeFolder(manifests.own)
            return try AppFolderChange.link(path, to: "/dev/null")
        }
        if isNew { changes.add(.linked, path, to: "/dev/null") }
    }
}

struct Unmask: FileChangingVerb {
    static let configuration = CommandConfiguration(commandName: "unmask", abstract: "Undo mask.")

    @Argument(help: "The apps.", completion: Candidates.masked)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func change(
        _ app: String, _ manifests: InstalledManifests, _ changes: inout FileChanges
    ) throws(Failure) {
        let name = try manifests.possibleName(app)
        let path = "\(manifests.own)/\(name.file)"
        guard AppFolderChange.target(of: path) == "/dev/null" else { return }
        try InstalledManifests.change { () throws(SystemError) in
            try AppFolderChange.remove(path)
        }
        changes.add(.removed, path)
    }
}
