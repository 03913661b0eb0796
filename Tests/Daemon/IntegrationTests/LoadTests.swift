import DaemonTestSupport
import Glibc
import GreenroomControl
import Synchronization
import TestSupport
import Testing

/// Many launches: each answered once, each process accounted for, nothing left behind.
@Suite struct LoadTests {
    private static let app = "org.example.app"

    private static func program() throws -> TestApp {
        TestApp(app, exec: try compileProbe("behave.c"), prewarm: 4, "ForegroundGroup=none")
    }

    private static func daemon(_ runner: Runner = .ownUser) throws -> TestDaemon {
        let daemon = try TestDaemon(try program(), options: runner.options)
        try daemon.awaitPaused(app, count: 4)
        return daemon
    }

    @Test func `1000 launches by 8 clients at once are each answered and accounted for`() throws {
        let daemon = try Self.daemon()
        let socketPath = daemon.socketPath
        let ended = try inParallel(8) { number in
            let client = try TestClient(socketPath)
            var ended: [UInt64: Control.Word<Control.LaunchKind>] = [:]
            for round in 0..<125 {
                let status = (number * 125 + round) % 251
                let launched = try client.launch(Self.app, ["exit", "\(status)"]) {
                    $0.launchIdentifier = "\(number)/\(round)"
                }
                #expect(!launched.isRepeated)
                let exit = try client.wait(launched.instance)
                #expect(exit.status == UInt8(status))
                #expect(exit.reason == .exitedSelf)
                #expect(ended.updateValue(launched.kind, forKey: launched.instance) == nil)
            }
            return ended
        }
        // No instance served two launches.
        #expect(Set(ended.flatMap(\.keys)).count == 1000)
        #expect(ended.flatMap(\.values).contains(.known(.prewarmed)))
        let paused = try daemon.awaitPaused(Self.app, count: 4)
        #expect(
            try daemon.client().instances().map(\.instance).sorted()
                == paused.map(\.instance).sorted())
        let left = Processes.apps(of: try daemon.spawnerPid)
        #expect(left.sorted() == paused.compactMap(\.processId).sorted())
    }

    /// The descriptors of both programs, when there are only the pool and `running` other
    /// instances. The spawner is the last to hear that an instance is forgotten, and has its pidfd
    /// until then.
    private static func descriptorCounts(
        _ daemon: TestDaemon, _ client: TestClient, running: Int = 0
    ) throws -> [Int] {
        try daemon.awaitPaused(app, count: 4)
        let spawner = try daemon.spawnerPid
        let end = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        let known = { KernelObjects.openFiles(of: spawner).count { $0.contains("pidfd") } }
        // A spawner of root also has a pidfd of the supervisor: the descriptors that clients sent
        // stay in the supervisor's descriptor table, and the spawner's children take them from
        // there.
        let expected = 4 + running + (Processes.user(of: spawner) == 0 ? 1 : 0)
        while known() != expected, ContinuousClock.now < end { sched_yield() }
        #expect(known() == expected)
        // Descriptors of connections closed just now are gone once the daemon has served later
        // calls. If a child of another test still has a copy of the test's end, that takes longer,
        // so the smallest count is used.
        return try (0..<5).map { _ in
            for _ in 0..<3 { _ = try client.list() }
            return [
                KernelObjects.descriptorCount(of: try daemon.pid),
                KernelObjects.descriptorCount(of: try daemon.spawnerPid),
            ]
        }.reduce([.max, .max]) { [min($0[0], $1[0]), min($0[1], $1[1])] }
    }

    @Test(arguments: Runner.allCases)
    func `200 launches leave no descriptor and no cgroup behind`(_ runner: Runner) throws {
        let daemon = try Self.daemon(runner)
        let extra = try daemon.client()
        // Descriptors that are opened at first use and kept are open by now.
        _ = try extra.run(Self.app)
        _ = try daemon.awaitPaused(Self.app, count: 4)
        let before = try Self.descriptorCounts(daemon, extra)
        let pausedPid = try daemon.awaitPaused(Self.app, count: 4).first?.processId ?? 0
        let base = Cgroups.folder(of: pausedPid).map { path in
            String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        }
        let hasCgroups = try daemon.client().describe().degraded.isEmpty
        let cgroups = { hasCgroups ? KernelObjects.directoryCount(below: base ?? "") : 0 }
        // The cgroup of the first use is removed when the spawner has nothing else to do.
        let quiet = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        while cgroups() != (hasCgroups ? 4 : 0), ContinuousClock.now < quiet { sched_yield() }
        #expect(cgroups() == (hasCgroups ? 4 : 0))
        // The counters notice a connection in the daemon, and an app in both programs.
        let connected = try daemon.client()
        _ = try connected.list()
        let running = try extra.start(Self.app)
        let during = try Self.descriptorCounts(daemon, extra, running: 1)
        #expect(during[0] > before[0] && during[1] > before[1])
        #expect(cgroups() == (hasCgroups ? 5 : 0))
        try extra.change(.kill, running.instance)

        let socketPath = daemon.socketPath
        _ = try inParallel(4) { number in
            let client = try TestClient(socketPath)
            for round in 0..<50 {
                switch round % 4 {
                case 0: _ = try client.run(Self.app, ["print", "x"])
                case 1: _ = try client.run(Self.app) { $0.workingDirectory = "/" }
                case 2:
                    // A new environment: cold, and the pool is made again.
                    let launched = try client.launch(Self.app, ["exit", "1"]) {
                        $0.environment = [.init(name: "TZ", value: "\(number)")]
                    }
                    _ = try client.wait(launched.instance)
                case _:
                    let running = try client.start(Self.app, ["child"])
                    try client.change(.suspend, running.instance)
                    try client.change(.terminate, running.instance)
                }
            }
        }
        // Instances of earlier environments may still be paused.
        try daemon.renewPool(of: Self.program())
        try daemon.await("no instances but the four paused ones") { client in
            let instances = try client.instances()
            return instances.count == 4 && instances.allSatisfy { $0.state == .prewarmed }
                ? true : nil
        }
        // The daemon has one descriptor more, for `connected`, which is still open. The spawner has
        // one more if there are cgroups, for the one that it keeps in reserve since the first cold
        // launch. The spawner is the last to hear that an instance is forgotten, and does not
        // report it, so the test counts again until the numbers are right or the time is up.
        let spare = hasCgroups ? 1 : 0
        let expected = [before[0] + 1, before[1] + spare]
        let end = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        var counts: [Int] = []
        repeat {
            counts = try Self.descriptorCounts(daemon, extra)
        } while counts != expected && ContinuousClock.now < end
        let pids = [try daemon.pid, try daemon.spawnerPid]
        #expect(
            counts == expected, "\(before): \(pids.map(KernelObjects.openFiles))")
        _ = try connected.list()
        // The spawner removes cgroups when it has nothing else to do.
        while cgroups() != (hasCgroups ? 4 + spare : 0), ContinuousClock.now < end { sched_yield() }
        #expect(cgroups() == (hasCgroups ? 4 + spare : 0))
    }
}
