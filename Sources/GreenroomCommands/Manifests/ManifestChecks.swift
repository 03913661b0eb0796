import AppFolders
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// Whether a reload would install manifests: asks the daemon, which does what it does then; where
/// none answers, or none that this process may ask, looks at everything that needs no daemon.
struct ManifestChecks {
    /// A manifest that has been read without an error, and what it was read from.
    struct Draft {
        var manifest: AppManifest
        var name: ManifestName
        var sources: [ManifestSource]
    }

    let client: ControlClient?
    let world: World
    let folders: AppFolders

    init(client: ControlClient?, world: World, folders: AppFolders) {
        self.client = client.flatMap { $0.belongsToAnother ? nil : $0 }
        self.world = world
        self.folders = folders
    }

    /// The faults, `FILE:LINE:COLUMN: MESSAGE`, each with its file.
    func faults(of drafts: [Draft]) -> [Control.ManifestFault] {
        guard !drafts.isEmpty else { return [] }
        if let client, drafts.count <= Control.ManifestDraft.countLimit,
            case .verified(let faults)? = try? client.call(.verify(drafts.map(\.sent)))
        {
            return faults
        }
        let names = Set(drafts.map(\.name))
        let installed = folders.names.filter { !names.contains($0) }.compactMap(manifest)
        let manifests = drafts.filter { !$0.name.isTemplate }.map(\.manifest)
        let (unique, duplicates) = AppManifest.withoutDuplicates(
            manifests,
            beside: Dictionary(
                installed.map { ($0.identifier, $0.file) }, uniquingKeysWith: { first, _ in first })
        )
        let (kept, circles) = AppManifest.withoutCircles(
            unique,
            beside: installed.map {
                ($0.identifier, ($0.dependencies?.requires ?? []) + ($0.dependencies?.after ?? []))
            })
        let errors = (duplicates + circles).filter { $0.severity == .error }
        return errors.map(Control.ManifestFault.init) + kept.compactMap(fault)
    }

    private func manifest(_ name: ManifestName) -> AppManifest? {
        guard let file = folders.file(of: name), !file.isMasked, file.objection == nil,
            let sources = try? file.read()
        else { return nil }
        return AppManifest.parse(sources, name: name, world.context).manifest
    }

    /// Something that the manifest names and that is not there.
    private func fault(of manifest: AppManifest) -> Control.ManifestFault? {
        var message: String?
        do throws(SystemError) {
            if try world.account(manifest.user) == nil {
                message = "User=\(manifest.user ?? ""): no such user"
            }
            let groups =
                [manifest.group].compactMap(\.self).map { ("Group=", $0) }
                + manifest.supplementaryGroups.map { ("SupplementaryGroups=", $0) }
            for (key, name) in groups where UInt32(name) == nil && message == nil {
                if try Account.group(named: name) == nil {
                    message = "\(key)\(name): no such group"
                }
            }
        } catch {
            message = error.description
        }
        if message == nil, let program = manifest.command.first {
            message = world.objection(toProgram: program)?.description
        }
        return message.map { .init(file: manifest.file, line: 0, column: 0, message: $0) }
    }
}

extension ManifestChecks.Draft {
    fileprivate var sent: Control.ManifestDraft {
        Control.ManifestDraft(
            name: name.file,
            sources: sources.map {
                .init(file: $0.file, text: String(decoding: $0.bytes, as: UTF8.self))
            })
    }
}

extension Control.ManifestFault {
    init(_ diagnostic: Diagnostic) {
        self.init(
            file: diagnostic.file, line: diagnostic.position.line,
            column: diagnostic.position.column, message: diagnostic.message)
    }
}
