internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The rooms of a daemon that runs, each made with those below it. Nothing has been started yet,
/// and no effect is performed: that begins with the next stage, `Adopted`.
@LoopActor
final class Rooms {
    let ground: Ground
    let memory: MemoryRooms
    let figures: Figures
    let launching: LaunchingRooms
    let conversation: ConversationRooms
    let outside: Outside
    let recovery: RecoveryRooms
    let control: ControlRooms

    init(_ prepared: borrowing Prepared) throws {
        ground = try Ground(prepared)
        memory = MemoryRooms(ground, prepared)
        figures = Figures(ground, memory, prepared)
        launching = try LaunchingRooms(ground, figures, prepared)
        conversation = ConversationRooms(ground, memory, figures, launching, prepared)
        outside = try Outside(ground, launching, conversation, prepared)
        recovery = RecoveryRooms(ground, memory, launching, conversation, prepared)
        control = try ControlRooms(
            ground, memory, figures, launching, conversation, outside, prepared)
    }
}

/// What every room needs.
@LoopActor
struct Ground {
    let log: Log
    let catalog: AppCatalog
    let core: Core
    let records: Records
    let events: EventStream
    let reporter: Reporter
    let degradations: Degradations
    let spawner = CurrentSpawner()
    let instances: InstanceTable
    let calls: DetachedCalls
    let requests: Requests
    let messenger: AppMessenger
    let contents: WaitingContents
    let containers: Containers
    let temporaryFolders: TemporaryFolders
    /// Instances up to this number are a former supervisor's.
    let lastInherited: InstanceIdentifier

    init(_ prepared: borrowing Prepared) throws {
        let catalog = prepared.catalog
        let (options, inheritance) = (prepared.options, prepared.inheritance)
        self.catalog = catalog
        log = prepared.log
        core = try Core(inheritance.lifecycle(Policy(prepared.configuration)), log: log)
        lastInherited = InstanceIdentifier(core.lifecycle.nextInstance.rawValue - 1)
        records = Records(inheritance.state, in: inheritance.memory)
        events = try EventStream(in: inheritance.memory, at: RuntimeState.byteCount) {
            catalog.owner(of: AppIdentifier($0))?.user
        }
        reporter = try Reporter(
            log: log, events: events, core: core, catalog: catalog,
            tellsStatus: prepared.environment.contains { $0.hasPrefix("NOTIFY_SOCKET=") })
        degradations = Degradations(log: log)
        instances = InstanceTable(
            core: core, log: log, spawner: spawner, disposer: prepared.disposal.disposer)
        calls = try DetachedCalls()
        requests = Requests(core: core, instances: instances)
        messenger = AppMessenger(instances: instances, reporter: reporter)
        contents = WaitingContents(
            instances: instances, runtimeDirectory: options.runtimeDirectory)
        containers = Containers(
            stateDirectory: options.stateDirectory, cacheDirectory: options.cacheDirectory)
        temporaryFolders = TemporaryFolders(
            core: core, catalog: catalog, containers: containers, spawner: spawner)
    }
}

/// Memory, and what suspends an instance.
@LoopActor
struct MemoryRooms {
    let reclaimer: Reclaimer
    let freezer: Freezer

    init(_ ground: Ground, _ prepared: borrowing Prepared) {
        reclaimer = Reclaimer(
            core: ground.core, instances: ground.instances, catalog: ground.catalog,
            calls: ground.calls, log: ground.log, machineRoot: prepared.options.machineRoot,
            prepared.configuration)
        freezer = Freezer(
            core: ground.core, instances: ground.instances, spawner: ground.spawner,
            measurer: reclaimer.measurer)
    }
}

/// Metrics, the steps of launches, and launch screens.
@LoopActor
struct Figures {
    let deliveries: MetricDeliveries
    let metrics: Metrics
    let traces: LaunchTraces
    let screens: ShownScreens

