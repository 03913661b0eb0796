internal import Glibc
internal import GreenroomLinux

/// A spawn that a supervisor asked for and whose process has not executed its program yet.
///
/// under way → killed (its time is over; what it comes to is awaited for a moment) → answered (it is
/// over, or the process cannot even be killed). It leaves the table when its waiter and, unless it
/// became an instance, its process have ended.
final class PendingSpawn {
    let specification: SpawnSpecification
    let cgroup: (cgroup: Cgroup, name: String)?
    /// The cgroup was made before anybody asked: somebody else may have removed it.
    let isReserved: Bool
    let start: InstanceStart.Begun
    /// When the process is killed, or, once it was, when we no longer wait for its end
    /// (``MonotonicClock``, nanoseconds).
    var deadline: UInt64
    /// Why it was killed by us.
    var verdict: SpawnError?
    var isAnswered = false
    /// Of the waiter: exited with status 0, the process no longer shares our memory.
    var waiterStatus: TerminationStatus?
    /// Of the process.
    var end: (status: TerminationStatus, hasExecuted: Bool)?
    /// Requests about the instance that came before it was one.
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

    /// Neither the waiter nor, where that was killed, the process uses the memory of the spawn.
    var isOver: Bool {
        guard let waiterStatus else { return false }
        return waiterStatus == .exited(0) || end != nil || start.spawn.pid == nil
    }

    /// Whose program it runs: nil, our own user's.
    var user: uid_t? { specification.identity?.user }
}
