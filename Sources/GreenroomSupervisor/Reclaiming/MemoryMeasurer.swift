internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Measures what instances hold, all their processes together, when it matters: when memory is to
/// be taken back, and when another is to be prewarmed. A few in each round of the loop, so that
/// nobody waits for it.
@LoopActor
final class MemoryMeasurer {
    unowned let supervisor: Supervisor
    private var queue: [InstanceIdentifier] = []
    private var onDone: [() -> Void] = []
    private var source: EventSource?
    private var measuredAt: [InstanceIdentifier: Instant] = [:]

    /// An instance costs 50 µs to 1 ms.
    private static let instancesPerRound = 4
    /// Those of an app that forks without end are many.
    private static let processLimit = 64
    /// What was measured since is believed.
    private static let lifetime: Duration = .seconds(60)
    /// Behind launches and exits.
    private static let priority: Int64 = 10

    init(supervisor: Supervisor) { self.supervisor = supervisor }

    /// Measures whoever could be ended for their memory, then calls back.
    func measureReclaimable(then done: @escaping () -> Void) {
        let wanted = supervisor.lifecycle.instances.filter {
            [.prewarmed, .background, .suspended].contains($0.state) && !$0.isAttached
        }
        measure(wanted.map(\.instance), then: done)
    }

    /// Measures the paused ones whose figures are old: the budget is about to be judged by them.
    func refreshPrewarmed() {
        let now = supervisor.now
        let old = supervisor.lifecycle.instances.filter {
            let at = measuredAt[$0.instance] ?? $0.since
            return $0.state == .prewarmed && at.advanced(by: Self.lifetime) <= now
        }
        if !old.isEmpty { measure(old.map(\.instance)) }
    }

    func measure(_ instances: [InstanceIdentifier], then done: @escaping () -> Void = {}) {
        queue += instances
        onDone.append(done)
        if source == nil {
            source = try? LoopActor.deferred(priority: Self.priority) { [unowned self] in round() }
        } else {
            source?.isEnabled = true
        }
        if source == nil { finish() }
    }

    func forget(_ instance: InstanceIdentifier) { measuredAt[instance] = nil }

    private func round() {
        for _ in 0..<Self.instancesPerRound {
            guard let next = queue.popLast() else { break }
            measure(next)
        }
        if queue.isEmpty { finish() } else { source?.isEnabled = true }
    }

    private func finish() {
        queue = []
        let done = onDone
        onDone = []
        for body in done { body() }
    }

    private func measure(_ identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier] else { return }
        measuredAt[identifier] = supervisor.now
        supervisor.handle(.memoryMeasured(identifier, byteCount: Self.byteCount(of: instance)))
    }

    static func byteCount(of instance: Instance) -> UInt64 {
        let processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
        return processes.prefix(processLimit).reduce(0) {
            $0 + ProcessMemory.proportionalByteCount(of: $1)
        }
    }
}
