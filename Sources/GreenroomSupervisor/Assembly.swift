internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import GreenroomSpawner
public import Systemd

/// The running daemon: builds the parts, wires them, and starts and stops them in order.
@LoopActor
public final class Daemon {
    /// Why it cannot start; says what to do.
    struct StartError: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    let options: Options
    private let journal: Journal
    private let environment: [String]
    let events = EventStream()
    let catalog = AppCatalog()
    let reporter: Reporter
    private let lock: FileDescriptor
    let installer: AppInstaller
    let supervisor: Supervisor
    private let launcher: Launcher
    private let instances: InstanceTable
    private let spawnerEvents: SpawnerEvents
    private let staleness: StalenessWatcher
    private let timers: AppTimers
    private let significantTime: SignificantTime
    private let paths: AppPaths
    private let machine: MachineEvents
    private let emptying = Emptying()
    private let containers: Containers
    private var isStopping = false
    let control: ControlHandler
    private var spawner: SpawnerLink
    private var isSpawnerManaged: Bool
    var listener: ControlListener?
    private var sources: [EventSource] = []
    private var spawnerRetry: EventSource?
    private var stopDeadline: EventSource?

    /// Everything up to the point where clients can connect. Throws what a person must mend.
    public init(options given: Options, environment: [String]) throws {
        let options = given.resolved(against: Self.currentDirectory)
        self.options = options
        self.environment = environment
        journal = Journal(identifier: "greenroomd", fieldPrefix: "GREENROOM_")
        reporter = try Reporter(journal: journal, events: events)
        let configuration = try ConfigurationFile(options: options).read(reporter)
        lock = try Self.takeRuntimeDirectory(options.runtimeDirectory)

        _ = OpenFiles.initial
        let mayStart = !Self.isManaged(environment)
        let greeting: SpawnerLink.Greeting
        (spawner, greeting) = try SpawnerLink.open(
            runtimeDirectory: options.runtimeDirectory, spawnerPath: options.spawnerPath,
            mayStart: mayStart, grace: configuration.terminateGrace)
        isSpawnerManaged = greeting.welcome.isManaged

        let memory = try SharedMemory(mapping: greeting.welcome.state)
        guard memory.byteCount >= RuntimeState.byteCount else {
            throw StartError(
                "the running spawner is of another version; restart greenroom-spawner.service")
        }
        var contents = RuntimeState.Contents()
        let state = unsafe RuntimeState(mapping: memory.baseAddress, contents: &contents)
        if contents.damagedCount > 0 {
            reporter.say(.error, "\(contents.damagedCount) damaged records were dropped")
        }
        events.owner = { [catalog] in catalog.owner(of: AppIdentifier($0))?.user }
        try events.keep(in: memory, at: RuntimeState.byteCount)
        let now = Instant(nanoseconds: MonotonicClock.nanoseconds)
        let lifecycle = Lifecycle(
            restoring: contents.instances, apps: Self.withoutPoolKeys(contents.apps),
            // Also after those that only the spawner knows any more: a number never comes twice.
            nextInstance: max(
                contents.nextInstance,
                InstanceIdentifier(
                    (greeting.instances.map(\.instance).filter { !Emptying.isOwn($0) }.max() ?? 0)
                        + 1)),
            policy: Policy(configuration),
            seed: MonotonicClock.nanoseconds, at: now)
        supervisor = try Supervisor(
            lifecycle: lifecycle, state: state, memory: memory, reporter: reporter)

        containers = Containers(
            stateDirectory: options.stateDirectory, cacheDirectory: options.cacheDirectory)
        let output = AppOutput(
            directory: options.runtimeDirectory + "/output",
            hasJournal: Self.hasJournal(environment))
        instances = InstanceTable(supervisor: supervisor)
        launcher = Launcher(
            supervisor: supervisor, catalog: catalog, output: output, shimPath: options.shimPath,
            containers: containers)
        staleness = try StalenessWatcher()
        let readiness = try? ReadinessListener(
            supervisor: supervisor, output: output,
            socketPath: options.runtimeDirectory + "/notify")
        launcher.notifySocketPath = readiness?.socketPath
        let inspector = PausedInspector(staleness: staleness)
        spawnerEvents = SpawnerEvents(
            supervisor: supervisor, catalog: catalog, readiness: readiness, inspector: inspector)
        spawnerEvents.emptying = emptying
        launcher.inspector = inspector
        control = ControlHandler(
            supervisor: supervisor, catalog: catalog, events: events,
            access: try Access(configuration, reporter: reporter))
        installer = AppInstaller(
            supervisor: supervisor, catalog: catalog,
            loader: AppLoader(
                directories: options.appDirectories,
                desktop: DesktopSource(
                    paths: options.desktopDirectories, makesApps: options.makesDesktopApps),
                shimPath: options.shimPath,
                daemonEnvironment: environment, containers: containers), staleness: staleness)
        timers = AppTimers(
            memory: TimerMemory(
                stateDirectory: options.stateDirectory,
                runtimeDirectory: options.runtimeDirectory))
        significantTime = try SignificantTime(reporter: reporter)
        paths = AppPaths(reporter: reporter)
        machine = MachineEvents(supervisor: supervisor, catalog: catalog)
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
        let applications = ApplicationChannels(
            supervisor: supervisor, catalog: catalog, runtimeDirectory: options.runtimeDirectory,
            containers: containers)
        supervisor.applications = applications
        supervisor.states = KeptStates(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory)
        supervisor.states.send = { [unowned self] in
            supervisor.applications.send($0, to: $1)
        }
        supervisor.states.answer = { [unowned self] in
            supervisor.applications.answer($0, $1, $2)
        }
        supervisor.screens = ShownScreens(supervisor: supervisor, catalog: catalog)
        supervisor.screens.lastInherited = InstanceIdentifier(lifecycle.nextInstance.rawValue - 1)
        let metrics = Metrics(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory,
            interval: configuration.metricsInterval)
        supervisor.metrics = metrics
        metrics.deliveries.lastInherited = supervisor.screens.lastInherited
        metrics.deliveries.send = { applications.send($0, to: $1) }
        supervisor.work = BackgroundWork(
            supervisor: supervisor, catalog: catalog, stateDirectory: options.stateDirectory,
            machineRoot: options.machineRoot, configuration)
        installer.onReload = { [unowned self] in
            timers.update(
                catalog.apps.map { ($0.identifier, $0.timer) }, reporter: supervisor.reporter)
            paths.update(catalog.apps.map { ($0.identifier, $0.path) })
            paths.tryAgain { [unowned self] in supervisor.lifecycle.areTriggersLeftAlone(of: $0) }
            supervisor.handle(.triggersForgiven)
            supervisor.work.update(catalog.apps)
        }
        paths.launch = { [unowned self] in control.launchForPath($0, $1) }
        let locked = LockedUsers(runtimeDirectory: options.runtimeDirectory)
        supervisor.onLock = { [unowned self] user, isLocked in
            do throws(SystemError) { try locked.note(user, isLocked: isLocked) } catch {
                reporter.say(.error, "remembering who is locked: \(error)")
            }
            if !isLocked { supervisor.applications.becameUnlocked(user) }
        }
        emptying.spawner = { [unowned self] in launcher.spawner }
        timers.launch = { [unowned self] in control.launchForTimer($0) }
        significantTime.onNewReckoning = { [unowned self] in timers.reckonAnew() }
        significantTime.onChange = { [unowned self] in supervisor.handle(.significantTimeChanged) }
        applications.open = { [unowned self] in control.openURL($0, from: $1, as: $2) }
        control.defaultHandlersPath = options.stateDirectory + "/" + HandlerDefaults.fileName
        control.givenDefaultHandlersPath =
            (options.appDirectories.first ?? "/etc/greenroom/apps") + "/"
            + HandlerDefaults.fileName
        let measurer = supervisor.reclaimer.measurer
        instances.onOrphanEnd = { [unowned self] identifier, status in
            spawnerEvents.handle(.exited(instance: identifier.rawValue, status))
            spawnerEvents.handle(.emptied(instance: identifier.rawValue))
        }
        instances.onRelease = { [unowned self] instance in
            inspector.forget(instance)
            readiness?.forget(instance)
            applications.forget(instance)
            supervisor.screens.forget(instance)
            metrics.deliveries.forget(instance)
            supervisor.work.forget(instance)
            measurer.forget(instance)
            launcher.forget(instance)
            supervisor.reclaimer.instancePressure.rests(instance)
            guard let app = supervisor.lifecycle.instance(instance)?.app else { return }
            if paths.has(app) { paths.look(at: app) }
            if !isStopping { emptyTemporaryFiles(of: app) }
        }
        staleness.onStaleInstance = { [unowned self] in supervisor.handle(.becameStale($0)) }
        staleness.onChangedApps = { [unowned self] in installer.reloadInTurns() }
        control.installer = installer
        control.reload = { [unowned self] in reload($0) }
        control.surroundings = { [unowned self] in surroundings }
        if environment.contains(where: { $0.hasPrefix("NOTIFY_SOCKET=") }) {
            reporter.statusText = { [unowned self] in statusText }
        }

        // Before anything is launched.
        for user in locked.users { supervisor.handle(.lockChanged(user: user, isLocked: true)) }
        use(spawner, greeting)
        supervisor.sockets.inherit(greeting.kept)
        installer.reload()
        supervisor.sockets.dropUnclaimed()
        metrics.adopt(contents.instances)
        recovery.reconcile(contents.instances, with: greeting.instances)
        applications.credentials.removeAll { supervisor.instances[$0] != nil }
        // News of the spawner are about instances that are known by now.
        try spawner.activate()
        supervisor.handle(.loggedIn(foregroundGroup: AppLoader.group(ofUser: getuid())))
        reporter.launchIdentifier = { [unowned supervisor] in
            supervisor.lifecycle.instance($0)?.launchIdentifier
        }
        machine.onSurroundingsChanged = { [unowned self] in installer.reload() }
        machine.begin()
        supervisor.handle(.restored)
        metrics.deliveries.reviewAll()
        for app in catalog.unsortedApps { emptyTemporaryFiles(of: app.identifier) }
        if let reason = supervisor.reclaimer.pressure.start(configuration) {
            reporter.sayOnce(
                "the kernel does not tell of memory pressure (\(reason)); free memory is looked at")
        }
        try open(
            ControlListener.Limits(
                connections: configuration.connectionsMax,
                connectionsPerUser: configuration.connectionsPerUser))
        try handleSignals()
    }

