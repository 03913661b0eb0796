internal import CGreenroomLinux
internal import Glibc
internal import Synchronization

/// Who serves the file systems of this mount namespace: the kernel, or a process of a user's (fuse(4)), who may let
/// whoever asks wait for ever, and answers what he likes: that a file is root's, say. By /proc/self/mountinfo, which
/// asks nobody.
final class FileServers: Sendable {
    static let own = FileServers()

    private struct State {
        var list: FileDescriptor?
        /// Users who serve mounts, by the mounts' numbers; nil: the kernel, or what serves it is root's choice.
        var servers: [UInt64: UInt32?] = [:]
    }

    private let state = Mutex(State())

    /// The user whose process serves a mount that is held open; nil: none does.
    /// - Throws: `ESTALE` for one that is no longer mounted; what reading the list did.
    func server(of mount: UInt64) throws(SystemError) -> UInt32? {
        try state.withLock { state throws(SystemError) in
            if state.list == nil {
                // Where there is no /proc nobody can know.
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

    /// Since the last time that it was asked (proc_pid_mountinfo(5)).
    private static func hasChanged(_ list: FileDescriptor) -> Bool {
        var entry = pollfd(fd: list.rawValue, events: Int16(POLLPRI), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    /// `36 35 98:0 /root /mnt opts shared:1 - fuse.sshfs source rw,user_id=1000,…`
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
        // Somebody, where it cannot be read.
        return UInt32(option.dropFirst("user_id=".count)) ?? .max
    }
}
