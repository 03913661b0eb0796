internal import Systemd

/// The rooms for what apps say and are told.
@LoopActor
struct ConversationRooms {
    let states: KeptStates
    let work: BackgroundWork
    let opening: URLOpening
    let appRequests: AppRequests
    let applications: ApplicationChannels
    let prewarms: PrewarmReports
    let channels: ChannelEvents

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ measuring: MeasuringRooms,
        _ launching: LaunchingRooms,
        _ prepared: borrowing Prepared
    ) {
        let (core, catalog, instances) = (shared.core, shared.catalog, shared.instances)
        let stateDirectory = prepared.options.stateDirectory
        states = KeptStates(
            core: core, catalog: catalog, instances: instances, messenger: shared.messenger,
            log: shared.log, stateDirectory: stateDirectory)
        work = BackgroundWork(
            core: core, catalog: catalog, instances: instances, messenger: shared.messenger,
            inspector: memory.conditions, log: shared.log,
            stateDirectory: stateDirectory, prepared.configuration)
        opening = URLOpening(
            catalog: catalog, launches: launching.launches, stateDirectory: stateDirectory,
            manifestDirectory: prepared.options.appDirectories.first ?? "/etc/greenroom/apps")
        appRequests = AppRequests(
            core: core, instances: instances, requests: shared.requests,
            messenger: shared.messenger, contents: shared.contents, opening: opening)
        applications = ApplicationChannels(
            core: core, catalog: catalog, instances: instances, messenger: shared.messenger,
            requests: shared.requests, contents: shared.contents, states: states,
            traces: measuring.traces, appLaunches: launching.appLaunches)
        let reports = ApplicationReports(
            core: core, states: states, metrics: measuring.metrics,
            deliveries: measuring.deliveries, traces: measuring.traces, work: work,
            appLaunches: launching.appLaunches, appRequests: appRequests)
        prewarms = PrewarmReports(
            core: core, catalog: catalog, instances: instances, spawner: shared.spawner,
            contexts: launching.contexts, inspector: launching.inspector,
            watches: launching.watches, reporter: shared.reporter)
        channels = ChannelEvents(
            core: core, catalog: catalog, instances: instances, spawner: shared.spawner,
            prewarms: prewarms, reports: reports, ready: launching.ready, ends: memory.ends,
            reporter: shared.reporter)
    }
}
