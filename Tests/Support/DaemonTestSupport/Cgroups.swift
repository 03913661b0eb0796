import Glibc
import TestSupport

/// The kernel's cgroups of version 2 (cgroups(7)).
public enum Cgroups {
    /// The folder where they are mounted; nil if they are not.
    public static let mount: String? = {
        let fields = lines(of: "/proc/mounts").map { $0.split(separator: " ") }
        return fields.first { $0.count > 2 && $0[2] == "cgroup2" }.map { String($0[1]) }
    }()

    /// The folder of the process's cgroup.
    public static func folder(of pid: Int32) -> String? {
        guard let mount,
            let line = lines(of: "/proc/\(pid)/cgroup").first(where: { $0.hasPrefix("0::") })
        else { return nil }
        return mount + line.dropFirst(3)
    }

    /// The folder of an app's cgroup, from its process; nil if instances have no cgroups of their
    /// own.
    public static func appFolder(of pid: Int32) -> String? {
        folder(of: pid).flatMap { $0.contains("/app-") ? $0 : nil }
    }

    private static func lines(of path: String) -> [Substring] {
        String(decoding: (try? readFile(path)) ?? [], as: UTF8.self).split(separator: "\n")
    }
}

extension Processes {
    /// Whether no thread of the process runs: its cgroup is frozen, or the process is stopped.
    public static func isFrozen(_ pid: Int32) -> Bool {
        if state(of: pid) == "T" { return true }
        guard let folder = Cgroups.folder(of: pid),
            let events = try? readFile(folder + "/cgroup.events")
        else { return false }
        return String(decoding: events, as: UTF8.self).contains("frozen 1")
    }

    /// Whether a frozen process has been thawed since its first thread had given the processor up
    /// this many times (``sleepCount(of:)``). A thaw lasts only a moment, in which nobody may have
    /// looked.
    public static func wasThawed(_ pid: Int32, since count: Int) throws -> Bool {
        // A thread that is thawed waits in its own loop, and then in the freezer. It may have been
        // counted as frozen just before it began to wait, so one more is not enough.
        try !isFrozen(pid) || sleepCount(of: pid) >= count + 2
    }

    public static func awaitThaw(of pid: Int32, since count: Int) throws {
        try wait("process \(pid) is not thawed") { try wasThawed(pid, since: count) }
    }

    /// How many times the first thread of the process has given the processor up.
    public static func sleepCount(of pid: Int32) throws -> Int {
        guard let count = line("voluntary_ctxt_switches", of: pid).flatMap({ Int($0) }) else {
            throw TestError("process \(pid) is gone")
        }
        return count
    }
}
