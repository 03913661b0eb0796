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
    var priorities: PriorityWriter?
    private var inspection: EventSource?

    init(supervisor: Supervisor, machineRoot: String, _ configuration: DaemonConfiguration) {
        self.supervisor = supervisor
        let machine = MachineCondition(root: machineRoot)
        measurer = MemoryMeasurer(supervisor: supervisor)
        pressure = PressureWatcher(supervisor: supervisor, machine: machine, measurer: measurer)
        conditions = ConditionInspector(machine: machine, configuration)
        ends = MemoryEnds(supervisor: supervisor, machine: machine)
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
        let holders = (try? FileLocks.holders()) ?? []
        supervisor.handle(
            .locksInspected(identifier, holdsLock: processes.contains { holders.contains($0) }))
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
