public import Glibc

/// The file locks of the machine (proc_locks(5)).
public enum FileLocks {
    /// Whether one of these processes holds a lock of flock(2) or fcntl(2). Locks of an open file
    /// description name nobody, and processes of another pid namespace are not seen: such locks are
    /// passed over.
    ///
    /// A machine with thousands of locks has a long list of them; beyond a limit these processes' own
    /// descriptors are looked at instead, up to a limit too.
    public static func areHeld(by processes: [pid_t]) throws(SystemError) -> Bool {
        let wanted = Set(processes)
        let (text, isWhole) = try beginning(of: "/proc/locks", byteCount: listByteCount)
        if !holders(in: text).isDisjoint(with: wanted) { return true }
        return isWhole ? false : holdsLock(processes)
    }

    /// Some thousand locks: the kernel writes them within a millisecond.
    static let listByteCount = 64 << 10
    /// Descriptors of all processes together that are looked at.
    static let descriptorLimit = 512

    /// `1: FLOCK  ADVISORY  WRITE 1234 08:02:567 0 EOF`; one that waits has `->` behind the number.
    static func holders(in text: String) -> Set<pid_t> {
        var holders: Set<pid_t> = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            guard fields.count > 4, fields[1] == "FLOCK" || fields[1] == "POSIX",
                let pid = pid_t(fields[4]), pid > 0
            else { continue }
            holders.insert(pid)
        }
        return holders
    }

    /// As their descriptors tell: `lock: 1: FLOCK ADVISORY WRITE 1234 …` (proc_pid_fdinfo(5)).
    static func holdsLock(_ processes: [pid_t]) -> Bool {
        var left = descriptorLimit
        for pid in processes {
            let folder = "/proc/\(pid)/fdinfo"
            let names = (try? FolderContents.names(in: folder, atMost: left)) ?? []
            left -= names.count
            for name in names {
                guard let text = try? SmallFile.text(of: folder + "/" + name) else { continue }
                let locks = text.split(separator: "\n").filter { $0.hasPrefix("lock:") }
                let list = locks.map { $0.dropFirst("lock:".count) }.joined(separator: "\n")
                if holders(in: list).contains(pid) { return true }
            }
        }
        return false
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
        // Without the line that was cut off.
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0
        return (String(decoding: bytes[..<end], as: UTF8.self), false)
    }
}
