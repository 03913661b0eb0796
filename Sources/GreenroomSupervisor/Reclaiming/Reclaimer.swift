internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Memory and the machine: what the core wants to know of them and what it wants done. See `Warming`,
/// `Stalling` and `Locking` for what follows from it.
@LoopActor
final class Reclaimer {
    unowned let supervisor: Supervisor
    let pressure: PressureWatcher
    let conditions: ConditionInspector
    let measurer: MemoryMeasurer
    let ends: MemoryEnds
    let pageOut: PageOut
    let instancePressure: InstancePressure
    var priorities: PriorityWriter?
    private var inspection: EventSource?

    init(supervisor: Supervisor, machineRoot: String, _ configuration: DaemonConfiguration) {
        self.supervisor = supervisor
        let machine = MachineCondition(root: machineRoot)
        measurer = MemoryMeasurer(supervisor: supervisor)
        pressure = PressureWatcher(supervisor: supervisor, machine: machine, measurer: measurer)
        conditions = ConditionInspector(machine: machine, configuration)
        ends = MemoryEnds(supervisor: supervisor, machine: machine)
        pageOut = PageOut(
            supervisor: supervisor, machine: machine, configuration.pageOutSuspended)
        instancePressure = InstancePressure(supervisor: supervisor, configuration)
    }

    /// Uses `writer`, and hears of its instances' own pressure from the states that it is told.
    func use(_ writer: PriorityWriter, _ configuration: DaemonConfiguration) {
        priorities = writer
        writer.backgroundMemoryHigh = configuration.backgroundMemoryHigh
        writer.onApplied = { [unowned self] instance, priority in
            if priority == .background || priority == .suspended, let cgroup = instance.cgroup {
                ends.lives(instance.identifier, in: cgroup)
            }
            let isRunning = priority == .foreground || priority == .background
            if isRunning, let cgroup = instance.cgroup {
                instancePressure.runs(instance.identifier, in: cgroup)
            } else {
                instancePressure.rests(instance.identifier)
            }
        }
    }

    /// Greenroom.conf was read anew.
    /// - Returns: why the kernel does not tell of pressure, if so.
    func reconfigure(_ configuration: DaemonConfiguration) -> String? {
        conditions.configuration = configuration
        pageOut.mode = configuration.pageOutSuspended
        priorities?.backgroundMemoryHigh = configuration.backgroundMemoryHigh
        instancePressure.warningStall = configuration.pressureWarningStall
        instancePressure.criticalStall = configuration.pressureCriticalStall
        return pressure.start(configuration)
    }

    /// In a round of its own: whoever launched last has their answer before.
    func inspectConditions() {
        if inspection == nil {
            inspection = try? LoopActor.deferred(priority: 5) { [unowned self] in
                measurer.refreshPrewarmed()
                supervisor.handle(.conditionsInspected(conditions.hold))
            }
        } else {
            inspection?.isEnabled = true
        }
    }

    func inspectLocks(of identifier: InstanceIdentifier) {
        guard let instance = supervisor.instances[identifier] else { return }
        let processes = (try? instance.cgroup?.processes()) ?? [instance.pid]
        let holdsLock = (try? FileLocks.areHeld(by: processes)) ?? false
        supervisor.handle(.locksInspected(identifier, holdsLock: holdsLock))
    }

    /// Why nothing is prewarmed by itself now, for people: looked at anew.
    var holds: [Control.Note] {
        var notes = conditions.notes
        if supervisor.now < supervisor.lifecycle.prewarmingStarts {
            notes.append(
                Control.Note(
                    code: "start_delay",
                    text:
                        "the machine has just started; PrewarmStartDelaySec= holds prewarming back")
            )
        }
        return notes
    }

    /// What it holds now, for status and for the order of reclaiming.
    func wasFrozen(_ identifier: InstanceIdentifier) { measurer.measure([identifier]) }
}

extension PrewarmHold {
    /// As `Explain` names it.
    var code: String {
        switch self {
        case .lowMemory: "low_memory"
        case .highLoad: "high_load"
        case .lowBattery: "low_battery"
        case .thermalStress: "thermal_stress"
        }
    }
}
