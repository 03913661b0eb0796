internal import Glibc
public import GreenroomLinux

extension Spawner {
    /// Serves until the spawner was told to end and every instance has ended.
    public func run() throws(SystemError) {
        // It does not matter whether anybody receives this.
        try? ServiceNotification.send("READY=1")
        try reap()  // The last execution may have read signals without acting on them.
        while !isFinished {
            var entries = [
                PollEntry(signals.descriptor.rawValue, POLLIN),
                PollEntry(emptiness.descriptor.rawValue, POLLIN),
                PollEntry(
                    connection.listener.descriptor.rawValue,
                    connection.isDeaf || spawns.areSettling ? 0 : POLLIN),
                PollEntry(exits.descriptor.rawValue, POLLIN),
                PollEntry(waiters.reports.rawValue, POLLIN),
            ]
            if let number = connection.number, connection.hasUnsent || !spawns.areSettling {
                let reads = spawns.areSettling ? 0 : POLLIN
                entries.append(
                    PollEntry(number, connection.hasUnsent ? reads | POLLOUT : reads))
            }
            if try PollEntry.wait(&entries, milliseconds: timeout) > 0 {
                hasWorked = true
                cgroups.pauseTidying()
            } else if cgroups.hasDiscarded {
                cgroups.tidy()
            } else {
                rest()
            }
            connection.listenAgain()
            // Ends are handled before requests, because a request may reuse a number that has just
            // been freed.
            if entries[0].isReady { try handleSignals() }
            if entries[1].isReady { try handleEmptiness() }
            if entries[3].isReady { try handleExits() }
            if entries[4].isReady { handleSpawnReports() }
            if entries.count > 5, entries[5].isReady { serve() }
            if entries[2].isReady, !spawns.areSettling { connection.accept(hearOut) }
            handleDeadlines()
            refillReserve()
        }
        cleanUp()
    }

    private var isFinished: Bool {
        ending != .no && instances.values.allSatisfy(\.isEmptied) && !spawns.areUnderWay
            // Killed processes that are slow to end have time until the deadline.
            && (ending == .killed || (spawns.pending.isEmpty && spawns.departing.isEmpty))
    }

    private func cleanUp() {
        try? ServiceNotification.send("STOPPING=1")
        waiters.kill()
        for instance in instances.values { removeCgroup(of: instance) }
        cgroups.emptyReserve()
        for name in spawns.departing.values { cgroups.discard(name) }
        for spawn in spawns.pending.values {
            if let name = spawn.cgroup?.name { cgroups.discard(name) }
        }
        if cgroups.hasStrays { removeStrays() }
        cgroups.removeDiscarded()
        cgroups.subtree.remove()
        ledger?.delete()
        _ = unsafe unlink(options.statePath)
        _ = unsafe unlink(options.socketPath)
    }

    private func handleSignals() throws(SystemError) {
        while let signal = try signals.next() {
            switch signal {
            case SIGCHLD: try reap()
            // A spawner that is ending does not execute itself again, because nothing would be left
            // to pass on.
            case SIGUSR1: if ending == .no { settle(.upgrade) }
            default: end(graceMilliseconds: graceMilliseconds)
            }
        }
    }

    /// Runs once after some work. Gives back the pages of program text, which are two thirds of the
    /// resident memory, because the kernel maps 64 KiB around every place that runs.
    private func rest() {
        guard hasWorked else { return }
        hasWorked = false
        OwnMemory.dropText()
    }

    // MARK: Deadlines

    private var timeout: CInt {
        let deadline: UInt64?
        switch ending {
        case .no: deadline = solitudeDeadline
        case .asked(let time): deadline = time
        case .killed: deadline = nil
        }
        var longest = hasWorked ? SpawnerLimits.restMilliseconds : CInt.max
        if cgroups.hasDiscarded {
            longest = cgroups.isTidying ? 0 : SpawnerLimits.discardedMilliseconds
        }
        if connection.isDeaf { longest = min(longest, SpawnerLimits.deafMilliseconds) }
        if awaited.needLooks {
            longest = min(longest, SpawnerLimits.unreapedMilliseconds)
        }
        let deadlines = [deadline, spawns.deadline].compactMap(\.self)
        guard let deadline = deadlines.min() else { return longest == .max ? -1 : longest }
        let now = MonotonicClock.nanoseconds
        let remaining = deadline <= now ? 0 : CInt(clamping: (deadline - now) / 1_000_000 + 1)
        return min(remaining, longest)
    }

    private var solitudeDeadline: UInt64? {
        guard options.isPrivate, !connection.isOpen else { return nil }
        return connection.aloneSince + SpawnerLimits.solitudeMilliseconds * 1_000_000
    }

    private func handleDeadlines() {
        let now = MonotonicClock.nanoseconds
        for (number, deadline) in awaited.unreaped where now >= deadline {
            giveUpStatus(of: number)
        }
        handleSpawnDeadlines(now)
        if !awaited.unnoticed.isEmpty {
            let snapshot = ProcessSnapshot()
            for number in awaited.unnoticed { finish(number, snapshot) }
        }
        switch ending {
        case .no:
            if let deadline = solitudeDeadline, now >= deadline {
                end(graceMilliseconds: graceMilliseconds)
            }
        case .asked(let deadline):
            if now >= deadline { killAll() }
        case .killed: break
        }
    }

    // MARK: The supervisor's connection

    /// Handles what a supervisor had sent before it went away, which is a limited number of
    /// packets.
    private func hearOut() {
        var turns = 0
        while connection.isOpen, turns < SpawnerLimits.queuedPacketCount {
            serve()
            turns += 1
        }
    }

    /// Reads and handles the packets that have arrived.
    private func serve() {
        connection.flush()
        do throws(ConnectionError) {
            // One turn is limited, so that exits are not kept waiting.
            for _ in 0..<64 where !spawns.areSettling {
                guard let packet = try connection.receive() else { return }
                try handle(packet)
            }
        } catch {
            connection.disconnect()
        }
    }

    func tell(_ message: SpawnerMessage) { connection.tell(message) }
}
