internal import Systemd

/// The rooms for memory and for suspending instances.
@LoopActor
struct MemoryRooms {
    let reclaimer: Reclaimer
    let freezer: Freezer

    init(_ shared: SharedRooms, _ prepared: borrowing Prepared) {
        reclaimer = Reclaimer(
            core: shared.core, instances: shared.instances, catalog: shared.catalog,
            calls: shared.calls, log: shared.log, machineRoot: prepared.options.machineRoot,
            prepared.configuration)
        freezer = Freezer(
            core: shared.core, instances: shared.instances, spawner: shared.spawner,
            measurer: reclaimer.measurer)
    }
}
