internal import GreenroomLifecycle
internal import Systemd

/// Effects of a start that clients need not wait for. A new supervisor thaws every running instance
/// and sets its priority again, in case the former one was killed before it did so. That is hardly
/// ever needed, so it is done bit by bit after clients are served, or before the next effect on the
/// same instance.
@LoopActor
final class DeferredEffects {
    private let perform: (Effect) -> Void
    private var effects: [InstanceIdentifier: [Effect]] = [:]
    /// Until clients are served.
    private var isCollecting = true
    /// If the turns had a lower priority, a flood of calls would put the thaws off for ever; if all
    /// thaws were in one turn, they would hold up the calls.
    private lazy var turns = Turns { [unowned self] in performSome() }

    private static let instancesPerTurn = 16

    init(_ perform: @escaping (Effect) -> Void) { self.perform = perform }

    /// Clients are served.
    func end() {
        isCollecting = false
        ask()
    }

    /// - Returns: true if the effect is performed later.
    func takes(_ effect: Effect) -> Bool {
        guard isCollecting || !effects.isEmpty, let instance = effect.target else { return false }
        if isCollecting, Self.mayWait(effect) {
            effects[instance, default: []].append(effect)
            return true
        }
        perform(ofInstance: instance)
        return false
    }

    private static func mayWait(_ effect: Effect) -> Bool {
        switch effect {
        case .thaw, .applyPriority: true
        case _: false
        }
    }

    private func perform(ofInstance instance: InstanceIdentifier) {
        for effect in effects.removeValue(forKey: instance) ?? [] { perform(effect) }
    }

    private func performSome() {
        for instance in effects.keys.prefix(Self.instancesPerTurn) {
            perform(ofInstance: instance)
        }
        ask()
    }

    private func ask() { if effects.isEmpty { turns.end() } else { turns.ask() } }
}
