public import Glibc

/// Processes as /proc shows them (proc(5)). This is inherently racy, and meant only for hosts
/// without cgroups.
public enum ProcessTable {
    /// A line of /proc/PID/stat.
    public struct Entry: Hashable, Sendable {
        public let pid: pid_t
        public let parent: pid_t
        public let session: pid_t
        public let isZombie: Bool
        /// Whether a stop signal has stopped the process: SIGSTOP has taken effect.
        public let isStopped: Bool
        /// Whether the main thread waits for something other than a processor or a disk.
        public let isAtRest: Bool
        /// Whether the process has executed a program since it was made (PF_FORKNOEXEC).
        public let hasExecuted: Bool
        /// Whether the main thread is ending or has ended (PF_EXITING). This is so before the process
        /// closes its descriptors, and before the processes that it traces are killed.
        public let isEnding: Bool
        public let threadCount: Int
        /// The start time, in clock ticks since boot. Together with the number, it identifies the
        /// process.
        public let startTicks: UInt64

        public init?(stat text: String) {
            // "PID (NAME) STATE PPID PGRP SESSION": the name may contain anything, also ")".
            guard let close = text.lastIndex(of: ")"),
                let pid = pid_t(text.prefix { $0 != " " })
            else { return nil }
            let fields = text[close...].split(separator: " ")
            guard fields.count > 4, let parent = pid_t(fields[2]), let session = pid_t(fields[4])
            else { return nil }
            self.pid = pid
            self.parent = parent
            self.session = session
            isZombie = fields[1] == "Z" || fields[1] == "X"
            isStopped = fields[1] == "T"
            isAtRest = fields[1] == "S"
            let (forkedWithoutExec, exiting): (UInt64, UInt64) = (0x40, 0x4)
            let flags = fields.count > 7 ? UInt64(fields[7]) ?? 0 : 0
            hasExecuted = flags & forkedWithoutExec == 0
            isEnding = isZombie || flags & exiting != 0
            // These are the 20th and the 22nd field, counted from 1; `fields` begin with the 2nd's
            // closing parenthesis.
            threadCount = fields.count > 18 ? Int(fields[18]) ?? 0 : 0
            startTicks = fields.count > 20 ? UInt64(fields[20]) ?? 0 : 0
        }
    }

    /// One process; nil if it is gone.
    public static func entry(of pid: pid_t) -> Entry? {
        (try? SmallFile.text(of: "/proc/\(pid)/stat")).flatMap { Entry(stat: $0) }
    }

    /// The name of the program's file when it was executed, up to 15 bytes (proc_pid_comm(5)),
    /// unless the process has changed it; nil if the process is gone.
    public static func name(of pid: pid_t) -> String? {
        (try? SmallFile.text(of: "/proc/\(pid)/comm")).map { String($0.prefix { $0 != "\n" }) }
    }

    /// The program that the process executes (readlink of /proc/PID/exe); nil if the process is
    /// gone, or we may not read that.
    public static func program(of pid: pid_t) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe readlink("/proc/\(pid)/exe", $0.baseAddress!, $0.count)
        }
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    /// Every process that we can see, except those that end in the meantime.
    public static func entries() throws(SystemError) -> [Entry] {
        guard let directory = unsafe opendir("/proc") else {
            throw SystemError(code: errno, call: "opendir", subject: "/proc")
        }
        defer { unsafe closedir(directory) }
        var entries: [Entry] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard pid_t(name) != nil, let text = try? SmallFile.text(of: "/proc/\(name)/stat"),
                let process = Entry(stat: text)
            else { continue }
            entries.append(process)
        }
        return entries
    }
}
