import Glibc
import GreenroomLifecycle
import GreenroomLinux
@testable import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The temporary folder of an app` {
    @Test func `is emptied by one process at a time, and not while the app runs`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let catalog = AppCatalog()
                let folders = TemporaryFolders(
                    core: ground.core, catalog: catalog, dataFolders: ground.dataFolders,
                    spawner: ground.spawner)
                let text = "[App]\nExec=/bin/true\nContainer=yes\n"
                let app = try #require(try ground.load(["a.b": text]).apps.first)
                _ = catalog.replace(with: [app], former: [])
                try ground.dataFolders.make(for: app)
                let folder = ground.dataFolders.temporaryFolder(of: "a.b")
                try SmallFile.replace(folder + "/litter", with: "x")
                // Without a spawner nothing can be done.
                folders.emptyFolder(of: app.identifier)
                let spawner = try ground.connectSpawner()

                @LoopActor func orders() throws -> [SpawnSpecification] {
                    try spawner.requests().compactMap {
                        if case .spawn(let order) = $0 { order } else { nil }
                    }
                }
                folders.emptyFolder(of: app.identifier)
                folders.emptyFolder(of: app.identifier)
                let order = try #require(try orders().first)
                guard case .cleaning(let number) = SpawnNumber(order.instance) else {
                    throw TestError("the number \(order.instance) is an instance's")
                }
                #expect(try order.path == "/usr/bin/find" && orders().isEmpty)
                folders.received(.emptied(instance: order.instance), about: number)
                guard case .release(order.instance)? = try spawner.requests().first else {
                    throw TestError("the process was not released")
                }
                folders.emptyFolder(of: app.identifier)
                let next = try #require(try orders().first)
                #expect(next.instance != order.instance)

                // Another spawner knows none of these processes.
                folders.forget()
                ground.core.begin(performing: ground.recorder)
                ground.launch("a.b")
                folders.emptyFolder(of: app.identifier)
                #expect(try orders().isEmpty)
            }
        }
    }
}

@Suite struct `The sockets of an app` {
    @Test func `are kept by the spawner, until the manifest asks for them no more`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let ground = try Ground()
                let spawner = try ground.connectSpawner()
                let path = ground.folder.path + "/socket"
                @LoopActor func load(_ lines: String) throws -> InstalledApp {
                    let text = "[App]\nExec=/bin/true\n" + lines
                    return try #require(try ground.load(["a.b": text]).apps.first)
                }
                let app = try load("[Socket]\nListenStream=\(path)\n")
                @LoopActor func room() -> ListeningSockets {
                    ListeningSockets(
                        core: ground.core, instances: ground.instances, spawner: ground.spawner,
                        log: ground.log)
                }
                let sockets = room()
                #expect(sockets.update(app).isEmpty && !sockets.lacks(app))
                guard case .keep(let name, let descriptor)? = try spawner.requests().first else {
                    throw TestError("the spawner was not told to keep the socket")
                }
                let client = try UnixSocket.connect(to: path, .stream)
                #expect(sockets.passed(to: app.identifier).map(\.target) == [3])

                // The next supervisor has the same socket, and the client that waits in it.
                let next = room()
                next.adopt([
                    name: descriptor, "old stream /gone": try FileDescriptor.open("/", 0),
                ]) { #expect(next.update(app).isEmpty) }
                let requests = try spawner.requests()
                guard requests.count == 1, case .drop("old stream /gone")? = requests.first else {
                    throw TestError("\(requests)")
                }
                #expect(try UnixSocket(descriptor).accept() != nil)
                withExtendedLifetime(client) {}

                #expect(next.update(try load("")).isEmpty && !next.has(app.identifier))
                guard case .drop(name)? = try spawner.requests().first else {
                    throw TestError("the spawner still keeps the socket")
                }
            }
        }
    }
}
