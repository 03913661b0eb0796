internal import Glibc
internal import GreenroomLinux

/// How instances end, and how the spawner ends.
extension Spawner {
    /// Reaps every child that has ended: first processes of instances and of spawns, and their
    /// orphaned descendants.
    func reap() throws(SystemError) {
        // The supervisor knows the instances of these spawns. Once they are in the table, each is
        // reaped after its end was told.
        for spawn in Array(spawns.pending.values)
        where spawn.start.spawn.isOver && spawn.start.spawn.announced == .yes { conclude(spawn) }
        var concluded: [PendingSpawn] = []
        while let end = try nextEnd() {
            endedTraced(end.pid)
            if numbersByPid[end.pid] != nil {
                exited(end.pid, end.status)
            } else if let spawn = ended(end.pid, end.status, hasExecuted: end.hasExecuted) {
                concluded.append(spawn)
            }
            if !end.isReaped { _ = try Children.take(end.pid) }
        }
        // A process may have ended at once. By now it is known whether it had executed its program.
        for spawn in concluded { conclude(spawn) }
        finishEmpty()
    }

    /// Checks which of the instances whose first process has ended have no process left: an orphan
    /// that was just reaped may have been the last.
    func finishEmpty() {
        if awaited.mainEnded.isEmpty { return }
        let snapshot = ProcessSnapshot()
        for number in awaited.mainEnded { finish(number, snapshot) }
    }

    /// A child that has ended.
    private struct End {
        let pid: pid_t
        let status: TerminationStatus
        let hasExecuted: Bool
        let isReaped: Bool
    }

    /// The next child that has ended. Traced threads that have stopped are handled on the way.
    ///
    /// An instance's process is reaped after its end was reported. A client that watches the
    /// process sees the end only then, so whatever it asks next, the supervisor has been told.
    private func nextEnd() throws(SystemError) -> End? {
        while let (pid, change) = try Children.nextChange() {
            if case .ended(let status) = change, numbersByPid[pid] != nil {
                return End(pid: pid, status: status, hasExecuted: true, isReaped: false)
            }
            // This can be read only while it is a zombie.
            let hasExecuted =
                waiters.contains(pid) || !spawns.mayNotHaveExecuted(pid)
                || ProcessTable.entry(of: pid)?.hasExecuted != false
            switch try Children.take(pid) {
            case .ended(let status):
                return End(pid: pid, status: status, hasExecuted: hasExecuted, isReaped: true)
            case .stopped(let stop): stopped(pid, stop)
            case nil: break  // Its end follows.
            }
        }
        return nil
    }

    /// Handles the end of an instance's first process.
    func exited(_ pid: pid_t, _ status: TerminationStatus) {
        guard let number = numbersByPid.removeValue(forKey: pid) else { return }
        instances[number]?.status = status
        if isDeserted(number) {
            // Emptiness is reported first, so that nobody tries to end what is left of the
            // instance.
            becameEmpty(number) { tell(.exited(instance: number, status)) }
        } else {
            awaited.mainEnded.insert(number)
            tell(.exited(instance: number, status))
        }
    }

    /// Handles the end of an adopted instance's first process.
    func end(adopted number: UInt64, _ status: TerminationStatus) {
        instances[number]?.status = status
        awaited.mainEnded.insert(number)
        tell(.exited(instance: number, status))
        finish(number, ProcessSnapshot())
    }

    func handleEmptiness() throws(SystemError) {
        while true {
            let events = try emptiness.read()
            if events.isEmpty { return }
            let snapshot = ProcessSnapshot()
            for event in events {
                if event.overflowed {
                    for number in Array(instances.keys) { finish(number, snapshot) }
                } else if let number = numbersByWatch[event.watch] {
                    finish(number, snapshot)
                }
            }
        }
    }

    /// Called after the first process has ended. Reports if no process is left. The supervisor
    /// decides whether the other processes are ended too; if the spawner ends, they are.
    func finish(_ number: UInt64, _ snapshot: ProcessSnapshot) {
        guard let instance = instances[number], instance.status != nil, !instance.isEmptied else {
            return
        }
        do {
            if try !instance.group.isEmpty(snapshot) {
                let isFirst = watch(number)
                let isToEnd = instance.isReleased || instance.hasMisfired || ending != .no
                if isToEnd { try instance.group.kill(snapshot) }
                // The rest of the instance may run for long. Its cgroup reports the end, so it is
                // not checked after each reaping.
                if !isToEnd, instances[number]?.watch != nil { awaited.mainEnded.remove(number) }
                // The processes may have ended before the watch began.
                guard isFirst, try instance.group.isEmpty(snapshot) else { return }
            }
        } catch {
            // Somebody removed the cgroup, which is possible only when it is empty.
            if error.code != ENODEV, error.code != ENOENT {
                return tell(.failed(instance: number, code: error.code))
            }
        }
        becameEmpty(number) {}
    }

