internal import Glibc
internal import GreenroomLinux

/// How instances end, and the spawner with them.
extension Spawner {
    /// Reaps every child that has ended: first processes of instances and of spawns, and orphans of
    /// theirs.
    func reap() throws(SystemError) {
        var concluded: [PendingSpawn] = []
        while let (pid, status, hasExecuted) = try nextEnd() {
            endedTraced(pid)
            if numbersByPid[pid] != nil {
                exited(pid, status)
            } else if let spawn = ended(pid, status, hasExecuted: hasExecuted) {
                concluded.append(spawn)
            }
        }
        // Of a process that ended at once we know by now whether it was the program.
        for spawn in concluded { conclude(spawn) }
        // Also those that ended before: an orphan may have been the last process of one.
        let snapshot = ProcessSnapshot()
        for number in dying { finish(number, snapshot) }
    }

    /// What a zombie had come to can be seen only as long as it is one. Traced threads that have stopped on
    /// the way are seen to.
    private func nextEnd() throws(SystemError) -> (pid_t, TerminationStatus, hasExecuted: Bool)? {
        while true {
            let pid: pid_t
            let change: Children.Change?
            var hasExecuted = true
            if pending.isEmpty {
                guard let next = try Children.nextChange() else { return nil }
                (pid, change) = (next.pid, next.change)
            } else {
                guard let next = try Children.nextChanged() else { return nil }
                pid = next
                hasExecuted =
                    numbersByPid[pid] != nil || pendingByWaiter[pid] != nil || !isPending(pid)
                    || ProcessTable.entry(of: pid)?.hasExecuted != false
                change = try Children.take(pid)
            }
            switch change {
            case .ended(let status): return (pid, status, hasExecuted)
            case .stopped(let stop): stopped(pid, stop)
            case nil: break  // Its end follows.
            }
        }
    }

    /// The first process of an instance.
    func exited(_ pid: pid_t, _ status: TerminationStatus) {
        guard let number = numbersByPid.removeValue(forKey: pid) else { return }
        instances[number]?.status = status
        if isDeserted(number) {
            // That first: nobody needs to end what is left of it.
            conclude(number) { tell(.exited(instance: number, status)) }
        } else {
            dying.insert(number)
            tell(.exited(instance: number, status))
        }
    }

    /// The first process of an adopted one ended.
    func end(adopted number: UInt64, _ status: TerminationStatus) {
        instances[number]?.status = status
        dying.insert(number)
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

    /// After the first process has ended: says so when none is left. Whether the others end, too, is
    /// the supervisor's to say; where everything ends, they do.
    func finish(_ number: UInt64, _ snapshot: ProcessSnapshot) {
        guard let instance = instances[number], instance.status != nil, !instance.isEmptied else {
            return
        }
        do {
            if try !instance.group.isEmpty(snapshot) {
                let isFirst = watch(number)
                let isToEnd = instance.isReleased || instance.hasMisfired || ending != .no
                if isToEnd { try instance.group.kill(snapshot) }
                // It may live on for long: its cgroup tells, and nobody looks at each reaping.
                if !isToEnd, instances[number]?.watch != nil { dying.remove(number) }
                // They may have ended before anybody watched.
                guard isFirst, try instance.group.isEmpty(snapshot) else { return }
            }
        } catch {
            // Somebody removed the cgroup, which only an empty one allows.
            if error.code != ENODEV, error.code != ENOENT {
                return tell(.failed(instance: number, code: error.code))
            }
        }
        conclude(number) {}
    }

    /// No process is left in its cgroup. Without one it takes a walk of /proc, which `finish` makes for
    /// all together.
    private func isDeserted(_ number: UInt64) -> Bool {
        guard case .cgroup(let cgroup, _)? = instances[number]?.group else { return false }
        return (try? cgroup.isPopulated()) == false
    }

    private func conclude(_ number: UInt64, then report: () -> Void) {
        lingering.remove(number)
        dying.remove(number)
        instances[number]?.isEmptied = true
        if let watch = instances[number]?.watch {
            emptiness.remove(watch)
            numbersByWatch[watch] = nil
        }
        tell(.emptied(instance: number))
        report()
        if let instance = instances[number], instance.isReleased { forget(instance) }
    }

    /// The first process has ended and others have not. Their end is reported to us: by
    /// cgroup.events, or by SIGCHLD as they become ours. Without a cgroup, an adopted instance's become
    /// somebody else's: we look again.
    ///
    /// - Returns: true if it is watched from now on.
    private func watch(_ number: UInt64) -> Bool {
        guard let instance = instances[number], instance.watch == nil else { return false }
        let watch = watchEmptiness(of: instance.group)
        if let watch {
            instances[number]?.watch = watch
            numbersByWatch[watch] = number
        } else if instance.isAdopted {
            lingering.insert(number)
        }
        return watch != nil
    }

    func forget(_ instance: Instance) {
        removeCgroup(of: instance)
        ledger?.remove(instance.number)
        instances[instance.number] = nil
        // An app may have sent what nobody has read.
        instance.channel?.closeWithQueue()
    }

    /// Its cgroup is empty; it goes when nobody waits for anything else.
    func removeCgroup(of instance: Instance) {
        guard let name = instance.group.cgroupName else { return }
        discard(cgroup: name)
    }

    func discard(cgroup name: String) {
        litter.append(Litter(cgroup: name))
        if litter.count >= SpawnerLimits.litterCount {
            removeLitter(atMost: SpawnerLimits.litterAtOnce)
        }
    }

    /// There is more that nobody has tried to remove, and nobody waited for anything else just now.
    var isTidying: Bool { hasBegunTidying && litter.contains { $0.tries == 0 } }

    /// The oldest first. What is still there is tried again, but not for ever: an app can make what we cannot
    /// remove.
    func removeLitter(atMost limit: Int = .max) {
        let some = Array(litter.prefix(limit))
        litter.removeFirst(some.count)
        for var item in some {
            if (try? subtree.cgroup?.removeTree(item.cgroup)) != false { continue }
            item.tries += 1
            if item.tries < SpawnerLimits.litterTries { litter.append(item) }
        }
    }

    /// SIGTERM to everybody, thawed first, for a frozen process cannot act on it. Asked again, it
    /// can only become sooner.
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