    init(_ ground: Ground, _ memory: MemoryRooms, _ prepared: borrowing Prepared) {
        let instances = ground.instances
        let books = MetricBooks(
            log: ground.log, stateDirectory: prepared.options.stateDirectory,
            inUse: { Presences.keys(of: instances) })
        let presences = Presences(
            core: ground.core, catalog: ground.catalog, instances: instances, books: books,
            interval: prepared.configuration.metricsIntervalMicroseconds)
        deliveries = MetricDeliveries(
            presences: presences, books: books, instances: instances,
            messenger: ground.messenger, log: ground.log, lastInherited: ground.lastInherited)
        metrics = Metrics(
            core: ground.core, catalog: ground.catalog, instances: instances, books: books,
            presences: presences, deliveries: deliveries, measurer: memory.reclaimer.measurer)
        traces = LaunchTraces(
            core: ground.core, instances: instances, metrics: metrics,
            reporter: ground.reporter)
        screens = ShownScreens(
            core: ground.core, catalog: ground.catalog, instances: instances,
            requests: ground.requests, reporter: ground.reporter,
            lastInherited: ground.lastInherited)
    }
}

/// What turns decisions into processes.
@LoopActor
struct LaunchingRooms {
    let sockets: ListeningSockets
    let directories: CredentialDirectories
    let handover: CredentialHandover
    let staleness: StalenessWatcher
    let inspector: PausedInspector
    let output: AppOutput
    let readiness: ReadinessListener?
    let appLaunches: AppLaunches
    let contexts: LaunchContexts
    let launcher: Launcher
    let launches: ReasonedLaunches

    init(_ ground: Ground, _ figures: Figures, _ prepared: borrowing Prepared) throws {
        let (core, catalog, instances) = (ground.core, ground.catalog, ground.instances)
        let options = prepared.options
        sockets = ListeningSockets(
            core: core, instances: instances, spawner: ground.spawner, log: ground.log)
        directories = CredentialDirectories(
            instances: instances, runtimeDirectory: options.runtimeDirectory)
        handover = CredentialHandover(
            core: core, catalog: catalog, instances: instances, directories: directories,
            messenger: ground.messenger, log: ground.log)
        staleness = try StalenessWatcher(core: core, instances: instances)
        inspector = PausedInspector(
            staleness: staleness, calls: ground.calls, instances: instances)
        output = AppOutput(
            instances: instances, directory: options.runtimeDirectory + "/output",
            hasJournal: prepared.environment.contains { $0.hasPrefix("JOURNAL_STREAM=") },
            log: ground.log)
        readiness = try? ReadinessListener(
            core: core, instances: instances, output: output,
            directory: options.runtimeDirectory + "/notify", log: ground.log,
            disposer: prepared.disposal.disposer)
        appLaunches = AppLaunches(
            core: core, catalog: catalog, instances: instances, messenger: ground.messenger,
            handover: handover, traces: figures.traces, contents: ground.contents,
            containers: ground.containers)
        contexts = LaunchContexts(
            core: core, requests: ground.requests, sockets: sockets,
            credentials: directories, containers: ground.containers,
            digest: ground.records.digest, readiness: readiness)
        let orders = SpawnOrders(
            contexts: contexts, output: output, shimPath: options.shimPath,
            containers: ground.containers, sockets: sockets, handover: handover,
            appLaunches: appLaunches, log: ground.log)
        launcher = Launcher(
            core: core, catalog: catalog, instances: instances, spawner: ground.spawner,
            contexts: contexts, orders: orders, appLaunches: appLaunches, handover: handover,
            inspector: inspector, sockets: sockets, readiness: readiness,
            reporter: ground.reporter)
        launches = ReasonedLaunches(
            core: core, catalog: catalog, contexts: contexts, requests: ground.requests)
    }
}

/// What apps say and are told.
@LoopActor
struct ConversationRooms {
    let states: KeptStates
    let work: BackgroundWork
    let opening: URLOpening
    let appRequests: AppRequests
    let applications: ApplicationChannels
    let channels: ChannelEvents

