internal import GreenroomLifecycle
internal import Systemd

/// Effects of a start that clients need not wait for. A new supervisor repeats for every running
/// instance that it is thawed and what its priority is, in case the former one had not come to it.
/// Nearly always it had, so that is done bit by bit after clients are served, or before the next
/// effect on the same instance.
@LoopActor
final class DeferredEffects {
    private let perform: (Effect) -> Void
    private var effects: [InstanceIdentifier: [Effect]] = [:]
    private var isCollecting = false
    /// At a lower priority, a flood of calls would put the thaws off for ever; all in one turn, the
    /// thaws would hold up the calls.
    private lazy var turns = Turns { [unowned self] in performSome() }

    private static let instancesPerTurn = 16

    init(_ perform: @escaping (Effect) -> Void) { self.perform = perform }

    /// Collects effects from now on.
    func begin() { isCollecting = true }

    /// Clients are served.
    func end() {
        isCollecting = false
        ask()
    }

    /// - Returns: true if the effect is performed later.
    func takes(_ effect: Effect) -> Bool {
        guard isCollecting || !effects.isEmpty, let (instance, mayWait) = Self.target(of: effect)
        else { return false }
        if isCollecting, mayWait {
            effects[instance, default: []].append(effect)
            return true
        }
        perform(ofInstance: instance)
        return false
    }

    /// The process on which the effect acts.
    private static func target(of effect: Effect) -> (InstanceIdentifier, mayWait: Bool)? {
        switch effect {
        case .thaw(let instance), .applyPriority(let instance, _): (instance, true)
        case .freeze(let instance), .freezePaused(let instance), .terminate(let instance),
            .kill(let instance), .release(let instance, _), .go(let instance, _, _),
            .awaitStart(let instance), .tell(let instance, _, _), .notify(let instance, _),
            .deliver(let instance, _, _), .inspectTracer(let instance),
            .inspectFileLocks(let instance), .inspectConnections(let instance),
            .pageOut(let instance), .learnLibraries(let instance, _),
            .watchSettings(let instance), .startRun(let instance, _, _),
            .expireRun(let instance, _, _), .tellBackgroundTime(let instance, _),
            .tellExpiration(let instance, _):
            (instance, false)
        case .save, .erase, .saveApp, .eraseApp, .saveTasks, .spawn, .answer, .report,
            .awaitConnection, .ignoreConnections, .inspectConditions, .keepState, .refuseState,
            .deleteState, .handOverState, .keepSessions, .noteVersion, .inspectTaskConditions,
            .setTaskAlarm:
            nil
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
