internal import Glibc
public import GreenroomLinux

extension Spawner {
    /// Serves until told to end and every instance has ended.
    public func run() throws(SystemError) {
        // Nobody there to hear it is no reason not to serve.
        try? ServiceNotification.send("READY=1")
        try reap()  // Signals may have been taken from the last execution's queue, not acted upon.
        while !isFinished {
            var entries = [
                PollEntry(signals.descriptor.rawValue, POLLIN),
                PollEntry(emptiness.descriptor.rawValue, POLLIN),
                PollEntry(listener.descriptor.rawValue, isDeaf || isSettling ? 0 : POLLIN),
                PollEntry(exits.descriptor.rawValue, POLLIN),
            ]
            if let supervisor, supervisor.stream.hasUnsent || !isSettling {
                let reads = isSettling ? 0 : POLLIN
                let events = supervisor.stream.hasUnsent ? reads | POLLOUT : reads
                entries.append(
                    PollEntry(supervisor.stream.socket.descriptor.rawValue, events))
            }
            if try PollEntry.wait(&entries, milliseconds: timeout) > 0 {
                hasWorked = true
                hasBegunTidying = false
            } else if litter.isEmpty {
                rest()
            } else {
                hasBegunTidying = true
                removeLitter(atMost: SpawnerLimits.litterAtOnce)
            }
            isDeaf = false
            // Ends before requests: a number that was freed can be used again by the same packet.
            if entries[0].isReady { try handleSignals() }
            if entries[1].isReady { try handleEmptiness() }
            if entries[3].isReady { try handleExits() }
            if entries.count > 4, entries[4].isReady { serve() }
            if entries[2].isReady, !isSettling { accept() }
            handleDeadlines()
            refillReserve()
        }
        cleanUp()
    }

    private var isFinished: Bool {
        ending != .no && instances.values.allSatisfy(\.isEmptied) && !isSpawning
            // What was killed and is slow to end has until the deadline.
            && (ending == .killed || (pending.isEmpty && departing.isEmpty))
    }

    private func cleanUp() {
        try? ServiceNotification.send("STOPPING=1")
        for instance in instances.values { removeCgroup(of: instance) }
        for name in reserve.empty() { discard(cgroup: name) }
        for name in departing.values { discard(cgroup: name) }
        for spawn in pending.values { if let name = spawn.cgroup?.name { discard(cgroup: name) } }
        if strays { removeStrays() }
        removeLitter()
        subtree.remove()
        ledger?.delete()
        _ = unsafe unlink(options.statePath)
        _ = unsafe unlink(options.socketPath)
    }

    private func handleSignals() throws(SystemError) {
        while let signal = try signals.next() {
            switch signal {
            case SIGCHLD: try reap()
            // Not while it ends: there is nothing left to go on with.
            case SIGUSR1: if ending == .no { settle(.upgrade) }
            default: end(graceMilliseconds: graceMilliseconds)
            }
        }
    }

    /// Once after some work: gives back the program text, of which the kernel maps 64 KiB around
    /// every place that runs. It is two thirds of what is resident.
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
        if !litter.isEmpty { longest = isTidying ? 0 : SpawnerLimits.litterMilliseconds }
        if isDeaf { longest = min(longest, SpawnerLimits.deafMilliseconds) }
        if !unreaped.isEmpty || !lingering.isEmpty {
            longest = min(longest, SpawnerLimits.unreapedMilliseconds)
        }
        let deadlines = [deadline, spawnDeadline].compactMap(\.self)
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
        for (number, deadline) in unreaped where now >= deadline { giveUpStatus(of: number) }
        handleSpawnDeadlines(now)
        if !lingering.isEmpty {
            let snapshot = ProcessSnapshot()
            for number in lingering { finish(number, snapshot) }
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

    /// A living supervisor is not pushed out by another; one that has gone, or that never said
    /// hello, is replaced.
    private func accept() {
        while true {
            let socket: UnixSocket
            do throws(SystemError) {
                guard let next = try listener.accept() else { return }
                socket = next
            } catch {
                // Out of descriptors. Who waits is heard when there is one; ended for this, we would
                // take every exit status with us.
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

    /// What one that has gone had sent before: there is an end to it.
    private func hearOut() {
        var turns = 0
        while supervisor != nil, turns < SpawnerLimits.queuedPacketCount {
            serve()
            turns += 1
        }
    }

    /// Reads and answers what has come. Any error ends the connection, never us: the supervisor
    /// comes back and reads the table.
    private func serve() {
        flush()
        do throws(ConnectionError) {
            // A bound on one turn, so that exits are not kept waiting.
            for _ in 0..<64 where !isSettling {
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

    /// Says it to the supervisor, if there is one that has said hello.
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

    /// A supervisor that hears nothing any more is heard to its end: were what it released lost, the
    /// next one would be told of it again.
    private func stopTelling() {
        supervisor?.listens = false
        supervisor?.stream.end()
    }
}
