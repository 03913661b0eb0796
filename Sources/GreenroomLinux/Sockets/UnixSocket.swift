internal import CGreenroomLinux
public import Glibc

/// The process at the other end of a socket, as the kernel vouches for it.
public struct Credentials: Hashable, Sendable {
    public let pid: pid_t
    public let user: uid_t
    public let group: gid_t

    public init(pid: pid_t, user: uid_t, group: gid_t) {
        self.pid = pid
        self.user = user
        self.group = group
    }
}

/// A Unix socket (unix(7)), nonblocking by default. It is closed with its descriptor.
public struct UnixSocket: Sendable {
    public enum Kind: Sendable {
        /// SOCK_SEQPACKET: one receive returns what one send sent.
        case seqpacket
        /// SOCK_STREAM: a stream of bytes.
        case stream

        var rawValue: CInt {
            switch self {
            case .seqpacket: CInt(SOCK_SEQPACKET.rawValue)
            case .stream: CInt(SOCK_STREAM.rawValue)
            }
        }
    }

    public let descriptor: FileDescriptor

    public init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// Two connected sockets (socketpair).
    public static func pair(
        _ kind: Kind, nonblocking: Bool = true
    ) throws(SystemError) -> (UnixSocket, UnixSocket) {
        var ends: InlineArray<2, CInt> = [-1, -1]
        var span = ends.mutableSpan
        try systemCall("socketpair") {
            unsafe span.withUnsafeMutableBufferPointer {
                unsafe gr_socketpair(kind.rawValue, nonblocking, $0.baseAddress!)
            }
        }
        return (
            UnixSocket(FileDescriptor(owning: ends[0])), UnixSocket(FileDescriptor(owning: ends[1]))
        )
    }

    /// Listens at a path (socket, bind, chmod, listen). Replaces a socket file on which nobody
    /// listens; if somebody does, throws `EADDRINUSE`.
    ///
    /// - Parameters:
    ///   - path: at most 107 bytes.
    ///   - mode: permissions of the socket file, set before anybody can connect.
    ///   - backlog: at most this many connections may wait to be accepted.
    public static func listen(
        at path: String, _ kind: Kind, mode: mode_t, backlog: CInt = 64
    ) throws(SystemError) -> UnixSocket {
        let socket = try make(kind, nonblocking: true)
        do {
            try socket.bind(path)
        } catch {
            guard error.code == EADDRINUSE, isStale(path, kind) else { throw error }
            try systemCall("unlink", on: path) { unsafe unlink(path) }
            try socket.bind(path)
        }
        // Nobody can connect before listen(2), so this leaves no gap.
        try systemCall("chmod", on: path) { unsafe chmod(path, mode) }
        try systemCall("listen", on: path) { Glibc.listen(socket.descriptor.rawValue, backlog) }
        return socket
    }

    /// Connects to a path (socket, connect). A Unix socket connects at once or throws.
    public static func connect(
        to path: String, _ kind: Kind, nonblocking: Bool = true
    ) throws(SystemError) -> UnixSocket {
        let socket = try make(kind, nonblocking: nonblocking)
        try systemCall("connect", on: path) {
            unsafe gr_connect(socket.descriptor.rawValue, path)
        }
        return socket
    }

    /// Accepts one connection (accept4); nil if none waits.
    public func accept(nonblocking: Bool = true) throws(SystemError) -> UnixSocket? {
        do {
            let number = try systemCallUnlessBlocked("accept") {
                gr_accept(descriptor.rawValue, nonblocking)
            }
            return number.map { UnixSocket(FileDescriptor(owning: $0)) }
        } catch {
            // The client left before it was accepted; the next client is not affected.
            if error.code == ECONNABORTED { return nil }
            throw error
        }
    }

    /// The credentials that the other process had when it connected, listened or made the pair
    /// (SO_PEERCRED).
    public func peerCredentials() throws(SystemError) -> Credentials {
        var pid: pid_t = 0
        var user: uid_t = 0
        var group: gid_t = 0
        try systemCall("getsockopt") {
            unsafe gr_peer_credentials(descriptor.rawValue, &pid, &user, &group)
        }
        return Credentials(pid: pid, user: user, group: group)
    }

    /// Closes the socket and discards everything that waits in it (SO_LINGER in socket(7)), so that
    /// no message can be received any more. For this, it may make a child process that ends at
    /// once. Nobody else may be using the descriptor.
    public func closeWithQueue() { gr_close_queue(descriptor.release()) }

