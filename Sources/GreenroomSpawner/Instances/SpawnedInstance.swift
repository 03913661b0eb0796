internal import Glibc
internal import GreenroomLinux

/// An instance as the spawner knows it: one line of its table.
///
/// running → ended (`status`: its first process has ended; others may still run) → emptied (no
/// process left). An instance leaves the table when it is emptied *and* released.
struct SpawnedInstance {
    let number: UInt64
    let app: String
    let pid: pid_t
    let process: ProcessDescriptor
    let channel: UnixSocket?
    let group: ProcessGroup
    /// Opened after the start, so that the end of the first process is told sooner. Nil if there is
    /// no cgroup, or no descriptor to spare.
    var events: CgroupEvents?
    /// The watch in ``Spawner/emptiness``; nil without a cgroup.
    var watch: CInt?
    var status: TerminationStatus?
    var isEmptied = false
    var isReleased = false
    /// Whether the instance misfired, so that all its remaining processes are killed.
    var hasMisfired = false
    /// Traces the instance until it has paused, if it is to pause before main.
    var guarding: PrewarmGuard?
    /// Whether the instance is the child of a dead spawner, so that this one cannot reap it.
    var isAdopted = false

    func moveAside(to lowest: CInt) {
        process.descriptor.moveAside(to: lowest)
        channel?.descriptor.moveAside(to: lowest)
        if case .cgroup(let cgroup, _) = group { cgroup.directory.moveAside(to: lowest) }
    }

    /// Opens what only an end needs.
    mutating func prepareForEnd(asideFrom lowest: CInt) {
        guard case .cgroup(let cgroup, _) = group else { return }
        events = try? CgroupEvents(of: cgroup)
        events?.file.moveAside(to: lowest)
    }

    var entry: TableEntry {
        TableEntry(
            instance: number, app: app, pid: pid, status: status, isEmptied: isEmptied,
            isGuarded: guarding != nil, cgroupName: group.cgroupName, process: process,
            channel: channel)
    }
}
