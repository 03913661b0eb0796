import GreenroomLifecycle

// The supervisor's inspections of the machine: its condition, paging out, file locks, sockets.

extension World {
    mutating func inspectConditions(at now: Instant) {
        var dice = Dice(seed: seed, thing: now.nanoseconds ^ 0x5eed)
        let obstacle = dice.percent(70) ? nil : PrewarmObstacle.allCases[dice.below(4)]
        agenda.add(.conditionsInspected(obstacle), at: now)
    }

    mutating func pageOut(_ id: InstanceIdentifier, at now: Instant) {
        agenda.add(
            .pagedOut(id, byteCount: processes[id]?.behavior.byteCount ?? 0),
            at: now.advanced(by: .milliseconds(20)))
    }

    mutating func inspectFileLocks(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id] else { return }
        let holdsLock = process.behavior.locksLeft > 0
        processes[id]!.behavior.locksLeft -= holdsLock ? 1 : 0
        agenda.add(
            .fileLocksInspected(id, holdsLock: holdsLock), at: now.advanced(by: .milliseconds(1)))
    }

    /// Any running process of the app that accepts connections accepts a waiting client.
    mutating func inspectConnections(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id] else { return }
        if process.behavior.accepts, !process.isFrozen { connected.remove(process.app) }
        let isInUse = connected.contains(process.app)
        agenda.add(
            .connectionsInspected(id, isInUse: isInUse), at: now.advanced(by: .milliseconds(1)))
    }

    /// A client connects to the app's socket. Nil if the supervisor does not watch it.
    mutating func connect(_ app: AppIdentifier) -> Event? {
        connected.insert(app)
        return listening.remove(app) == nil ? nil : .connectionArrived(app)
    }

    mutating func awaitConnection(_ app: AppIdentifier, at now: Instant) {
        listening.insert(app)
        if connected.contains(app) {
            agenda.add(.connectionArrived(app), at: now.advanced(by: .milliseconds(1)))
        }
    }
}