    /// The process that connected, never another one with the same number (SO_PEERPIDFD, Linux
    /// 6.5). Throws `ENOPROTOOPT` on an older kernel, and another error if that process has ended.
    public func peerProcess() throws(SystemError) -> ProcessDescriptor {
        ProcessDescriptor(
            FileDescriptor(
                owning: try systemCall("getsockopt") { gr_peer_pidfd(descriptor.rawValue) }))
    }

    /// The process that connected, or listened; nil if it has ended. Before Linux 6.5 it is found
    /// by its number (``processByNumber()``).
    public func otherProcess() -> ProcessDescriptor? {
        do throws(SystemError) {
            return try peerProcess()
        } catch {
            return error.code == ENOPROTOOPT ? processByNumber() : nil
        }
    }

    /// The process at the other end, by its number, for Linux before 6.5. The number belongs to
    /// that process as long as the process has its end of the connection open. If another process
    /// also holds that end, for example after fork(2), the number may by now belong to a different
    /// process.
    package func processByNumber() -> ProcessDescriptor? {
        guard let pid = (try? peerCredentials())?.pid, pid > 0,
            let process = try? ProcessDescriptor(pid: pid)
        else { return nil }
        // This is checked after the process was opened: if the process had ended before that, its
        // end would be closed.
        return isEnded ? nil : process
    }

    /// How many of the bytes sent are not received yet at the other end (SIOCOUTQ). The kernel adds
    /// its own overhead, so only two things are meaningful: whether the number is 0, and whether it
    /// grows or shrinks.
    public func unreadByteCount() throws(SystemError) -> Int {
        Int(try systemCall("ioctl") { gr_unread(descriptor.rawValue) })
    }

    /// Whether the other end is closed. What it has sent may still be there to receive.
    public var isEnded: Bool {
        (try? PollEntry.wait(for: descriptor.rawValue, 0, milliseconds: 0)) == true
    }

    /// Sets whether every later message comes with its sender's credentials (SO_PASSCRED).
    public func setPassesCredentials(_ on: Bool) throws(SystemError) {
        try systemCall("setsockopt") { gr_pass_credentials(descriptor.rawValue, on) }
    }

    /// Makes sending descriptors to this socket fail with EPERM from now on (SO_PASSRIGHTS, 6.16).
    /// On an older kernel this does nothing, and descriptors may still come.
    public func refuseDescriptors() throws(SystemError) {
        do throws(SystemError) {
            try systemCall("setsockopt") { gr_refuse_descriptors(descriptor.rawValue) }
        } catch {
            if error.code != ENOPROTOOPT { throw error }
        }
    }

    private func bind(_ path: String) throws(SystemError) {
        try systemCall("bind", on: path) { unsafe gr_bind(descriptor.rawValue, path) }
    }

    private static func make(_ kind: Kind, nonblocking: Bool) throws(SystemError) -> UnixSocket {
        UnixSocket(
            FileDescriptor(
                owning: try systemCall("socket") { gr_socket(kind.rawValue, nonblocking) }))
    }

    private static func isStale(_ path: String, _ kind: Kind) -> Bool {
        do {
            _ = try connect(to: path, kind)
            return false
        } catch {
            return error.code == ECONNREFUSED
        }
    }
}

extension UnixSocket {
    /// The supplementary groups that the peer had when it connected (SO_PEERGROUPS, unix(7)); empty
    /// if the kernel does not tell. The primary group is not among them.
    public func peerGroups() -> [gid_t] {
        // The C library's header does not have SO_PEERGROUPS.
        let peerGroups: CInt = 59
        var groups: [gid_t] = []
        var capacity = 64
        while capacity <= 65_536 {
            var byteCount = socklen_t(capacity * MemoryLayout<gid_t>.size)
            groups = Array(repeating: 0, count: capacity)
            let status = unsafe getsockopt(
                descriptor.rawValue, SOL_SOCKET, peerGroups, &groups, &byteCount)
            if status == 0 {
                return Array(groups.prefix(Int(byteCount) / MemoryLayout<gid_t>.size))
            }
            guard errno == ERANGE else { return [] }
            capacity = Int(byteCount) / MemoryLayout<gid_t>.size
        }
        return []
    }
}
