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
        let (ground, outside) = (rooms.ground, rooms.outside)
        let (greeting, records) = (
            prepared.inheritance.greeting, prepared.inheritance.contents.instances
        )
        let shutdown = Shutdown(rooms)
        ground.core.begin(performing: Effects(rooms))
        // The locks come first, before anything is launched.
        outside.locks.restore()
        rooms.recovery.reconnection.use(greeting)
        rooms.launching.sockets.inherit(greeting.kept)
        outside.installer.reload()
        rooms.launching.sockets.dropUnclaimed()
        rooms.figures.metrics.adopt(records)
        rooms.recovery.recovery.reconcile(records, with: greeting.instances)
        for user in records.compactMap(\.confinedUser) { ground.catalog.noteConfined(user) }
        rooms.launching.directories.removeAll { ground.instances[$0] != nil }
        // By now the instances that the spawner's messages are about are known.
        try rooms.recovery.reconnection.activate { shutdown.begin() }
        ground.core.handle(
            .loggedIn(foregroundGroup: AppDescription.sessionGroup(ofUser: getuid())))
        outside.machine.begin()
        ground.core.handle(.restored)
        rooms.figures.deliveries.reviewAll()
        for app in ground.catalog.unsortedApps {
            ground.emptying.emptyTemporaryFiles(of: app.identifier)
        }
        if let reason = rooms.memory.reclaimer.pressure.start(prepared.configuration) {
            ground.log.sayOnce(
                "the kernel does not report memory pressure (\(reason)); free memory is watched")
        }
        self.init(
            rooms: rooms, shutdown: shutdown, lock: prepared.lock, socket: prepared.socket,
            disposal: prepared.disposal)
    }

    /// The last stage: clients can connect, and signals are heard.
    consuming func serve() throws -> Serving {
        let (rooms, shutdown) = (rooms, shutdown)
        let ground = rooms.ground
        let confined = ConfinedClients(
            core: ground.core, catalog: ground.catalog, instances: ground.instances,
            spawner: ground.spawner)
        let listener = try ControlListener(
            socket: socket, settings: rooms.control.settings, disposer: disposal.disposer,
            refusal: { confined.refusal(of: $0, $1) },
            handler: rooms.control.handler)
        let sources = [
            try LoopActor.signal(SIGHUP) { [reload = rooms.control.reload] _ in
                Notify.reloading(status: "reading manifests")
                reload.begin { _ in Notify.ready(status: ground.reporter.statusText) }
            },
            try LoopActor.signal(SIGTERM) { _ in shutdown.begin() },
            try LoopActor.signal(SIGINT) { _ in shutdown.begin() },
        ]
        return Serving(
            rooms: rooms, listener: listener, sources: sources, disposal: disposal, lock: lock)
    }
}
