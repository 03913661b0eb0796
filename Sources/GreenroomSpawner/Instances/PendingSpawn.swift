internal import Glibc
internal import GreenroomLinux

/// A spawn that a supervisor asked for, and whose process has not executed its program yet.
///
/// under way → killed (its time is over; its end is awaited for a moment) → answered (it is over,
/// or the process cannot be killed). A spawn leaves the table when its waiter has reported or ended
/// and its process has either ended or become an instance.
final class PendingSpawn {
    let specification: SpawnSpecification
    let cgroup: (cgroup: Cgroup, name: String)?
    /// Whether the cgroup was made in advance, so that somebody else may have removed it.
    let isReserved: Bool
    let start: InstanceStart.Begun
    /// When the process is to be killed; once it is, when we stop waiting for its end
    /// (``MonotonicClock``, nanoseconds).
    var deadline: UInt64
    /// Why the spawner killed it.
    var verdict: SpawnError?
    var isAnswered = false
    /// Whether somebody killed the waiter. Then only the process's end shows that the process no
    /// longer shares our memory.
    var hasLostWaiter = false
    /// How the process ended.
    var end: (status: TerminationStatus, hasExecuted: Bool)?
    /// Requests about the instance that came before it was in the table.
    var deferred: [SpawnerRequest] = []

    init(
        _ specification: SpawnSpecification, in cgroup: (cgroup: Cgroup, name: String)?,
        isReserved: Bool, _ start: InstanceStart.Begun, deadline: UInt64
    ) {
        self.specification = specification
        self.cgroup = cgroup
        self.isReserved = isReserved
        self.start = start
        self.deadline = deadline
    }

    /// Whether neither the waiter nor the process uses the spawn's memory.
    var isOver: Bool {
        start.spawn.isOver || hasLostWaiter && (end != nil || start.spawn.pid == nil)
    }

    /// The user as whom the process runs; nil means our own user.
    var user: uid_t? { specification.identity?.user }
}
