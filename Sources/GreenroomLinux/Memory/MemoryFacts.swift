internal import Glibc

/// The machine's memory in bytes (proc_meminfo(5)).
public struct MemoryFacts: Hashable, Sendable {
    public var total: UInt64
    /// The memory that a new program could get without swapping.
    public var available: UInt64
    public var swapTotal: UInt64

    /// Returns nil if a needed line is missing.
    public init?(meminfo text: String) {
        guard let total = NamedNumber.first("MemTotal:", in: text),
            let available = NamedNumber.first("MemAvailable:", in: text)
        else { return nil }
        self.total = total << 10
        self.available = available << 10
        swapTotal = (NamedNumber.first("SwapTotal:", in: text) ?? 0) << 10
    }
}

/// The memory of one process, from counters that the kernel reads without a lock
/// (proc_pid_statm(5)). To read the proportional share would take the lock of the process's
/// mappings.
public struct ProcessMemory: Hashable, Sendable {
    /// All resident memory.
    public let resident: UInt64
    /// The memory that is freed when the process ends: neither pages of files nor named shared
    /// memory.
    public let own: UInt64

    /// Returns nil if the process is gone.
    public init?(of pid: Int32) {
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/statm") else { return nil }
        let pages = text.split(separator: " ").prefix(3).compactMap { UInt64($0) }
        guard pages.count == 3 else { return nil }
        let pageByteCount = UInt64(sysconf(CInt(_SC_PAGESIZE)))
        resident = pages[1] * pageByteCount
        own = (pages[1] - min(pages[1], pages[2])) * pageByteCount
    }
}

/// The processes that the kernel killed because memory ran out.
public struct OutOfMemoryKills: Hashable, Sendable {
    /// How many were killed in a cgroup and below: `oom_kill` of memory.events.
    public let count: UInt64
    /// How often one of these cgroups reached its own memory.max (`oom`).
    private let limitCount: UInt64
    /// Whether a cgroup's own limit was the cause; if not, other processes had taken the memory.
    public var isOwnLimit: Bool { limitCount > 0 }

    /// Returns nil without the memory controller.
    public init?(in cgroup: Cgroup) {
        guard let text = try? cgroup.read("memory.events") else { return nil }
        self.init(memoryEvents: text)
    }

    public init?(memoryEvents text: String) {
        guard let count = NamedNumber.first("oom_kill ", in: text) else { return nil }
        self.init(count: count, limitCount: NamedNumber.first("oom ", in: text) ?? 0)
    }

    private init(count: UInt64, limitCount: UInt64) {
        self.count = count
        self.limitCount = limitCount
    }

    /// The kills since an earlier reading of the same cgroup.
    public func since(_ earlier: OutOfMemoryKills?) -> OutOfMemoryKills {
        guard let earlier else { return self }
        return OutOfMemoryKills(
            count: count - min(count, earlier.count),
            limitCount: limitCount - min(limitCount, earlier.limitCount))
    }

    /// The kills on the machine since boot: `oom_kill` in the text of /proc/vmstat.
    public static func count(vmstat text: String) -> UInt64? {
        NamedNumber.first("oom_kill ", in: text)
    }
}
