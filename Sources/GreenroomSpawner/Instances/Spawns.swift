internal import Glibc
internal import GreenroomLinux

/// The spawns that have not become instances yet.
struct Spawns {
    /// Spawns whose process has not executed its program yet, or has failed to and has not ended.
    var pending: [UInt64: PendingSpawn] = [:]
    var numbersByWaiter: [pid_t: UInt64] = [:]
    /// Cgroups of processes that never became instances; they are removed when the processes have
    /// ended.
    var departing: [pid_t: String] = [:]
    /// What to do when no spawn is under way any more. No request is read before that.
    var afterwards: [Afterwards] = []

    enum Afterwards {
        /// A supervisor said hello, and the table must be complete before it is answered.
        case welcome(stateByteCount: UInt32)
        case upgrade
    }

    /// Whether some spawns have not been answered.
    var areUnderWay: Bool { pending.values.contains { !$0.isAnswered } }

    /// Whether somebody waits until no spawn is under way; requests stay unread in the meantime.
    var areSettling: Bool { !afterwards.isEmpty }

    var deadline: UInt64? {
        pending.values.lazy.filter { !$0.isAnswered }.map(\.deadline).min()
    }

    /// Whether `pid` is the process of a spawn under way.
    func isPending(_ pid: pid_t) -> Bool {
        pending.values.contains { $0.start.spawn.pid == pid }
    }

    /// Whether `pid` is the process of a spawn under way and is not known to have executed its
    /// program.
    func mayNotHaveExecuted(_ pid: pid_t) -> Bool {
        pending.values.contains { $0.start.spawn.pid == pid && $0.start.spawn.announced != .yes }
    }

    /// Whether too many of this user's processes could not be killed, so that the user may start no
    /// more.
    func isStuck(_ user: uid_t?) -> Bool {
        if pending.count < SpawnerLimits.stuckSpawnCount { return false }
        let stuck = pending.values.count { $0.isAnswered && $0.user == user }
        return stuck >= SpawnerLimits.stuckSpawnCount
    }

    /// The spawn under way that a request is about.
    func pending(for request: SpawnerRequest) -> PendingSpawn? {
        if pending.isEmpty { return nil }
        let number: UInt64
        switch request {
        case .kill(let instance), .freeze(let instance), .thaw(let instance),
            .release(let instance):
            number = instance
        case .hello, .spawn, .shutDown, .keep, .drop, .reconciled, .unguard, .listen:
            return nil
        }
        return pending[number].flatMap { $0.isAnswered ? nil : $0 }
    }
}
