internal import GreenroomSpawner
internal import Systemd

/// The spawner: what it says, and its loss.
@LoopActor
struct RecoveryRooms {
    let recovery: Recovery
    let reconnection: Reconnection

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ learning: ImportLearning,
        _ prepared: borrowing Prepared
    ) {
        let (core, instances, spawner) = (shared.core, shared.instances, shared.spawner)
        let events = SpawnerEvents(
            core: core, instances: instances, spawner: spawner, freezer: memory.freezer,
            launcher: launching.launcher, appLaunches: launching.appLaunches,
            channels: conversation.channels, ends: memory.reclaimer.ends,
            temporaryFolders: shared.temporaryFolders, learning: learning,
            sockets: launching.sockets, degradations: shared.degradations)
        recovery = Recovery(
            core: core, catalog: shared.catalog, instances: instances, spawner: spawner,
            freezer: memory.freezer, launcher: launching.launcher,
            appLaunches: launching.appLaunches, output: launching.output,
            channels: conversation.channels, events: events, messenger: shared.messenger,
            reporter: shared.reporter)
        // Whoever runs the spawner by now will run the next one.
        let source = SpawnerSource(
            prepared.options, mayStart: !prepared.inheritance.greeting.welcome.isManaged)
        reconnection = Reconnection(
            prepared.link, from: source,
            for: SpawnerUsers(
                spawner: spawner, instances: instances, sockets: launching.sockets,
                temporaryFolders: shared.temporaryFolders, learning: learning,
                priorities: memory.reclaimer.priorities, degradations: shared.degradations),
            memory: SpawnerMemory(records: shared.records, events: shared.events),
            core: core, events: events, recovery: recovery, log: shared.log)
    }
}
