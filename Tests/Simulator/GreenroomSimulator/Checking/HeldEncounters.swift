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

/// What a held program can meet: a loss of its own or of the daemon's, or a call.
public enum HeldCause: Hashable, Sendable, CaseIterable {
    /// The process that watches the program's names and settings ends.
    case watch
    /// The display server of the program ends.
    case display
    /// The spawner dies.
    case spawner
    /// The supervisor dies, and another one begins.
    case supervisor
    /// Somebody calls a name that the program owns: one call asks something, the other one is to show
    /// the window.
    case question, call

    var isOfName: Bool { self == .question || self == .call }
}

/// What a program met, and how far it was then.
public struct HeldEncounter: Hashable, Sendable {
    public let cause: HeldCause
    public let moment: HeldMoment

    public static let all = HeldCause.allCases.flatMap { cause in
        HeldMoment.allCases.map { HeldEncounter(cause: cause, moment: $0) }
    }
}

extension HeldEncounter: CustomStringConvertible {
    public var description: String { "\(cause) while \(moment)" }
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

    /// One of the programs that are so far and can meet the cause.
    func held(
        in world: World, _ cause: HeldCause, _ moment: HeldMoment, _ pick: Int
    ) -> InstanceIdentifier? {
        let ids = world.processes.keys.filter { id in
            self.moment(of: id, in: world) == moment && canMeet(cause, id, in: world)
        }.sorted()
        return ids.isEmpty ? nil : ids[pick % ids.count]
    }

    /// A call is told of only if the program's name is watched.
    private func canMeet(_ cause: HeldCause, _ id: InstanceIdentifier, in world: World) -> Bool {
        !cause.isOfName
            || (saved[id]?.wantsName == true && world.processes[id]?.hasWatch == true)
    }

    mutating func note(_ cause: HeldCause, of id: InstanceIdentifier, in world: World) {
        guard let moment = moment(of: id, in: world), canMeet(cause, id, in: world) else { return }
        tally.note(HeldEncounter(cause: cause, moment: moment))
    }

    /// All programs meet this.
    mutating func note(_ cause: HeldCause, in world: World) {
        for id in world.processes.keys { note(cause, of: id, in: world) }
    }
}