    /// Opens what only the end of the instance needs, if there are descriptors to spare. The end of
    /// an adopted instance is learned in another way.
    func prepareForEnd(of number: UInt64) {
        guard openFiles.areAmple, instances[number]?.isAdopted == false else { return }
        instances[number]?.prepareForEnd(asideFrom: openFiles.firstAside)
    }

    /// Whether no process is left in the instance's cgroup. Without a cgroup, only a walk through
    /// /proc would tell, and `finish` makes one for all instances.
    private func isDeserted(_ number: UInt64) -> Bool {
        guard let instance = instances[number], case .cgroup(let cgroup, _) = instance.group else {
            return false
        }
        return (try? instance.events?.isPopulated() ?? cgroup.isPopulated()) == false
    }

    private func becameEmpty(_ number: UInt64, then report: () -> Void) {
        awaited.forget(number)
        instances[number]?.isEmptied = true
        if let watch = instances[number]?.watch {
            emptiness.remove(watch)
            numbersByWatch[watch] = nil
        }
        tell(.emptied(instance: number))
        report()
        if let instance = instances[number], instance.isReleased { forget(instance) }
    }

    /// Watches an instance whose first process has ended while others have not. Their end is
    /// reported by cgroup.events, or by SIGCHLD when they become our children. If the instance was
    /// adopted and has no cgroup, its processes become somebody else's children, and we must check
    /// repeatedly.
    ///
    /// - Returns: true if the instance is watched from now on.
    private func watch(_ number: UInt64) -> Bool {
        guard let instance = instances[number], instance.watch == nil else { return false }
        let watch = watchEmptiness(of: instance.group)
        if let watch {
            instances[number]?.watch = watch
            numbersByWatch[watch] = number
        } else if instance.isAdopted {
            awaited.unnoticed.insert(number)
        }
        return watch != nil
    }

    func forget(_ instance: SpawnedInstance) {
        removeCgroup(of: instance)
        ledger?.remove(instance.number)
        instances[instance.number] = nil
        // The app may have sent messages that nobody has read.
        instance.channel?.closeWithQueue()
    }

    /// Marks the instance's empty cgroup for removal when nobody waits for anything else.
    func removeCgroup(of instance: SpawnedInstance) {
        guard let name = instance.group.cgroupName else { return }
        cgroups.discard(name)
    }

    /// Sends SIGTERM to every instance and thaws it, because a frozen process cannot act on the
    /// signal. A second call can only make the deadline earlier.
    func end(graceMilliseconds: UInt32) {
        let deadline = MonotonicClock.nanoseconds + UInt64(graceMilliseconds) * 1_000_000
        switch ending {
        case .no: ending = .asked(deadline: deadline)
        case .asked(let former):
            ending = .asked(deadline: min(former, deadline))
            return
        case .killed: return
        }
        tell(.ending)
        killSpawns()
        let snapshot = ProcessSnapshot()
        for instance in instances.values where !instance.isEmptied {
            try? instance.group.signal(SIGTERM, snapshot)
            try? instance.group.thaw(snapshot)
        }
    }

    func killAll() {
        ending = .killed
        let snapshot = ProcessSnapshot()
        for instance in instances.values where !instance.isEmptied {
            try? instance.group.kill(snapshot)
        }
    }
}

/// The instances whose end is not fully known yet.
struct AwaitedEnds {
    /// Instances whose first process has ended while others may not have.
    var mainEnded: Set<UInt64> = []
    /// Adopted instances whose last process may end without our being told.
    var unnoticed: Set<UInt64> = []
    /// Adopted instances whose parent has not reaped them yet, and until when we wait for it to do
    /// so.
    var unreaped: [UInt64: UInt64] = [:]

    /// Whether some instances must be checked repeatedly.
    var needLooks: Bool { !unreaped.isEmpty || !unnoticed.isEmpty }

    /// Called when no process of the instance is left.
    mutating func forget(_ number: UInt64) {
        unnoticed.remove(number)
        mainEnded.remove(number)
    }
}
