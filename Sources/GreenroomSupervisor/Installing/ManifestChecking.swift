internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Says whether a reload would install manifests, by doing what a reload does and installing
/// nothing.
@LoopActor
struct ManifestChecking {
    let loader: AppLoader
    let catalog: AppCatalog
    let sockets: ListeningSockets
    let log: Log

    /// - Parameter report: may be called before this returns.
    func check(
        _ drafts: [Control.ManifestDraft], _ report: @escaping ([Control.ManifestFault]) -> Void
    ) {
        let cache = loader.begin(log)
        var faults: [Control.ManifestFault] = []
        var manifests: [AppManifest] = []
        for draft in drafts {
            let name = ManifestName(file: draft.name)
            let sources = draft.sources.map { ManifestSource(Array($0.text.utf8), file: $0.file) }
            let (manifest, diagnostics) = AppManifest.parse(
                sources, name: name, cache.manifestContext)
            faults += diagnostics.errors
            // What the instances of a template refer to is not known before they have names.
            if let manifest, !name.isTemplate { manifests.append(manifest) }
        }
        let others = others(than: Set(drafts.map(\.name)))
        let (unique, duplicates) = AppManifest.withoutDuplicates(
            manifests,
            beside: Dictionary(
                others.map { ($0.identifier.rawValue, $0.manifestPath) },
                uniquingKeysWith: { first, _ in first }))
        let (kept, circles) = AppManifest.withoutCircles(
            unique, beside: others.map { ($0.identifier.rawValue, $0.dependencyNames) })
        faults += duplicates.errors + circles.errors
        var apps: [InstalledApp] = []
        for manifest in kept {
            do throws(LoadFailure) {
                let app = try loader.maker(cache).make(of: manifest, isDesktopOnly: false)
                app.map { apps.append($0) }
            } catch {
                faults.append(
                    .init(file: manifest.file, line: 0, column: 0, message: error.message))
            }
        }
        sockets.prepareTrial(of: apps) { [faults, apps, sockets] in
            report(faults + sockets.objections(to: apps))
        }
    }

    /// The installed apps that the drafts do not replace. All drafts count together, because one
    /// may take what another gives up.
    private func others(than names: Set<String>) -> [InstalledApp] {
        catalog.unsortedApps.filter { !names.contains($0.fileName) }
    }
}
