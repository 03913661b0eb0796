internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Hears of instances that stall for want of memory within a limit of their own, which the machine's
/// figures show of everybody alike. Each watch costs two descriptors and a worker of the kernel, so there
/// are few: of running instances with a limit, whoever came first.
@LoopActor
final class InstancePressure {
    unowned let supervisor: Supervisor
    var warningStall: Duration
    var criticalStall: Duration
    private var watches: [InstanceIdentifier: [Watch]] = [:]

    /// Instances watched at once.
    static let limit = 32
    private static let file = "memory.pressure"

    private struct Watch {
        let trigger: PressureTrigger
        let source: EventSource
    }

    init(supervisor: Supervisor, _ configuration: DaemonConfiguration) {
        self.supervisor = supervisor
        warningStall = configuration.pressureWarningStall
        criticalStall = configuration.pressureCriticalStall
    }

    var count: Int { watches.count }

    /// It runs from now on, in a cgroup with limits or without.
    func runs(_ identifier: InstanceIdentifier, in cgroup: Cgroup) {
        guard watches[identifier] == nil, watches.count < Self.limit, Self.hasLimit(cgroup) else {
            return
        }
        do {
            watches[identifier] = [
                try watch(identifier, cgroup, .some, warningStall, .warning),
                try watch(identifier, cgroup, .full, criticalStall, .critical),
            ]
        } catch {
            supervisor.reporter.sayOnce("no pressure of single apps: \(error)")
        }
    }

    /// Frozen or gone, it does not stall.
    func rests(_ identifier: InstanceIdentifier) { watches[identifier] = nil }

    private func watch(
        _ identifier: InstanceIdentifier, _ cgroup: Cgroup, _ stall: PressureTrigger.Stall,
        _ threshold: Duration, _ level: MemoryPressure
    ) throws -> Watch {
        let trigger = try PressureTrigger(stall, of: Self.file, in: cgroup, threshold: threshold)
        let source = try LoopActor.io(trigger.descriptor.rawValue, .priority) {
            [unowned self] events in
            // The cgroup is removed.
            if events.contains(.error) { return rests(identifier) }
            if trigger.isTrue { supervisor.handle(.instanceStalled(identifier, level)) }
        }
        return Watch(trigger: trigger, source: source)
    }

    /// The memory controller is there, and holds it to less than the machine has.
    nonisolated static func hasLimit(_ cgroup: Cgroup) -> Bool {
        ["memory.high", "memory.max"].contains { file in
            (try? cgroup.read(file)).map { !$0.hasPrefix("max") } ?? false
        }
    }
}
