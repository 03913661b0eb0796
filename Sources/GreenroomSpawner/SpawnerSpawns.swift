internal import Glibc
internal import GreenroomLinux

// How a request becomes an instance. The spawner does not wait for a spawn: between the clone and
// the exec, the process already belongs to the app's user, who can stop it, and it enters
// directories and executes files of that user.

extension Spawner {
    func spawn(_ specification: SpawnSpecification) {
        let number = specification.instance
        do throws(SpawnError) {
            if instances[number] != nil || spawns.pending[number] != nil {
                throw SpawnError(stage: .arguments, code: EEXIST)
            }
            if ending != .no { throw SpawnError(stage: .arguments, code: ESHUTDOWN) }
            if instances.count + spawns.pending.count >= SpawnerLimits.instanceCount {
                throw SpawnError(stage: .arguments, code: EAGAIN)
            }
            if spawns.isStuck(specification.identity?.user) {
                throw SpawnError(stage: .clone, code: EAGAIN)
            }
            if !hasDescriptorsToSpare { throw SpawnError(stage: .descriptors, code: EMFILE) }
            if let cgroup = cgroups.takeFromReserve(for: specification) {
                try begin(specification, in: cgroup, isReserved: true)
            } else {
                try begin(specification, in: cgroups.make(for: specification), isReserved: false)
            }
        } catch {
            tell(.spawnFailed(instance: number, error))
        }
    }

    private func begin(
        _ specification: SpawnSpecification, in cgroup: (cgroup: Cgroup, name: String)?,
        isReserved: Bool
    ) throws(SpawnError) {
        do throws(SpawnError) {
            let start = try InstanceStart(
                specification: specification, cgroup: cgroup, openFiles: openFiles.original,
                owner: connection.owner, waiters: waiters, supervisor: connection.announcedTo
            ).begin()
            let spawn = PendingSpawn(
                specification, in: cgroup, isReserved: isReserved, start,
                deadline: MonotonicClock.nanoseconds + SpawnerLimits.spawnMilliseconds * 1_000_000)
            spawns.pending[specification.instance] = spawn
            spawns.numbersByWaiter[start.spawn.waiter] = specification.instance
        } catch {
            if let cgroup { cgroups.remove(cgroup.name) }
            guard isReserved, error.stage == .cgroup else { throw error }
            try begin(specification, in: cgroups.make(for: specification), isReserved: false)
        }
    }

    // MARK: Results

    /// Handles the end of a child that is not an instance's first process.
    ///
    /// - Returns: the spawn that can be concluded now.
    func ended(
        _ pid: pid_t, _ status: TerminationStatus, hasExecuted: Bool
    ) -> PendingSpawn? {
        if waiters.contains(pid) {
            waiters.ended(pid)
            guard let number = spawns.numbersByWaiter.removeValue(forKey: pid),
                let spawn = spawns.pending[number]
            else { return nil }
            // Somebody killed the waiter, so the process may still share our memory.
            spawn.hasLostWaiter = true
            spawn.start.spawn.kill()
            return spawn
        }
        if let spawn = spawns.pending.values.first(where: { $0.start.spawn.pid == pid }) {
            spawn.end = (status, hasExecuted)
            return spawn
        }
        if let cgroup = spawns.departing.removeValue(forKey: pid) { cgroups.discard(cgroup) }
        return nil
    }

    /// Handles what the waiters have reported.
    func handleSpawnReports() {
        waiters.takeReports()
        for spawn in Array(spawns.pending.values) where spawn.start.spawn.isOver {
            // If the spawn was called off before its process was made, the process has not been
            // killed yet.
            if spawn.verdict != nil { spawn.start.spawn.kill() }
            conclude(spawn)
        }
        // A process may have ended before its waiter reported, and no further end may follow.
        finishEmpty()
    }

