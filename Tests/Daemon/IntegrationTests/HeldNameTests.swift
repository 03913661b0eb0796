import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Programs that are held at their first window and own a name on the message bus of their session.
@Suite struct HeldNameTests {
    private static let app = "org.example.windows"
    private static let name = "org.example.Named"

    private final class Bench {
        let bus: UserBus
        let screen: Screen
        let watch: WindowWatch
        let daemon: TestDaemon

        init(
            _ words: String, exec: String? = nil, lines: [String] = [],
            _ options: TestDaemon.Options = .init()
        ) throws {
            bus = try UserBus()
            screen = try Screen()
            watch = try screen.watch()
            var app = TestApp(
                HeldNameTests.app, exec: (try exec ?? Screen.probe()) + " " + words,
                prewarm: 1, depth: "window")
            app.lines =
                [
                    "Environment=DISPLAY=\(screen.display)", "User=\(windowUser)",
                    "Environment=DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
                ] + lines
            daemon = try TestDaemon([app], options)
        }

        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        @discardableResult
        func awaitHeld(after other: UInt64? = nil) throws -> Control.InstanceStatus {
            try daemon.await("a held window") { client in
                try client.paused(HeldNameTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                        && $0.instance != other
                }
            }
        }

        func awaitReason(_ code: String) throws {
            _ = try daemon.await(code) { client in
                try client.explain(HeldNameTests.app).reasons.first { $0.code == code }
            }
        }

        /// Starts a program as the user, without the daemon.
        func start(_ program: String, _ words: [String]) throws -> ChildProcess {
            var request = ChildRequest(
                program, arguments: [program] + words,
                environment: [
                    "PATH=/usr/bin:/bin", "DISPLAY=\(screen.display)",
                    "DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
                ])
            request.user = windowUser
            return try ChildProcess(request)
        }
    }

