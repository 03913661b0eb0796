internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
public import Systemd

/// Why the daemon cannot start; says what to do.
struct StartError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The running daemon: takes over what a former one left, has its parts built and wired, and starts and
/// stops them in order.
@LoopActor
public final class Daemon {
    let options: Options
    let reporter: Reporter
    let parts: Parts
    let spawner: CurrentSpawner
    private let lock: FileDescriptor
    private let disposal: Disposal
    private let shutdown: Shutdown
    var listener: ControlListener?
    private var sources: [EventSource] = []

    var supervisor: Supervisor { parts.supervisor }
    var control: ControlHandler { parts.control }

    /// Everything up to the point where clients can connect. Throws what a person must mend.
    public init(options given: Options, environment: [String]) throws {
        let options = given.resolved(against: RuntimeDirectory.currentDirectory)
        self.options = options
        let events = EventStream()
        let journal = Journal(identifier: "greenroomd", fieldPrefix: "GREENROOM_")
        reporter = try Reporter(journal: journal, events: events)
        let configuration = try ConfigurationFile(options: options).read(reporter)
        lock = try RuntimeDirectory.take(options.runtimeDirectory)
        // Before the spawner: one started for a daemon that then cannot serve would stay behind.
        let socket = try ControlSocket.open(in: options.runtimeDirectory)

        _ = OpenFiles.initial
        disposal = try Disposal()
        let (link, greeting) = try SpawnerLink.open(
            runtimeDirectory: options.runtimeDirectory, spawnerPath: options.spawnerPath,
            mayStart: !Self.isManaged(environment), grace: configuration.terminateGrace)
        let inheritance = try Inheritance(greeting, reporter: reporter)
        let catalog = AppCatalog()
        events.owner = { catalog.owner(of: AppIdentifier($0))?.user }
        try events.keep(in: inheritance.memory, at: RuntimeState.byteCount)
        let supervisor = try inheritance.supervisor(Policy(configuration), reporter: reporter)
        parts = try Parts(
            supervisor, catalog, events, options, configuration, environment, disposal.disposer)
        spawner = CurrentSpawner(
            link, parts: parts, options: options, isManaged: greeting.isManaged)
        shutdown = Shutdown(parts: parts, spawner: spawner)
        connect()
        if environment.contains(where: { $0.hasPrefix("NOTIFY_SOCKET=") }) {
            reporter.statusText = { [unowned self] in statusText }
        }

        // Before anything is launched.
        let locked = LockedUsers(runtimeDirectory: options.runtimeDirectory)
        for user in locked.users { supervisor.handle(.lockChanged(user: user, isLocked: true)) }
        try takeOver(inheritance, configuration)
        try serve(
            socket,
            ControlListener.Limits(
                connections: configuration.connectionsMax,
                connectionsPerUser: configuration.connectionsPerUser))
        try handleSignals()
    }

    /// What the parts ask of the whole.
    private func connect() {
        spawner.onEnding = { [unowned self] in shutdown.begin() }
        control.reload = { [unowned self] in reload($0) }
        control.surroundings = { [unowned self] in surroundings }
    }

    private func takeOver(_ inheritance: Inheritance, _ configuration: DaemonConfiguration) throws {
        let (greeting, instances) = (inheritance.greeting, inheritance.contents.instances)
        spawner.use(greeting)
        supervisor.sockets.inherit(greeting.kept)
        parts.installer.reload()
        supervisor.sockets.dropUnclaimed()
        supervisor.metrics.adopt(instances)
        spawner.recovery.reconcile(instances, with: greeting.instances)
        supervisor.applications.handover.directories.removeAll { [supervisor] in
            supervisor.instances[$0] != nil
        }
        // News of the spawner are about instances that are known by now.
        try spawner.activate()
        supervisor.handle(.loggedIn(foregroundGroup: AppDescription.sessionGroup(ofUser: getuid())))
        reporter.launchIdentifier = { [unowned supervisor] in
            supervisor.lifecycle.instance($0)?.launchIdentifier
        }
        parts.machine.onSurroundingsChanged = { [unowned self] in parts.installer.reload() }
        parts.machine.begin()
        supervisor.handle(.restored)
        supervisor.metrics.deliveries.reviewAll()
        for app in parts.catalog.unsortedApps { parts.emptyTemporaryFiles(of: app.identifier) }
        if let reason = supervisor.reclaimer.pressure.start(configuration) {
            reporter.sayOnce(
                "the kernel does not tell of memory pressure (\(reason)); free memory is looked at")
        }
    }

    /// Serves until told to end. Returns the exit status.
    public func run() -> Int32 {
        do throws(SystemdError) { try LoopActor.shared.loop.setWatchdog(true) } catch {
            reporter.failed("setting up the watchdog", error)
        }
        Notify.ready(status: statusText)
        parts.machine.connect()
        // The start runs much code that is never needed again: half of what is resident.
        OwnMemory.dropText()
        defer {
            supervisor.metrics.write()
            parts.events.flush()
            // Before our lock ends: who takes it finds nobody at the socket.
            listener = nil
        }
        return LoopActor.shared.loop.run()
    }

    private static func isManaged(_ environment: [String]) -> Bool {
        environment.contains { $0.hasPrefix("INVOCATION_ID=") }
            && environment.contains { $0.hasPrefix("NOTIFY_SOCKET=") }
    }

    // MARK: What it says of itself

    private var surroundings: Control.Surroundings {
        Control.Surroundings(
            runtimeDirectory: options.runtimeDirectory,
            configurationFile: options.configurationFile,
            appDirectories: options.appDirectories, shimFile: options.shimPath,
            spawnerFile: options.spawnerPath, spawnerProcessId: spawner.process)
    }

    private var statusText: String {
        let states = supervisor.lifecycle.instances.map(\.state)
        let running = states.count {
            [.launching, .inactive, .active, .background].contains($0)
        }
        return "\(parts.catalog.count) apps, \(running) running, "
            + "\(states.count { $0 == .suspended }) suspended, "
            + "\(states.count { $0 == .prewarmed }) prewarmed"
    }

    // MARK: Clients and signals

    private func serve(_ socket: UnixSocket, _ limits: ControlListener.Limits) throws {
        let confined = ConfinedClients(
            catalog: parts.catalog, instances: parts.instances,
            ordered: { [unowned self] in parts.launcher.spawner?.orderedApps ?? [] })
        listener = try ControlListener(
            socket: socket, limits: limits.fittingHere, disposer: disposal.disposer,
            refusal: { confined.refusal(of: $0, $1) },
            onConnect: { [unowned self] in control.serve($0) })
    }

    private func handleSignals() throws(SystemdError) {
        sources = [
            try LoopActor.signal(SIGHUP) { [unowned self] _ in
                Notify.reloading(status: "reading manifests")
                reload { [unowned self] _ in Notify.ready(status: statusText) }
            },
            try LoopActor.signal(SIGTERM) { [unowned self] _ in shutdown.begin() },
            try LoopActor.signal(SIGINT) { [unowned self] _ in shutdown.begin() },
        ]
    }
}
