import Glibc
import GreenroomAppChannel
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
@testable import GreenroomSpawner
@testable import GreenroomSupervisor
import Systemd
import TestSupport

/// A supervisor after it has taken over from a former one. Its spawner is an `IdleSpawner`, which
/// performs no request. The test sends the messages of the spawner and of the apps. The event loop
/// runs only while the test runs it.
@LoopActor
final class TestSupervisor {
    var rooms: Rooms { start.rooms }
    let spawner: IdleSpawner
    let folder: TemporaryDirectory
    private let start: Start<StartStage.Adopted>

    /// - Parameters:
    ///   - manifests: the apps, each with its identifier.
    ///   - records: what the former supervisor recorded about its instances.
    ///   - table: the instances that the spawner has.
    init(
        _ manifests: [String: String], records: [InstanceRecord] = [], table: [TableEntry] = []
    ) throws {
        folder = try TemporaryDirectory()
        mkdir("\(folder.path)/apps", 0o755)
        for (name, text) in manifests { try folder.write(text, to: "apps/\(name).app") }
        let options = Options(
            runtimeDirectory: "\(folder.path)/run", stateDirectory: "\(folder.path)/state",
            cacheDirectory: "\(folder.path)/cache", appDirectories: ["\(folder.path)/apps"],
            configurationFile: "\(folder.path)/greenroom.conf", isConfigurationRequired: false,
            spawnerPath: "\(folder.path)/no-spawner", historyPath: "\(folder.path)/no-history",
            busPath: "\(folder.path)/no-bus", shimPath: "\(folder.path)/no-shim",
            runtimesPath: "\(folder.path)/no-runtimes")
        let directory = try RuntimeDirectory(options.runtimeDirectory)
        let memory = try SharedMemory.create(
            byteCount: RuntimeState.byteCount + EventRing.byteCount, name: "test")
        Self.keep(records, in: memory)
        let (near, far) = try UnixSocket.pair(.seqpacket)
        spawner = IdleSpawner(far)
        let welcome = Welcome(
            isManaged: false, degradation: "test", instanceCount: UInt32(table.count),
            state: memory.descriptor)
        // The load of the machine must not prevent a prewarm.
        var configuration = DaemonConfiguration()
        configuration.prewarmMaximalLoadPercent = 0
        let prepared = Prepared(
            options: options, environment: ["PATH=/usr/bin:/bin"], catalog: AppCatalog(),
            log: try Log(Journal(identifier: "test", fieldPrefix: "GREENROOM_")) { _ in nil },
            configuration: configuration, configurationNote: nil,
            stateNote: nil, directory: directory,
            disposal: try Disposal(), link: SpawnerLink(SpawnerConnection(near)),
            former: try FormerState(
                SpawnerLink.Greeting(welcome: welcome, instances: table)))
        start = try prepared.adopt()
    }

    private static func keep(_ records: [InstanceRecord], in memory: SharedMemory) {
        var contents = RuntimeState.Contents()
        let state = RuntimeState(mapping: memory.baseAddress, contents: &contents)
        for record in records { state.save(record) }
    }

    var core: Core { rooms.shared.core }

    func phase(_ instance: UInt64) -> Phase? {
        core.lifecycle.instance(InstanceIdentifier(instance))?.phase
    }

    func record(_ instance: UInt64) -> InstanceRecord? {
        core.lifecycle.instance(InstanceIdentifier(instance))
    }

    /// Launches an app as its timer does: no client waits for the answer.
    func launch(_ app: String) { rooms.launching.launches.launchForTimer(AppIdentifier(app)) }

    /// The spawner sends this message.
    func hear(_ message: SpawnerMessage) {
        rooms.recovery.reconnection.received(message, answering: nil)
    }
}

/// An instance in the spawner's table: its process, and the app's end of its channel.
struct TestInstance {
    let entry: TableEntry
    let channel: UnixSocket
    /// The supervisor kills it when its instance is to end.
    private let process: ChildProcess

    init(_ instance: UInt64, of app: String, status: TerminationStatus? = nil) throws {
        let near: UnixSocket
        (near, channel) = try UnixSocket.pair(.seqpacket)
        process = try ChildProcess(ChildRequest("/bin/sleep", arguments: ["sleep", "60"]))
        entry = TableEntry(
            instance: instance, app: app, pid: process.pid, status: status, isEmptied: false,
            isGuarded: false, cgroupName: nil,
            process: try ProcessDescriptor(pid: process.pid), channel: near)
    }
}
