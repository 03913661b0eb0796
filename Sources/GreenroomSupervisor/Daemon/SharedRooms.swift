internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The parts that every room needs.
@LoopActor
struct SharedRooms {
    let log: Log
    let catalog: AppCatalog
    let core: Core
    let records: RecordMemory
    let events: EventStream
    let reporter: Reporter
    let degradations: Degradations
    let spawner = CurrentSpawner()
    let instances: InstanceTable
    let calls: DetachedCalls
    let requests: Requests
    let messenger: AppMessenger
    let contents: WaitingContents
    let dataFolders: DataFolders
    let learnedFiles: LearnedFiles
    let importLists: ImportLists
    let temporaryFolders: TemporaryFolders
    /// Instances up to this number are a former supervisor's.
    let lastAdopted: InstanceIdentifier

    init(_ prepared: borrowing Prepared) throws {
        let catalog = prepared.catalog
        let (options, former) = (prepared.options, prepared.former)
        self.catalog = catalog
        log = prepared.log
        core = try Core(former.lifecycle(Policy(prepared.configuration)), log: log)
        lastAdopted = InstanceIdentifier(core.lifecycle.nextInstance.rawValue - 1)
        records = RecordMemory(former.state, in: former.memory)
        events = try EventStream(in: former.memory, at: RuntimeState.byteCount) {
            catalog.owner(of: AppIdentifier($0))?.user
        }
        degradations = Degradations(log: log)
        if let note = prepared.configurationNote { degradations.note(note) }
        if let note = prepared.stateNote { degradations.note(note) }
        reporter = try Reporter(
            log: log, events: events, core: core, catalog: catalog, degradations: degradations,
            tellsStatus: prepared.environment.contains { $0.hasPrefix("NOTIFY_SOCKET=") })
        instances = InstanceTable(
            core: core, log: log, spawner: spawner, disposer: prepared.disposal.disposer)
        calls = try DetachedCalls()
        requests = Requests(core: core, instances: instances)
        messenger = AppMessenger(instances: instances, reporter: reporter)
        contents = WaitingContents(
            instances: instances, reporter: reporter, runtimeDirectory: options.runtimeDirectory)
        dataFolders = DataFolders(
            stateDirectory: options.stateDirectory, cacheDirectory: options.cacheDirectory)
        learnedFiles = LearnedFiles(stateDirectory: options.stateDirectory)
        importLists = ImportLists(learnedFiles)
        temporaryFolders = TemporaryFolders(
            core: core, catalog: catalog, dataFolders: dataFolders, spawner: spawner)
    }
}
