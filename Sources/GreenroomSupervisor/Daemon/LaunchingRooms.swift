internal import Systemd

/// The rooms that turn decisions into processes.
@LoopActor
struct LaunchingRooms {
    let sockets: ListeningSockets
    let directories: CredentialDirectories
    let handover: CredentialHandover
    let learner: LibraryLearner
    let inspector: PausedInspector
    let output: AppOutput
    let readiness: ReadinessListener?
    let appLaunches: AppLaunches
    let importRecords: ImportRecords
    let orders: SpawnOrders
    let contexts: LaunchContexts
    let launcher: Launcher
    let newInstances: NewInstances
    let ready: ReadyConditions
    let launches: TriggeredLaunches
    let watches: BusWatches

    init(_ shared: SharedRooms, _ measuring: MeasuringRooms, _ prepared: borrowing Prepared) throws
    {
        let (core, catalog, instances) = (shared.core, shared.catalog, shared.instances)
        let options = prepared.options
        sockets = ListeningSockets(
            core: core, instances: instances, spawner: shared.spawner, log: shared.log)
        directories = CredentialDirectories(
            instances: instances, runtimeDirectory: options.runtimeDirectory)
        handover = CredentialHandover(
            core: core, catalog: catalog, instances: instances, directories: directories,
            messenger: shared.messenger, log: shared.log)
        learner = LibraryLearner(
            core: core, catalog: catalog, instances: instances, calls: shared.calls,
            files: shared.learnedFiles)
        inspector = PausedInspector(
            staleness: try StalenessWatcher(core: core, instances: instances), learner: learner,
            calls: shared.calls, instances: instances)
        output = AppOutput(
            core: core, catalog: catalog, instances: instances,
            directory: options.runtimeDirectory + "/output",
            hasJournal: prepared.environment.contains { $0.hasPrefix("JOURNAL_STREAM=") },
            calls: shared.calls, disposer: prepared.disposal.disposer, log: shared.log)
        readiness = try? ReadinessListener(
            core: core, instances: instances,
            directory: options.runtimeDirectory + "/notify", log: shared.log,
            disposer: prepared.disposal.disposer)
        appLaunches = AppLaunches(
            core: core, catalog: catalog, instances: instances, messenger: shared.messenger,
            handover: handover, traces: measuring.traces, contents: shared.contents,
            dataFolders: shared.dataFolders)
        contexts = LaunchContexts(
            core: core, instances: instances, requests: shared.requests, sockets: sockets,
            credentials: directories, dataFolders: shared.dataFolders,
            digest: shared.records.digest, readiness: readiness)
        importRecords = ImportRecords(
            core: core, catalog: catalog, instances: instances, lists: shared.importLists,
            directory: options.runtimeDirectory + "/imports", log: shared.log,
            disposer: prepared.disposal.disposer)
        orders = SpawnOrders(
            contexts: contexts, output: output,
            preparations: SpawnOrders.Preparations(
                shimPath: options.shimPath, learner: learner, records: importRecords),
            dataFolders: shared.dataFolders, sockets: sockets, handover: handover,
            appLaunches: appLaunches, log: shared.log)
        launcher = Launcher(
            core: core, catalog: catalog, instances: instances, contexts: contexts,
            appLaunches: appLaunches, handover: handover, inspector: inspector,
            reporter: shared.reporter)
        newInstances = NewInstances(
            core: core, catalog: catalog, spawner: shared.spawner, contexts: contexts,
            orders: orders, reporter: shared.reporter)
        ready = ReadyConditions(catalog: catalog, sockets: sockets, readiness: readiness)
        watches = BusWatches(
            core: core, catalog: catalog, instances: instances, orders: orders,
            spawner: shared.spawner, log: shared.log,
            disposer: prepared.disposal.disposer, program: options.busPath)
        launches = TriggeredLaunches(
            core: core, catalog: catalog, contexts: contexts, requests: shared.requests)
    }
}
