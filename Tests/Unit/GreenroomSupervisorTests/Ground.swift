import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
@testable import GreenroomSpawner
@testable import GreenroomSupervisor
import Systemd
import TestSupport
import Testing

// The parts on which a room stands when it is tested alone: the rooms below it, and the kernel. A
// process has one event loop, whose thread is the first one that asks for it. So each test that
// needs the loop has its own process.

/// Records the effects that it should perform, and may answer one with an event.
@LoopActor
final class Recorder: EffectPerformer {
    private(set) var effects: [Effect] = []
    private(set) var turns = 0
    var respond: (Effect) -> Void = { _ in }

    func beganTurn() { turns += 1 }

    func perform(_ effect: Effect) {
        effects.append(effect)
        respond(effect)
    }

    func endedTurn() {}

    var spawned: [InstanceIdentifier] {
        effects.compactMap { if case .spawn(let instance, _, _) = $0 { instance } else { nil } }
    }

    var answered: [RequestIdentifier] {
        effects.compactMap { if case .answer(let request, _) = $0 { request } else { nil } }
    }
}

@LoopActor
struct Ground {
    let log: Log
    let core: Core
    let spawner = CurrentSpawner()
    let instances: InstanceTable
    let recorder = Recorder()
    let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        log = try Log(Journal(identifier: "test", fieldPrefix: "GREENROOM_")) { _ in nil }
        core = try Core(Lifecycle(policy: Policy(), seed: 1), log: log)
        instances = InstanceTable(
            core: core, log: log, spawner: spawner, disposer: try Disposer())
    }

    /// A history that is off, and its planning.
    func history() -> (planning: WarmPlanning, history: LaunchHistory) {
        var configuration = DaemonConfiguration()
        configuration.keepsHistory = false
        let path = folder.path
        let process = HistoryProcess(program: path + "/none", file: path + "/history")
        let unrecorded = UnrecordedUsers(stateDirectory: path, log: log)
        let planning = WarmPlanning(
            process: process, core: core,
            conditions: ConditionInspector(machine: MachineCondition(root: path), configuration),
            depths: RecordedDepths(core: core, catalog: AppCatalog()), unrecorded: unrecorded,
            log: log, configuration: configuration)
        let history = LaunchHistory(
            process: process, planning: planning, unrecorded: unrecorded,
            degradations: Degradations(log: log), log: log, configuration: configuration,
            adopted: [])
        return (planning, history)
    }

    /// Loads manifests from files, each with its identifier.
    func load(_ manifests: [String: String]) throws -> LoadResult {
        mkdir("\(folder.path)/apps", 0o755)
        for (name, text) in manifests { try folder.write(text, to: "apps/\(name).app") }
        let loader = AppLoader(
            places: ManifestPlaces(directories: ["\(folder.path)/apps"]),
            shimPath: "\(folder.path)/no-shim",
            hooks: RuntimeHooks(folder: "\(folder.path)/no-runtimes"), lists: ImportLists(),
            daemonEnvironment: ["PATH=/usr/bin:/bin"],
            dataFolders: dataFolders, digest: KeyedDigest(secret: (1, 2)))
        return loader.load(former: [], log: log)
    }

    var dataFolders: DataFolders {
        DataFolders(
            stateDirectory: folder.path + "/state", cacheDirectory: folder.path + "/cache")
    }

    func reporter() throws -> Reporter {
        let memory = try SharedMemory.create(byteCount: EventRing.byteCount, name: "test")
        return try Reporter(
            log: log, events: EventStream(in: memory, at: 0) { _ in nil }, core: core,
            catalog: AppCatalog(), degradations: Degradations(log: log), tellsStatus: false)
    }

    func contexts(_ requests: Requests, _ sockets: ListeningSockets) -> LaunchContexts {
        LaunchContexts(
            core: core, instances: instances, requests: requests, sockets: sockets,
            credentials: CredentialDirectories(
                instances: instances, runtimeDirectory: folder.path),
            dataFolders: dataFolders, digest: KeyedDigest(secret: (1, 2)), readiness: nil)
    }

    func registration() throws -> AppRegistration {
        let catalog = AppCatalog()
        let sockets = ListeningSockets(
            core: core, instances: instances, spawner: spawner, log: log)
        return AppRegistration(
            core: core, sockets: sockets,
            states: KeptStates(
                core: core, catalog: catalog, instances: instances,
                messenger: AppMessenger(instances: instances, reporter: try reporter()),
                log: log, stateDirectory: folder.path + "/state"),
            contexts: contexts(Requests(core: core, instances: instances), sockets),
            learner: LibraryLearner(
                core: core, catalog: catalog, instances: instances, calls: try DetachedCalls(),
                files: LearnedFiles(stateDirectory: folder.path + "/state")),
            lists: ImportLists())
    }

    /// Connects a spawner that carries nothing out.
    func connectSpawner() throws -> IdleSpawner {
        let (near, far) = try UnixSocket.pair(.seqpacket)
        spawner.use(SpawnerLink(SpawnerConnection(near)))
        return IdleSpawner(far)
    }

    /// Makes an instance whose process is this one, and returns the app's end of its channel.
    func begin(_ app: String, as identifier: InstanceIdentifier) throws -> UnixSocket {
        let (near, far) = try UnixSocket.pair(.seqpacket)
        _ = instances.add(
            TableEntry(
                instance: identifier.rawValue, app: app, pid: getpid(), status: nil,
                isEmptied: false, isGuarded: false, cgroupName: nil,
                process: try ProcessDescriptor(pid: getpid()), channel: near))
        return far
    }

    func launch(_ app: String, as request: UInt64 = 1) {
        let identifier = AppIdentifier(app)
        core.handle(
            .appInstalled(AppDescription(identifier: identifier, prewarmOccasion: .never)))
        core.handle(
            .requested(
                RequestIdentifier(request),
                .launch(
                    LaunchRequest(
                        app: identifier, launchIdentifier: LaunchIdentifier("\(request)"),
                        environmentKey: EnvironmentKey(0)))))
    }
}

