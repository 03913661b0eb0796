internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Hears of memory pressure and tells the core. Instances that could be ended for it are measured
/// first.
///
/// The kernel reports pressure by pressure stall information, and nothing wakes the daemon while
/// all is well. Where the kernel cannot (`psi=0`), free memory is polled from time to time, but
/// only while any instance runs.
@LoopActor
final class PressureWatcher {
    private let core: Core
    private let machine: MachineCondition
    private let measurer: MemoryMeasurer
    private let log: Log
    private let disposer: Disposer
    private var triggers: [PressureTrigger] = []
    private var sources: [EventSource] = []
    private var timer: EventSource?
    private var isTimerArmed = false
    /// The thresholds that are watched: warning, critical.
    private var stalls: [Duration] = []
    /// The level that was reported and waits until the instances are measured.
    private var pending = MemoryPressure.none
    /// Called when the reports that wait for the measurement have reached the core.
    private var waiters: [() -> Void] = []

    /// Free memory below these percentages of all memory is pressure (memory managers of devices
    /// begin at a tenth).
    private static let warningPercent: UInt64 = 10
    private static let criticalPercent: UInt64 = 5
    private static let pollInterval: Duration = .seconds(10)

    init(
        core: Core, machine: MachineCondition, measurer: MemoryMeasurer, log: Log,
        disposer: Disposer
    ) {
        self.core = core
        self.machine = machine
        self.measurer = measurer
        self.log = log
        self.disposer = disposer
    }

    /// Watches memory pressure at the thresholds of greenroom.conf. Says so once if the kernel does
    /// not report it.
    func begin(_ configuration: DaemonConfiguration) {
        guard let reason = start(configuration) else { return }
        log.sayOnce(
            "the kernel does not report memory pressure (\(reason)); free memory is watched")
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) { begin(configuration) }

    /// - Returns: why the kernel does not report pressure; nil if it does.
    private func start(_ configuration: DaemonConfiguration) -> String? {
        let stalls = [configuration.pressureWarningStall, configuration.pressureCriticalStall]
        guard stalls != self.stalls else { return nil }
        self.stalls = stalls
        sources = []
        triggers = []
        timer = nil
        do {
            try watch(.some, configuration.pressureWarningStall, .warning)
            try watch(.full, configuration.pressureCriticalStall, .critical)
            return nil
        } catch {
            sources = []
            triggers = []
            isTimerArmed = false
            timer = try? LoopActor.timer(accuracy: .seconds(5)) { [unowned self] in poll() }
            if core.lifecycle.liveCount > 0 { instancesExist() }
            return "\(error)"
        }
    }

    private func watch(
        _ stall: PressureTrigger.Stall, _ threshold: Duration, _ level: MemoryPressure
    ) throws {
        let trigger = try PressureTrigger(
            stall, of: machine.root + "/proc/pressure/memory", threshold: threshold,
            closedBy: disposer.stranger(.max))
        triggers.append(trigger)
        let index = sources.count
        sources.append(
            try LoopActor.io(trigger.descriptor.rawValue, .priority) { [unowned self] events in
                if events.contains(.error) { return sources[index].isEnabled = false }
                if trigger.isTrue { report(level) }
            })
    }

    /// Takes a report from the kernel or an administrator. What can be taken back is measured, then
    /// the core is told, then `done` is called.
    func report(_ level: MemoryPressure, then done: @escaping () -> Void = {}) {
        guard level > .none else {
            core.handle(.stallReported(.none))
            return done()
        }
        waiters.append(done)
        let isMeasuring = pending > .none
        pending = max(pending, level)
        guard !isMeasuring else { return }
        measurer.measureReclaimable { [unowned self] in
            let (level, waiters) = (pending, waiters)
            (pending, self.waiters) = (.none, [])
            core.handle(.stallReported(level))
            for waiter in waiters { waiter() }
        }
    }

    // MARK: Without PSI

    /// An instance runs from now on.
    func instancesExist() {
        guard timer != nil, !isTimerArmed else { return }
        isTimerArmed = true
        try? timer?.setDeadline(after: Self.pollInterval)
    }

    private func poll() {
        isTimerArmed = false
        if let memory = machine.memory, memory.total > 0 {
            let percent = memory.available / (memory.total / 100 + 1)
            if percent < Self.criticalPercent {
                report(.critical)
            } else if percent < Self.warningPercent {
                report(.warning)
            }
        }
        if core.lifecycle.liveCount > 0 { instancesExist() }
    }
}
