import GreenroomLifecycle

// What is lost with the spawner.

extension World {
    /// Its orders: each is either not carried out, or it is and nobody hears of that.
    mutating func loseOrders(_ dice: inout Dice) -> [Event] {
        var events: [Event] = []
        for (id, process) in processes.sorted(by: { $0.key < $1.key })
        where !process.isSpawned && !process.isEmpty {
            let isMade = dice.percent(50)
            // The shell ends what was made.
            if isMade { lose(id) } else { processes[id] = nil }
            events.append(.reconciled(id, found: isMade ? .remains : .nothing))
        }
        return events
    }

    /// The supervisor's ends of channels, if both die: what is paused finds nobody, and what was told to
    /// go says STARTED to nobody. Some are lost altogether.
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
        if process.hasStarted { agenda.add(.started(id), at: now) }
    }
}
