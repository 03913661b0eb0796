import AppFolders
import GreenroomControl
import GreenroomLinux
import GreenroomManifest
import UnitFile

/// Checks whether a reload would install manifests. Asks the daemon, which checks them as in a
/// reload. If there is no daemon that this process may ask, or it does not answer, checks
/// everything that needs no daemon.
struct ManifestChecks {
    /// A manifest that was read without an error, and its texts.
    struct Draft {
        var manifest: AppManifest
        var name: ManifestName
        var sources: [ManifestSource]
    }

    let client: ControlClient?
    let machineValues: MachineValues
    let folders: AppFolders

    init(client: ControlClient?, machineValues: MachineValues, folders: AppFolders) {
        self.client = client.flatMap { $0.belongsToAnother ? nil : $0 }
        self.machineValues = machineValues
        self.folders = folders
    }

    /// The faults for which a reload would not install some of the drafts.
    func faults(of drafts: [Draft]) -> [Control.ManifestFault] {
        guard !drafts.isEmpty else { return [] }
        let asked = Control.ManifestDraft.calls(for: drafts).map { call -> [Fault]? in
            guard case .verified(let faults)? = try? client?.call(call) else { return nil }
            return faults
        }
        if asked.count == 1, let faults = asked[0] { return faults }
        let (kept, among) = faultsAmong(drafts)
        guard !asked.contains(nil) else { return among + kept.compactMap(fault) }
        // No call had all the drafts, so circles and duplicates among them are looked for here.
        let faults = asked.flatMap { $0 ?? [] }
        return faults + among.filter { !faults.contains($0) }
    }

    private typealias Fault = Control.ManifestFault

    /// The faults that manifests have only together, and the manifests without such a fault.
    private func faultsAmong(_ drafts: [Draft]) -> (kept: [AppManifest], faults: [Fault]) {
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
        return (kept, errors.map(Fault.init))
    }

    private func manifest(_ name: ManifestName) -> AppManifest? {
        guard let file = folders.file(of: name), !file.isMasked, file.objection == nil,
            let sources = try? file.read()
        else { return nil }
        return AppManifest.parse(sources, name: name, machineValues.context).manifest
    }

    /// The fault of a manifest that names a user, a group or a program that does not exist.
    private func fault(of manifest: AppManifest) -> Control.ManifestFault? {
        var message: String?
        do throws(SystemError) {
            if try machineValues.account(manifest.user) == nil {
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
            message = machineValues.objection(toProgram: program)?.description
        }
        return message.map { .init(file: manifest.file, line: 0, column: 0, message: $0) }
    }
}

extension Control.ManifestDraft {
    /// The calls that ask the daemon about all drafts. One call has at most `countLimit`.
    static func calls(for drafts: [ManifestChecks.Draft]) -> [ControlCall] {
        stride(from: 0, to: drafts.count, by: countLimit).map { start in
            .verify(drafts[start..<min(start + countLimit, drafts.count)].map(Self.init))
        }
    }

    private init(_ draft: ManifestChecks.Draft) {
        self.init(
            name: draft.name.file,
            sources: draft.sources.map {
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