    /// Serves until told to end. Returns the exit status.
    public func run() -> Int32 {
        do throws(SystemdError) { try LoopActor.shared.loop.setWatchdog(true) } catch {
            reporter.failed("setting up the watchdog", error)
        }
        Notify.ready(status: statusText)
        machine.connect()
        // The start runs much code that is never needed again: half of what is resident.
        OwnMemory.dropText()
        defer {
            supervisor.metrics.write()
            events.flush()
        }
        return LoopActor.shared.loop.run()
    }

    /// The environments that belong to the keys were in the former supervisor's memory alone. What
    /// is paused with one stays; the pool follows the session's until a launch brings another.
    private static func withoutPoolKeys(_ apps: [AppRecord]) -> [AppRecord] {
        apps.map { app in
            var app = app
            app.poolKey = nil
            return app
        }
    }

    // MARK: The runtime directory

    /// One daemon to a runtime directory: the lock (flock(2)) ends with the process, however it ends.
    private static func takeRuntimeDirectory(_ path: String) throws -> FileDescriptor {
        if unsafe mkdir(path, 0o755) != 0, errno != EEXIST {
            throw StartError("creating \(path): \(SystemError.text(of: errno))")
        }
        let lock = try FileDescriptor.open(path + "/lock", O_RDWR | O_CREAT, mode: 0o600)
        // A supervisor killed while it started its spawner has left a copy to the child, which lets go
        // when it executes.
        var isTaken = false
        for _ in 0..<200 where !isTaken {
            isTaken = flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0
            if !isTaken { usleep(5_000) }
        }
        guard isTaken else {
            throw StartError(
                "another greenroomd runs in \(path); stop it or give --runtime-directory DIR")
        }
        return lock
    }

