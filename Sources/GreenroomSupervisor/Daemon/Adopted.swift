internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// The second stage of a start: effects are performed, the records of a former supervisor agree
/// with what the spawner holds, and every app is installed. Nobody is served yet.
@LoopActor
struct Adopted: ~Copyable {
    private let rooms: Rooms
    private let shutdown: Shutdown
    private let lock: FileDescriptor
    private let socket: UnixSocket
    private let disposal: Disposal

    fileprivate init(
        rooms: Rooms, shutdown: Shutdown, lock: FileDescriptor, socket: UnixSocket,
        disposal: Disposal
    ) {
        self.rooms = rooms
        self.shutdown = shutdown
        self.lock = lock
        self.socket = socket
        self.disposal = disposal
    }

    init(_ rooms: Rooms, _ prepared: consuming Prepared) throws {
        let shutdown = Shutdown(
            core: rooms.shared.core, unwritten: rooms.unwritten,
            machine: rooms.machine.events, temporaryFolders: rooms.shared.temporaryFolders,
            reconnection: rooms.recovery.reconnection)
        Self.restore(rooms, prepared.inheritance)
        Self.reconcile(rooms, prepared.inheritance)
        // By now every instance that the spawner's messages can be about is known.
        try rooms.recovery.reconnection.activate { [unowned shutdown] in shutdown.begin() }
        Self.begin(rooms, prepared.configuration)
        self.init(
            rooms: rooms, shutdown: shutdown, lock: prepared.lock, socket: prepared.socket,
            disposal: prepared.disposal)
    }

    /// Restores everything that is known without a look at the instances: locks, the spawner, the
    /// sockets that it kept, and the apps.
    private static func restore(_ rooms: Rooms, _ inheritance: Inheritance) {
        let greeting = inheritance.greeting
        rooms.shared.core.begin(performing: rooms.effects)
        rooms.effects.deferWhatMayWait()
        // The locks come first, before anything is launched.
        rooms.machine.locks.restore()
        rooms.recovery.reconnection.use(greeting)
        rooms.launching.sockets.inherit(greeting.kept)
        rooms.machine.installer.reload()
        rooms.launching.sockets.dropUnclaimed()
    }

    /// Compares the records of the former supervisor's instances with what the spawner has.
    private static func reconcile(_ rooms: Rooms, _ inheritance: Inheritance) {
        let (shared, records) = (rooms.shared, inheritance.contents.instances)
        rooms.measuring.metrics.takeUp(records)
        shared.catalog.inherit(records)
        rooms.recovery.recovery.reconcile(records, with: inheritance.greeting.instances)
        rooms.launching.directories.removeAll { shared.instances[$0] != nil }
        rooms.machine.locks.withdrawCredentials()
    }

    /// Begins what goes on while the daemon runs: automatic starts, metrics, and looking at the
    /// machine.
    private static func begin(_ rooms: Rooms, _ configuration: DaemonConfiguration) {
        let shared = rooms.shared
        rooms.machine.events.begin()
        shared.core.handle(.restored)
        rooms.history.planning.review()
        rooms.measuring.deliveries.reviewAll()
        for app in shared.catalog.unsortedApps {
            shared.temporaryFolders.emptyFolder(of: app.identifier)
        }
        rooms.memory.pressure.begin(configuration)
    }

    /// The last stage: clients can connect, and signals are heard.
    consuming func serve() throws -> Serving {
        let (rooms, shutdown) = (rooms, shutdown)
        let shared = rooms.shared
        let confined = ConfinedClients(
            core: shared.core, catalog: shared.catalog, instances: shared.instances,
            spawner: shared.spawner)
        let listener = try ControlListener(
            socket: socket, settings: rooms.control.settings, disposer: disposal.disposer,
            refusal: { confined.refusal(of: $0, $1) },
            handler: rooms.control.handler)
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
            rooms: rooms, listener: listener, sources: sources, disposal: disposal, lock: lock)
    }
}
