public import Glibc
public import GreenroomLinux

/// A message from the spawner to a supervisor.
public enum SpawnerMessage: Sendable {
    /// The answer to hello; as many `instance` messages follow as it says.
    case welcome(Welcome)
    /// One line of the table: an instance not yet released.
    case instance(TableEntry)
    /// The answer to a spawn: the line of the instance, which is running.
    case spawned(TableEntry)
    case spawnFailed(instance: UInt64, SpawnError)
    /// The instance's first process has ended; others may still run.
    case exited(instance: UInt64, TerminationStatus)
    /// No process of the instance is left. Sent once: after `exited`, or directly before it if the
    /// first process was also the last.
    case emptied(instance: UInt64)
    /// A kill, freeze or thaw was refused with this errno.
    case failed(instance: UInt64, code: CInt)
    /// A descriptor that an earlier supervisor had kept. Sent before `welcome`.
    case kept(name: String, FileDescriptor)
    /// The spawner was told to end, and ends every instance first.
    case ending
    /// Every process of an instance without a cgroup was sent SIGSTOP, as a freeze requires.
    case stopped(instance: UInt64)
    /// No thread of the instance is traced any more.
    case unguarded(instance: UInt64)
    /// The guarded instance was about to run the program `program`, or made a process. None of that
    /// has run, and the instance is being killed: `exited` follows.
    case misfired(instance: UInt64, program: String?)
    /// The kernel does not let the spawner trace its children, so no instance is guarded.
    case cannotGuard(code: CInt)
    /// The guarded instance executed a program that loads no preload library. None of it has run,
    /// and the instance is being killed: `exited` follows.
    case executedSecurely(instance: UInt64)
    /// The socket that was ordered under this name.
    case listening(name: String, FileDescriptor)
    /// The socket that was ordered under this name could not be opened.
    case cannotListen(name: String, SystemError)
}

/// The spawner's answer to the first message of a supervisor.
public struct Welcome: Sendable {
    /// Whether systemd started the spawner. Otherwise it ends after a minute without a supervisor.
    public var isManaged: Bool
    /// Why there are no cgroups; nil if there are.
    public var degradation: String?
    /// How many `instance` messages follow.
    public var instanceCount: UInt32
    /// The file of the state mapping, for ``SharedMemory/init(mapping:)``. A new file is zeroed.
    public var state: FileDescriptor
    /// The directory of the instances' cgroups; nil without cgroups.
    public var cgroup: FileDescriptor?
    /// Whether the spawner's children may take descriptors from the supervisor's table
    /// (pidfd_getfd(2)).
    public var fetches = false
}

/// One line of the spawner's table, as a supervisor sees it.
public struct TableEntry: Sendable {
    public var instance: UInt64
    public var app: String
    public var pid: pid_t
    /// Nil while the first process runs.
    public var status: TerminationStatus?
    /// Whether no process of the instance is left.
    public var isEmptied: Bool
    /// Whether the instance is traced. It must not be launched before ``SpawnerRequest/unguard``.
    public var isGuarded: Bool
    /// The name of its cgroup in ``Welcome/cgroup``; nil without cgroups.
    public var cgroupName: String?
    /// Also valid after the process has ended and was reaped.
    public var process: ProcessDescriptor
    /// The daemon's end of the app channel, nonblocking; nil if none was wanted.
    public var channel: UnixSocket?
}

extension SpawnerMessage {
    fileprivate enum Kind: UInt16 {
        case welcome = 129
        case instance, spawned, spawnFailed, exited, emptied, failed, kept, ending, stopped,
            unguarded, misfired, cannotGuard, executedSecurely, listening, cannotListen
    }

    func packet() -> Packet {
        var writer = WireWriter()
        var descriptors: [FileDescriptor] = []
        let kind: Kind
        switch self {
        case .welcome(let welcome):
            kind = .welcome
            descriptors = welcome.encode(into: &writer)
        case .instance(let entry):
            kind = .instance
            descriptors = entry.encode(into: &writer)
        case .spawned(let entry):
            kind = .spawned
            descriptors = entry.encode(into: &writer)
        case .spawnFailed(let instance, let error):
            kind = .spawnFailed
            writer.put(instance)
            writer.put(error.stage.rawValue)
            writer.put(error.code)
            writer.put(error.subject)
        case .exited(let instance, let status):
            kind = .exited
            writer.put(instance)
            writer.put(status)
        case .emptied(let instance):
            kind = .emptied
            writer.put(instance)
        case .failed(let instance, let code):
            kind = .failed
            writer.put(instance)
            writer.put(code)
        case .kept(let name, let descriptor):
            kind = .kept
            writer.put(name)
            descriptors = [descriptor]
        case .ending: kind = .ending
        case .stopped(let instance):
            kind = .stopped
            writer.put(instance)
        case .unguarded(let instance):
            kind = .unguarded
            writer.put(instance)
        case .misfired(let instance, let program):
            kind = .misfired
            writer.put(instance)
            writer.put(program)
        case .cannotGuard(let code):
            kind = .cannotGuard
            writer.put(code)
        case .executedSecurely(let instance):
            kind = .executedSecurely
            writer.put(instance)
        case .listening(let name, let descriptor):
            kind = .listening
            writer.put(name)
            descriptors = [descriptor]
        case .cannotListen(let name, let error):
            kind = .cannotListen
            writer.put(name)
            writer.put(error.code)
            writer.put(error.call)
            writer.put(error.subject)
        }
        return Packet(type: kind.rawValue, body: writer.bytes, descriptors: descriptors)
    }

