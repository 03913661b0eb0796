internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Every instance with a process, and the ways to act on one. Cgroups make each act one write;
/// without them the spawner does it process by process.
@LoopActor
final class InstanceTable {
    unowned let supervisor: Supervisor
    var spawner: SpawnerLink?
    /// The directory that holds the instances' cgroups; nil in degraded mode.
    var cgroups: Cgroup? {
        didSet { formerCgroups = oldValue }
    }
    /// That of the spawner before this one, until what it left behind is known.
    private var formerCgroups: Cgroup?
    /// Called when an instance is forgotten, for whoever watches something of it.
    var onRelease: ((InstanceIdentifier) -> Void)?
    /// Called when an instance whose spawner died has ended, and no process of it is left.
    var onOrphanEnd: ((InstanceIdentifier, TerminationStatus) -> Void)?

    private var table: [InstanceIdentifier: Instance] = [:]
    private var freezes: [InstanceIdentifier: RepeatedLook] = [:]
    /// Orders to stop that the spawner has not carried out, without cgroups.
    private var stopOrders: [InstanceIdentifier: Int] = [:]
    private var starts: [InstanceIdentifier: RepeatedLook] = [:]
    /// Instances whose spawner died.
    private var orphans: [InstanceIdentifier: Orphan] = [:]

    private let disposer: Disposer

    init(supervisor: Supervisor, disposer: Disposer) {
        self.supervisor = supervisor
        self.disposer = disposer
    }

    subscript(identifier: InstanceIdentifier) -> Instance? { table[identifier] }

    var all: [Instance] { Array(table.values) }

    func pid(of identifier: InstanceIdentifier) -> Int32? { table[identifier]?.pid }

    /// The instance that this process is of: its main process, or one in its cgroup.
    func instance(ofProcess pid: Int32) -> Instance? {
        if let main = table.values.first(where: { $0.pid == pid }) { return main }
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/cgroup"),
            let path = CgroupLocation.path(in: text), let slash = path.lastIndex(of: "/"),
            // By its whole path: anybody may give a cgroup of his own that last name.
            let parent = cgroupsPath, parent.hasSuffix(path[..<slash])
        else { return nil }
        // A user can name a cgroup of their own as they like: it must be the same directory.
        return table.values.first { instance in
            instance.cgroupName.map { path.hasSuffix("/" + $0) } ?? false
                && instance.cgroup?.isAt(path) ?? false
        }
    }

    /// Whose a process is, as it would not be told itself.
    enum Surroundings {
        case instance(Instance)
        /// It is in a cgroup below those of the apps that nobody has told us of yet.
        case unknownCgroup(name: String)
        case elsewhere
        /// Without cgroups only main processes are known.
        case unknown
    }

    /// Also of a process in a cgroup that was made below the instance's. /proc/PID/cgroup is the
    /// kernel's, and waits for nobody.
    /// - Throws: what reading it did, ENOENT for example: there is no such process.
    func surroundings(ofProcess pid: Int32) throws(SystemError) -> Surroundings {
        if let main = table.values.first(where: { $0.pid == pid }) { return .instance(main) }
        guard let parent = cgroupsPath else { return .unknown }
        let text = try SmallFile.text(of: "/proc/\(pid)/cgroup")
        guard let path = CgroupLocation.path(in: text) else { return .elsewhere }
        let parts = path.split(separator: "/")
        for index in parts.indices.prefix(Self.depthLimit) {
            let above = "/" + parts[..<index].joined(separator: "/")
            guard parent.hasSuffix(above), above.utf8.count > 1 || parts.count == 1 else {
                continue
            }
            let name = String(parts[index])
            let below = "/" + parts[...index].joined(separator: "/")
            let found = table.values.first {
                $0.cgroupName == name && $0.cgroup?.isAt(below) ?? false
            }
            if let found { return .instance(found) }
            if (try? cgroups?.child(name)) != nil { return .unknownCgroup(name: name) }
        }
        return .elsewhere
    }

