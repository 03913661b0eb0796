internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Inspects an instance that has just paused: is it what it should be, and which files was it made
/// from? This is done before a launch, so that the launch need not do it. Another process looks at
/// the instance (``DetachedCalls``), because the instance may keep whoever looks at it waiting.
@LoopActor
final class PausedInspector {
    private let staleness: StalenessWatcher
    private let learner: LibraryLearner
    private let calls: DetachedCalls
    private let instances: InstanceTable

    private final class Inspection: InstancePart {
        /// The callbacks that wait for the finding; nil while no inspection is under way.
        var waiting: [(Finding) -> Void]?
    }

    enum Finding {
        case usable
        /// A file that the instance was made from has changed already.
        case stale
        /// The instance keeps whoever looks at it waiting.
        case unanswered
    }

    init(
        staleness: StalenessWatcher, learner: LibraryLearner, calls: DetachedCalls,
        instances: InstanceTable
    ) {
        self.staleness = staleness
        self.learner = learner
        self.calls = calls
        self.instances = instances
    }

    /// - Parameter first: whether a client waits for the finding.
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
        if app.description.depth == .window { noteStartPlace(of: instance, app) }
        let job = DetachedJob([
            // argv as the kernel has it: that of a script begins with the script's interpreter.
            .read("/proc/\(instance.pid)/cmdline", limit: Self.commandLineLimit),
            .read("/proc/\(instance.pid)/maps", limit: MappedFiles.byteLimit),
        ])
        calls.make(job, for: instance.app, of: app.account.user, first: first) {
            [unowned self] job in
            // The process is still alive, so its number has meant this process all the time.
            guard let job, instance.isAlive else {
                return finish(instance, job == nil ? .unanswered : .stale)
            }
            guard let words = job.bytes(0), let maps = job.bytes(1) else {
                return finish(instance, .stale)
            }
            instance.pause.argumentPrefix =
                words.split(separator: 0, omittingEmptySubsequences: false)
                .dropLast().map { .bytes(Array($0)) }
            compare(MappedFiles.parse(maps), instance, app, first)
        }
    }

    /// Launches are compared with the directory that the program has found, also if another takes its
    /// place. If the program has paused under a former supervisor, that may have happened already:
    /// then it must still be in that directory.
    private func noteStartPlace(of instance: Instance, _ app: InstalledApp) {
        let pause = instance.pause
        guard pause.startPlace == nil,
            let place = (try? PathOwners.folder(at: app.command.startDirectory))?.place
        else { return }
        let isKnown = pause.reachedAt != nil || Self.workingDirectory(of: instance) == place
        if isKnown { pause.startPlace = place }
    }

    private static func workingDirectory(of instance: Instance) -> FilePlace? {
        (try? FileDescriptor.open("/proc/\(instance.pid)/cwd", FileDescriptor.pathOnly))?.place
    }

    /// In bytes; longer than any manifest's `Exec=` with its interpreter.
    private static let commandLineLimit = 256 << 10
    /// More files than any program is made from; each of them costs a watch in the kernel.
    private static let fileLimit = 4096

    /// Compares the files with those on disk now; each file is watched before it is looked at.
    private func compare(
        _ mapped: [MappedFiles.Mapping], _ instance: Instance, _ app: InstalledApp, _ first: Bool
    ) {
        guard isWanted(instance) else { return }
        let mapped = mapped.filter(\.isProgramText)
        guard mapped.count <= Self.fileLimit else { return finish(instance, .stale) }
        // An app that sees another file system names files by their paths there.
        let hasOwnMounts = app.restrictions.confinement?.hasOwnMounts == true
        let root = hasOwnMounts ? Instance.rootPath(of: instance.pid) : ""
        let job = DetachedJob(
            mapped.map { staleness.watchedLook(at: root + $0.path) }
                + app.program.fingerprint.map { .look($0.path) })
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
            let isUnchanged = app.program.fingerprint.enumerated().allSatisfy { index, file in
                job.file(mapped.count + index) == file.identity
            }
            let stayed = staleness.gotWatches(watches(job), for: instance.identifier)
            let isUsable = areCurrent && isUnchanged && stayed && instance.isAlive
            instance.pause.isInspected = isUsable
            if isUsable { learner.notePause(of: instance, mapped) }
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

    /// The instance goes on to main: the files that it was made from may change now.
    func forget(_ instance: InstanceIdentifier) {
        instances.known(Inspection.self, of: instance)?.waiting = nil
        staleness.forget(instance)
    }
}
