internal import AppFolders
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomManifest
internal import Systemd

/// One reading of all manifests, in portions so short that other events of the loop have their
/// turns between them: there may be thousands of manifests.
@LoopActor
final class ManifestReading {
    private enum Step {
        case folders
        case names(AppFolders, EnabledApps)
        case files(AppFolders, EnabledApps, at: Int)
        case choice(EnabledApps)
        case apps(EnabledApps, at: Int)
        case end
        case over
    }

    private(set) var result = LoadResult()
    /// The apps as they were when the reading began.
    let former: [InstalledApp]
    private let loader: AppLoader
    private let log: Log
    private let cache: LoadingCache
    private var known: [String: InstalledApp] = [:]
    private var names: [ManifestName] = []
    private var onDemand: Set<ManifestName> = []
    private var manifests: [(AppManifest, AppFile)] = []
    /// The files that were looked at, without masked ones.
    private var looked: [AppFile] = []
    private var step = Step.folders

    init(_ loader: AppLoader, former: [InstalledApp], log: Log) {
        self.loader = loader
        self.former = former
        self.log = log
        cache = loader.begin(log)
        result.formerComplaints = loader.complaints
        if loader.isWorldSame(for: former, cache) {
            for app in former { known[app.fileName] = app }
        }
    }

    var isOver: Bool {
        if case .over = step { true } else { false }
    }

    /// Reads one portion.
    func proceed() {
        switch step {
        case .folders: readFolders()
        case .names(let folders, let enabled):
            collectNames(folders, enabled)
            step = .files(folders, enabled, at: 0)
        case .files(let folders, let enabled, let index):
            guard index < names.count else { return step = .choice(enabled) }
            readIfChanged(names[index], folders, enabled)
            step = .files(folders, enabled, at: index + 1)
        case .choice(let enabled):
            let entries = onlyEntries()
            manifests = withoutCircles(unique(manifests)) + entries
            step = .apps(enabled, at: 0)
        case .apps(let enabled, let index):
            guard index < manifests.count else { return step = .end }
            install(manifests[index].0, manifests[index].1, enabled)
            step = .apps(enabled, at: index + 1)
        case .end:
            rememberRefused()
            rememberSystems()
            loader.end(result, cache)
            step = .over
        case .over: break
        }
    }

    private func readFolders() {
        let folders = AppFolders(loader.places.directories)
        result.isPartial = !folders.unreadable.isEmpty || !folders.refused.isEmpty
        for (path, reason) in folders.unreadable {
            result.complain(.error, "\(path): \(reason)", log)
            result.faults.append(.init(file: path, line: 0, column: 0, message: reason))
        }
        for (path, objection) in folders.refused + cache.refusedEntries {
            result.refuse(path, objection, log)
        }
        step = .names(folders, EnabledApps(folders))
    }

    private func collectNames(_ folders: AppFolders, _ enabled: EnabledApps) {
        names = folders.names
        result.templates = Set(folders.files.filter(\.isTemplate).map(\.identifier))
        // Instances have no file of their own: somebody asked for them, or they are enabled.
        onDemand = Set(
            former.filter(\.isMadeOnDemand).map { ManifestName(file: $0.fileName) })
        let fileless = onDemand.union(enabled.names.filter(\.isInstance))
        if !fileless.isEmpty {
            names += fileless.subtracting(names).sorted { $0.identifier < $1.identifier }
        }
    }

    private func readIfChanged(_ name: ManifestName, _ folders: AppFolders, _ enabled: EnabledApps)
    {
        guard let file = folders.file(of: name) else { return }
        guard !file.isMasked else {
            result.absent[name.identifier] = AbsentApp(
                file: file.main.path, reason: .masked)
            return
        }
        looked.append(file)
        if let app = known[name.file], app.sourceDigest == file.digest,
            cache.isCurrent(app)
        {
            result.unchanged.append(app)
            let occasions = enabled.occasions(of: name)
            if app.startOccasions != occasions { result.moved.append(app) }
            app.startOccasions = occasions
        } else if let manifest = result.read(file, cache, log) {
            manifests.append((manifest, file))
        }
    }

    /// Notes the apps that were looked at and are not installed because of an error in one of their
    /// files.
    private func rememberRefused() {
        guard !result.faults.isEmpty else { return }
        let installed = Set((result.apps + result.unchanged).map(\.fileName))
        let faults = Dictionary(
            result.faults.map { ($0.file, $0) }, uniquingKeysWith: { first, _ in first })
        for file in looked where !installed.contains(file.name.file) {
            guard let fault = file.paths.lazy.compactMap({ faults[$0] }).first else { continue }
            result.absent[file.name.identifier] = AbsentApp(
                file: file.main.path, reason: .refused(fault))
        }
    }