    /// Of a path's components: whoever has a cgroup of his own can make thousands below it.
    private static let depthLimit = 32

    /// Where the instances' cgroups are, beginning with the mount point.
    private var cgroupsPath: String? { try? cgroups?.directory.path() }

    // MARK: Coming and going

    @discardableResult
    func adopt(_ entry: TableEntry) -> Instance {
        let identifier = InstanceIdentifier(entry.instance)
        let cgroup = entry.cgroupName.flatMap { try? cgroups?.child($0) }
        let instance = Instance(
            identifier: identifier,
            // A name read from a cgroup is not the whole truth.
            app: supervisor.lifecycle.instance(identifier)?.app ?? AppIdentifier(entry.app),
            pid: entry.pid,
            process: entry.process, cgroup: cgroup, cgroupName: entry.cgroupName,
            // Messages that the app has sent may wait in it for ever.
            channel: entry.channel.map {
                UnixSocket($0.descriptor.given(to: disposer.stranger(.max), .queue))
            }, isGuarded: entry.isGuarded)
        instance.cgroupParent = cgroup == nil ? nil : cgroups
        table[identifier] = instance
        return instance
    }

    func release(_ identifier: InstanceIdentifier) {
        freezes[identifier] = nil
        stopOrders[identifier] = nil
        starts[identifier] = nil
        if orphans.removeValue(forKey: identifier) != nil {
            // Nobody else is left to remove it.
            table[identifier]?.removeCgroup()
        }
        table.removeValue(forKey: identifier)?.closeChannel()
        spawner?.send(.release(instance: identifier.rawValue))
        onRelease?(identifier)
    }

    /// The spawner that made them is gone, all but these are orphans: from now on only their pidfds
    /// tell of their ends.
    func orphan(allBut kept: Set<InstanceIdentifier>) {
        stopOrders = [:]
        for identifier in kept { orphans[identifier] = nil }
        for instance in table.values
        where orphans[instance.identifier] == nil && !kept.contains(instance.identifier) {
            let identifier = instance.identifier
            do throws(SystemdError) {
                orphans[identifier] = try Orphan(instance) { [unowned self] status in
                    onOrphanEnd?(identifier, status)
                }
            } catch {
                supervisor.reporter.failed("watching \(instance.app)", error)
            }
        }
    }

    /// An instance that nobody reported may have run all the same: its spawner may have died between
    /// making it and saying so. Its cgroup was made before, under a name that we know.
    ///
    /// - Returns: true if there was one.
    @discardableResult
    func endUnreported(_ identifier: InstanceIdentifier, of app: AppIdentifier) -> Bool {
        var mayHaveRun = false
        for parent in [cgroups, formerCgroups].compactMap(\.self) {
            guard
                let (cgroup, name) = InstanceCgroup.find(
                    app: app.rawValue, instance: identifier.rawValue, in: parent)
            else { continue }
            mayHaveRun = true
            try? cgroup.kill()
            // Not yet empty, it stays as litter.
            _ = try? parent.removeChild(name)
        }
        return mayHaveRun
    }

    /// What the spawner before this one left has been seen to.
    func forgetFormerCgroups() { formerCgroups = nil }

    /// Of an instance that was told to go and has nobody to say STARTED to any more: it shows by
    /// closing its end. The core's deadline ends the wait.
    func awaitStart(of instance: Instance) {
        let identifier = instance.identifier
        starts[identifier] = RepeatedLook({ instance.hasClosedChannel }) { [unowned self] in
            starts[identifier] = nil
            supervisor.handle(.started(identifier))
        }
        starts[identifier]?.look()
    }

    // MARK: Acts

    func signal(_ number: Int32, to identifier: InstanceIdentifier) -> Bool {
        (try? table[identifier]?.signal(number)) ?? false
    }

    func terminate(_ identifier: InstanceIdentifier) { _ = signal(SIGTERM, to: identifier) }