    init(
        _ ground: Ground, _ memory: MemoryRooms, _ figures: Figures, _ launching: LaunchingRooms,
        _ prepared: borrowing Prepared
    ) {
        let (core, catalog, instances) = (ground.core, ground.catalog, ground.instances)
        let stateDirectory = prepared.options.stateDirectory
        states = KeptStates(
            core: core, catalog: catalog, instances: instances, messenger: ground.messenger,
            log: ground.log, stateDirectory: stateDirectory)
        work = BackgroundWork(
            core: core, catalog: catalog, instances: instances, messenger: ground.messenger,
            requests: ground.requests, inspector: memory.reclaimer.conditions, log: ground.log,
            stateDirectory: stateDirectory, prepared.configuration)
        opening = URLOpening(
            catalog: catalog, launches: launching.launches, stateDirectory: stateDirectory,
            manifestDirectory: prepared.options.appDirectories.first ?? "/etc/greenroom/apps")
        appRequests = AppRequests(
            core: core, instances: instances, requests: ground.requests,
            messenger: ground.messenger, contents: ground.contents, work: work, opening: opening)
        applications = ApplicationChannels(
            core: core, catalog: catalog, instances: instances, messenger: ground.messenger,
            requests: ground.requests, contents: ground.contents, states: states,
            metrics: figures.metrics, deliveries: figures.deliveries, traces: figures.traces,
            work: work, appLaunches: launching.appLaunches, appRequests: appRequests)
        channels = ChannelEvents(
            core: core, catalog: catalog, instances: instances, spawner: ground.spawner,
            contexts: launching.contexts, launcher: launching.launcher,
            ends: memory.reclaimer.ends, deliveries: figures.deliveries, applications: applications,
            readiness: launching.readiness, inspector: launching.inspector,
            reporter: ground.reporter)
    }
}

/// What comes from the machine: manifests, times, files, users.
@LoopActor
struct Outside {
    let paths: AppPaths
    let loader: AppLoader
    let installer: AppInstaller
    let locks: SessionLocks
    let machine: MachineEvents
    private let significantTime: SignificantTime

    init(
        _ ground: Ground, _ launching: LaunchingRooms, _ conversation: ConversationRooms,
        _ prepared: borrowing Prepared
    ) throws {
        let (core, catalog, log) = (ground.core, ground.catalog, ground.log)
        let options = prepared.options
        let timers = AppTimers(
            launches: launching.launches, log: log,
            memory: TimerMemory(
                stateDirectory: options.stateDirectory,
                runtimeDirectory: options.runtimeDirectory))
        paths = AppPaths(launches: launching.launches, log: log)
        loader = AppLoader(
            directories: options.appDirectories,
            desktop: DesktopSource(
                paths: options.desktopDirectories, makesApps: options.makesDesktopApps),
            shimPath: options.shimPath, daemonEnvironment: prepared.environment,
            containers: ground.containers, digest: ground.records.digest)
        installer = AppInstaller(
            core: core, catalog: catalog, loader: loader, sockets: launching.sockets,
            states: conversation.states, contexts: launching.contexts,
            staleness: launching.staleness, timers: timers, paths: paths,
            work: conversation.work, reporter: ground.reporter, log: log)
        locks = SessionLocks(
            core: core, users: LockedUsers(runtimeDirectory: options.runtimeDirectory),
            handover: launching.handover, log: log)
        machine = MachineEvents(
            core: core, catalog: catalog, installer: installer, locks: locks, log: log)
        significantTime = try SignificantTime(core: core, timers: timers, log: log)
    }
}

/// The spawner: what it says, and its loss.
@LoopActor
struct RecoveryRooms {
    let recovery: Recovery
    let reconnection: Reconnection

