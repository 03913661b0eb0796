import GreenroomLifecycle

/// How far a program is that will be held, is held, or was told to show its window.
public enum HeldMoment: Hashable, Sendable, CaseIterable {
    /// It is on its way to its main loop, and not at rest there yet.
    case preparing
    /// It is at rest, and not frozen yet.
    case settled
    case frozen
    /// It is thawed for a moment.
    case airing
    /// It was told to go, and has not shown its window yet.
    case released
}

/// What a held program, or the daemon, can lose.
public enum HeldLoss: Hashable, Sendable, CaseIterable {
    /// The process that watches the program's names and settings ends.
    case watch
    /// The display server of the program ends.
    case display
    /// The spawner dies.
    case spawner
    /// The supervisor dies, and another one begins.
    case supervisor
}

/// A loss, and how far a program was that met it.
public struct HeldEncounter: Hashable, Sendable {
    public let loss: HeldLoss
    public let moment: HeldMoment

    public static let all = HeldLoss.allCases.flatMap { loss in
        HeldMoment.allCases.map { HeldEncounter(loss: loss, moment: $0) }
    }
}

extension HeldEncounter: CustomStringConvertible {
    public var description: String { "\(loss) while \(moment)" }
}

extension Checker {
    private func moment(of id: InstanceIdentifier, in world: World) -> HeldMoment? {
        guard let record = saved[id], record.depth == .window, let process = world.processes[id],
            process.isAlive, !process.hasStarted
        else { return nil }
        switch record.state {
        case .prewarming: return .preparing
        case .prewarmed where aired[id] != nil: return .airing
        case .prewarmed: return process.isFrozen ? .frozen : .settled
        case .launching: return record.phase == .toldToGo ? .released : nil
        case .inactive, .active, .background, .suspended, .terminating, .notRunning: return nil
        }
    }

    /// One of the programs that are so far.
    func held(in world: World, _ moment: HeldMoment, _ pick: Int) -> InstanceIdentifier? {
        let ids = world.processes.keys.filter { self.moment(of: $0, in: world) == moment }.sorted()
        return ids.isEmpty ? nil : ids[pick % ids.count]
    }

    mutating func note(_ loss: HeldLoss, of id: InstanceIdentifier, in world: World) {
        guard let moment = moment(of: id, in: world) else { return }
        tally.note(HeldEncounter(loss: loss, moment: moment))
    }

    /// Everything loses this.
    mutating func note(_ loss: HeldLoss, in world: World) {
        for id in world.processes.keys { note(loss, of: id, in: world) }
    }
}
