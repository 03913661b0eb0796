import GreenroomLifecycle

// The losses when the spawner dies, and the losses of held programs.

extension World {
    /// Loses the spawner's orders. Each is either not carried out, or is carried out without a
    /// report.
    mutating func loseOrders(_ dice: inout Dice) -> [Event] {
        var events: [Event] = []
        for (id, process) in processes.sorted(by: { $0.key < $1.key })
        where !process.isSpawned && !process.isEmpty {
            let isMade = dice.percent(50)
            // If there is a process, the shell ends it.
            if isMade { lose(id) } else { processes[id] = nil }
            events.append(.reconciled(id, found: isMade ? .remains : .nothing))
        }
        return events
    }

    /// Loses the supervisor's ends of channels, when both daemons die. A paused process finds its
    /// channel closed, and nobody hears STARTED from one that was told to go. Some processes are
    /// lost altogether.
    mutating func loseChannels(at now: Instant, _ dice: inout Dice) {
        for (id, process) in processes.sorted(by: { $0.key < $1.key })
        where process.isAlive && !process.isReleased {
            if dice.percent(10) {
                lose(id)
                continue
            }
            guard process.isPrewarm, !process.hasStarted else { continue }
            processes[id]!.hasChannel = false
            processes[id]!.isWatched = false
            if !process.wasToldToGo {
                agenda.add(.exited(id, .exited(0)), at: now.advanced(by: .milliseconds(20)))
            }
        }
    }

    /// The kernel kills the prewarms that the spawner traced. The loss of a channel may be reported
    /// before the end.
    func killTraced(_ dice: inout Dice) -> [Event] {
        var events: [Event] = []
        for (id, process) in processes.sorted(by: { $0.key < $1.key })
        where process.isAlive && process.isPrewarm && !process.isPaused && !process.hasStarted {
            // Not every kernel lets processes be traced.
            guard dice.percent(80) else { continue }
            if dice.percent(50) {
                events.append(.reconciled(id, found: .noChannel(hasEnded: false)))
            }
            // The next spawner may still find the process, and then tells how it ended.
            let signal: UInt8 = dice.percent(20) ? 5 : 9
            let isFound = dice.percent(50)
            events.append(.exited(id, isFound ? .signaled(signal, coreDumped: false) : .unknown))
        }
        return events
    }

    private mutating func lose(_ id: InstanceIdentifier) {
        processes[id]!.isSpawned = true
        processes[id]!.exitStatus = .unknown
        processes[id]!.isEmpty = true
        processes[id]!.isLost = true
        processes[id]!.isReleased = true
    }

    /// What watches a held program ends: nobody tells of settings any more. If it has watched names,
    /// the shell says that the program must end, but not once the program was told to go.
    mutating func endWatch(of id: InstanceIdentifier) -> Event? {
        guard let process = processes[id], process.hasWatch else { return nil }
        processes[id]!.hasWatch = false
        return process.behavior.wantsName && !process.wasToldToGo ? .becameStale(id) : nil
    }

    /// The display of a held program ends. The program finds out when it runs, and ends.
    mutating func endDisplay(of id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive else { return }
        processes[id]!.hasDisplay = false
        if !process.isFrozen {
            agenda.add(.exited(id, .exited(1)), at: now.advanced(by: .milliseconds(1)))
        }
    }

    mutating func awaitStart(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive else { return }
        processes[id]!.isWatched = true
        if process.hasStarted { agenda.add(process.start(of: id), at: now) }
    }
}
