import AppFolders
import ArgumentParser
import GreenroomLinux
import GreenroomManifest

struct Mask: ManifestVerb {
    static let configuration = CommandConfiguration(
        abstract: "Make apps impossible to start, whoever installs them.",
        discussion: "Links their manifests to /dev/null. What runs of them goes on.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var changes = FileChanges()
        for app in apps {
            // An app that is not there yet can be masked, too.
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
        manifests.reload(console)
        changes.report(console, json: output.json)
        return 0
    }
}

struct Unmask: ManifestVerb {
    static let configuration = CommandConfiguration(abstract: "Undo mask.")

    @Argument(help: "The apps.", completion: Candidates.apps)
    var apps: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var daemon: DaemonOptions

    func perform(_ manifests: InstalledManifests, _ console: any Console) throws(Failure) -> Int32 {
        var changes = FileChanges()
        for app in apps {
            let name = try manifests.possibleName(app)
            let path = "\(manifests.own)/\(name.file)"
            guard AppFolderChange.target(of: path) == "/dev/null" else { continue }
            try InstalledManifests.change { () throws(SystemError) in
                try AppFolderChange.remove(path)
            }
            changes.add(.removed, path)
        }
        manifests.reload(console)
        changes.report(console, json: output.json)
        return 0
    }
}
