internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Notices when a file changes that paused instances were made from, or that an app's eligibility
/// depends on.
///
/// The kernel queues a change before the call that made it returns, and the loop handles changes
/// before requests. So whoever replaces a program and then launches it gets the new one.
@LoopActor
final class StalenessWatcher {
    /// Changes of content, identity or mode (inotify(7)). A file that is replaced by rename(2)
    /// loses a link, which gives IN_ATTRIB.
    private static let changes = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// The name may lead to another file than before.
    private static let replacements = UInt32(IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
    /// A file appears under a name.
    private static let arrivals = UInt32(IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB)

    private let inotify: Inotify
    private var source: EventSource?
    private var instancesOfWatch: [CInt: Set<InstanceIdentifier>] = [:]
    private let core: Core
    private let instances: InstanceTable
    /// Called when a file of an app has changed, or when a missing program has come back.
    private var programsChanged: (() -> Void)?
    /// The files of apps' programs. The app that a file belongs to is found only when the file
    /// changes, so a file costs memory once, however many apps are made from it.
    private var watchOfFile: [String: CInt] = [:]
    private var filesOfWatch: [CInt: [String]] = [:]

    private var awaitedNames: [CInt: Set<String>] = [:]

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

    // MARK: Files of instances

    /// Watches a file and then looks at it. The call must be made by another process
    /// (``DetachedCalls``), because the instance chose the path.
    func look(at path: String) -> DetachedJob.Call {
        .look(path, watchedBy: inotify, for: Self.changes)
    }

    /// Calls of ``look(at:)`` are under way until ``gotWatches(_:for:)``. Changes that happen in
    /// the meantime are remembered.
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

    /// Drops those of the watches that nobody uses.
    func drop(_ watches: some Sequence<CInt>) { for watch in watches { dropIfUnused(watch) } }

    /// Watches the files that apps' programs consist of, instead of those that were watched before.
    ///
    /// - Parameter changed: called when one of the files has changed, or when a program has come
    ///   back.
    func watchPrograms(_ files: Set<String>, then changed: @escaping () -> Void) {
        programsChanged = changed
        for (file, watch) in watchOfFile where !files.contains(file) {
            watchOfFile[file] = nil
            filesOfWatch[watch]?.removeAll { $0 == file }
            dropIfUnused(watch)
        }
        for file in files where watchOfFile[file] == nil {
            guard let watch = try? inotify.watch(foreign: file, for: Self.changes) else { continue }
            watchOfFile[file] = watch
            filesOfWatch[watch, default: []].append(file)
        }
    }

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

    /// Watches the folders of missing programs, because whoever deletes a program and writes it
    /// again (as install(1) does) takes the app away for a moment only. Replaces what was awaited
    /// before.
    func awaitReturn(of programs: [String]) {
        let former = awaitedNames.keys
        awaitedNames = [:]
        for program in programs {
            guard let slash = program.lastIndex(of: "/"), slash > program.startIndex,
                let watch = try? inotify.watch(
                    foreign: String(program[..<slash]), for: Self.arrivals)
            else { continue }
            let name = String(program[program.index(after: slash)...])
            awaitedNames[watch, default: []].insert(name)
        }
        for watch in former { dropIfUnused(watch) }
    }

    private func dropIfUnused(_ watch: CInt) {
        guard instancesOfWatch[watch]?.isEmpty ?? true, filesOfWatch[watch]?.isEmpty ?? true,
            awaitedNames[watch] == nil
        else { return }
        guard expectedCount == 0 else {
            unusedEarly.insert(watch)
            return
        }
        instancesOfWatch[watch] = nil
        filesOfWatch[watch] = nil
        inotify.remove(watch)
    }

    private func drop(_ files: [String], _ watch: CInt) {
        for file in files { watchOfFile[file] = nil }
        filesOfWatch[watch] = nil
        dropIfUnused(watch)
    }

    private func changed() {
        var stale: Set<InstanceIdentifier> = []
        var haveAppsChanged = false
        for event in (try? inotify.read()) ?? [] {
            if event.overflowed {
                // The kernel has dropped events, so any of the files may have changed.
                for watched in instancesOfWatch.values { stale.formUnion(watched) }
                haveAppsChanged = true
            }
            if expectedCount > 0 { changedEarly.insert(event.watch) }
            stale.formUnion(instancesOfWatch[event.watch] ?? [])
            if let files = filesOfWatch[event.watch], !files.isEmpty {
                haveAppsChanged = true
                // Another file may have the name by now: it is watched again.
                if event.watchEnded || event.mask & Self.replacements != 0 {
                    drop(files, event.watch)
                }
            }
            if awaitedNames[event.watch]?.contains(event.name) == true { haveAppsChanged = true }
            if event.watchEnded { instancesOfWatch[event.watch] = nil }
        }
        if haveAppsChanged { programsChanged?() }
        for instance in stale.sorted() { core.handle(.becameStale(instance)) }
    }
}
