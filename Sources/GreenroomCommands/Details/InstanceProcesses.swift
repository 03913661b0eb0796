import Glibc
import GreenroomLinux

/// The processes of an instance as /proc and its cgroup show them to whoever asks.
struct InstanceProcesses {
    struct Process: Equatable {
        let pid: pid_t
        /// 0 for a process whose parent is not in the instance.
        let depth: Int
        let command: String
    }

    /// The processes, each followed by its children.
    let processes: [Process]
    /// The processor time of all these processes, and of those that have ended; nil without a
    /// cgroup.
    let cpuUSec: Int64?

    init(_ processes: [Process], cpuUSec: Int64? = nil) {
        self.processes = processes
        self.cpuUSec = cpuUSec
    }

    /// - Parameter main: the instance's first process.
    /// - Returns: nil if that process is gone.
    init?(of main: pid_t, app: String, instance: UInt64) {
        guard ProcessTable.entry(of: main) != nil else { return nil }
        let entries = (try? ProcessTable.entries()) ?? []
        let cgroup = Self.cgroup(of: main, app: app, instance: instance)
        cpuUSec = cgroup.flatMap { try? SmallFile.text(of: $0 + "/cpu.stat") }.flatMap(Self.usage)
        if let cgroup, let listed = try? Set(Cgroup(path: cgroup).allProcesses()) {
            processes = Self.tree(of: entries.filter { listed.contains($0.pid) })
        } else {
            processes = Self.tree(of: Self.descendants(of: main, among: entries))
        }
    }

    /// The directory of the instance's own cgroup. Without cgroups, its processes are in a cgroup
    /// that has other processes as well.
    private static func cgroup(of main: pid_t, app: String, instance: UInt64) -> String? {
        guard let text = try? SmallFile.text(of: "/proc/\(main)/cgroup"),
            let path = CgroupLocation.path(in: text).flatMap({
                path(of: app, instance: instance, around: $0)
            }),
            let mount = try? CgroupLocation.mountPoint(
                mountinfo: try SmallFile.text(of: "/proc/self/mountinfo"))
        else { return nil }
        return mount + path
    }

    /// The path of the instance's cgroup. `path` may be below that, because the first process may
    /// have made cgroups and moved into one.
    static func path(of app: String, instance: UInt64, around path: String) -> String? {
        var parts = path.split(separator: "/")
        while let name = parts.last {
            if name.hasSuffix("-\(instance)"), name.contains(app) {
                return "/" + parts.joined(separator: "/")
            }
            parts.removeLast()
        }
        return nil
    }

    /// `usage_usec` of cpu.stat.
    static func usage(in text: String) -> Int64? {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, words[0] == "usage_usec" { return Int64(words[1]) }
        }
        return nil
    }

    private static func descendants(
        of main: pid_t, among entries: [ProcessTable.Entry]
    ) -> [ProcessTable.Entry] {
        let children = Dictionary(grouping: entries, by: \.parent)
        var found = entries.filter { $0.pid == main }
        var next = 0
        while next < found.count {
            found += children[found[next].pid] ?? []
            next += 1
        }
        return found
    }

    private static func tree(of entries: [ProcessTable.Entry]) -> [Process] {
        let own = Set(entries.map(\.pid))
        let children = Dictionary(grouping: entries) { own.contains($0.parent) ? $0.parent : 0 }
        var processes: [Process] = []
        func add(_ parent: pid_t, _ depth: Int) {
            for entry in (children[parent] ?? []).sorted(by: { $0.pid < $1.pid }) {
                processes.append(
                    Process(pid: entry.pid, depth: depth, command: command(of: entry.pid)))
                add(entry.pid, depth + 1)
            }
        }
        add(0, 0)
        return processes
    }

    /// The words of the process's command line; its name in brackets if it has none, as for ps(1).
    private static func command(of pid: pid_t) -> String {
        let words = ((try? SmallFile.text(of: "/proc/\(pid)/cmdline")) ?? "").split(separator: "\0")
        return words.isEmpty
            ? "[\(ProcessTable.name(of: pid) ?? "gone")]" : words.joined(separator: " ")
    }
}
