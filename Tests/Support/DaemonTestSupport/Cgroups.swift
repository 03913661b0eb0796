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
}
