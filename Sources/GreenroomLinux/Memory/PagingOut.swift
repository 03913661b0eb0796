internal import Glibc

/// Moves memory of processes back to its files, or to swap, without their help.
extension Cgroup {
    /// Asks the kernel to reclaim `byteCount` bytes of this cgroup (memory.reclaim, Linux 5.19,
    /// with the memory controller). Returns only when that is done, so ask for a small number.
    ///
    /// - Returns: false if no more can be reclaimed (`EAGAIN`).
    public func reclaim(byteCount: UInt64) throws(SystemError) -> Bool {
        do {
            try write("memory.reclaim", "\(byteCount)")
            return true
        } catch {
            guard error.code == EAGAIN else { throw error }
            return false
        }
    }

    /// The memory of this cgroup; nil without the memory controller.
    public var memoryByteCount: UInt64? {
        (try? read("memory.current")).flatMap { UInt64($0.prefix { $0.isNumber }) }
    }

    /// The part of that memory that belongs to no file and is freed with the processes; nil without
    /// the memory controller.
    public var ownMemoryByteCount: UInt64? {
        (try? read("memory.stat")).flatMap { NamedNumber.first("anon ", in: $0) }
    }
}

/// The private and file-backed memory of one process, which can be paged out bit by bit.
public enum PageableMemory {
    /// At most this many mappings are used; the others are left alone.
    private static let mappingLimit = 4096
    /// The end of user addresses, unless a program asks for more.
    private static let addressLimit: UInt = 1 << 47

    /// Parses lines such as `55d0c0a00000-55d0c0a02000 r--p 00000000 08:02 1234 /bin/cat`
    /// (proc_pid_maps(5)).
    public static func ranges(in maps: [UInt8]) -> [Range<UInt>] {
        var ranges: [Range<UInt>] = []
        let text = String(decoding: maps, as: UTF8.self)
        for line in text.utf8.split(separator: UInt8(ascii: "\n")).prefix(mappingLimit) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            // Skip the kernel's own mappings ([vdso], [vvar], [vsyscall]). The last is not an address
            // of the process (EFAULT).
            guard fields.count > 1, !fields[1].starts(with: "---".utf8),
                !line.contains(UInt8(ascii: "[")) || !Substring(line).contains("[v")
            else { continue }
            let ends = fields[0].split(separator: UInt8(ascii: "-"))
            guard ends.count == 2, let start = UInt(Substring(ends[0]), radix: 16),
                let end = UInt(Substring(ends[1]), radix: 16), start < end, end <= addressLimit
            else { continue }
            ranges.append(start..<end)
        }
        return ranges
    }
}
