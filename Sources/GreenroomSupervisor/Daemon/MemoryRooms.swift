internal import GreenroomLinux
internal import Systemd

/// The rooms for memory and for suspending instances.
@LoopActor
struct MemoryRooms {
    let measurer: MemoryMeasurer
    let pressure: PressureWatcher
    let conditions: ConditionInspector
    let inspections: Inspections
    let ends: OutOfMemoryEnds
    let pageOut: PageOut
    let instancePressure: InstancePressure
    let priorities: PriorityWriter
    let freezer: Freezer

    init(_ shared: SharedRooms, _ prepared: borrowing Prepared) {
        let (core, instances, log) = (shared.core, shared.instances, shared.log)
        let configuration = prepared.configuration
        let disposer = prepared.disposal.disposer
        let machine = MachineCondition(root: prepared.options.machineRoot)
        measurer = MemoryMeasurer(core: core, instances: instances)
        pressure = PressureWatcher(
            core: core, machine: machine, measurer: measurer, log: log, disposer: disposer)
        conditions = ConditionInspector(machine: machine, configuration)
        inspections = Inspections(
            core: core, instances: instances, conditions: conditions, measurer: measurer,
            calls: shared.calls)
        ends = OutOfMemoryEnds(core: core, instances: instances, machine: machine)
        pageOut = PageOut(
            core: core, instances: instances, measurer: measurer, calls: shared.calls, log: log,
            machine: machine, configuration)
        instancePressure = InstancePressure(
            core: core, instances: instances, log: log, disposer: disposer, configuration)
        priorities = PriorityWriter(
            instances: instances, catalog: shared.catalog, ends: ends, pressure: instancePressure,
            configuration)
        freezer = Freezer(
            core: core, instances: instances, spawner: shared.spawner, measurer: measurer)
    }
}
