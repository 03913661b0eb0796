internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Looks at an instance that has just paused: is it what it should be, and what is it made from? All of
/// this is done before a launch, so that the launch need not; and none of it here, for its own process may keep whoever
/// looks at it waiting (``DetachedCalls``).
@LoopActor
final class PausedInspector {
    private let staleness: StalenessWatcher
    private let calls: DetachedCalls
    private let instances: InstanceTable

    private final class Inspection: InstancePart {
        /// Whoever waits for what is found; nil while nobody looks.
        var waiting: [(Finding) -> Void]?
    }

    enum Finding {
        case usable
        /// A file of it changed already.
        case stale
        /// It keeps whoever looks waiting.
        case unanswered
    }

    init(staleness: StalenessWatcher, calls: DetachedCalls, instances: InstanceTable) {
        self.staleness = staleness
        self.calls = calls
        self.instances = instances
    }

    /// - Parameter first: a client waits for it.
    func inspect(
        _ instance: Instance, app: InstalledApp?, first: Bool = false,
        then found: @escaping (Finding) -> Void
    ) {
        guard let app, let inspection = instances.part(Inspection.self, of: instance.identifier)
        else { return found(.stale) }
        let isUnderWay = inspection.waiting != nil
        inspection.waiting = (inspection.waiting ?? []) + [found]
        if isUnderWay && !first { return }
        instance.prepareForLaunch()
        let job = DetachedJob([
            // argv as the kernel has it: a script's begins with its interpreter.
            .read("/proc/\(instance.pid)/cmdline", limit: Self.commandLineLimit),
            .read("/proc/\(instance.pid)/maps", limit: MappedFiles.byteLimit),
        ])
        calls.make(job, for: instance.app, of: app.account.user, first: first) {
            [unowned self] job in
            // It lived until now: the number meant it all the time.
            guard let job, instance.isAlive else {
                return finish(instance, job == nil ? .unanswered : .stale)
            }
            guard let words = job.bytes(0), let maps = job.bytes(1) else {
                return finish(instance, .stale)
            }
            instance.argumentPrefix = words.split(separator: 0, omittingEmptySubsequences: false)
                .dropLast().map { .bytes(Array($0)) }
            compare(MappedFiles.parse(maps), instance, app, first)
        }
    }

    /// Longer than any manifest's `Exec=`, with an interpreter.
    private static let commandLineLimit = 256 << 10
    /// More than any program is made from; each costs a watch of the kernel's.
    private static let fileLimit = 4096

    /// The files as they are on disk now, each watched before it is looked at.
    private func compare(
        _ mapped: [MappedFiles.Mapping], _ instance: Instance, _ app: InstalledApp, _ first: Bool
    ) {
        guard isWanted(instance) else { return }
        let mapped = mapped.filter(\.isProgramText)
        guard mapped.count <= Self.fileLimit else { return finish(instance, .stale) }
        // An app that sees another file system names files as they are called there.
        let hasOwnMounts = app.confinement?.hasOwnMounts == true
        let root = hasOwnMounts ? Instance.rootPath(of: instance.pid) : ""
        let job = DetachedJob(
            mapped.map { staleness.look(at: root + $0.path) }
                + app.fingerprint.map { .look($0.path) })
        let watches = { (job: DetachedJob) in mapped.indices.compactMap { job.watch($0) } }
        staleness.expectWatches()
        calls.make(
            job, for: instance.app, of: app.account.user, first: first,
            onLate: { [unowned self] in staleness.drop(watches($0)) }
        ) { [unowned self] job in
            guard let job, isWanted(instance) else {
                staleness.gotWatches(job.map(watches) ?? [], for: nil)
                return finish(instance, .unanswered)
            }
            let areCurrent = mapped.enumerated().allSatisfy { index, file in
                let found = job.file(index)
                return file.isAnonymous(found)
                    || job.watch(index) != nil && file.isCurrent(found)
            }
            let isUnchanged = app.fingerprint.enumerated().allSatisfy { index, file in
                job.file(mapped.count + index) == file.identity
            }
            let stayed = staleness.gotWatches(watches(job), for: instance.identifier)
            let isUsable = areCurrent && isUnchanged && stayed && instance.isAlive
            instance.isInspected = isUsable
            finish(instance, isUsable ? .usable : .stale)
        }
    }

    private func finish(_ instance: Instance, _ finding: Finding) {
        let inspection = instances.known(Inspection.self, of: instance.identifier)
        let waiting = inspection?.waiting ?? []
        inspection?.waiting = nil
        for found in waiting { found(finding) }
    }

    private func isWanted(_ instance: Instance) -> Bool {
        instances.known(Inspection.self, of: instance.identifier)?.waiting != nil
    }

    /// It goes on: what it was made from may change.
    func forget(_ instance: InstanceIdentifier) {
        instances.known(Inspection.self, of: instance)?.waiting = nil
        staleness.forget(instance)
    }
}
