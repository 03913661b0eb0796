internal import AppFolders
internal import GreenroomControl
internal import GreenroomManifest
internal import UnitFile

/// Which apps start by themselves, read once from the folders of links.
struct EnabledApps {
    private var occasionsOfName: [ManifestName: Set<StartOccasion>] = [:]

    init(_ folders: AppFolders) {
        for occasion in StartOccasion.allCases {
            for name in folders.enabled(for: occasion) {
                occasionsOfName[name, default: []].insert(occasion)
            }
        }
    }

    var names: [ManifestName] { occasionsOfName.keys.sorted { $0.identifier < $1.identifier } }

    func occasions(of name: ManifestName) -> Set<StartOccasion> { occasionsOfName[name] ?? [] }
}

extension Control.ManifestFault {
    init(_ diagnostic: Diagnostic) {
        self.init(
            file: diagnostic.file, line: diagnostic.position.line,
            column: diagnostic.position.column, message: diagnostic.message)
    }
}
