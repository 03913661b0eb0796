public import GreenroomLinux

/// A network socket that the spawner opens for the supervisor, which may not be allowed to open one
/// and whose network namespace may be empty.
public struct SocketOrder: Hashable, Sendable {
    /// The name that the answer repeats, and under which the spawner keeps the socket.
    public var name: String
    public var kind: ListeningSocket.Kind
    /// Written as in ``SocketAddress``; never a path or an abstract name.
    public var address: String
    public var backlog: CInt
    /// Whether the spawner keeps a duplicate for later supervisors
    /// (``SpawnerRequest/keep(name:_:)``).
    public var isKept: Bool

    public init(
        name: String, kind: ListeningSocket.Kind, address: String, backlog: CInt, isKept: Bool
    ) {
        self.name = name
        self.kind = kind
        self.address = address
        self.backlog = backlog
        self.isKept = isKept
    }

    func encode(into writer: inout WireWriter) {
        writer.put(name)
        writer.put(kind.rawValue)
        writer.put(address)
        writer.put(backlog)
        writer.put(isKept)
    }

    init(_ reader: inout WireReader) throws(SpawnerWireError) {
        name = try reader.takeString()
        guard let kind = ListeningSocket.Kind(rawValue: try reader.take()) else { throw .badValue }
        self.kind = kind
        address = try reader.takeString()
        backlog = try reader.take()
        isKept = try reader.takeBool()
        guard let place = SocketAddress(address), !place.isUnix else { throw .badValue }
    }

    func open() throws(SystemError) -> FileDescriptor {
        guard let place = SocketAddress(address), !place.isUnix else {
            throw SystemError(code: 22, call: "socket", subject: address)
        }
        return try ListeningSocket.open(kind, at: place, mode: 0, backlog: backlog).descriptor
    }
}