    func conclude(_ spawn: PendingSpawn) {
        let number = spawn.specification.instance
        // The waiter and the process may have ended in one round.
        guard spawns.pending[number] === spawn, spawn.isOver else { return }
        let announced = spawn.start.spawn.announced
        // The supervisor knows the instance already. Even if the spawn was to be called off in the
        // meantime, the instance ends like every other.
        let isKnown = announced == .yes && !spawn.isAnswered
        // These spawns wait for the end of their process. If it was killed at the last moment, only
        // its end tells whether it had run its program. If it failed, or was killed earlier, it
        // stays in its cgroup until its end, and the next spawn with this number would get the same
        // cgroup.
        let hasFailed = spawn.start.spawn.failure != 0 || spawn.start.spawn.stage != .execute
        if !isKnown, spawn.verdict != nil || hasFailed, spawn.end == nil, !spawn.isAnswered,
            spawn.start.spawn.pid != nil
        {
            if spawn.verdict == nil {
                let patience = SpawnerLimits.killedSpawnMilliseconds * 1_000_000
                spawn.deadline = min(spawn.deadline, MonotonicClock.nanoseconds + patience)
            }
            return
        }
        spawns.pending[number] = nil
        spawns.numbersByWaiter[spawn.start.spawn.waiter] = nil
        // Nobody can tell what the supervisor has heard, so it connects again and reads the table.
        if announced != .no, !isKnown { connection.end() }
        let over = spawn.start.spawn.end(hasReported: MonotonicClock.nanoseconds < spawn.deadline)
        if isKnown, let spawned = over.spawned {
            succeed(spawn, spawned, over.traceError, isKnown: true)
        } else if let error = over.error {
            if error.stage == .cgroup, spawn.isReserved, spawn.verdict == nil {
                // Somebody else has removed the cgroup that was in reserve.
                depart(spawn, over.spawned)
                return again(spawn)
            }
            fail(spawn, spawn.verdict ?? error, over.spawned)
        } else if let spawned = over.spawned, spawn.end?.hasExecuted != false, !spawn.isAnswered {
            succeed(spawn, spawned, over.traceError, isKnown: false)
        } else {
            // The app's user killed the process before it executed the program.
            fail(
                spawn, spawn.verdict ?? SpawnError(stage: over.stage, code: ECANCELED), over.spawned
            )
        }
        finishSettling()
    }

    private func again(_ spawn: PendingSpawn) {
        do throws(SpawnError) {
            try begin(
                spawn.specification, in: cgroups.make(for: spawn.specification), isReserved: false)
            spawns.pending[spawn.specification.instance]?.deferred = spawn.deferred
        } catch {
            tell(.spawnFailed(instance: spawn.specification.instance, error))
            finishSettling()
        }
    }

    private func succeed(
        _ spawn: PendingSpawn, _ spawned: Spawned, _ traceError: CInt, isKnown: Bool
    ) {
        // There is no watch yet, because the end of the last process matters only after that of the
        // first.
        var instance = SpawnedInstance(
            number: spawn.specification.instance, app: spawn.specification.app, pid: spawned.pid,
            process: spawned.process, channel: spawn.start.channel,
            group: spawn.cgroup.map { .cgroup($0.cgroup, name: $0.name) }
                ?? .session(leader: spawned.pid),
            watch: nil)
        if traceError != 0 {
            noteUnguarded(traceError)
        } else if spawn.specification.guardedExecutions > 0 {
            instance.guarding = PrewarmGuard(
                spawned.pid, executions: spawn.specification.guardedExecutions,
                channel: spawn.start.farChannel)
        }
        enter(instance)
        if !isKnown { tell(.spawned(instance.entry)) }
        // This is done only now that the launch has been answered.
        instance.moveAside(to: openFiles.firstAside)
        prepareForEnd(of: instance.number)
        beginGuard(of: instance.number)
        if let end = spawn.end {
            endedTraced(spawned.pid)
            exited(spawned.pid, end.status)
        }
        for request in spawn.deferred { try? handle(request) }
    }

