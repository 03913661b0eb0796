internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// What one room of the shell keeps of one instance: made when the room first asks for it, dropped
/// with the instance. So no room keeps anything of an instance that was released.
@LoopActor
protocol InstancePart: AnyObject {
    init()
}

/// The parts of one instance. They are few, so a list is searched faster than a dictionary.
@LoopActor
final class InstanceParts {
    private var all: [(type: ObjectIdentifier, part: any InstancePart)] = []

    /// What a room keeps of the instance, made when it is first asked for.
    func part<Part: InstancePart>(_ type: Part.Type = Part.self) -> Part {
        if let part = known(type) { return part }
        let part = Part()
        all.append((ObjectIdentifier(type), part))
        return part
    }

    /// What a room keeps of the instance; nil if the room has kept nothing of it.
    func known<Part: InstancePart>(_ type: Part.Type = Part.self) -> Part? {
        let wanted = ObjectIdentifier(type)
        return all.first { $0.type == wanted }.map { unsafe unsafeDowncast($0.part, to: type) }
    }

    /// Called at the release: whoever still has the instance does not keep what rooms kept of it.
    func drop() { all = [] }
}

/// What one room keeps of instances in files, where another supervisor finds it. Each such room
/// adds itself to the table of instances, in its own initializer.
@LoopActor
protocol InstanceFiles: AnyObject {
    /// The instance is released. A former supervisor may have made its files.
    func remove(_ instance: InstanceIdentifier)
}

/// Every instance, from its order to its release: its process, once there is one, and what the
/// rooms of the shell keep of it. With cgroups, each act on an instance is one write; without them,
/// the spawner does it process by process.
@LoopActor
final class InstanceTable {
    private let core: Core
    private let log: Log
    private let spawner: CurrentSpawner
    /// The directory that holds the instances' cgroups; nil in degraded mode.
    private var cgroups: Cgroup?
    /// The directory of the former spawner, until it is known what that spawner left.
    private var formerCgroups: Cgroup?

    private var table: [InstanceIdentifier: Instance] = [:]
    /// What rooms keep: an entry for every instance that has a process, and for every other instance
    /// that a room keeps something of.
    private var parts: [InstanceIdentifier: InstanceParts] = [:]
    private var files: [any InstanceFiles] = []

    private let disposer: Disposer

    init(core: Core, log: Log, spawner: CurrentSpawner, disposer: Disposer) {
        self.core = core
        self.log = log
        self.spawner = spawner
        self.disposer = disposer
    }

    /// The instance's process; nil before the process was made.
    subscript(identifier: InstanceIdentifier) -> Instance? { table[identifier] }

    /// Looks for the instances' cgroups in another spawner's directory from now on, and keeps the
    /// former directory until `forgetFormerCgroups`.
    func use(cgroups next: Cgroup?) {
        (formerCgroups, cgroups) = (cgroups, next)
    }

    // MARK: What rooms keep

    /// What a room keeps of the instance, made when it is first asked for; nil once the instance
    /// has been released.
    func part<Part: InstancePart>(
        _ type: Part.Type = Part.self, of identifier: InstanceIdentifier
    ) -> Part? {
        if let parts = parts[identifier] { return parts.part(type) }
        return isLive(identifier) ? makeParts(of: identifier).part(type) : nil
    }

    private func makeParts(of identifier: InstanceIdentifier) -> InstanceParts {
        let new = InstanceParts()
        parts[identifier] = new
        return new
    }

    /// What a room keeps of the instance; nil if the room has kept nothing of it.
    func known<Part: InstancePart>(
        _ type: Part.Type = Part.self, of identifier: InstanceIdentifier
    ) -> Part? {
        parts[identifier]?.known(type)
    }

    /// The parts of this type, of every instance that has one.
    func all<Part: InstancePart>(_ type: Part.Type) -> [(InstanceIdentifier, Part)] {
        parts.compactMap { identifier, parts in parts.known(type).map { (identifier, $0) } }
    }

    /// From now on, has this room remove the files of each instance that is released.
    func add(_ files: some InstanceFiles) { self.files.append(files) }

    private func isLive(_ identifier: InstanceIdentifier) -> Bool {
        core.lifecycle.instance(identifier).map { $0.state != .notRunning } ?? false
    }

    func pid(of identifier: InstanceIdentifier) -> Int32? { table[identifier]?.pid }

    func processInode(of identifier: InstanceIdentifier) -> UInt64? {
        table[identifier]?.process.inode
    }

    /// The instance that the process belongs to: as its main process, or by its cgroup.
    func instance(ofProcess pid: Int32) -> Instance? {
        if let main = table.values.first(where: { $0.pid == pid }) { return main }
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/cgroup"),
            let path = CgroupLocation.path(in: text), let slash = path.lastIndex(of: "/"),
            // The whole path counts: any user may give a cgroup of their own the same last name.
            let parent = cgroupsPath, parent.hasSuffix(path[..<slash])
        else { return nil }
        // The path must also lead to the instance's own cgroup, because users can name their own
        // cgroups as they like.
        return table.values.first { instance in
            instance.cgroupName.map { path.hasSuffix("/" + $0) } ?? false
                && instance.cgroup?.isAt(path) ?? false
        }
    }

    /// Where a process belongs, found without asking the process itself.
    enum Surroundings {
        case instance(Instance)
        /// The process is in a cgroup among those of the instances, which the spawner has not
        /// reported yet.
        case unknownCgroup(name: String)
        case elsewhere
        /// Without cgroups only main processes are known.
        case unknown
    }