    private static var currentDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    private static func isManaged(_ environment: [String]) -> Bool {
        environment.contains { $0.hasPrefix("INVOCATION_ID=") }
            && environment.contains { $0.hasPrefix("NOTIFY_SOCKET=") }
    }

    private static func hasJournal(_ environment: [String]) -> Bool {
        environment.contains { $0.hasPrefix("JOURNAL_STREAM=") }
    }

    private var surroundings: Control.Surroundings {
        Control.Surroundings(
            runtimeDirectory: options.runtimeDirectory,
            configurationFile: options.configurationFile,
            appDirectories: options.appDirectories, shimFile: options.shimPath,
            spawnerFile: options.spawnerPath,
            spawnerProcessId: launcher.spawner == nil ? nil : spawner.process)
    }

    /// Once nothing runs that was launched. A paused instance has made none.
    private func emptyTemporaryFiles(of app: AppIdentifier) {
        guard let installed = catalog[app], installed.hasContainer,
            supervisor.lifecycle.instances(of: app).allSatisfy({
                $0.state == .notRunning || $0.state == .prewarming || $0.state == .prewarmed
            })
        else { return }
        emptying.empty(containers.temporaryFolder(of: app.rawValue), of: installed)
    }

    // MARK: The spawner

    private var recovery: Recovery {
        Recovery(supervisor: supervisor, events: spawnerEvents, spawner: spawner)
    }

