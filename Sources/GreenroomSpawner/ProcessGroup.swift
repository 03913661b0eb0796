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

    func kill() throws(SystemError) {
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
        case .session: try signal(SIGKILL)
        }
    }

    func freeze() throws(SystemError) {
        switch self {
        case .cgroup(let cgroup, _): try cgroup.freeze()
        case .session: try signal(SIGSTOP)
        }
    }

    func thaw() throws(SystemError) {
        switch self {
        case .cgroup(let cgroup, _): try cgroup.thaw()
        case .session: try signal(SIGCONT)
        }
    }

    func isEmpty() throws(SystemError) -> Bool {
        switch self {
        case .cgroup(let cgroup, _): try !cgroup.isPopulated()
        case .session: try members().isEmpty
        }
    }

    /// Sends a signal to every process of it.
    func signal(_ number: CInt) throws(SystemError) {
        for pid in try members() { _ = Glibc.kill(pid, number) }
    }

    private func members() throws(SystemError) -> [pid_t] {
        switch self {
        case .cgroup(let cgroup, _): return try cgroup.processes()
        case .session(let leader):
            let running = try ProcessTable.entries().filter { !$0.isZombie }
            var members = Set(running.filter { $0.session == leader }.map(\.pid))
            if running.contains(where: { $0.pid == leader }) { members.insert(leader) }
            var grew = true
            while grew {
                let children = running.filter {
                    members.contains($0.parent) && !members.contains($0.pid)
                }
                grew = !children.isEmpty
                members.formUnion(children.map(\.pid))
            }
            return Array(members)
        }
    }
}
