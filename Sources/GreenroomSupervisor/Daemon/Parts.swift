internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The parts of a daemon: built here, and told of each other in `wire`. Nothing is started yet.
@LoopActor
final class Parts {
    let supervisor: Supervisor
    let catalog: AppCatalog
    let events: EventStream
    let launches: ReasonedLaunches
    let control: ControlHandler
    let installer: AppInstaller
    let launcher: Launcher
    let instances: InstanceTable
    let channelEvents: ChannelEvents
    let spawnerEvents: SpawnerEvents
    let inspector: PausedInspector
    let readiness: ReadinessListener?
    let staleness: StalenessWatcher
    let timers: AppTimers
    let paths: AppPaths
    let significantTime: SignificantTime
    let machine: MachineEvents
    let locked: LockedUsers
    let emptying = Emptying()
    private let containers: Containers
    /// The daemon is about to end: what would start a process is left to the next one.
    var isEnding = false

    init(
        _ supervisor: Supervisor, _ catalog: AppCatalog, _ events: EventStream, _ options: Options,
        _ configuration: DaemonConfiguration, _ environment: [String], _ disposer: Disposer
    ) throws {
        self.supervisor = supervisor
        self.catalog = catalog
        self.events = events
        containers = Containers(
            stateDirectory: options.stateDirectory, cacheDirectory: options.cacheDirectory)
        let output = AppOutput(
            directory: options.runtimeDirectory + "/output",
            hasJournal: environment.contains { $0.hasPrefix("JOURNAL_STREAM=") })
        instances = InstanceTable(supervisor: supervisor, disposer: disposer)
        launcher = Launcher(
            supervisor: supervisor, catalog: catalog, output: output, shimPath: options.shimPath,
            containers: containers)
        staleness = try StalenessWatcher()
        readiness = try? ReadinessListener(
            supervisor: supervisor, output: output,
            socketPath: options.runtimeDirectory + "/notify", disposer: disposer)
        launcher.contexts.notifySocketPath = readiness?.socketPath
        inspector = PausedInspector(staleness: staleness)
        channelEvents = ChannelEvents(
            supervisor: supervisor, catalog: catalog, readiness: readiness, inspector: inspector,
            disposer: disposer)
        spawnerEvents = SpawnerEvents(
            supervisor: supervisor, channels: channelEvents, emptying: emptying)
        launcher.inspector = inspector
        launches = ReasonedLaunches(supervisor: supervisor, catalog: catalog)
        control = ControlHandler(
            supervisor: supervisor, catalog: catalog, events: events, launches: launches,
            access: try Access(configuration, reporter: supervisor.reporter))
        installer = AppInstaller(
            supervisor: supervisor, catalog: catalog,
            loader: AppLoader(
                directories: options.appDirectories,
                desktop: DesktopSource(
                    paths: options.desktopDirectories, makesApps: options.makesDesktopApps),
                shimPath: options.shimPath,
                daemonEnvironment: environment, containers: containers, digest: supervisor.digest),
            staleness: staleness)
        timers = AppTimers(
            memory: TimerMemory(
                stateDirectory: options.stateDirectory,
                runtimeDirectory: options.runtimeDirectory))
        significantTime = try SignificantTime(reporter: supervisor.reporter)
        paths = AppPaths(reporter: supervisor.reporter)
        machine = MachineEvents(supervisor: supervisor, catalog: catalog)
        locked = LockedUsers(runtimeDirectory: options.runtimeDirectory)
        equip(supervisor, options, configuration)
        wire()
        control.defaultHandlersPath = options.stateDirectory + "/" + HandlerDefaults.fileName
        control.givenDefaultHandlersPath =
            (options.appDirectories.first ?? "/etc/greenroom/apps") + "/"
            + HandlerDefaults.fileName
    }

    /// What the supervisor performs effects with.
    private func equip(
        _ supervisor: Supervisor, _ options: Options, _ configuration: DaemonConfiguration
    ) {
        supervisor.instances = instances
        supervisor.launcher = launcher
        supervisor.control = control
        supervisor.sockets = ListeningSockets(supervisor: supervisor)
        supervisor.reclaimer = Reclaimer(
            supervisor: supervisor, machineRoot: options.machineRoot, configuration)
        supervisor.reclaimer.use(
            PriorityWriter(instances: instances) { [catalog] app in
                PriorityWriter.Own(catalog[app]?.cgroupSettings ?? [])
            }, configuration)
        supervisor.applications = ApplicationChannels(
            supervisor: supervisor, catalog: catalog, runtimeDirectory: options.runtimeDirectory,
            containers: containers)
        supervisor.states = KeptStates(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory)
        supervisor.screens = ShownScreens(supervisor: supervisor, catalog: catalog)
        supervisor.screens.lastInherited = InstanceIdentifier(
            supervisor.lifecycle.nextInstance.rawValue - 1)
        supervisor.metrics = Metrics(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory,
            interval: configuration.metricsInterval)
        supervisor.metrics.deliveries.lastInherited = supervisor.screens.lastInherited
        supervisor.work = BackgroundWork(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory,
            configuration)
    }

    /// Once nothing runs that was launched. A paused instance has made none.
    func emptyTemporaryFiles(of app: AppIdentifier) {
        guard let installed = catalog[app], installed.hasContainer,
            supervisor.lifecycle.instances(of: app).allSatisfy({
                $0.state == .notRunning || $0.state == .prewarming || $0.state == .prewarmed
            })
        else { return }
        emptying.empty(containers.temporaryFolder(of: app.rawValue), of: installed)
    }
}