    /// Notes the apps of the system's daemon whose names no app of this daemon has.
    private func rememberSystems() {
        guard !loader.places.systemDirectories.isEmpty else { return }
        let folders = AppFolders(loader.places.systemDirectories)
        let installed = Set((result.apps + result.unchanged).map(\.identifier.rawValue))
        for name in folders.names where !installed.contains(name.identifier) {
            guard result.absent[name.identifier] == nil, let file = folders.file(of: name),
                !file.isMasked
            else { continue }
            result.absent[name.identifier] = AbsentApp(file: file.main.path, reason: .isSystems)
        }
    }

    private func install(_ manifest: AppManifest, _ file: AppFile, _ enabled: EnabledApps) {
        do throws(LoadFailure) {
            guard
                let app = try loader.maker(cache).make(of: manifest, isDesktopOnly: file.isEntry)
            else { return }
            app.isInstance = file.name.isInstance
            app.sourceDigest = file.digest
            app.startOccasions = enabled.occasions(of: file.name)
            if onDemand.contains(file.name), app.startOccasions.isEmpty { app.becomeOnDemand() }
            result.apps.append(app)
        } catch {
            result.report(error, of: manifest, log)
        }
    }

    // MARK: Which manifests count

    /// The first manifest of each identifier; apps that are installed and unchanged take
    /// precedence.
    private func unique(
        _ manifests: [(AppManifest, AppFile)]
    ) -> [(AppManifest, AppFile)] {
        guard !manifests.isEmpty else { return [] }
        let taken = Dictionary(
            result.unchanged.map { ($0.identifier.rawValue, $0.manifestPath) },
            uniquingKeysWith: { first, _ in first })
        let (kept, diagnostics) = AppManifest.withoutDuplicates(
            manifests.map(\.0), beside: taken)
        result.report(diagnostics, log)
        let files = Set(kept.map(\.file))
        return manifests.filter { files.contains($0.0.file) }
    }

    /// The manifests whose apps do not depend on themselves through other apps; unchanged apps are
    /// taken into account.
    private func withoutCircles(
        _ manifests: [(AppManifest, AppFile)]
    ) -> [(AppManifest, AppFile)] {
        guard manifests.contains(where: { $0.0.dependencies != nil }) else { return manifests }
        let others = result.unchanged.map { ($0.identifier.rawValue, $0.dependencyNames) }
        let (kept, diagnostics) = AppManifest.withoutCircles(manifests.map(\.0), beside: others)
        result.report(diagnostics, log)
        let names = Set(kept.map(\.identifier))
        return manifests.filter { names.contains($0.0.identifier) }
    }

    /// Apps that only a desktop entry makes.
    private func onlyEntries() -> [(AppManifest, AppFile)] {
        guard loader.places.desktop.makesApps else { return [] }
        let taken = Set(names.map(\.identifier))
            .union(result.unchanged.map(\.identifier.rawValue))
            .union(manifests.map(\.0.identifier))
        var entries: [(AppManifest, AppFile)] = []
        for entry in cache.entries.values.sorted(by: { $0.identifier < $1.identifier })
        where !taken.contains(entry.identifier) {
            let file = AppFile(entry: entry)
            if let app = known[file.name.file], app.isDesktopOnly,
                app.sourceDigest == file.digest, cache.isCurrent(app)
            {
                result.unchanged.append(app)
                continue
            }
            // The entry gives no settings, so the app has the defaults. But unless the default is
            // When=auto, it is not prewarmed, because most desktop entries are never used.
            let text =
                cache.defaultOccasion == .auto ? "[App]\n" : "[App]\n[Prewarm]\nDepth=none\n"
            let source = ManifestSource(Array(text.utf8), file: entry.path)
            if let manifest = AppManifest.parse([source], name: file.name, cache.manifestContext)
                .manifest
            {
                entries.append((manifest, file))
            }
        }
        return entries
    }
}

extension InstalledApp {
    /// The apps of Requires= and After=.
    var dependencyNames: [String] {
        let dependencies = description.dependencies.value
        return ((dependencies?.requires ?? []) + (dependencies?.after ?? [])).map(\.rawValue)
    }
}
