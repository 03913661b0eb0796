internal import Glibc
public import GreenroomLinux

extension Spawner {
    /// Serves until told to end and every instance has ended.
    public func run() throws(SystemError) {
        // The spawner serves even if nobody receives this.
        try? ServiceNotification.send("READY=1")
        try reap()  // The last execution may have read signals and not acted upon them.
        while !isFinished {
            var entries = [
                PollEntry(signals.descriptor.rawValue, POLLIN),
                PollEntry(emptiness.descriptor.rawValue, POLLIN),
                PollEntry(listener.descriptor.rawValue, isDeaf || spawns.areSettling ? 0 : POLLIN),
                PollEntry(exits.descriptor.rawValue, POLLIN),
            ]
            if let supervisor, supervisor.stream.hasUnsent || !spawns.areSettling {
                let reads = spawns.areSettling ? 0 : POLLIN
                let events = supervisor.stream.hasUnsent ? reads | POLLOUT : reads
                entries.append(
                    PollEntry(supervisor.stream.socket.descriptor.rawValue, events))
            }
            if try PollEntry.wait(&entries, milliseconds: timeout) > 0 {
                hasWorked = true
                cgroups.pauseTidying()
            } else if cgroups.hasLitter {
                cgroups.tidy()
            } else {
                rest()
            }
            isDeaf = false
            // Ends before requests: the same packet may use a number again that has just been
            // freed.
            if entries[0].isReady { try handleSignals() }
            if entries[1].isReady { try handleEmptiness() }
            if entries[3].isReady { try handleExits() }
            if entries.count > 4, entries[4].isReady { serve() }
            if entries[2].isReady, !spawns.areSettling { accept() }
            handleDeadlines()
            refillReserve()
        }
        cleanUp()
    }

    private var isFinished: Bool {
        ending != .no && instances.values.allSatisfy(\.isEmptied) && !spawns.areUnderWay
            // Processes that were killed and are slow to end have time until the deadline.
            && (ending == .killed || (spawns.pending.isEmpty && spawns.departing.isEmpty))
    }

    private func cleanUp() {
        try? ServiceNotification.send("STOPPING=1")
        for instance in instances.values { removeCgroup(of: instance) }
        cgroups.emptyReserve()
        for name in spawns.departing.values { cgroups.discard(name) }
        for spawn in spawns.pending.values {
            if let name = spawn.cgroup?.name { cgroups.discard(name) }
        }
        if cgroups.hasStrays { removeStrays() }
        cgroups.removeLitter()
        cgroups.subtree.remove()
        ledger?.delete()
        _ = unsafe unlink(options.statePath)
        _ = unsafe unlink(options.socketPath)
    }

    private func handleSignals() throws(SystemError) {
        while let signal = try signals.next() {
            switch signal {
            case SIGCHLD: try reap()
            // Not while the spawner ends: there is nothing left to go on with.
            case SIGUSR1: if ending == .no { settle(.upgrade) }
            default: end(graceMilliseconds: graceMilliseconds)
            }
        }
    }

    /// Runs once after some work. Gives back the program text, which is two thirds of what is
    /// resident: the kernel maps 64 KiB around every place that runs.
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
        if cgroups.hasLitter { longest = cgroups.isTidying ? 0 : SpawnerLimits.litterMilliseconds }
        if isDeaf { longest = min(longest, SpawnerLimits.deafMilliseconds) }
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
        guard options.isPrivate, supervisor == nil else { return nil }
        return aloneSince + SpawnerLimits.solitudeMilliseconds * 1_000_000
    }

    private func handleDeadlines() {
        let now = MonotonicClock.nanoseconds
        for (number, deadline) in awaited.unreaped where now >= deadline {
            giveUpStatus(of: number)
        }
        handleSpawnDeadlines(now)
        if !awaited.lingering.isEmpty {
            let snapshot = ProcessSnapshot()
            for number in awaited.lingering { finish(number, snapshot) }
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

    /// Accepts a supervisor. A live supervisor is not replaced by another; one that has gone, or
    /// that never said hello, is.
    private func accept() {
        while true {
            let socket: UnixSocket
            do throws(SystemError) {
                guard let next = try listener.accept() else { return }
                socket = next
            } catch {
                // Out of descriptors. Whoever waits is accepted when there is one. If the spawner
                // ended because of this, every exit status would be lost.
                isDeaf = true
                return
            }
            guard (try? socket.peerCredentials())?.user == geteuid() else { continue }
            if let current = supervisor, current.saidHello {
                guard current.stream.socket.isEnded else { continue }
                hearOut()
            }
            supervisor = Supervisor(stream: PacketStream(socket))
        }
    }

    /// Handles what a supervisor that has gone had sent before; that is a limited number of
    /// packets.
    private func hearOut() {
        var turns = 0
        while supervisor != nil, turns < SpawnerLimits.queuedPacketCount {
            serve()
            turns += 1
        }
    }

    /// Reads and answers what has come. An error ends the connection, and never the spawner: the
    /// supervisor comes back and reads the table.
    private func serve() {
        flush()
        do throws(ConnectionError) {
            // A limit on one turn, so that exits are not kept waiting.
            for _ in 0..<64 where !spawns.areSettling {
                guard let packet = try supervisor?.stream.receive() else { return }
                try handle(packet)
            }
        } catch {
            disconnect()
        }
    }

    func disconnect() {
        supervisor = nil
        aloneSince = MonotonicClock.nanoseconds
    }

    /// Sends a message to the supervisor, if one is connected that has said hello.
    func tell(_ message: SpawnerMessage) {
        guard let supervisor, supervisor.saidHello, supervisor.listens else { return }
        do {
            try supervisor.stream.send(message.packet())
        } catch {
            stopTelling()
        }
    }

    private func flush() {
        guard let supervisor, supervisor.listens else { return }
        do { try supervisor.stream.flush() } catch { stopTelling() }
    }

    /// Stops sending to a supervisor that receives nothing any more. What it has sent is still
    /// handled: if its releases were lost, the next supervisor would be told about these instances
    /// again.
    private func stopTelling() {
        supervisor?.listens = false
        supervisor?.stream.end()
    }
}
