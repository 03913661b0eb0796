internal import Systemd

/// The spawner: what it says, and its loss.
@LoopActor
struct RecoveryRooms {
    let recovery: Recovery
    let reconnection: Reconnection

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ prepared: borrowing Prepared
    ) {
        let (core, instances, spawner) = (shared.core, shared.instances, shared.spawner)
        let events = SpawnerEvents(
            core: core, instances: instances, spawner: spawner, freezer: memory.freezer,
            launcher: launching.launcher, appLaunches: launching.appLaunches,
            channels: conversation.channels, ends: memory.reclaimer.ends,
            temporaryFolders: shared.temporaryFolders, degradations: shared.degradations)
        recovery = Recovery(
            core: core, catalog: shared.catalog, instances: instances, spawner: spawner,
            freezer: memory.freezer, launcher: launching.launcher,
            appLaunches: launching.appLaunches, channels: conversation.channels, events: events,
            messenger: shared.messenger, reporter: shared.reporter)
        reconnection = Reconnection(
            prepared.link, isManaged: prepared.inheritance.greeting.isManaged,
            runtimeDirectory: prepared.options.runtimeDirectory,
            spawnerPath: prepared.options.spawnerPath, core: core, records: shared.records,
            watchers: shared.events, instances: instances, spawner: spawner,
            sockets: launching.sockets, temporaryFolders: shared.temporaryFolders,
            priorities: memory.reclaimer.priorities, events: events, recovery: recovery,
            degradations: shared.degradations, log: shared.log)
    }
}
