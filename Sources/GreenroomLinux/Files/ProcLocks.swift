public import Glibc

/// The file locks of the machine (proc_locks(5)).
public enum ProcLocks {
    /// Whether one of these processes holds a lock of flock(2) or fcntl(2). Locks of open file
    /// descriptions, which name no process, and of processes in another pid namespace are ignored.
    ///
    /// - Returns: nil if the machine's list of locks is too long to be read whole. Then examine the
    ///   files that ``descriptors(of:)`` names.
    public static func areHeld(by processes: [pid_t]) throws(SystemError) -> Bool? {
        let (text, isWhole) = try beginning(of: "/proc/locks", byteCount: listByteCount)
        if !holders(in: text).isDisjoint(with: processes) { return true }
        return isWhole ? false : nil
    }

    /// Room for some thousand locks, which the kernel writes within a millisecond.
    static let listByteCount = 64 << 10
    /// At most this many descriptors, of all processes together, are examined.
    static let descriptorLimit = 512

    /// `1: FLOCK  ADVISORY  WRITE 1234 08:02:567 0 EOF`; a lock that waits has `->` after the
    /// number.
    static func holders(in text: String) -> Set<pid_t> {
        var holders: Set<pid_t> = []
        // The text is searched by bytes, because this runs before each suspension and a desktop has
        // some hundred locks.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count > 4,
                fields[1].elementsEqual("FLOCK".utf8) || fields[1].elementsEqual("POSIX".utf8),
                let pid = pid_t(Substring(fields[4])), pid > 0
            else { continue }
            holders.insert(pid)
        }
        return holders
    }

    /// The paths of the files that describe these processes' descriptors (proc_pid_fdinfo(5)), up
    /// to a limit. Reading such a file may take any time: the one of an epoll instance is read
    /// under a lock that its process may hold while it waits.
    public static func descriptors(of processes: [pid_t]) -> [String] {
        var left = descriptorLimit
        return processes.flatMap { pid in
            let folder = "/proc/\(pid)/fdinfo"
            let names = (try? FolderContents.names(in: folder, atMost: left)) ?? []
            left -= names.count
            return names.map { folder + "/" + $0 }
        }
    }

    public static let descriptorByteLimit = 4096

    /// Whether the text of such a file has a lock of one of the processes:
    /// `lock: 1: FLOCK ADVISORY WRITE 1234 …`.
    public static func isHeld(by processes: [pid_t], _ descriptor: [UInt8]) -> Bool {
        let lines = String(decoding: descriptor, as: UTF8.self).split(separator: "\n")
        let locks = lines.filter { $0.hasPrefix("lock:") }.map { $0.dropFirst("lock:".count) }
        return !holders(in: locks.joined(separator: "\n")).isDisjoint(with: processes)
    }

    private static func beginning(
        of path: String, byteCount: Int
    ) throws(SystemError) -> (text: String, isWhole: Bool) {
        let file = try FileDescriptor.open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var count = 0
        while count < byteCount {
            let more = try systemCall("read") {
                unsafe bytes.withUnsafeMutableBytes {
                    unsafe read(file.rawValue, $0.baseAddress! + count, $0.count - count)
                }
            }
            if more == 0 { return (String(decoding: bytes[..<count], as: UTF8.self), true) }
            count += more
        }
        // Drop the line that was cut off.
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0
        return (String(decoding: bytes[..<end], as: UTF8.self), false)
    }
}