    /// Where the process belongs, even if it is in a cgroup that was made below the instance's.
    /// /proc/PID/cgroup comes from the kernel, so reading it waits for nobody.
    /// - Throws: the error of that reading, for example ENOENT if there is no such process.
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

    /// At most this many components of a path are looked at: whoever has a cgroup can make
    /// thousands below it.
    private static let depthLimit = 32

    /// The path of the directory of the instances' cgroups, beginning with the mount point.
    private var cgroupsPath: String? { try? cgroups?.directory.path() }

    // MARK: Coming and going

    @discardableResult
    func add(_ entry: TableEntry) -> Instance {
        let identifier = InstanceIdentifier(entry.instance)
        // A spawner of another version may have set up the channel differently.
        try? entry.channel?.setPassesCredentials(false)
        try? entry.channel?.refuseDescriptors()
        let instance = Instance(
            identifier: identifier,
            // A name that was read from a cgroup may not be the full identifier.
            app: core.lifecycle.instance(identifier)?.app ?? AppIdentifier(entry.app),
            pid: entry.pid,
            process: entry.process, cgroupName: entry.cgroupName, in: cgroups,
            // The disposer closes the channel: messages that the app has sent may wait in it for
            // ever.
            channel: entry.channel.map {
                UnixSocket($0.descriptor.given(to: disposer.stranger(.max), .queue))
            }, isGuarded: entry.isGuarded,
            parts: parts[identifier] ?? makeParts(of: identifier))
        table[identifier] = instance
        return instance
    }

    func release(_ identifier: InstanceIdentifier) {
        for room in files { room.remove(identifier) }
        parts.removeValue(forKey: identifier)?.drop()
        if let instance = table.removeValue(forKey: identifier) {
            // Nobody else removes an orphan's cgroup.
            if instance.orphan != nil {
                instance.removeCgroup(besides: spawner.isThere ? cgroupsPath : nil)
            }
            instance.closeChannel()
        }
        spawner.send(.release(instance: identifier.rawValue))
    }

    /// The spawner has died. All instances except `kept` become orphans: from now on only their
    /// pidfds report their ends.
    ///
    /// - Parameter onEnd: called when an orphan has ended and no process of it is left.
    func orphan(
        allBut kept: Set<InstanceIdentifier>,
        onEnd: @escaping (InstanceIdentifier, TerminationStatus) -> Void
    ) {
        for identifier in kept { table[identifier]?.orphan = nil }
        for instance in table.values
        where instance.orphan == nil && !kept.contains(instance.identifier) {
            let identifier = instance.identifier
            do throws(SystemdError) {
                instance.orphan = try Orphan(instance) { onEnd(identifier, $0) }
            } catch {
                log.failed("watching \(instance.app)", error)
            }
        }
    }

    /// Ends an instance that nobody reported. The instance may be running nevertheless: the spawner
    /// may have died after it made the instance and before it said so. The cgroup was made first,
    /// under a name that we know.
    func endUnreported(_ identifier: InstanceIdentifier, of app: AppIdentifier) -> Remains {
        var remains = Remains()
        for parent in [cgroups, formerCgroups].compactMap(\.self) {
            guard
                let (cgroup, name) = InstanceCgroup.find(
                    app: app.rawValue, instance: identifier.rawValue, in: parent)
            else { continue }
            try? cgroup.kill()
            remains.cgroups.append((parent, name))
        }
        return remains
    }

    /// The cgroups of an instance that nobody reported.
    struct Remains {
        fileprivate var cgroups: [(parent: Cgroup, name: String)] = []

        var isEmpty: Bool { cgroups.isEmpty }

        /// Removes them. A cgroup that is not empty yet stays, which does no harm.
        func remove() {
            for (parent, name) in cgroups { _ = try? parent.removeChild(name) }
        }
    }

    /// Called when everything that the former spawner left has been dealt with.
    func forgetFormerCgroups() { formerCgroups = nil }

    /// Waits for the start of an instance that was told to go and has no channel to say STARTED on
    /// any more: when it starts, it closes its end. The core's deadline ends the wait.
    ///
    /// - Parameter number: the descriptor number of the instance's end.
    func awaitStart(of instance: Instance, closing number: CInt) {
        let identifier = instance.identifier
        instance.startLook = RepeatedLook(until: {
            [unowned instance] in instance.hasClosedChannel(number)
        }) { [unowned self, unowned instance] in
            instance.startLook = nil
            core.handle(.started(identifier))
        }
        instance.startLook?.look()
    }

    // MARK: Acts

    func signal(_ number: Int32, to identifier: InstanceIdentifier) -> Bool {
        (try? table[identifier]?.signal(number)) ?? false
    }

    func terminate(_ identifier: InstanceIdentifier) { _ = signal(SIGTERM, to: identifier) }

    func kill(_ identifier: InstanceIdentifier) {
        guard let cgroup = table[identifier]?.cgroup, (try? cgroup.kill()) != nil else {
            _ = signal(SIGKILL, to: identifier)
            table[identifier]?.orphan?.signalGroup(SIGKILL)
            spawner.send(.kill(instance: identifier.rawValue))
            return
        }
    }

    func apply(_ priority: Priority, to identifier: InstanceIdentifier) {
        table[identifier]?.apply(priority)
    }
}
