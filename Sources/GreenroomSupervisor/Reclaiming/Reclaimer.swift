internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Memory and the machine: what the core asks about them, and what it orders. `Warming`, `Stalling`
/// and `FileLocks` of the core decide what follows.
@LoopActor
final class Reclaimer {
    private let core: Core
    private let instances: InstanceTable
    let pressure: PressureWatcher
    let conditions: ConditionInspector
    let measurer: MemoryMeasurer
    let ends: MemoryEnds
    let pageOut: PageOut
    let instancePressure: InstancePressure
    let priorities: PriorityWriter
    private let calls: DetachedCalls
    private let log: Log
    private lazy var inspection = Rounds(priority: LoopPriority.afterLaunches) { [unowned self] in
        measurer.refreshPrewarmed()
        core.handle(.conditionsInspected(conditions.hold))
    }

    init(
        core: Core, instances: InstanceTable, catalog: AppCatalog, calls: DetachedCalls, log: Log,
        machineRoot: String, _ configuration: DaemonConfiguration
    ) {
        self.core = core
        self.instances = instances
        self.calls = calls
        self.log = log
        let machine = MachineCondition(root: machineRoot)
        measurer = MemoryMeasurer(core: core, instances: instances)
        pressure = PressureWatcher(core: core, machine: machine, measurer: measurer)
        conditions = ConditionInspector(machine: machine, configuration)
        ends = MemoryEnds(core: core, instances: instances, machine: machine)
        pageOut = PageOut(
            core: core, instances: instances, measurer: measurer, calls: calls, log: log,
            machine: machine, mode: configuration.pageOutSuspended)
        instancePressure = InstancePressure(
            core: core, instances: instances, log: log, configuration)
        priorities = PriorityWriter(
            instances: instances, catalog: catalog, ends: ends, pressure: instancePressure,
            backgroundMemoryHigh: configuration.backgroundMemoryHigh)
    }

    /// Applies greenroom.conf, which was read again.
    func reconfigure(_ configuration: DaemonConfiguration) {
        conditions.configuration = configuration
        pageOut.mode = configuration.pageOutSuspended
        priorities.backgroundMemoryHigh = configuration.backgroundMemoryHigh
        instancePressure.warningStall = configuration.pressureWarningStall
        instancePressure.criticalStall = configuration.pressureCriticalStall
        watchPressure(configuration)
    }

    /// Watches memory pressure at the thresholds of greenroom.conf. Says so once if the kernel does
    /// not report it.
    func watchPressure(_ configuration: DaemonConfiguration) {
        guard let reason = pressure.start(configuration) else { return }
        log.sayOnce(
            "the kernel does not report memory pressure (\(reason)); free memory is watched")
    }

    /// Inspects the conditions in a later round of the loop, after launches have been answered.
    func inspectConditions() {
        try? inspection.ask()
    }

    func inspectFileLocks(of identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        let processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
        let report = { [unowned self] (holdsLock: Bool) in
            core.handle(.fileLocksInspected(identifier, holdsLock: holdsLock))
        }
        if let answer = try? ProcLocks.areHeld(by: processes) { return report(answer) }
        let names = ProcLocks.descriptors(of: processes)
        let job = DetachedJob(names.map { .read($0, limit: ProcLocks.descriptorByteLimit) })
        let user = core.lifecycle.description(of: instance.app)?.user ?? .max
        calls.make(job, for: instance.app, of: user) { job in
            // An app that keeps the look waiting is treated like one that holds a lock.
            guard let job else { return report(true) }
            let texts = names.indices.lazy.compactMap { job.bytes($0) }
            report(texts.contains { ProcLocks.isHeld(by: processes, $0) })
        }
    }

    /// Why nothing is prewarmed automatically now, for people to read. The machine is looked at
    /// again.
    var holds: [Control.Note] {
        var notes = conditions.notes
        if core.now < core.lifecycle.prewarmingStarts {
            notes.append(
                Control.Note(
                    code: "start_delay",
                    text:
                        "the machine has just started; PrewarmStartDelaySec= holds prewarming back")
            )
        }
        return notes
    }
}
