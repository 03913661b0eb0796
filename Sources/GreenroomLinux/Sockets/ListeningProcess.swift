public import Glibc

/// Finds out whether a process listens on a socket, from /proc (proc(5)).
public enum ListeningProcess {
    /// At most this many bytes of one table are read, and at most this many descriptors of all
    /// processes together are examined, so that the caller is not held up.
    private static let tableByteLimit = 1 << 20
    public static let descriptorLimit = 4096

    /// Whether one of the processes has a descriptor of a listening socket or of a bound UDP
    /// socket. The tables are those of the first process's network namespace.
    public static func isAmong(
        _ processes: [pid_t], descriptors limit: Int = descriptorLimit
    ) -> Bool {
        guard let first = processes.first else { return false }
        var left = limit
        var sockets: Set<String> = []
        for process in processes where left > 0 {
            sockets.formUnion(Self.sockets(of: process, atMost: &left))
        }
        guard !sockets.isEmpty else { return false }
        let tables: [(file: String, state: String, stateColumn: Int, inodeColumn: Int)] = [
            ("unix", "00010000", 3, 6),  // __SO_ACCEPTCON
            ("tcp", "0A", 3, 9), ("tcp6", "0A", 3, 9),  // TCP_LISTEN
            ("udp", "07", 3, 9), ("udp6", "07", 3, 9),  // bound, not connected
        ]
        return tables.contains { table in
            lines(of: "/proc/\(first)/net/\(table.file)").contains { line in
                let fields = line.split(separator: " ")
                return fields.count > table.inodeColumn
                    && fields[table.stateColumn] == table.state
                    && sockets.contains(String(fields[table.inodeColumn]))
            }
        }
    }

    static func lines(of path: String) -> [Substring] {
        guard let file = try? FileDescriptor.open(path, O_RDONLY) else { return [] }
        var text = ""
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while text.utf8.count < tableByteLimit {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe try? file.read(into: $0) }
            guard let read = count ?? nil, read > 0 else { break }
            text += String(decoding: chunk[..<read], as: UTF8.self)
        }
        return text.split(separator: "\n")
    }

    /// The inode numbers of a process's sockets, as digits.
    static func sockets(of pid: pid_t, atMost left: inout Int) -> Set<String> {
        var inodes: Set<String> = []
        let path = "/proc/\(pid)/fd"
        let names = (try? FolderContents.names(in: path, atMost: left)) ?? []
        left -= names.count
        for name in names {
            if let inode = socket(path + "/" + name) { inodes.insert(inode) }
        }
        return inodes
    }

    /// The inode number in a link such as `socket:[123]`.
    private static func socket(_ link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = unsafe readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let text = String(
            decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix("socket:["), text.hasSuffix("]") else { return nil }
        return String(text.dropFirst(8).dropLast())
    }
}
