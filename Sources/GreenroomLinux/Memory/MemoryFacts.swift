internal import Glibc

/// The machine's memory in bytes (proc_meminfo(5)).
public struct MemoryFacts: Hashable, Sendable {
    public var total: UInt64
    /// What a new program could have without swapping.
    public var available: UInt64
    public var swapTotal: UInt64

    /// Nil where the kernel does not say.
    public init?(meminfo text: String) {
        guard let total = Self.field("MemTotal:", in: text),
            let available = Self.field("MemAvailable:", in: text)
        else { return nil }
        self.total = total
        self.available = available
        swapTotal = Self.field("SwapTotal:", in: text) ?? 0
    }

    private static func field(_ name: String, in text: String) -> UInt64? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }.map { $0 << 10 }
    }
}

/// What one process holds.
public enum ProcessMemory {
    /// The memory that ends with it: its proportional share (proc_pid_smaps(5)), else what is
    /// resident; 0 of one that is gone.
    public static func proportionalByteCount(of pid: Int32) -> UInt64 {
        if let text = try? SmallFile.text(of: "/proc/\(pid)/smaps_rollup"),
            let line = text.utf8.split(separator: UInt8(ascii: "\n")).first(where: {
                $0.starts(with: "Pss:".utf8)
            }),
            let kibibytes = line.split(separator: UInt8(ascii: " ")).dropFirst().first.flatMap({
                UInt64(Substring($0))
            })
        {
            return kibibytes << 10
        }
        guard let text = try? SmallFile.text(of: "/proc/\(pid)/statm"),
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ UInt64($0) })
        else { return 0 }
        return pages * UInt64(sysconf(CInt(_SC_PAGESIZE)))
    }
}

/// Processes that the kernel ended for want of memory.
public struct OutOfMemoryKills: Hashable, Sendable {
    /// Of a cgroup and those below: `oom_kill` of memory.events.
    public let count: UInt64
    /// One of these has reached its own memory.max (`oom`); else they were chosen for what others took.
    public let isOwnLimit: Bool

    /// Nil without the controller.
    public init?(in cgroup: Cgroup) {
        guard let text = try? cgroup.read("memory.events") else { return nil }
        self.init(memoryEvents: text)
    }

    public init?(memoryEvents text: String) {
        guard let count = Self.field("oom_kill", in: text) else { return nil }
        self.count = count
        isOwnLimit = Self.field("oom", in: text) ?? 0 > 0
    }

    /// Of the machine since its boot: `oom_kill` of /proc/vmstat, as text.
    public static func count(vmstat text: String) -> UInt64? { field("oom_kill", in: text) }

    private static func field(_ name: String, in text: String) -> UInt64? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line?.split(separator: " ").dropFirst().first.flatMap { UInt64($0) }
    }
}
