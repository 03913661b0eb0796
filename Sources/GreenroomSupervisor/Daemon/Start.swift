internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// A start, from the rooms that `Prepared` makes until clients can be served. The type says which
/// stage the start has reached, and each stage has one method, which leads to the next. So no step
/// can be left out or taken too early: that does not compile. Within a stage, the order is free.
///
/// | Stage | Then | What is true |
/// |---|---|---|
/// | `Made` | `install` | the rooms exist and have a spawner; nothing was decided yet |
/// | `Installed` | `restore` | effects are performed, and every app is installed |
/// | `Restored` | `reconcile` | the rooms know what a former supervisor recorded |
/// | `Reconciled` | `follow` | the records agree with what the spawner holds |
/// | `Following` | `begin` | the spawner's messages and users' logins are heard |
/// | `Adopted` | `serve` | what was interrupted goes on, and automatic starts have begun |
@LoopActor
struct Start<Stage>: ~Copyable {
    let rooms: Rooms
    private let stage: Stage
    private let configuration: DaemonConfiguration
    private let directory: RuntimeDirectory
    private let disposal: Disposal

    private init(
        _ rooms: Rooms, _ stage: Stage, _ configuration: DaemonConfiguration,
        _ directory: RuntimeDirectory, _ disposal: Disposal
    ) {
        self.rooms = rooms
        self.stage = stage
        self.configuration = configuration
        self.directory = directory
        self.disposal = disposal
    }

    private consuming func reached<Next>(_ next: Next) -> Start<Next> {
        Start<Next>(rooms, next, configuration, directory, disposal)
    }
}

/// The stages of a start, each with what the next step needs.
enum StartStage {
    struct Made { fileprivate let former: FormerState }
    struct Installed { fileprivate let former: FormerState }
    struct Restored { fileprivate let former: FormerState }
    struct Reconciled {}
    struct Following {}
    struct Adopted {}
}

extension Start<StartStage.Made> {
    init(_ prepared: consuming Prepared) throws {
        self.init(
            try Rooms(prepared), StartStage.Made(former: prepared.former),
            prepared.configuration, prepared.directory, prepared.disposal)
    }

    /// Performs effects from now on, and reads the manifests.
    consuming func install() -> Start<StartStage.Installed> {
        rooms.shared.core.begin(performing: rooms.effects)
        rooms.launching.sockets.adopt(stage.former.greeting.kept) {
            _ = rooms.machine.installer.reload()
        }
        return reached(StartStage.Installed(former: stage.former))
    }
}

extension Start<StartStage.Installed> {
    /// Tells the rooms what the former supervisor recorded about its instances.
    consuming func restore() -> Start<StartStage.Restored> {
        let records = stage.former.contents.instances
        rooms.measuring.metrics.adopt(records)
        rooms.shared.catalog.adopt(records)
        return reached(StartStage.Restored(former: stage.former))
    }
}

extension Start<StartStage.Restored> {
    /// Compares the records with the instances that the spawner has.
    consuming func reconcile() -> Start<StartStage.Reconciled> {
        rooms.recovery.recovery.reconcile(
            stage.former.contents.instances, with: stage.former.greeting.instances)
        return reached(StartStage.Reconciled())
    }
}

extension Start<StartStage.Reconciled> {
    /// Hears the spawner and the logins from now on, and removes what belongs to instances that are
    /// gone. Every instance that the spawner's messages can be about is known.
    consuming func follow() throws -> Start<StartStage.Following> {
        let instances = rooms.shared.instances
        rooms.launching.directories.removeAll { instances[$0] != nil }
        rooms.machine.locks.withdrawCredentials()
        try rooms.recovery.reconnection.activate()
        rooms.machine.events.begin()
        return reached(StartStage.Following())
    }
}

extension Start<StartStage.Following> {
    /// Begins what goes on while the daemon runs: automatic starts, metrics, and looking at the
    /// machine.
    consuming func begin() -> Start<StartStage.Adopted> {
        let shared = rooms.shared
        shared.core.handle(.restored)
        rooms.history.planning.review()
        rooms.measuring.deliveries.reviewAll()
        for app in shared.catalog.unsortedApps {
            shared.temporaryFolders.emptyFolder(of: app.identifier)
        }
        rooms.memory.pressure.begin(configuration)
        return reached(StartStage.Adopted())
    }
}

extension Start<StartStage.Adopted> {
    /// The last stage: clients can connect, and signals are heard.
    consuming func serve() throws -> Serving {
        let shared = rooms.shared
        let confined = ConfinedClients(
            core: shared.core, catalog: shared.catalog, instances: shared.instances,
            spawner: shared.spawner)
        let listener = try ControlListener(
            socket: directory.socket, settings: rooms.control.settings, disposer: disposal.disposer,
            refusal: { confined.refusal(of: $0, $1) },
            handler: rooms.control.handler)
        let shutdown = Shutdown(
            core: shared.core, unwritten: rooms.unwritten, machine: rooms.machine.events,
            temporaryFolders: shared.temporaryFolders, reconnection: rooms.recovery.reconnection)
        let sources = [
            try LoopActor.signal(SIGHUP) { [reload = rooms.control.reload] _ in
                Notify.reloading(status: "reading manifests")
                reload.begin { _ in Notify.ready(status: shared.reporter.statusText) }
            },
            try LoopActor.signal(SIGTERM) { _ in shutdown.begin() },
            try LoopActor.signal(SIGINT) { _ in shutdown.begin() },
        ]
        rooms.effects.clientsAreServed()
        return Serving(
            rooms: rooms, listener: listener, sources: sources, disposal: disposal,
            lock: directory.lock)
    }
}

/// The last stage of a start: clients are served, and signals are heard.
@LoopActor
final class Serving {
    private let rooms: Rooms
    private var listener: ControlListener?
    private let sources: [EventSource]
    private let disposal: Disposal
    private let lock: DirectoryLock

    fileprivate init(
        rooms: Rooms, listener: ControlListener, sources: [EventSource], disposal: Disposal,
        lock: DirectoryLock
    ) {
        self.rooms = rooms
        self.listener = listener
        self.sources = sources
        self.disposal = disposal
        self.lock = lock
    }

    func run() -> Int32 {
        let shared = rooms.shared
        do throws(SystemdError) { try LoopActor.shared.loop.setWatchdog(true) } catch {
            shared.log.failed("setting up the watchdog", error)
        }
        Notify.ready(status: shared.reporter.statusText)
        rooms.machine.events.connect()
        // The start runs much code that is never needed again: half of what is resident.
        OwnMemory.dropText()
        defer {
            rooms.unwritten.write()
            rooms.history.history.end()
            shared.events.flush()
            // Before the lock is released: the next daemon to take it must find nobody at the
            // sockets.
            listener = nil
            rooms.recovery.reconnection.leave()
            if shared.calls.end() { disposal.disposer.leave() }
        }
        return LoopActor.shared.loop.run()
    }
}