    init(_ packet: Packet) throws(SpawnerWireError) {
        guard let kind = Kind(rawValue: packet.type) else { throw .unknownType(packet.type) }
        var reader = WireReader(packet.body[...])
        var descriptors = packet.descriptors[...]
        switch kind {
        case .welcome: self = .welcome(try Welcome(&reader, &descriptors))
        case .instance: self = .instance(try TableEntry(&reader, &descriptors))
        case .spawned: self = .spawned(try TableEntry(&reader, &descriptors))
        case .spawnFailed:
            let instance: UInt64 = try reader.take()
            guard let stage = SpawnError.Stage(rawValue: try reader.take()) else {
                throw .badValue
            }
            let error = SpawnError(
                stage: stage, code: try reader.take(), subject: try reader.takeOptionalString())
            self = .spawnFailed(instance: instance, error)
        case .exited: self = .exited(instance: try reader.take(), try reader.takeStatus())
        case .emptied: self = .emptied(instance: try reader.take())
        case .failed: self = .failed(instance: try reader.take(), code: try reader.take())
        case .kept:
            let name = try reader.takeString()
            guard let descriptor = descriptors.popFirst() else { throw .badDescriptors }
            self = .kept(name: name, descriptor)
        case .ending: self = .ending
        case .stopped: self = .stopped(instance: try reader.take())
        case .unguarded: self = .unguarded(instance: try reader.take())
        case .misfired:
            self = .misfired(
                instance: try reader.take(), program: try reader.takeOptionalString())
        case .cannotGuard: self = .cannotGuard(code: try reader.take())
        case .executedSecurely: self = .executedSecurely(instance: try reader.take())
        case .listening:
            let name = try reader.takeString()
            guard let descriptor = descriptors.popFirst() else { throw .badDescriptors }
            self = .listening(name: name, descriptor)
        case .cannotListen:
            self = .cannotListen(
                name: try reader.takeString(),
                SystemError(
                    code: try reader.take(), call: try reader.takeString(),
                    subject: try reader.takeOptionalString()))
        }
        try reader.finish()
        if !descriptors.isEmpty { throw .badDescriptors }
    }
}

extension Welcome {
    fileprivate func encode(into writer: inout WireWriter) -> [FileDescriptor] {
        writer.put(isManaged)
        writer.put(degradation)
        writer.put(instanceCount)
        writer.put(fetches)
        writer.put(cgroup != nil)
        return [state] + (cgroup.map { [$0] } ?? [])
    }

    fileprivate init(
        _ reader: inout WireReader, _ descriptors: inout ArraySlice<FileDescriptor>
    ) throws(SpawnerWireError) {
        isManaged = try reader.takeBool()
        degradation = try reader.takeOptionalString()
        instanceCount = try reader.take()
        fetches = try reader.takeBool()
        guard let state = descriptors.popFirst() else { throw .badDescriptors }
        self.state = state
        if try reader.takeBool() {
            guard let cgroup = descriptors.popFirst() else { throw .badDescriptors }
            self.cgroup = cgroup
        }
    }
}

extension TableEntry {
    fileprivate func encode(into writer: inout WireWriter) -> [FileDescriptor] {
        writer.put(instance)
        writer.put(app)
        writer.put(pid)
        writer.put(status != nil)
        if let status { writer.put(status) }
        writer.put(isEmptied)
        writer.put(isGuarded)
        writer.put(cgroupName)
        writer.put(channel != nil)
        return [process.descriptor] + (channel.map { [$0.descriptor] } ?? [])
    }

    /// The bytes of the message `spawned` for a process that is not made yet and will not be
    /// guarded, and the offset at which the process's number belongs. The process's descriptor is
    /// sent with the message, followed by the channel's.
    static func announcement(
        of instance: UInt64, app: String, cgroupName: String?, hasChannel: Bool
    ) -> (message: [UInt8], pidOffset: Int) {
        var writer = WireWriter()
        writer.put(instance)
        writer.put(app)
        let pidOffset = Packet.headerByteCount + writer.bytes.count
        writer.put(0 as pid_t)
        writer.put(false)
        writer.put(false)
        writer.put(false)
        writer.put(cgroupName)
        writer.put(hasChannel)
        let packet = Packet(
            type: SpawnerMessage.Kind.spawned.rawValue, body: writer.bytes, descriptors: [])
        return (packet.encoded(), pidOffset)
    }

    fileprivate init(
        _ reader: inout WireReader, _ descriptors: inout ArraySlice<FileDescriptor>
    ) throws(SpawnerWireError) {
        instance = try reader.take()
        app = try reader.takeString()
        pid = try reader.take()
        status = try reader.takeBool() ? try reader.takeStatus() : nil
        isEmptied = try reader.takeBool()
        isGuarded = try reader.takeBool()
        cgroupName = try reader.takeOptionalString()
        guard let process = descriptors.popFirst() else { throw .badDescriptors }
        self.process = ProcessDescriptor(process)
        if try reader.takeBool() {
            guard let channel = descriptors.popFirst() else { throw .badDescriptors }
            self.channel = UnixSocket(channel)
        }
    }
}

extension WireWriter {
    mutating func put(_ status: TerminationStatus) {
        switch status {
        case .exited(let code):
            put(0 as UInt8)
            put(code)
        case .signaled(let signal, let coreDumped):
            put(coreDumped ? 2 : 1 as UInt8)
            put(signal)
        case .unknown:
            put(3 as UInt8)
            put(0 as CInt)
        }
    }
}

extension WireReader {
    mutating func takeStatus() throws(SpawnerWireError) -> TerminationStatus {
        let kind: UInt8 = try take()
        let value: CInt = try take()
        switch kind {
        case 0: return .exited(value)
        case 1: return .signaled(value, coreDumped: false)
        case 2: return .signaled(value, coreDumped: true)
        case 3: return .unknown
        default: throw .badValue
        }
    }
}
