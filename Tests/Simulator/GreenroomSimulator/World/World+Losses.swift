import GreenroomLifecycle

// The losses when the spawner dies.

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

    private mutating func lose(_ id: InstanceIdentifier) {
        processes[id]!.isSpawned = true
        processes[id]!.exitStatus = .unknown
        processes[id]!.isEmpty = true
        processes[id]!.isLost = true
        processes[id]!.isReleased = true
    }

    mutating func awaitStart(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive else { return }
        processes[id]!.isWatched = true
        if process.hasStarted { agenda.add(process.start(of: id), at: now) }
    }
}
