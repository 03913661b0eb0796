internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Measures what all processes of an instance hold together, when it matters: when memory is to be
/// taken back, and when another instance is to be prewarmed. It measures a few instances in each
/// round of the loop, so that nobody waits for it.
@LoopActor
final class MemoryMeasurer {
    private let core: Core
    private let instances: InstanceTable
    private var queue: [InstanceIdentifier] = []
    private var onDone: [() -> Void] = []
    private lazy var rounds = Rounds(priority: LoopPriority.measuring) { [unowned self] in round() }
    /// Instances that wait for ``timer``.
    private var suspended: Set<InstanceIdentifier> = []
    private var timer: EventSource?

    private final class Measurement: InstancePart {
        var instant: Instant?
    }

    /// Measuring one instance takes up to 0.1 ms.
    private static let instancesPerRound = 4
    /// A measurement is believed for this long.
    private static let lifetime: Duration = .seconds(60)
    /// A suspended instance is measured this long after its suspension: whoever wakes it sooner does
    /// not wait for the measurement.
    private static let delay: Duration = .seconds(1)

    init(core: Core, instances: InstanceTable) {
        self.core = core
        self.instances = instances
    }

    /// Measures the instances that could be ended for their memory, then calls back.
    func measureReclaimable(then done: @escaping () -> Void) {
        let wanted = core.lifecycle.instances.filter {
            [.prewarmed, .background, .suspended].contains($0.state) && !$0.isAttached
        }
        measure(wanted.map(\.instance), then: done)
    }

    /// Measures the paused instances whose figures are old: the figures are about to be compared
    /// with the budget.
    func refreshPrewarmed() {
        let now = core.now
        let old = core.lifecycle.instances.filter {
            let at = instances.known(Measurement.self, of: $0.instance)?.instant ?? $0.since
            return $0.state == .prewarmed && at.advanced(by: Self.lifetime) <= now
        }
        if !old.isEmpty { measure(old.map(\.instance)) }
    }

    /// Measures a suspended instance after a while, if it is still suspended then. The figure
    /// counts for its status, its metrics, and the order of reclaiming.
    func measureSuspended(_ identifier: InstanceIdentifier) {
        let isArmed = !suspended.isEmpty
        suspended.insert(identifier)
        guard !isArmed else { return }
        do throws(SystemdError) {
            if timer == nil {
                timer = try LoopActor.timer(
                    accuracy: Self.delay, priority: LoopPriority.measuring
                ) { [unowned self] in measureSuspended() }
            }
            try timer?.setDeadline(after: Self.delay)
        } catch {
            measureSuspended()
        }
    }

    private func measureSuspended() {
        let wanted = suspended.filter { core.lifecycle.instance($0)?.state == .suspended }
        suspended = []
        if !wanted.isEmpty { measure(Array(wanted)) }
    }

    func measure(_ identifiers: [InstanceIdentifier], then done: @escaping () -> Void = {}) {
        queue += identifiers
        onDone.append(done)
        if (try? rounds.ask()) == nil { finish() }
    }

    private func round() {
        for _ in 0..<Self.instancesPerRound {
            guard let next = queue.popLast() else { break }
            measure(next)
        }
        if queue.isEmpty { finish() } else { try? rounds.ask() }
    }

    private func finish() {
        queue = []
        let done = onDone
        onDone = []
        for body in done { body() }
    }

    private func measure(_ identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        instances.part(Measurement.self, of: identifier)?.instant = core.now
        core.handle(.memoryMeasured(identifier, byteCount: instance.byteCount))
    }
}
