internal import Glibc
internal import GreenroomLinux

/// The processes of one instance: a cgroup, or without cgroups the result of a walk through /proc.
enum ProcessGroup {
    case cgroup(Cgroup, name: String)
    /// The members are the session of the first process, and its descendants. A process that leaves
    /// both (by a double fork and a new session) is lost, which is why cgroups are used.
    case session(leader: pid_t)

    var cgroupName: String? {
        switch self {
        case .cgroup(_, let name): name
        case .session: nil
        }
    }

    func kill(_ snapshot: ProcessSnapshot = ProcessSnapshot()) throws(SystemError) {
        switch self {
        case .cgroup(let cgroup, _):
            do {
                try cgroup.kill()
            } catch {
                guard error.code == ENOENT else { throw error }
                // Before Linux 5.14 there is no cgroup.kill. The processes of a frozen cgroup
                // cannot fork, and SIGKILL ends them even so.
                try cgroup.freeze()
                for pid in try cgroup.processes() { _ = Glibc.kill(pid, SIGKILL) }
                try cgroup.thaw()
            }
        case .session: try signal(SIGKILL, snapshot)
        }
    }

    func freeze() throws(SystemError) {
        switch self {
        case .cgroup(let cgroup, _): try cgroup.freeze()
        case .session: try signal(SIGSTOP)
        }
    }

    func thaw(_ snapshot: ProcessSnapshot = ProcessSnapshot()) throws(SystemError) {
        switch self {
        case .cgroup(let cgroup, _): try cgroup.thaw()
        case .session: try signal(SIGCONT, snapshot)
        }
    }

    /// - Parameter snapshot: used only without a cgroup; not older than the event in question.
    func isEmpty(_ snapshot: ProcessSnapshot) throws(SystemError) -> Bool {
        switch self {
        case .cgroup(let cgroup, _): try !cgroup.isPopulated()
        case .session(let leader): try snapshot.members(of: leader).isEmpty
        }
    }

    /// Sends a signal to every process of the instance.
    func signal(
        _ number: CInt, _ snapshot: ProcessSnapshot = ProcessSnapshot()
    ) throws(SystemError) {
        for pid in try members(snapshot) { _ = Glibc.kill(pid, number) }
    }

    private func members(_ snapshot: ProcessSnapshot) throws(SystemError) -> [pid_t] {
        switch self {
        case .cgroup(let cgroup, _): return try cgroup.processes()
        case .session(let leader): return try snapshot.members(of: leader)
        }
    }
}

/// The processes at one moment, read from /proc on first use, so that one walk serves all instances
/// that ended together.
final class ProcessSnapshot {
    private var running: [ProcessTable.Entry]?

    /// The processes in the session of this process, and its descendants, without zombies.
    func members(of leader: pid_t) throws(SystemError) -> [pid_t] {
        let running = try entries()
        var members = Set<pid_t>()
        for process in running where process.session == leader || process.pid == leader {
            members.insert(process.pid)
        }
        var count = -1
        while members.count != count, !members.isEmpty {
            count = members.count
            for process in running where members.contains(process.parent) {
                members.insert(process.pid)
            }
        }
        return Array(members)
    }

    private func entries() throws(SystemError) -> [ProcessTable.Entry] {
        if let running { return running }
        let read = try ProcessTable.entries().filter { !$0.isZombie }
        running = read
        return read
    }
}
