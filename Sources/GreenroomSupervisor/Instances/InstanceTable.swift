internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Every instance, from its order to its release: its process, once there is one, and what the rooms of the
/// shell keep of it. Cgroups make each act on a process one write; without them the spawner does it process
/// by process.
@LoopActor
final class InstanceTable {
    private let core: Core
    private let log: Log
    private let spawner: CurrentSpawner
    /// The directory that holds the instances' cgroups; nil in degraded mode.
    var cgroups: Cgroup? {
        didSet { formerCgroups = oldValue }
    }
    /// That of the spawner before this one, until what it left behind is known.
    private var formerCgroups: Cgroup?

    private var table: [InstanceIdentifier: Instance] = [:]
    private var parts: [InstanceIdentifier: [ObjectIdentifier: any InstancePart]] = [:]
    private var files: [any InstanceFiles] = []

    private let disposer: Disposer

    init(core: Core, log: Log, spawner: CurrentSpawner, disposer: Disposer) {
        self.core = core
        self.log = log
        self.spawner = spawner
        self.disposer = disposer
    }

    /// Its process; nil before it was made.
    subscript(identifier: InstanceIdentifier) -> Instance? { table[identifier] }

    // MARK: What rooms keep

    /// What a room keeps of the instance, made at the first question; nil once it was released.
    func part<Part: InstancePart>(
        _ type: Part.Type = Part.self, of identifier: InstanceIdentifier
    ) -> Part? {
        if let part = known(type, of: identifier) { return part }
        guard table[identifier] != nil || parts[identifier] != nil || isLive(identifier) else {
            return nil
        }
        let part = Part()
        parts[identifier, default: [:]][ObjectIdentifier(type)] = part
        return part
    }

    /// The same, if the room has kept something of it.
    func known<Part: InstancePart>(
        _ type: Part.Type = Part.self, of identifier: InstanceIdentifier
    ) -> Part? {
        parts[identifier]?[ObjectIdentifier(type)].map { unsafe unsafeDowncast($0, to: type) }
    }

    /// Of every instance of which a room keeps something.
    func all<Part: InstancePart>(_ type: Part.Type) -> [(InstanceIdentifier, Part)] {
        parts.keys.compactMap { identifier in
            known(type, of: identifier).map { (identifier, $0) }
        }
    }

    /// Files of an instance are removed at its release from now on.
    func add(_ files: some InstanceFiles) { self.files.append(files) }

    private func isLive(_ identifier: InstanceIdentifier) -> Bool {
        core.lifecycle.instance(identifier).map { $0.state != .notRunning } ?? false
    }

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
        // A spawner of another version may have made it otherwise.
        try? entry.channel?.setPassesCredentials(false)
        try? entry.channel?.refuseDescriptors()
        let instance = Instance(
            identifier: identifier,
            // A name read from a cgroup is not the whole truth.
            app: core.lifecycle.instance(identifier)?.app ?? AppIdentifier(entry.app),
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
        for room in files { room.remove(identifier) }
        parts[identifier] = nil
        if let instance = table.removeValue(forKey: identifier) {
            // Nobody else is left to remove it.
            if instance.orphan != nil { instance.removeCgroup() }
            instance.closeChannel()
        }
        spawner.send(.release(instance: identifier.rawValue))
    }

    /// The spawner that made them is gone, all but these are orphans: from now on only their pidfds
    /// tell of their ends.
    ///
    /// - Parameter onEnd: called when one has ended, and no process of it is left.
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

    /// An instance that nobody reported may have run all the same: its spawner may have died between
    /// making it and saying so. Its cgroup was made before, under a name that we know.
    ///
    /// - Returns: true if there was one.
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
    ///
    /// - Parameter number: its end's.
    func awaitStart(of instance: Instance, closing number: CInt) {
        let identifier = instance.identifier
        instance.startLook = RepeatedLook({
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
