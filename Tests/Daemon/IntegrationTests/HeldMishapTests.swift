import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// What goes wrong with programs that are held at their first window while they are launched, or what
/// they do while they are thawed for a moment.
@Suite struct HeldMishapTests {
    private static let name = "org.example.Named"

    private final class Bench {
        let screen: Screen
        let watch: WindowWatch
        let bus: UserBus
        let daemon: TestDaemon

        /// - Parameter apps: identifiers, and the words that say which windows each shows.
        init(_ apps: [(String, String)]) throws {
            try requireOrSkip(
                getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
            screen = try Screen()
            watch = try screen.watch()
            bus = try UserBus()
            let probe = try Screen.probe()
            daemon = try TestDaemon(
                apps.map { [screen, bus] identifier, words in
                    var app = TestApp(
                        identifier, exec: probe + " " + words, prewarm: 1, depth: "window")
                    app.lines = [
                        "Environment=DISPLAY=\(screen.display)", "User=\(windowUser)",
                        "Environment=DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
                    ]
                    return app
                })
        }

        convenience init(_ words: String) throws { try self.init([(HeldMishapTests.app, words)]) }

        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        func awaitHeld(_ app: String = HeldMishapTests.app) throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
        }

        func awaitReason(_ start: String) throws -> String {
            try daemon.await("the end of the depth") { client in
                try client.explain(HeldMishapTests.app).reasons.map(\.code).first {
                    $0.hasPrefix(start)
                }
            }
        }
    }

    private static let app = "org.example.windows"

    @Test func `a program with windows on two displays pauses before main`() throws {
        let other = try Screen()
        let bench = try Bench("xlib one elsewhere \(other.display)")
        #expect(try bench.awaitReason("depth_") == "depth_other_display")
        #expect(try bench.screen.windows() == [])
        #expect(try other.windows() == [])
    }

    /// It has no second thread, as a program has that waits for its launch in the library.
    @Test func `a program that only says that it is held is frozen`() throws {
        try requireOrSkip(
            getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
        var app = TestApp(
            Self.app, exec: try compileProbe("pretend.c"), prewarm: 1, depth: "window")
        app.lines = ["Environment=DISPLAY=:0", "User=\(windowUser)"]
        let daemon = try TestDaemon(app)
        let held = try daemon.await("a pause") { try $0.paused(Self.app).first }
        #expect(held.depth == .known(.window))
        let pid = try #require(held.processId)
        try Processes.wait("it goes on") { Processes.isFrozen(pid) }
    }

    /// Nobody would watch the new process by ptrace(2), and it would withhold nothing.
    @Test(arguments: ["follows two", "forks-later", "spawns-later"])
    func `a held program that makes a process is ended before it does`(words: String) throws {
        let bench = try Bench("xlib one \(words)")
        let held = try bench.awaitHeld()
        try bench.screen.change("resources", "96")
        #expect(try bench.awaitReason("depth_") == "depth_starts_programs")
        _ = try bench.client().wait(held.instance)
        #expect(try bench.screen.windows() == [])
        // It may be paused before main, because it makes the process only after the launch then.
        #expect(try bench.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
    }

    /// After the launch, a program makes processes as always.
    @Test func `a released program makes a process`() throws {
        let bench = try Bench("xlib one follows two")
        let held = try bench.awaitHeld()
        #expect(try bench.client().launch(Self.app).instance == held.instance)
        #expect(try bench.watch.next() == "one")
        try bench.screen.change("resources", "96")
        #expect(try bench.watch.next() == "two")
    }

    @Test func `a launch is answered if its display ends meanwhile`() throws {
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        // A stopped X server cannot say that it has shown the window.
        bench.screen.stop()
        let client = try bench.client()
        let call = ControlCall.launch(Control.LaunchCall(app: Self.app))
        try client.send(call)
        try Processes.wait("it is not thawed") { !Processes.isFrozen(held.processId!) }
        bench.screen.end()
        do {
            let reply = try client.reply(to: call)
            guard case .launched(let launched) = reply else { throw TestError("another reply") }
            #expect(launched.instance != held.instance)
        } catch is ControlError {}
        _ = try client.wait(held.instance)
    }

    /// Whatever comes first, one window appears, and the launch has its instance.
    @Test(arguments: [false, true])
    func `a launch whose watch of the bus ends shows one window`(isLaunchFirst: Bool) throws {
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        let watch = try #require(bench.bus.watches().first)
        let client = try bench.client()
        let call = ControlCall.launch(Control.LaunchCall(app: Self.app))
        if !isLaunchFirst { kill(watch, SIGKILL) }
        try client.send(call)
        if isLaunchFirst { kill(watch, SIGKILL) }
        guard case .launched(let launched) = try client.reply(to: call) else {
            throw TestError("another reply")
        }
        #expect(try bench.watch.next() == "one")
        #expect((launched.kind == .prewarmed) == (launched.instance == held.instance))
        #expect(try client.instance(launched.instance).exit == nil)
        #expect(try bench.screen.windows() == ["one"])
    }

    /// What cannot be shown any more is shown by another process.
    @Test(arguments: ["xlib one", "xlib one dated two"])
    func `a launch whose withheld window is destroyed is cold`(words: String) throws {
        let bench = try Bench(words)
        let held = try bench.awaitHeld()
        try bench.screen.destroy("one")
        let launched = try bench.client().launch(Self.app)
        #expect(launched.kind == .cold && launched.instance != held.instance)
        while try bench.watch.next() != "one" {}
    }

    /// It runs as the app's user, who can stop it. One that stayed would count against everybody.
    @Test(arguments: [false, true])
    func `a watch of the bus that is stopped ends with the hold`(isLaunched: Bool) throws {
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        let watch = try #require(bench.bus.watches().first)
        kill(watch, SIGSTOP)
        defer { kill(watch, SIGCONT) }
        let client = try bench.client()
        if isLaunched {
            #expect(try client.launch(Self.app).instance == held.instance)
        } else {
            kill(try #require(held.processId), SIGKILL)
        }
        try Processes.awaitEnd(of: watch)
    }

    @Test func `a held program is launched while its user's session is locked`() throws {
        let bench = try Bench("xlib one")
        let held = try bench.awaitHeld()
        try bench.daemon.client().call(
            .application(.lock(user: UInt32(windowUser))))
        #expect(try bench.client().launch(Self.app).instance == held.instance)
        #expect(try bench.watch.next() == "one")
    }

    @Test func `two programs are launched at the same time, many times`() throws {
        let apps = ["org.example.first", "org.example.second"]
        let bench = try Bench([(apps[0], "xlib one"), (apps[1], "splash cover xcb two")])
        let clients = try apps.map { _ in try bench.client() }
        for _ in 0..<25 {
            let held = try apps.map { try bench.awaitHeld($0).instance }
            #expect(try bench.screen.windows() == [])
            let calls = apps.map { ControlCall.launch(Control.LaunchCall(app: $0)) }
            for (client, call) in zip(clients, calls) { try client.send(call) }
            var launched: [UInt64] = []
            for (client, call) in zip(clients, calls) {
                guard case .launched(let one) = try client.reply(to: call) else {
                    throw TestError("another reply")
                }
                launched.append(one.instance)
            }
            #expect(launched == held)
            let seen = try (0..<3).map { _ in try bench.watch.next() }
            #expect(seen.sorted() == ["cover", "one", "two"])
            #expect(try bench.screen.windows().sorted() == ["cover", "one", "two"])
            for (client, instance) in zip(clients, launched) {
                _ = try client.change(.kill, instance)
                _ = try client.wait(instance)
            }
        }
    }
}
