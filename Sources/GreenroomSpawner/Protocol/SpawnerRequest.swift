public import GreenroomLinux

/// A request from a supervisor to the spawner.
public enum SpawnerRequest: Sendable {
    /// The first message of a connection; answered by `welcome` and the table.
    ///
    /// - `stateByteCount`: the size of the shared mapping. The first hello creates the mapping;
    ///   later ones get the same mapping, whatever size they ask for.
    /// - `graceMilliseconds`: the time between SIGTERM and SIGKILL if the spawner is told to end.
    case hello(stateByteCount: UInt32, graceMilliseconds: UInt32)
    /// Answered by `spawned` or `spawnFailed`.
    case spawn(SpawnSpecification)
    /// Sends SIGKILL to every process of the instance, frozen or not. `exited` and `emptied`
    /// follow.
    case kill(instance: UInt64)
    /// Stops every process of the instance, by cgroup.freeze or, without cgroups, by SIGSTOP.
    case freeze(instance: UInt64)
    case thaw(instance: UInt64)
    /// Forgets an instance. If a process of it is left, the instance is killed first.
    case release(instance: UInt64)
    /// Sends SIGTERM to all instances, SIGKILL after the grace, and then ends the spawner.
    case shutDown(graceMilliseconds: UInt32)
    /// Keeps a duplicate of the descriptor under this name for later supervisors, which get it
    /// before the welcome.
    case keep(name: String, FileDescriptor)
    case drop(name: String)
    /// Stops tracing the instance, which has paused. Answered by `unguarded`; at once if it is not
    /// traced.
    case unguard(instance: UInt64)
    /// Every record has been compared with the table: whatever else a former spawner left may be
    /// removed.
    case reconciled
    /// Opens a network socket. Answered by `listening` or `cannotListen`.
    case listen(SocketOrder)
}

extension SpawnerRequest {
    private enum Kind: UInt16 {
        case hello = 1
        case spawn, kill, freeze, thaw, release, shutDown, keep, drop, reconciled,
            unguard, listen
    }

    func packet() -> Packet {
        var writer = WireWriter()
        var descriptors: [FileDescriptor] = []
        let kind: Kind
        switch self {
        case .hello(let stateByteCount, let graceMilliseconds):
            kind = .hello
            writer.put(stateByteCount)
            writer.put(graceMilliseconds)
        case .spawn(let specification):
            kind = .spawn
            specification.encode(into: &writer)
            descriptors = specification.allDescriptors
        case .kill(let instance):
            kind = .kill
            writer.put(instance)
        case .freeze(let instance):
            kind = .freeze
            writer.put(instance)
        case .thaw(let instance):
            kind = .thaw
            writer.put(instance)
        case .release(let instance):
            kind = .release
            writer.put(instance)
        case .shutDown(let graceMilliseconds):
            kind = .shutDown
            writer.put(graceMilliseconds)
        case .keep(let name, let descriptor):
            kind = .keep
            writer.put(name)
            descriptors = [descriptor]
        case .drop(let name):
            kind = .drop
            writer.put(name)
        case .reconciled: kind = .reconciled
        case .unguard(let instance):
            kind = .unguard
            writer.put(instance)
        case .listen(let order):
            kind = .listen
            order.encode(into: &writer)
        }
        return Packet(type: kind.rawValue, body: writer.bytes, descriptors: descriptors)
    }

    init(_ packet: Packet) throws(SpawnerWireError) {
        guard let kind = Kind(rawValue: packet.type) else { throw .unknownType(packet.type) }
        if kind != .spawn, kind != .keep, !packet.descriptors.isEmpty { throw .badDescriptors }
        var reader = WireReader(packet.body[...])
        switch kind {
        case .hello:
            self = .hello(stateByteCount: try reader.take(), graceMilliseconds: try reader.take())
        case .spawn: self = .spawn(try SpawnSpecification(&reader, packet.descriptors))
        case .kill: self = .kill(instance: try reader.take())
        case .freeze: self = .freeze(instance: try reader.take())
        case .thaw: self = .thaw(instance: try reader.take())
        case .release: self = .release(instance: try reader.take())
        case .shutDown: self = .shutDown(graceMilliseconds: try reader.take())
        case .keep:
            guard packet.descriptors.count == 1 else { throw .badDescriptors }
            self = .keep(name: try reader.takeString(), packet.descriptors[0])
        case .drop: self = .drop(name: try reader.takeString())
        case .reconciled: self = .reconciled
        case .unguard: self = .unguard(instance: try reader.take())
        case .listen: self = .listen(try SocketOrder(&reader))
        }
        try reader.finish()
    }
}