    private func fail(_ spawn: PendingSpawn, _ error: SpawnError, _ spawned: Spawned?) {
        depart(spawn, spawned)
        answer(spawn, error)
    }

    private func answer(_ spawn: PendingSpawn, _ error: SpawnError) {
        if spawn.isAnswered { return }
        spawn.isAnswered = true
        tell(.spawnFailed(instance: spawn.specification.instance, error))
    }

    /// Removes the cgroup of a spawn that failed, now or when its process has ended.
    private func depart(_ spawn: PendingSpawn, _ spawned: Spawned?) {
        if let spawned, spawn.end == nil {
            spawns.departing[spawned.pid] = spawn.cgroup?.name
        } else if let cgroup = spawn.cgroup {
            cgroups.remove(cgroup.name)
        }
    }

    // MARK: Time

    func handleSpawnDeadlines(_ now: UInt64) {
        if spawns.pending.isEmpty { return }
        for spawn in Array(spawns.pending.values) where !spawn.isAnswered && now >= spawn.deadline {
            if spawn.start.spawn.announced == .yes {
                // The supervisor has heard of the instance. Only the waiter's report is missing:
                // somebody may have stopped the waiter.
                conclude(spawn)
            } else if let verdict = spawn.verdict {
                // The process waits for something that not even SIGKILL interrupts. It keeps its
                // cgroup, its memory and the descriptors that it was passed until it ends.
                spawn.start.spawn.kill()
                answer(spawn, verdict)
            } else {
                kill(spawn, for: ETIMEDOUT, now)
            }
        }
        finishSettling()
    }

    private func kill(_ spawn: PendingSpawn, for code: CInt, _ now: UInt64) {
        guard spawn.verdict == nil else { return }
        let failure = spawn.start.spawn.failure
        spawn.verdict = SpawnError(
            stage: spawn.start.spawn.stage, code: failure != 0 ? failure : code)
        spawn.deadline = now + SpawnerLimits.killedSpawnMilliseconds * 1_000_000
        spawn.start.spawn.kill()
    }

    /// Kills all spawns under way, because the spawner ends. None of them becomes an instance.
    func killSpawns() {
        let now = MonotonicClock.nanoseconds
        for spawn in spawns.pending.values where !spawn.isAnswered {
            kill(spawn, for: ESHUTDOWN, now)
        }
    }

    // MARK: Requests that have to wait

    func postpone(_ request: SpawnerRequest, until spawn: PendingSpawn) {
        switch request {
        case .kill, .release: kill(spawn, for: ECANCELED, MonotonicClock.nanoseconds)
        case .hello, .spawn, .freeze, .thaw, .shutDown, .keep, .drop, .reconciled,
            .unguard, .listen:
            break
        }
        guard spawn.deferred.count < SpawnerLimits.deferredCount else { return }
        spawn.deferred.append(request)
    }

    func settle(_ then: Spawns.Afterwards) {
        spawns.afterwards.append(then)
        let latest =
            MonotonicClock.nanoseconds + SpawnerLimits.hurriedSpawnMilliseconds * 1_000_000
        for spawn in spawns.pending.values where spawn.verdict == nil {
            spawn.deadline = min(spawn.deadline, latest)
        }
        finishSettling()
    }

    func finishSettling() {
        while !spawns.areUnderWay, !spawns.afterwards.isEmpty {
            switch spawns.afterwards.removeFirst() {
            case .welcome(let stateByteCount):
                // If the supervisor has gone in the meantime, or cannot be served, it connects
                // again.
                guard connection.isOpen else { continue }
                do {
                    try welcome(stateByteCount: stateByteCount)
                } catch {
                    connection.disconnect()
                }
            case .upgrade:
                guard ending == .no else { continue }
                waiters.kill()
                try? upgrade()
            }
        }
    }
}
