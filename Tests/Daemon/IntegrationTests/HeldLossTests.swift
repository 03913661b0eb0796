import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The spawner is killed, with the supervisor or without it, while a program is held at its first
/// window. The program stays held, or ends, and shows its window once, after it was asked for.
@Suite struct HeldLossTests {
    private static let app = "org.example.windows"
    private static let name = "org.example.Named"

    private final class Bench {
        let screen: Screen
        let watch: WindowWatch
        let bus: UserBus
        let daemon: TestDaemon
        private var others: [ChildProcess] = []

        init(_ words: String) throws {
            try requireOrSkip(
                getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
            screen = try Screen()
            watch = try screen.watch()
            bus = try UserBus()
            var app = TestApp(
                HeldLossTests.app, exec: try Screen.probe() + " " + words, prewarm: 1,
                depth: "window")
            app.lines = [
                "Environment=DISPLAY=\(screen.display)", "User=\(windowUser)",
                "Environment=DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
            ]
            daemon = try TestDaemon(app, TestApp(Self.other, exec: "/bin/true"))
        }

        private static let other = "org.example.other"

        deinit { for other in others { other.kill(SIGKILL) } }

        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        func awaitHeld(after other: UInt64? = nil) throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(HeldLossTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                        && $0.instance != other
                }
            }
        }

        func replaceSpawner() throws {
            let old = try daemon.spawnerPid
            Glibc.kill(old, SIGKILL)
            try Processes.awaitEnd(of: old)
            try Processes.wait("there is no other spawner") {
                (try? daemon.spawnerPid).map { $0 != old } == true
            }
            // It has carried out an order, so the daemon has compared its instances with it.
            _ = try daemon.client().launch(Self.other)
        }

        /// Fails if a window has appeared since the watch began: the next one that it tells of is
        /// this test's own.
        func requireNothingWasShown() throws {
            others.append(try screen.show("xlib", "mark"))
            #expect(try watch.next() == "mark")
        }
    }

    /// When the spawner is killed.
    enum Moment: CaseIterable { case frozen, airing, frozenTwice }

    @Test(arguments: Moment.allCases)
    func `a held program without a name outlives the spawner and can be launched`(moment: Moment)
        throws
    {
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        let pid = try #require(held.processId)
        if moment == .airing {
            // The moment may be over before the test has noticed it.
            repeat {
                let count = try Processes.sleepCount(of: pid)
                try bench.screen.change("resources", "96")
                try Processes.awaitThaw(of: pid, since: count)
            } while Processes.isFrozen(pid)
        }
        try bench.replaceSpawner()
        if moment == .frozenTwice { try bench.replaceSpawner() }
        #expect(Processes.isAlive(pid))
        try Processes.wait("it is not frozen") { Processes.isFrozen(pid) }
        #expect(try bench.awaitHeld().instance == held.instance)
        try bench.requireNothingWasShown()
        let launched = try bench.client().launch(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        #expect(try bench.watch.next() == "one")
        // Its pool is filled again, beside it and without a window.
        _ = try bench.awaitHeld(after: held.instance)
        #expect(try bench.screen.windows().sorted() == ["mark", "one"])
    }

    /// What a new spawner must not do is to let the watch of the name end and the program stay.
    @Test(arguments: [false, true])
    func `a held program with a name is found by its callers after the spawner is killed`(
        isOnItsWay: Bool
    ) throws {
        let bench = try Bench("owns \(Self.name) xlib one")
        if isOnItsWay {
            _ = try bench.daemon.await("a prewarm") { client in
                try client.instances(of: Self.app).first { $0.processId != nil }
            }
        } else {
            _ = try bench.awaitHeld()
        }
        try bench.replaceSpawner()
        let held = try bench.awaitHeld()
        try Processes.wait("its name is not watched") { bench.bus.watches().count == 1 }
        try bench.requireNothingWasShown()
        #expect(try bench.bus.call(Self.name, "org.freedesktop.Application.Activate"))
        #expect(try bench.watch.next() == "one")
        let status = try #require(
            try bench.client().instances(of: Self.app).first { $0.instance == held.instance })
        #expect(status.kind == .prewarmed)
    }

    @Test func `a held program ends with both daemons, and another is held`() throws {
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        let old = try bench.daemon.spawnerPid
        Glibc.kill(old, SIGKILL)
        try Processes.awaitEnd(of: old)
        try bench.daemon.kill()
        try bench.daemon.start()
        try Processes.awaitEnd(of: try #require(held.processId))
        let next = try bench.awaitHeld(after: held.instance)
        try bench.requireNothingWasShown()
        #expect(try bench.client().launch(Self.app).instance == next.instance)
        #expect(try bench.watch.next() == "one")
    }

    /// The launch has its window, whichever process shows it, and there is one window.
    @Test func `a launch during which the spawner is killed shows one window`() throws {
        let bench = try Bench("xlib one")
        for _ in 0..<5 {
            let held = try bench.awaitHeld()
            let client = try bench.client()
            let call = ControlCall.launch(Control.LaunchCall(app: Self.app))
            let spawner = try bench.daemon.spawnerPid
            try client.send(call)
            Glibc.kill(spawner, SIGKILL)
            guard case .launched(let launched) = try client.reply(to: call) else {
                throw TestError("another reply")
            }
            #expect(launched.instance == held.instance)
            #expect(try bench.watch.next() == "one")
            #expect(try bench.screen.windows() == ["one"])
            _ = try client.change(.kill, launched.instance)
            _ = try client.wait(launched.instance)
        }
    }
}
