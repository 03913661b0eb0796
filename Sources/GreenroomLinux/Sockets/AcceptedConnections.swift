public import Glibc

/// Finds out whether a process holds connections that it has accepted on a listening socket, from
/// /proc (proc(5)). The limits of ``ListeningProcess`` apply: connections that the kernel lists
/// beyond them are not found.
public enum AcceptedConnections {
    /// Whether one of the processes has an established connection that was accepted on one of the
    /// sockets. (A TCP connection that its client has closed is no longer established. A connection
    /// of AF_UNIX stays established until the process closes it.)
    ///
    /// - Parameter listeners: sockets in the network namespace of process 1, or in our own if the
    ///   tables of process 1 cannot be read. The kernel lists accepted connections with the address
    ///   that the listening socket was bound to.
    public static func exist(
        in processes: [pid_t], acceptedOn listeners: [FileDescriptor]
    ) -> Bool {
        let addresses = listeners.compactMap { Address(of: $0) }
        guard !addresses.isEmpty else { return false }
        var left = ListeningProcess.descriptorLimit
        var sockets: Set<String> = []
        for process in processes where left > 0 {
            sockets.formUnion(ListeningProcess.sockets(of: process, atMost: &left))
        }
        let names = Set(addresses.compactMap { if case .unix(let name) = $0 { name } else { nil } })
        let ports = Set(addresses.compactMap { if case .port(let port) = $0 { port } else { nil } })
        return hasUnixConnection(sockets, names) || hasInternetConnection(sockets, ports)
    }

    /// The address of a listening socket as /proc/net writes it.
    private enum Address {
        case unix(Substring)
        case port(Substring)

        /// getsockname(2)
        init?(of listener: FileDescriptor) {
            var storage = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let bytes: [UInt8]? = unsafe withUnsafeMutableBytes(of: &storage) { buffer in
                let address = unsafe buffer.baseAddress!.assumingMemoryBound(to: sockaddr.self)
                guard unsafe getsockname(listener.rawValue, address, &size) == 0 else { return nil }
                return unsafe Array(buffer.prefix(Int(size)))
            }
            guard let bytes, bytes.count > 4 else { return nil }
            switch CInt(storage.ss_family) {
            case AF_UNIX:
                // A path ends with a NUL; the kernel writes NULs in an abstract name as `@`.
                let isPath = bytes[2] != 0
                let name = isPath ? bytes[2...].prefix { $0 != 0 } : bytes[2...]
                let text = name.map { $0 == 0 ? UInt8(ascii: "@") : $0 }
                self = .unix(Substring(String(decoding: text, as: UTF8.self)))
            case AF_INET, AF_INET6:
                let digits = String(UInt16(bytes[2]) << 8 | UInt16(bytes[3]), radix: 16)
                let zeros = String(repeating: "0", count: 4 - digits.count)
                self = .port(Substring(zeros + digits.uppercased()))
            default: return nil
            }
        }
    }

    /// Columns: Num RefCount Protocol Flags Type St Inode Path. An accepted connection is in the
    /// state SS_CONNECTED (3); one that still waits is in SS_CONNECTING, without an inode.
    private static func hasUnixConnection(_ sockets: Set<String>, _ names: Set<Substring>) -> Bool {
        guard !names.isEmpty, !sockets.isEmpty else { return false }
        // A connection is listed in its client's network namespace, which for a service may not be
        // the machine's (`PrivateNetwork=`).
        return ["self", "1"].contains { process in
            ListeningProcess.lines(of: "/proc/\(process)/net/unix").contains { line in
                let fields = line.split(separator: " ", maxSplits: 7)
                return fields.count == 8 && fields[5] == "03" && names.contains(fields[7])
                    && sockets.contains(String(fields[6]))
            }
        }
    }

    /// A table of the machine's network namespace, because this process may be in an empty one
    /// (`PrivateNetwork=`) while its sockets were made outside.
    private static func machineLines(of table: String) -> [Substring] {
        let lines = ListeningProcess.lines(of: "/proc/1/net/\(table)")
        return lines.isEmpty ? ListeningProcess.lines(of: "/proc/self/net/\(table)") : lines
    }

    /// Columns: sl local_address rem_address st … inode. TCP_ESTABLISHED is 1.
    private static func hasInternetConnection(
        _ sockets: Set<String>, _ ports: Set<Substring>
    ) -> Bool {
        guard !ports.isEmpty, !sockets.isEmpty else { return false }
        return ["tcp", "tcp6"].contains { table in
            machineLines(of: table).contains { line in
                let fields = line.split(separator: " ", maxSplits: 10)
                return fields.count > 9 && fields[3] == "01"
                    && ports.contains(fields[1].suffix(4)) && sockets.contains(String(fields[9]))
            }
        }
    }
}
