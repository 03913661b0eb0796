internal import CGreenroomLinux
internal import Glibc
internal import Synchronization

/// Finds out who serves each file system of this mount namespace: the kernel, or a process of a
/// user (fuse(4)). Such a process may make every caller wait for ever, and may lie, for example
/// that a file belongs to root. /proc/self/mountinfo tells who serves a file system without asking
/// the server.
final class FileServers: Sendable {
    static let own = FileServers()

    private struct State {
        var list: FileDescriptor?
        /// The user who serves each mount, by the mount's number; nil if the kernel serves it, or a
        /// server that root chose.
        var servers: [UInt64: UInt32?] = [:]
    }

    private let state = Mutex(State())

    /// The user whose process serves a mount; nil if no user's process does. The caller holds the
    /// mount open.
    /// - Throws: `ESTALE` if the mount no longer exists; an error of reading the list.
    func server(of mount: UInt64) throws(SystemError) -> UInt32? {
        try state.withLock { state throws(SystemError) in
            if state.list == nil {
                // Without /proc, there is no way to know.
                guard let list = try? FileDescriptor.open("/proc/self/mountinfo", O_RDONLY) else {
                    return nil
                }
                state.list = list
                state.servers = Self.parse(try state.list!.readText())
            } else if Self.hasChanged(state.list!) || state.servers[mount] == nil {
                state.servers = Self.parse(try state.list!.readText())
            }
            guard let server = state.servers[mount] else {
                throw SystemError(code: ESTALE, call: "mountinfo")
            }
            return server
        }
    }

    /// Whether the list has changed since the last call (proc_pid_mountinfo(5)).
    private static func hasChanged(_ list: FileDescriptor) -> Bool {
        var entry = pollfd(fd: list.rawValue, events: Int16(POLLPRI), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    /// Parses lines such as
    /// `36 35 98:0 /root /mnt opts shared:1 - fuse.sshfs source rw,user_id=1000,…`.
    static func parse(_ text: String) -> [UInt64: UInt32?] {
        var servers: [UInt64: UInt32?] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard let number = fields.first.flatMap({ UInt64($0) }) else { continue }
            servers[number] = .some(server(fields))
        }
        return servers
    }

    private static func server(_ fields: [Substring]) -> UInt32? {
        guard let dash = fields.dropFirst(6).firstIndex(of: "-"), fields.count > dash + 1,
            fields[dash + 1].split(separator: ".").first == "fuse" || fields[dash + 1] == "fuseblk",
            let option = fields.last?.split(separator: ",").first(where: {
                $0.hasPrefix("user_id=")
            })
        else { return nil }
        // If the number cannot be read, the mount belongs to an unknown user.
        return UInt32(option.dropFirst("user_id=".count)) ?? .max
    }
}
