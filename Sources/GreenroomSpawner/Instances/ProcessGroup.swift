internal import Glibc
internal import GreenroomLinux

/// The processes of one instance: a cgroup, or without one a walk of /proc.
enum ProcessGroup {
    case cgroup(Cgroup, name: String)
    /// Members are the session of the first process and its descendants. One that leaves both (a
    /// double fork with a session of its own) is lost to us: cgroups exist because of that.
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
                // Before Linux 5.14. Frozen, it cannot fork away from us; SIGKILL works all the same.
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

    /// - Parameter snapshot: looked at only without a cgroup; not older than the event in question.
    func isEmpty(_ snapshot: ProcessSnapshot) throws(SystemError) -> Bool {
        switch self {
        case .cgroup(let cgroup, _): try !cgroup.isPopulated()
        case .session(let leader): try snapshot.members(of: leader).isEmpty
        }
    }

    /// Sends a signal to every process of it.
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

/// The processes of one moment, read from /proc at the first question: one walk for all instances
/// that ended together.
final class ProcessSnapshot {
    private var running: [ProcessTable.Entry]?

    /// The session of this process and its descendants, zombies left out.
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