    private func use(_ link: SpawnerLink, _ greeting: SpawnerLink.Greeting) {
        spawner = link
        launcher.spawner = link
        emptying.forget()
        supervisor.sockets.spawner = link
        instances.spawner = link
        supervisor.reclaimer.priorities?.controllersMayDiffer()
        instances.cgroups = greeting.welcome.cgroup.map(Cgroup.init(directory:))
        if let reason = greeting.welcome.degradation {
            let note = Control.Note(
                code: "no_cgroups",
                text: "\(reason); apps are suspended with SIGSTOP, and memory is not accounted")
            control.degraded = [note]
            reporter.sayOnce(note.text)
        }
        link.onMessage = { [unowned self] message in
            // With its apps goes their supervisor. (Requires= would also end us with a crash.)
            if case .ending = message, isSpawnerManaged { return stop() }
            spawnerEvents.handle(message)
        }
        link.onLost = { [unowned self] in spawnerLost() }
    }

    /// The apps live on: their descriptors are ours too. Only exit statuses are lost, unless the
    /// spawner has merely executed itself anew.
    private func spawnerLost() {
        instances.spawner = nil
        launcher.spawner = nil
        supervisor.sockets.spawner = nil
        // Not at once: an effect that is being performed may have found it out.
        retrySpawner(after: .zero)
    }