    private func requireFreezer() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
    }

    @Test(arguments: [
        "org.freedesktop.Application.Activate", "org.gtk.Application.CommandLine",
        "org.gtk.Actions.Activate", "org.kde.KDBusService.CommandLine", "org.example.Own.Show",
        "org.gnome.Shell.SearchProvider2.ActivateResult",
    ])
    func `a call that starts the program shows its window`(method: String) throws {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        #expect(try bench.bus.call(Self.name, method))
        #expect(try bench.watch.next() == "one")
        let status = try #require(
            try bench.client().instances(of: Self.app).first { $0.instance == held.instance })
        #expect(status.kind == .prewarmed)
        // From now on, the program itself gets the calls.
        try Processes.wait("the watch does not end") { bench.bus.watches().isEmpty }
    }

    /// The call reaches the program as soon as it is thawed. The launch has not ended by then,
    /// because it waits for the X server.
    @Test func `a program that makes a process for the call that starts it is launched`() throws {
        try requireFreezer()
        for _ in 0..<5 {
            // A slow machine may take too long to show the window, after which no program is held.
            let bench = try Bench("forking \(Self.name) xlib one")
            let held = try bench.awaitHeld()
            bench.screen.stop()
            let isAnswered = try bench.bus.call(
                Self.name, "org.freedesktop.Application.Activate")
            bench.screen.resume()
            #expect(isAnswered)
            #expect(try bench.watch.next() == "one")
            let client = try bench.client()
            let status = try #require(
                try client.instances(of: Self.app).first { $0.instance == held.instance })
            #expect(status.kind == .prewarmed)
        }
    }

    @Test(arguments: [
        "org.freedesktop.DBus.Peer.Ping", "org.gtk.Actions.DescribeAll",
        "org.gnome.Shell.SearchProvider2.GetInitialResultSet",
    ])
    func `a question is answered, and nothing is shown`(method: String) throws {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        for _ in 0..<3 { #expect(try bench.bus.call(Self.name, method)) }
        #expect(try bench.awaitHeld().instance == held.instance)
        #expect(try bench.screen.windows() == [])
        #expect(try bench.client().launch(Self.app).kind == .prewarmed)
        #expect(try bench.watch.next() == "one")
    }

    /// Every held program is thawed about once a minute, so what comes later than this is not for
    /// the setting.
    private static let settingPatience: UInt64 = 40_000_000_000

    @Test(
        arguments: [
            ("ca.desrt.dconf.Writer.Notify", ["'/org/gnome/desktop/interface/gtk-theme'"]),
            ("ca.desrt.dconf.Writer.Notify", ["'/org/gnome/'"]),
            ("ca.desrt.dconf.Writer.Notify", ["'/org/mate/interface/gtk-theme'"]),
            ("ca.desrt.dconf.Writer.Notify", ["'/org/cinnamon/theme/name'"]),
            ("org.freedesktop.portal.Settings.SettingChanged", []),
            ("org.xfce.Xfconf.PropertyChanged", ["'xsettings'", "'/Net/ThemeName'"]),
            ("org.kde.kconfig.notify.ConfigChanged", []),
            ("org.kde.KGlobalSettings.notifyChange", []),
        ] as [(String, [String])])
    func `a changed setting airs the held program, and nothing is shown`(
        signal: String, values: [String]
    ) throws {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let pid = try #require(try bench.awaitHeld().processId)
        try Processes.wait("it is not frozen") { Processes.isFrozen(pid) }
        let begin = MonotonicClock.nanoseconds
        // The second change follows soon, and is told a second after the first.
        for least: UInt64 in [0, 1_000_000_000] {
            let count = try Processes.sleepCount(of: pid)
            try bench.bus.emit(signal, values)
            try Processes.awaitThaw(of: pid, since: count)
            #expect(least..<Self.settingPatience ~= MonotonicClock.nanoseconds - begin)
            try Processes.wait("it is not frozen again") { Processes.isFrozen(pid) }
        }
        #expect(try bench.screen.windows() == [])
    }

    @Test func `a program whose name another process owns is not held until that has ended`()
        throws
    {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        let client = try bench.client()
        // The launched instance owns the name now, so the next one cannot.
        #expect(try client.launch(Self.app).kind == .prewarmed)
        #expect(try bench.watch.next() == "one")
        try bench.awaitReason("depth_name_taken")
        #expect(try bench.daemon.awaitPaused(Self.app).first?.depth == .known(.main))
        #expect(try bench.screen.windows() == ["one"])
        _ = try client.change(.terminate, held.instance)
        _ = try client.wait(held.instance)
        try bench.awaitHeld(after: held.instance)
    }

    @Test func `the end of the watch ends the held program, which shows nothing`() throws {
        try requireFreezer()
        // No other instance is held before the call.
        var options = TestDaemon.Options()
        options.configuration = ["BackOffFirstSec=60"]
        let bench = try Bench("owns \(Self.name) xlib one", options)
        let held = try bench.awaitHeld()
        let watch = try #require(bench.bus.watches().first)
        kill(watch, SIGKILL)
        _ = try bench.client().wait(held.instance)
        #expect(try bench.screen.windows() == [])
        #expect(try !bench.bus.call(Self.name, "org.freedesktop.Application.Activate"))
    }

    @Test func `the end of the bus ends the held program, which shows nothing`() throws {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        bench.bus.end()
        _ = try bench.client().wait(held.instance)
        #expect(try bench.screen.windows() == [])
    }

    @Test func `the end of the daemon ends the held program and its watch, and another is held`()
        throws
    {
        try requireFreezer()
        let bench = try Bench("owns \(Self.name) xlib one")
        let held = try bench.awaitHeld()
        let watch = try #require(bench.bus.watches().first)
        try bench.daemon.kill()
        try Processes.awaitEnd(of: watch)
        try bench.daemon.start()
        try bench.awaitHeld(after: held.instance)
        #expect(try bench.screen.windows() == [])
        #expect(try bench.bus.call(Self.name, "org.freedesktop.Application.Activate"))
        #expect(try bench.watch.next() == "one")
    }

    /// A second start of the program, without the daemon, passes the file to the held instance,
    /// which would not show it.
    @Test func `a direct start of a real program shows the held window with its file`() throws {
        try requireFreezer()
        let program = findProgram("mousepad")
        try requireOrSkip(program != nil, "no mousepad")
        let home = try TemporaryDirectory()
        for path in [home.path, home.path + "/gtk-3.0"] {
            mkdir(path, 0o777)
            chmod(path, 0o777)
        }
        let lines = ["HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"].map {
            "Environment=\($0)=\(home.path)"
        }
        let bench = try Bench(
            "", exec: program,
            lines: lines + ["Environment=NO_AT_BRIDGE=1", "Environment=GSETTINGS_BACKEND=memory"])
        let held = try bench.awaitHeld()
        #expect(try bench.screen.windows() == [])
        // No other process could serve the call, so old settings do not end this one.
        _ = try home.write("[Settings]\n", to: "gtk-3.0/settings.ini")
        let file = try home.write("text", to: "seen.txt")
        let second = try bench.start(program!, [file])
        #expect(try second.waitForExit() == .status(0))
        var title = try bench.watch.next()
        while !title.contains("seen.txt"), !title.contains("Mousepad") {
            title = try bench.watch.next()
        }
        let status = try #require(
            try bench.client().instances(of: Self.app).first { $0.instance == held.instance })
        #expect(status.kind == .prewarmed)
        try Processes.wait("the file's window does not appear") {
            try bench.screen.windows().contains { $0.contains("seen.txt") }
        }
    }
}