    init(
        _ ground: Ground, _ memory: MemoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ prepared: borrowing Prepared
    ) {
        let (core, instances, spawner) = (ground.core, ground.instances, ground.spawner)
        let events = SpawnerEvents(
            core: core, instances: instances, spawner: spawner, freezer: memory.freezer,
            launcher: launching.launcher, appLaunches: launching.appLaunches,
            channels: conversation.channels, ends: memory.reclaimer.ends,
            temporaryFolders: ground.temporaryFolders, degradations: ground.degradations)
        recovery = Recovery(
            core: core, catalog: ground.catalog, instances: instances, spawner: spawner,
            freezer: memory.freezer, launcher: launching.launcher,
            appLaunches: launching.appLaunches, channels: conversation.channels, events: events,
            messenger: ground.messenger, reporter: ground.reporter)
        reconnection = Reconnection(
            prepared.link, isManaged: prepared.inheritance.greeting.isManaged,
            runtimeDirectory: prepared.options.runtimeDirectory,
            spawnerPath: prepared.options.spawnerPath, core: core, records: ground.records,
            watchers: ground.events, instances: instances, spawner: spawner,
            sockets: launching.sockets, temporaryFolders: ground.temporaryFolders,
            priorities: memory.reclaimer.priorities, events: events, recovery: recovery,
            degradations: ground.degradations, log: ground.log)
    }
}

/// What serves clients.
@LoopActor
struct ControlRooms {
    let settings: ControlSettings
    let reload: Reload
    let replies: Replies
    let handler: ControlHandler

    init(
        _ ground: Ground, _ memory: MemoryRooms, _ figures: Figures, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ outside: Outside, _ prepared: borrowing Prepared
    ) throws {
        let (core, catalog, instances) = (ground.core, ground.catalog, ground.instances)
        let (requests, reclaimer, work) = (ground.requests, memory.reclaimer, conversation.work)
        let (installer, options) = (outside.installer, prepared.options)
        settings = ControlSettings(
            access: try Access(prepared.configuration, log: ground.log),
            limits: ControlListener.Limits(prepared.configuration))
        reload = Reload(
            file: ConfigurationFile(options), settings: settings, core: core,
            events: ground.events, reclaimer: reclaimer, work: work, metrics: figures.metrics,
            installer: installer, log: ground.log)
        let authorization = Authorization(
            core: core, catalog: catalog, installer: installer, settings: settings)
        let objections = PrewarmObjections(core: core)
        let descriptions = Descriptions(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            objections: objections, loader: outside.loader, spawner: ground.spawner,
            traces: figures.traces, screens: figures.screens, work: work,
            degradations: ground.degradations, surroundings: Control.Surroundings(options))
        replies = Replies(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            objections: objections, conditions: reclaimer.conditions)
        handler = ControlHandler(
            core: core, instances: instances, requests: requests, events: ground.events,
            authorization: authorization, descriptions: descriptions,
            explanations: Explanations(
                core: core, catalog: catalog, reclaimer: reclaimer, objections: objections),
            launchCalls: LaunchCalls(
                core: core, requests: requests, authorization: authorization,
                contexts: launching.contexts, launches: launching.launches),
            applicationCalls: ApplicationCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                launches: launching.launches, opening: conversation.opening,
                machine: outside.machine, locks: outside.locks),
            taskCalls: TaskCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                work: work),
            metrics: figures.metrics, pressure: reclaimer.pressure, installer: installer,
            reload: reload)
    }
}

extension Control.Surroundings {
    fileprivate init(_ options: Options) {
        self.init(
            runtimeDirectory: options.runtimeDirectory,
            configurationFile: options.configurationFile,
            appDirectories: options.appDirectories, shimFile: options.shimPath,
            spawnerFile: options.spawnerPath, spawnerProcessId: nil)
    }
}

extension ConfigurationFile {
    init(_ options: Options) {
        self.init(path: options.configurationFile, isRequired: options.isConfigurationRequired)
    }
}
