import Glibc
import GreenroomLifecycle
import GreenroomLinux
import GreenroomManifest
@testable import GreenroomSpawner
import Systemd
import TestSupport
import Testing

@testable import GreenroomSupervisor

// The room `Reclaiming`: suspending an instance, and what is done with its memory then. The cgroup
// of an instance is a folder with the files that the kernel would have; its process is a real one.

/// An instance that runs in the background, and what suspends and thaws it.
@LoopActor
private struct Background {
    let ground = try! Ground()
    let freezer: Freezer
    let measurer: MemoryMeasurer
    let spawner: IdleSpawner
    let process: ChildProcess
    let instance: InstanceIdentifier

    init(cgroup: [String: String]? = nil) throws {
        let ground = ground
        let measurer = MemoryMeasurer(core: ground.core, instances: ground.instances)
        let freezer = Freezer(
            core: ground.core, instances: ground.instances, spawner: ground.spawner,
            measurer: measurer)
        (self.measurer, self.freezer) = (measurer, freezer)
        spawner = try ground.connectSpawner()
        ground.recorder.respond = {
            switch $0 {
            case .freeze(let instance): freezer.freeze(instance)
            case .thaw(let instance): freezer.thaw(instance)
            default: break
            }
        }
        ground.core.begin(performing: ground.recorder)
        let folder = ground.folder.path + "/cgroups"
        mkdir(folder, 0o755)
        if let cgroup {
            mkdir(folder + "/a.b", 0o755)
            for (name, text) in cgroup {
                try SmallFile.replace("\(folder)/a.b/\(name)", with: text)
            }
            ground.instances.use(cgroups: try Cgroup(path: folder))
        }
        ground.launch("a.b")
        instance = try #require(ground.recorder.spawned.first)
        process = try ChildProcess(ChildRequest("/bin/sleep", arguments: ["sleep", "60"]))
        _ = ground.instances.add(
            TableEntry(
                instance: instance.rawValue, app: "a.b", pid: process.pid, status: nil,
                isEmptied: false, isGuarded: false, cgroupName: cgroup.map { _ in "a.b" },
                process: try ProcessDescriptor(pid: process.pid), channel: nil))
        ground.core.handle(.spawned(instance))
        ask(.background, as: 2)
        _ = try spawner.requests()
    }

    func ask(_ transition: Transition, as request: UInt64) {
        ground.core.handle(
            .requested(RequestIdentifier(request), .transition(.instance(instance), transition)))
    }

    func isAnswered(_ request: UInt64) -> Bool {
        ground.recorder.answered.contains(RequestIdentifier(request))
    }

    func file(_ name: String) -> String { "\(ground.folder.path)/cgroups/a.b/\(name)" }

    func text(of name: String) -> String? { try? SmallFile.text(of: file(name)) }
}

@Suite struct `The freezer` {
    @Test func `reports a cgroup as frozen when the kernel says so, not when it was told`() async {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Background(
                    cgroup: ["cgroup.freeze": "0", "cgroup.events": "populated 1\nfrozen 0\n"])
                app.ask(.suspend, as: 3)
                #expect(app.text(of: "cgroup.freeze")?.first == "1" && !app.isAnswered(3))
                let steps = Steps()
                steps.add {
                    try SmallFile.replace(
                        app.file("cgroup.events"), with: "populated 1\nfrozen 1\n")
                } until: {
                    app.isAnswered(3)
                }
                try steps.run()
                app.ask(.resume, as: 4)
                #expect(app.text(of: "cgroup.freeze")?.first == "0")
                #expect(try app.spawner.requests().isEmpty)
            }
        }
    }

    /// The terminal has stopped the instance as well. If it counted as frozen before the spawner has
    /// carried out the latest order, the order would stop it after the next thaw.
    @Test func `without cgroups believes a stop once the spawner has carried out every order`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let app = try Background()
                app.ask(.suspend, as: 3)
                app.ask(.resume, as: 4)
                app.ask(.suspend, as: 5)
                kill(app.process.pid, SIGSTOP)
                var status = siginfo_t()
                waitid(P_PID, id_t(app.process.pid), &status, WSTOPPED | WNOWAIT)
                let orders = try app.spawner.requests().map {
                    switch $0 {
                    case .freeze: "freeze"
                    case .thaw: "thaw"
                    default: "other"
                    }
                }
                #expect(orders == ["freeze", "thaw", "freeze"])
                app.freezer.wasStopped(app.instance)
                #expect(!app.isAnswered(5))
                app.freezer.wasStopped(app.instance)
                #expect(app.isAnswered(5))
            }
        }
    }
}

@Suite struct `Paging out` {
    /// The kernel's half of memory.reclaim, as a pipe: each piece that it is asked for goes.
    @LoopActor
    private final class Reclaim {
        private(set) var pieces: [UInt64] = []
        private var source: EventSource?
        private let pipe: FileDescriptor

        init(_ app: Background, _ byteCount: UInt64) throws {
            let path = app.file("memory.reclaim")
            mkfifo(path, 0o600)
            pipe = try FileDescriptor.open(path, O_RDWR | O_NONBLOCK)
            source = try LoopActor.io(pipe.rawValue, .readable) { [unowned self] _ in
                var bytes = [UInt8](repeating: 0, count: 100)
                let count = read(pipe.rawValue, &bytes, bytes.count)
                let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                pieces.append(UInt64(text) ?? .max)
                let left = byteCount - min(byteCount, pieces.reduce(0, +))
                try? SmallFile.replace(app.file("memory.current"), with: "\(left)\n")
            }
        }
    }

    @LoopActor
    private static func pageOut(_ app: Background) throws -> PageOut {
        var configuration = DaemonConfiguration()
        configuration.pageOutSuspended = .yes
        return PageOut(
            core: app.ground.core, instances: app.ground.instances, measurer: app.measurer,
            calls: try DetachedCalls(), log: app.ground.log,
            machine: MachineCondition(root: app.ground.folder.path), configuration)
    }

    @Test func `takes a suspended instance's memory in small pieces, and reports how much went`()
        async
    {
        await #expect(processExitsWith: .exitCode(0)) {
            try onLoop {
                let byteCount: UInt64 = 4 << 20
                let app = try Background(
                    cgroup: [
                        "cgroup.freeze": "0", "cgroup.events": "populated 1\nfrozen 1\n",
                        "memory.current": "\(byteCount)\n",
                    ])
                let reclaim = try Reclaim(app, byteCount)
                let pageOut = try Self.pageOut(app)
                // An instance that runs keeps its memory.
                pageOut.begin(app.instance)
                app.ask(.suspend, as: 3)
                #expect(app.isAnswered(3))
                let steps = Steps()
                steps.add {
                    pageOut.begin(app.instance)
                } until: {
                    app.ground.recorder.effects.contains {
                        $0
                            == .report(
                                .pagedOut(
                                    app.instance, AppIdentifier("a.b"), byteCount: byteCount))
                    }
                }
                try steps.run()
                #expect(reclaim.pieces.count >= 4)
                #expect(reclaim.pieces.allSatisfy { $0 <= 1 << 20 })
            }
        }
    }
}
