internal import GreenroomSpawner
internal import Systemd

/// The rooms for what the spawner says and for its loss.
@LoopActor
struct RecoveryRooms {
    let recovery: Recovery
    let ownProcesses: OwnProcesses
    let reconnection: Reconnection

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ learning: ImportLearning,
        _ prepared: borrowing Prepared
    ) {
        let (core, instances, spawner) = (shared.core, shared.instances, shared.spawner)
        let (channels, prewarms) = (conversation.channels, conversation.prewarms)
        let arrivals = InstanceArrivals(
            core: core, catalog: shared.catalog, instances: instances, channels: channels,
            conversations: AdoptedConversations(
                core: core, catalog: shared.catalog, instances: instances, channels: channels,
                prewarms: prewarms, messenger: shared.messenger),
            ready: launching.ready, appLaunches: launching.appLaunches, output: launching.output)
        ownProcesses = OwnProcesses(
            temporaryFolders: shared.temporaryFolders, learning: learning,
            watches: launching.watches)
        let events = SpawnerEvents(
            core: core, freezer: memory.freezer,
            newInstances: launching.newInstances, prewarms: prewarms, arrivals: arrivals,
            channels: channels, ownProcesses: ownProcesses, sockets: launching.sockets,
            degradations: shared.degradations)
        recovery = Recovery(
            core: core, instances: instances, spawner: spawner, freezer: memory.freezer,
            newInstances: launching.newInstances, prewarms: prewarms, arrivals: arrivals,
            channels: channels, reporter: shared.reporter)
        // Whoever runs the spawner by now will run the next one.
        let source = SpawnerSource(
            prepared.directory, prepared.options,
            mayStart: !prepared.former.greeting.welcome.isManaged)
        reconnection = Reconnection(
            prepared.link, prepared.former.greeting, from: source,
            for: SpawnerUsers(
                spawner: spawner, instances: instances, sockets: launching.sockets,
                ownProcesses: ownProcesses, priorities: memory.priorities,
                degradations: shared.degradations),
            memory: SpawnerMemory(records: shared.records, events: shared.events),
            core: core, events: events, recovery: recovery, log: shared.log)
    }
}