    func kill(_ identifier: InstanceIdentifier) {
        guard let cgroup = table[identifier]?.cgroup, (try? cgroup.kill()) != nil else {
            _ = signal(SIGKILL, to: identifier)
            orphans[identifier]?.signalGroup(SIGKILL)
            spawner?.send(.kill(instance: identifier.rawValue))
            return
        }
    }

    func apply(_ priority: Priority, to identifier: InstanceIdentifier) {
        table[identifier]?.apply(priority)
        supervisor.reclaimer.priorities?.want(priority, for: identifier)
    }

    func freeze(_ identifier: InstanceIdentifier) {
        guard let instance = table[identifier] else { return }
        guard let cgroup = instance.cgroup else {
            if let orphan = orphans[identifier] {
                orphan.signalGroup(SIGSTOP)
                return watchStop(of: instance)
            }
            // Stopped by its terminal, it would seem frozen before the spawner's order has come, which
            // would then hit it when it goes on already.
            guard spawner?.send(.freeze(instance: identifier.rawValue)) == true else {
                return supervisor.handle(.freezeFailed(identifier))
            }
            stopOrders[identifier, default: 0] += 1
            return
        }
        do throws(SystemError) {
            try cgroup.freeze()
        } catch {
            return supervisor.handle(.freezeFailed(identifier))
        }
        watchFreeze(of: identifier) { (try? cgroup.isFrozen()) ?? false }
    }

    /// The spawner has carried out an order to stop: the last, or one that was taken back.
    func wasStopped(_ identifier: InstanceIdentifier) {
        guard let count = stopOrders[identifier] else { return }
        stopOrders[identifier] = count > 1 ? count - 1 : nil
        guard count == 1, let instance = table[identifier],
            supervisor.lifecycle.instance(identifier)?.state == .suspended
        else { return }
        watchStop(of: instance)
    }

    private func watchStop(of instance: Instance) {
        let pid = instance.pid
        watchFreeze(of: instance.identifier) { ProcessTable.entry(of: pid)?.isStopped ?? true }
    }

    private func watchFreeze(
        of identifier: InstanceIdentifier, _ isFrozen: @escaping () -> Bool
    ) {
        freezes[identifier] = RepeatedLook(isFrozen) { [unowned self] in
            freezes[identifier] = nil
            supervisor.handle(.frozen(identifier))
            supervisor.reclaimer.wasFrozen(identifier)
        }
        freezes[identifier]?.look()
    }

    func thaw(_ identifier: InstanceIdentifier) {
        freezes[identifier] = nil
        guard let instance = table[identifier] else { return }
        if let cgroup = instance.cgroup {
            try? cgroup.thaw()
        } else if let orphan = orphans[identifier] {
            orphan.signalGroup(SIGCONT)
        } else {
            // The main process runs again when this returns, so that a stop ordered next is not
            // mistaken for this one; the spawner reaches the others.
            _ = signal(SIGCONT, to: identifier)
            spawner?.send(.thaw(instance: identifier.rawValue))
        }
    }
}

/// Waits for a fact of which nobody tells us in time: that the kernel has frozen a cgroup (poll(2) on
/// cgroup.events is limited to one wake-up in 10 ms), or stopped a process (only its parent hears).
/// Looks at once, then at doubling intervals. The core sets the deadline.
@LoopActor
private final class RepeatedLook {
    private let isTrue: () -> Bool
    private let onTrue: () -> Void
    private var timer: EventSource?
    private var delay: Duration = .microseconds(100)
    /// Looking less often than this helps nobody.
    private static let slowest: Duration = .milliseconds(50)

    init(_ isTrue: @escaping () -> Bool, then onTrue: @escaping () -> Void) {
        self.isTrue = isTrue
        self.onTrue = onTrue
        timer = try? LoopActor.timer(accuracy: .microseconds(50)) { [unowned self] in look() }
    }

    func look() {
        if isTrue() { return onTrue() }
        delay = min(delay * 2, Self.slowest)
        try? timer?.setDeadline(after: delay)
    }
}
