internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Notices when a file changes that paused instances were made from.
///
/// The kernel queues a change before the call that made it returns, and the loop handles changes
/// before requests. So whoever replaces a library and then launches a program gets the new one.
@LoopActor
final class StalenessWatcher {
    private let inotify: Inotify
    private var source: EventSource?
    private var instancesOfWatch: [CInt: Set<InstanceIdentifier>] = [:]
    private let core: Core
    private let instances: InstanceTable

    @LoopActor
    private final class Watches: InstancePart {
        var numbers: [CInt] = []
        var drop: (([CInt]) -> Void)?
        isolated deinit { drop?(numbers) }
    }

    /// How many inspections are making watches whose numbers are not known yet.
    private var expectedCount = 0
    /// Watches that have changed in the meantime, and watches that nobody else uses any more: they
    /// may be among those that are being made.
    private var changedEarly: Set<CInt> = []
    private var unusedEarly: Set<CInt> = []

    init(core: Core, instances: InstanceTable) throws {
        self.core = core
        self.instances = instances
        inotify = try Inotify()
        source = try LoopActor.io(
            inotify.descriptor.rawValue, .readable, priority: LoopPriority.changedFiles
        ) { [unowned self] _ in changed() }
    }

    /// Watches a file and then looks at it. The call must be made by another process
    /// (``DetachedCalls``), because the instance chose the path.
    func watchedLook(at path: String) -> DetachedJob.Call {
        .look(path, watchedBy: inotify, for: Inotify.fileChanges)
    }

    /// Calls of ``watchedLook(at:)`` are under way until ``gotWatches(_:for:)``. Changes that happen
    /// in the meantime are remembered.
    func expectWatches() { expectedCount += 1 }

    /// - Parameter instance: nil if the watches are not wanted any more.
    /// - Returns: false if one of the files has changed since it was looked at.
    @discardableResult
    func gotWatches(_ watches: [CInt], for instance: InstanceIdentifier?) -> Bool {
        let isUnchanged = changedEarly.isDisjoint(with: watches)
        if let instance, let own = instances.part(Watches.self, of: instance) {
            own.drop = { [weak self] numbers in self?.drop(numbers, of: instance) }
            own.numbers += watches
            for watch in watches { instancesOfWatch[watch, default: []].insert(instance) }
        }
        expectedCount -= 1
        drop(watches)
        if expectedCount == 0 {
            let unused = unusedEarly
            (changedEarly, unusedEarly) = ([], [])
            drop(unused)
        }
        return isUnchanged
    }

    /// Drops the watches that nobody uses.
    func drop(_ watches: some Sequence<CInt>) { for watch in watches { dropIfUnused(watch) } }

    /// The instance was launched: the files that it was made from do not matter any more.
    func forget(_ instance: InstanceIdentifier) {
        guard let watches = instances.known(Watches.self, of: instance) else { return }
        let numbers = watches.numbers
        watches.numbers = []
        drop(numbers, of: instance)
    }

    private func drop(_ watches: [CInt], of instance: InstanceIdentifier) {
        for watch in watches {
            instancesOfWatch[watch]?.remove(instance)
            dropIfUnused(watch)
        }
    }

    private func dropIfUnused(_ watch: CInt) {
        guard instancesOfWatch[watch]?.isEmpty ?? true else { return }
        guard expectedCount == 0 else {
            unusedEarly.insert(watch)
            return
        }
        instancesOfWatch[watch] = nil
        inotify.remove(watch)
    }

    private func changed() {
        var stale: Set<InstanceIdentifier> = []
        for event in (try? inotify.read()) ?? [] {
            if event.overflowed {
                // The kernel has dropped events, so any of the files may have changed.
                for watched in instancesOfWatch.values { stale.formUnion(watched) }
            }
            if expectedCount > 0 { changedEarly.insert(event.watch) }
            stale.formUnion(instancesOfWatch[event.watch] ?? [])
            if event.watchEnded { instancesOfWatch[event.watch] = nil }
        }
        for instance in stale.sorted() { core.handle(.becameStale(instance)) }
    }
}
