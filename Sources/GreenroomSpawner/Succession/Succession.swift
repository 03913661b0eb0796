internal import Glibc
internal import GreenroomLinux

/// What one execution of the spawner leaves to the next when it executes itself again (SIGUSR1, for
/// an upgrade): children stay children, and descriptors stay open under their numbers.
///
/// The listening socket is passed on, but the supervisor's connection is not: the supervisor
/// connects again and reads the table.
struct Succession {
    var listener: FileDescriptor
    var subtree: Subtree
    var openFiles: ResourceLimit
    var graceMilliseconds: UInt32
    var state: SharedMemory?
    var instances: [SpawnedInstance]
    /// Descriptors kept for the supervisor; version 1 has none.
    var kept: [String: FileDescriptor] = [:]

    /// Both executions must agree on the format. A newer spawner may add versions and still read
    /// the old ones: 1 has no kept descriptors, 2 no adopted instances.
    private static let version: UInt16 = 3

    /// Every descriptor that must stay open across the exec.
    private var descriptors: [FileDescriptor] {
        var all = [listener]
        if let directory = subtree.cgroup?.directory { all.append(directory) }
        if let descriptor = state?.descriptor { all.append(descriptor) }
        all += kept.values
        for instance in instances {
            all.append(instance.process.descriptor)
            if let channel = instance.channel { all.append(channel.descriptor) }
            if let directory = instance.group.directory { all.append(directory) }
        }
        return all
    }

    func setInheritable(_ on: Bool) throws(SystemError) {
        for descriptor in descriptors { try descriptor.setCloseOnExec(!on) }
    }

    func encoded() -> [UInt8] {
        var writer = WireWriter()
        writer.put(Self.version)
        writer.put(listener.rawValue)
        writer.put(subtree)
        writer.put(openFiles.soft)
        writer.put(openFiles.hard)
        writer.put(graceMilliseconds)
        writer.put(state?.descriptor.rawValue ?? -1)
        writer.put(UInt32(instances.count))
        for instance in instances { writer.put(instance) }
        writer.put(UInt32(kept.count))
        for (name, descriptor) in kept {
            writer.put(name)
            writer.put(descriptor.rawValue)
        }
        return writer.bytes
    }

    /// Takes over the descriptors that the bytes name. Call this only once, because the result owns
    /// those descriptors.
    init(_ bytes: [UInt8]) throws {
        var reader = WireReader(bytes[...])
        let version = try reader.take(UInt16.self)
        guard 1...Self.version ~= version else { throw SpawnerWireError.badVersion(version) }
        listener = try reader.takeDescriptor()
        subtree = try reader.takeSubtree()
        openFiles = ResourceLimit(.openFiles, soft: try reader.take(), hard: try reader.take())
        graceMilliseconds = try reader.take()
        state = try reader.takeOptionalDescriptor().map { try SharedMemory(mapping: $0) }
        instances = try reader.takeList(atMost: SpawnerLimits.instanceCount) {
            reader throws(SpawnerWireError) in try reader.takeInstance(version)
        }
        if version > 1 {
            let pairs = try reader.takeList(atMost: SpawnerLimits.keptCount) {
                reader throws(SpawnerWireError) in
                (try reader.takeString(), try reader.takeDescriptor())
            }
            kept = Dictionary(pairs) { first, _ in first }
        }
        try reader.finish()
        try setInheritable(false)
    }

    init(
        listener: FileDescriptor, subtree: Subtree, openFiles: ResourceLimit,
        graceMilliseconds: UInt32, state: SharedMemory?, instances: [SpawnedInstance],
        kept: [String: FileDescriptor] = [:]
    ) {
        self.listener = listener
        self.subtree = subtree
        self.openFiles = openFiles
        self.graceMilliseconds = graceMilliseconds
        self.state = state
        self.instances = instances
        self.kept = kept
    }
}

extension ProcessGroup {
    fileprivate var directory: FileDescriptor? {
        switch self {
        case .cgroup(let cgroup, _): cgroup.directory
        case .session: nil
        }
    }
}

extension WireWriter {
    fileprivate mutating func put(_ subtree: Subtree) {
        switch subtree {
        case .cgroup(let cgroup, let path, let isOurs):
            put(cgroup.directory.rawValue)
            put(path)
            put(isOurs)
        case .degraded(let reason):
            put(CInt(-1))
            put(reason)
        }
    }

    fileprivate mutating func put(_ instance: SpawnedInstance) {
        put(instance.number)
        put(instance.app)
        put(instance.pid)
        put(instance.process.descriptor.rawValue)
        put(instance.channel?.descriptor.rawValue ?? -1)
        switch instance.group {
        case .cgroup(let cgroup, let name):
            put(cgroup.directory.rawValue)
            put(name)
        case .session(let leader):
            put(CInt(-1))
            put(leader)
        }
        put(instance.status != nil)
        if let status = instance.status { put(status) }
        put(instance.isEmptied)
        put(instance.isReleased)
        put(instance.isAdopted)
    }
}

extension WireReader {
    fileprivate mutating func takeDescriptor() throws(SpawnerWireError) -> FileDescriptor {
        guard let descriptor = try takeOptionalDescriptor() else { throw .badDescriptors }
        return descriptor
    }

    fileprivate mutating func takeOptionalDescriptor() throws(SpawnerWireError) -> FileDescriptor? {
        let number = try take(CInt.self)
        return number < 0 ? nil : FileDescriptor(owning: number)
    }

    fileprivate mutating func takeSubtree() throws(SpawnerWireError) -> Subtree {
        guard let directory = try takeOptionalDescriptor() else {
            return .degraded(reason: try takeString())
        }
        return .cgroup(
            Cgroup(directory: directory), path: try takeString(), isOurs: try takeBool())
    }

    fileprivate mutating func takeInstance(
        _ version: UInt16
    ) throws(SpawnerWireError) -> SpawnedInstance {
        let number: UInt64 = try take()
        let app = try takeString()
        let pid: pid_t = try take()
        let process = ProcessDescriptor(try takeDescriptor())
        let channel = try takeOptionalDescriptor().map { UnixSocket($0) }
        let group: ProcessGroup
        if let directory = try takeOptionalDescriptor() {
            group = .cgroup(Cgroup(directory: directory), name: try takeString())
        } else {
            group = .session(leader: try take())
        }
        var instance = SpawnedInstance(
            number: number, app: app, pid: pid, process: process, channel: channel, group: group,
            watch: nil)
        instance.status = try takeBool() ? try takeStatus() : nil
        instance.isEmptied = try takeBool()
        instance.isReleased = try takeBool()
        instance.isAdopted = version > 2 ? try takeBool() : false
        return instance
    }
}
