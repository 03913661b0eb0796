internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Hears of instances that stall for lack of memory within a limit of their own; the machine's
/// figures cover all processes together. Each watch costs two descriptors and a worker of the
/// kernel, so only a few instances are watched: the first running ones that have a limit.
@LoopActor
final class InstancePressure {
    private let core: Core
    private let instances: InstanceTable
    private let log: Log
    private let disposer: Disposer
    private var warningStall: Duration
    private var criticalStall: Duration
    /// How many instances are watched.
    private(set) var count = 0

    /// At most this many instances are watched at a time.
    static let limit = 32
    private static let file = "memory.pressure"

    private struct Watch {
        let trigger: PressureTrigger
        let source: EventSource
    }

    @LoopActor
    private final class Watches: InstancePart {
        private var watches: [Watch] = []
        /// The object whose count includes this instance.
        private weak var counter: InstancePressure?

        var isEmpty: Bool { watches.isEmpty }

        func begin(_ watches: [Watch], countedBy counter: InstancePressure) {
            end()
            self.watches = watches
            self.counter = counter
            counter.count += 1
        }

        func end() {
            watches = []
            counter?.count -= 1
            counter = nil
        }

        isolated deinit { counter?.count -= 1 }
    }

    init(
        core: Core, instances: InstanceTable, log: Log, disposer: Disposer,
        _ configuration: DaemonConfiguration
    ) {
        self.core = core
        self.instances = instances
        self.log = log
        self.disposer = disposer
        warningStall = configuration.pressureWarningStall
        criticalStall = configuration.pressureCriticalStall
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) {
        warningStall = configuration.pressureWarningStall
        criticalStall = configuration.pressureCriticalStall
    }

    /// The instance runs from now on, in a cgroup with limits or without.
    func watch(_ identifier: InstanceIdentifier, in cgroup: Cgroup) {
        // Whoever freezes and thaws an app again and again makes triggers faster than they can be
        // closed.
        guard count < Self.limit, !disposer.stranger(.max).isOverdrawn,
            let watches = instances.part(Watches.self, of: identifier),
            watches.isEmpty, Self.hasLimit(cgroup)
        else { return }
        do {
            watches.begin(
                [
                    try watch(identifier, cgroup, .some, warningStall, .warning),
                    try watch(identifier, cgroup, .full, criticalStall, .critical),
                ], countedBy: self)
        } catch {
            log.sayOnce("the memory pressure of single apps is not watched: \(error)")
        }
    }

    /// The instance is not to be watched any more: it is prewarmed, frozen or gone.
    func unwatch(_ identifier: InstanceIdentifier) {
        instances.known(Watches.self, of: identifier)?.end()
    }

    private func watch(
        _ identifier: InstanceIdentifier, _ cgroup: Cgroup, _ stall: PressureTrigger.Stall,
        _ threshold: Duration, _ level: MemoryPressure
    ) throws -> Watch {
        let trigger = try PressureTrigger(
            stall, of: Self.file, in: cgroup, threshold: threshold,
            closedBy: disposer.stranger(.max))
        let source = try LoopActor.io(trigger.descriptor.rawValue, .priority) {
            [unowned self] events in
            // The cgroup is removed.
            if events.contains(.error) { return unwatch(identifier) }
            if trigger.isTrue { core.handle(.instanceStalled(identifier, level)) }
        }
        return Watch(trigger: trigger, source: source)
    }

    /// Whether the memory controller is there and has set a limit for the cgroup.
    nonisolated static func hasLimit(_ cgroup: Cgroup) -> Bool {
        ["memory.high", "memory.max"].contains { file in
            (try? cgroup.read(file)).map { !$0.hasPrefix("max") } ?? false
        }
    }
}
