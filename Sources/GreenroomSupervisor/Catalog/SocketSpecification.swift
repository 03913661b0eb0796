internal import Glibc
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner

/// A socket that the daemon listens on for an app, with users and groups resolved.
struct SocketSpecification: Hashable, Sendable {
    var kind: AppManifest.SocketSettings.Kind
    var address: String
    /// The socket's name in LISTEN_FDNAMES.
    var name: String
    var mode: UInt32
    var user: UInt32?
    var group: UInt32?
    var backlog: Int?
    var removesOnStop: Bool

    /// Whether the spawner has to open it.
    var isOfNetwork: Bool { SocketAddress(address).map { !$0.isUnix } ?? false }

    func order(_ name: String, isKept: Bool) -> SocketOrder {
        SocketOrder(
            name: name, kind: ListeningSocket.Kind(kind), address: address,
            backlog: backlog.map { CInt(clamping: $0) } ?? .max, isKept: isKept)
    }

    func open() throws(SystemError) -> FileDescriptor {
        guard let address = SocketAddress(address) else {
            throw SystemError(code: EINVAL, call: "inet_pton", subject: self.address)
        }
        return try ListeningSocket.open(
            ListeningSocket.Kind(kind), at: address, mode: mode, user: user ?? .max,
            group: group ?? .max, backlog: backlog.map { CInt(clamping: $0) } ?? .max
        ).descriptor
    }

    /// Applies these settings to a socket that this or a former supervisor opened with other
    /// settings.
    func adjust(_ descriptor: FileDescriptor) throws(SystemError) {
        guard let address = SocketAddress(address) else { return }
        try ListeningSocket.adjust(
            descriptor, ListeningSocket.Kind(kind), at: address, mode: mode,
            user: user ?? geteuid(), group: group ?? getegid(),
            backlog: backlog.map { CInt(clamping: $0) } ?? .max)
    }

    func remove() {
        guard let address = SocketAddress(address) else { return }
        ListeningSocket.remove(address)
    }
}

extension ListeningSocket.Kind {
    init(_ kind: AppManifest.SocketSettings.Kind) {
        switch kind {
        case .stream: self = .stream
        case .datagram: self = .datagram
        case .sequentialPacket: self = .sequentialPacket
        }
    }
}

extension AppManifest {
    /// - Throws: the name of the user or group that does not exist, or why it cannot be looked up.
    func socketSpecifications() throws(SystemError) -> [SocketSpecification] {
        guard let socket else { return [] }
        let user = try socket.user.map { name throws(SystemError) in
            if let number = UInt32(name) { return number }
            guard let account = try Account.named(name) else { throw Self.missing(name) }
            return account.user
        }
        let group = try socket.group.map { name throws(SystemError) in
            if let number = UInt32(name) { return number }
            guard let group = try Account.group(named: name) else { throw Self.missing(name) }
            return group
        }
        return socket.listeners.map {
            SocketSpecification(
                kind: $0.kind, address: $0.address, name: socket.name ?? identifier,
                mode: socket.mode, user: user, group: group, backlog: socket.backlog,
                removesOnStop: socket.removesOnStop)
        }
    }

    private static func missing(_ name: String) -> SystemError {
        SystemError(code: ENOENT, call: "SocketUser= or SocketGroup=", subject: name)
    }
}