    private func reopenSpawner() {
        do {
            let (link, greeting) = try SpawnerLink.open(
                runtimeDirectory: options.runtimeDirectory, spawnerPath: options.spawnerPath,
                mayStart: !isSpawnerManaged, grace: supervisor.lifecycle.policy.terminateGrace,
                patience: SpawnerLink.shortPatience)
            let memory = try SharedMemory(mapping: greeting.welcome.state)
            guard memory.byteCount >= RuntimeState.byteCount else {
                throw StartError(
                    "the running spawner is of another version; restart greenroom-spawner.service")
            }
            spawnerRetry = nil
            var contents = RuntimeState.Contents()
            supervisor.use(
                unsafe RuntimeState(mapping: memory.baseAddress, contents: &contents),
                memory: memory)
            try events.keep(in: memory, at: RuntimeState.byteCount)
            let orders = link.isSameSpawner(as: spawner) ? Array(spawner.openOrders.values) : []
            use(link, greeting)
            if greeting.kept.isEmpty { supervisor.sockets.keepAll() }
            recovery.reconnect(with: greeting.instances, repeating: orders)
            instances.forgetFormerCgroups()
            try link.activate()
            reporter.say(.notice, "the spawner is back")
        } catch {
            reporter.sayOnce("reaching the spawner: \(error)")
            instances.orphan(allBut: [])
            recovery.failPendingOrders()
            // systemd starts it again within moments; a failing start of ours is tried as often.
            retrySpawner(after: .milliseconds(500))
        }
    }

    private func retrySpawner(after delay: Duration) {
        do throws(SystemdError) {
            spawnerRetry = try LoopActor.timer(after: delay) { [unowned self] in reopenSpawner() }
        } catch {
            reporter.failed("arming the timer", error)
        }
    }

    private var statusText: String {
        let states = supervisor.lifecycle.instances.map(\.state)
        let running = states.count {
            [.launching, .inactive, .active, .background].contains($0)
        }
        return "\(catalog.count) apps, \(running) running, "
            + "\(states.count { $0 == .suspended }) suspended, "
            + "\(states.count { $0 == .prewarmed }) prewarmed"
    }

    // MARK: Clients and signals

    private func open(_ limits: ControlListener.Limits) throws {
        let inherited = try InheritedSocket.takeAll()
        let socket: UnixSocket
        if let first = inherited.first {
            socket = UnixSocket(FileDescriptor(owning: first.descriptor))
            try socket.descriptor.setNonblocking(true)
        } else {
            socket = try UnixSocket.listen(
                at: options.runtimeDirectory + "/control", .stream, mode: 0o666, backlog: 512)
        }
        listener = try ControlListener(socket: socket, limits: limits.fittingHere) {
            [unowned self] in
            control.serve($0)
        }
    }

    private func handleSignals() throws(SystemdError) {
        sources = [
            try LoopActor.signal(SIGHUP) { [unowned self] _ in
                Notify.reloading(status: "reading manifests")
                reload { [unowned self] _ in Notify.ready(status: statusText) }
            },
            try LoopActor.signal(SIGTERM) { [unowned self] _ in stop() },
            try LoopActor.signal(SIGINT) { [unowned self] _ in stop() },
        ]
    }

    /// Under systemd the apps belong to greenroom-apps.service and stay; otherwise they are ours
    /// to end, and the spawner with them.
    private func stop() {
        Notify.stopping(status: "stopping")
        supervisor.metrics.write()
        if isSpawnerManaged { return LoopActor.shared.loop.exit(0) }
        // Asked a second time: now, and who has not ended is killed.
        guard !isStopping else { return endSpawner(graceMilliseconds: 0) }
        isStopping = true
        machine.leave()
        supervisor.onEmpty = { [unowned self] in endSpawner(graceMilliseconds: 1000) }
        supervisor.handle(.shutdownRequested)
        endLater(after: supervisor.lifecycle.policy.terminateGrace * 2 + .seconds(5)) {
            [unowned self] in endSpawner(graceMilliseconds: 0)
        }
    }

    private func endSpawner(graceMilliseconds: UInt32) {
        // Not known to live, or deaf: then what it has not done, nobody can.
        guard launcher.spawner != nil else { return LoopActor.shared.loop.exit(0) }
        spawner.onLost = { LoopActor.shared.loop.exit(0) }
        endLater(after: .seconds(5)) { LoopActor.shared.loop.exit(0) }
        spawner.send(.shutDown(graceMilliseconds: graceMilliseconds))
    }

    private func endLater(after delay: Duration, _ body: @escaping @LoopActor () -> Void) {
        stopDeadline = try? LoopActor.timer(after: delay, body)
    }
}