/// The other end of a connection to the spawner.
struct IdleSpawner {
    private let stream: PacketStream

    init(_ socket: UnixSocket) { stream = PacketStream(socket) }

    /// What the supervisor has sent since the last call.
    func requests() throws -> [SpawnerRequest] {
        var all: [SpawnerRequest] = []
        while let packet = try stream.receive() { all.append(try SpawnerRequest(packet)) }
        return all
    }
}

/// What an app was sent since the last call; `channel` is the app's end.
func messages(on channel: UnixSocket) throws -> [DaemonMessage] {
    var all: [DaemonMessage] = []
    let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: WireFormat.datagramLimit, alignment: 16)
    defer { buffer.deallocate() }
    while let message = try channel.receive(into: buffer), message.byteCount > 0 {
        let bytes = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(buffer))
        all.append(
            try DaemonMessage(
                decoding: bytes.extracting(first: message.byteCount),
                descriptorCount: message.descriptors.count))
    }
    return all
}

/// Does one thing after another, each as soon as the fact that the former one leads to is true. A
/// process can run its loop once, so this is done once in a test.
@LoopActor
final class Steps {
    private var steps: [(act: () throws -> Void, fact: () -> Bool)] = []
    private var look: RepeatedLook?
    private var failure: (any Error)?
    private var count = 0

    func add(_ act: @escaping () throws -> Void, until fact: @escaping () -> Bool) {
        steps.append((act, fact))
    }

    /// Runs the loop until the last fact is true.
    func run() throws {
        let begin = try LoopActor.deferred { [unowned self] in next() }
        let patience = Duration.milliseconds(Patience.milliseconds)
        let limit = try LoopActor.timer(after: patience) { [unowned self] in
            failure = TestError("what step \(count) leads to does not come about")
        }
        #expect(LoopActor.shared.loop.run() == 0)
        withExtendedLifetime((begin, limit)) {}
        if let failure { throw failure }
    }

    private func next() {
        guard failure == nil, !steps.isEmpty else { return LoopActor.shared.loop.exit(0) }
        let step = steps.removeFirst()
        count += 1
        do { try step.act() } catch { failure = error }
        // The loop hears of what was done before it looks.
        var isFirst = true
        let look = RepeatedLook { [unowned self] in
            defer { isFirst = false }
            return failure != nil || !isFirst && step.fact()
        } then: { [unowned self] in
            next()
        }
        self.look = look
        look.look()
    }
}

/// Runs the body in a separate process, on the thread of its loop.
func onLoop(_ body: @LoopActor () throws -> Void) throws {
    try LoopActor.assumeIsolated { try body() }
}
