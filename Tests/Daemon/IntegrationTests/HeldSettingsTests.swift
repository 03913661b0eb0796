import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Programs that are held at their first window, have no name on a message bus, and are thawed when a
/// setting of their display changes.
@Suite struct HeldSettingsTests {
    private static let app = "org.example.windows"
    /// Every held program is thawed about once a minute, so what comes later than this is not for
    /// the setting.
    private static let patience: UInt64 = 40_000_000_000

    private final class Bench {
        let bus: UserBus
        let screen: Screen
        let daemon: TestDaemon
        let pid: Int32
        let held: UInt64

        init(_ words: String, _ options: TestDaemon.Options = .init()) throws {
            try requireOrSkip(
                getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
            bus = try UserBus()
            screen = try Screen()
            var app = TestApp(
                HeldSettingsTests.app, exec: try Screen.probe() + " " + words, prewarm: 1,
                depth: "window")
            app.lines = [
                "Environment=DISPLAY=\(screen.display)", "User=\(windowUser)",
                "Environment=DBUS_SESSION_BUS_ADDRESS=\(bus.address)",
            ]
            daemon = try TestDaemon([app], options)
            let status = try daemon.await("a held window") { client in
                try client.paused(HeldSettingsTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
            pid = try #require(status.processId)
            held = status.instance
            // The watch begins with one airing, because nobody knows what has changed before.
            try awaitFirstThaw(of: pid, HeldSettingsTests.app, client())
            try awaitFreeze()
        }

        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        private func awaitFreeze() throws {
            try Processes.wait("it is not frozen again") { Processes.isFrozen(self.pid) }
        }

        func expectAiring(
            _ change: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let count = try Processes.sleepCount(of: pid)
            let begin = MonotonicClock.nanoseconds
            try change()
            try Processes.awaitThaw(of: pid, since: count)
            try awaitFreeze()
            #expect(
                MonotonicClock.nanoseconds - begin < HeldSettingsTests.patience,
                sourceLocation: sourceLocation)
        }
    }

    /// A settings manager of the display.
    private final class SettingsManager {
        private let process: ChildProcess
        private let input: Pipe
        private let output: Pipe

        init(_ screen: Screen) throws {
            (input, output) = (try Pipe(), try Pipe())
            process = try screen.settingsManager(input: input.readEnd, output: output.writeEnd)
        }

        deinit {
            process.kill(SIGKILL)
            _ = try? process.waitForExit()
        }

        func set(_ setting: String) throws {
            let line = Array((setting + "\n").utf8)
            guard write(input.writeEnd, line, line.count) == line.count else {
                throw TestError("writing a setting: errno \(errno)")
            }
            guard try readLine(output.readEnd) == "set" else {
                throw TestError("the settings manager has ended")
            }
        }
    }

    @Test func `a changed resource database or output airs the held program`() throws {
        let bench = try Bench("xlib one")
        try bench.expectAiring { try bench.screen.change("resources", "96") }
        try bench.expectAiring { try bench.screen.change("output") }
        #expect(try bench.screen.windows() == [])
        #expect(try bench.client().launch(Self.app).instance == bench.held)
    }

    @Test func `a settings manager airs the held program when it comes and when it changes`()
        throws
    {
        let bench = try Bench("xlib one")
        var manager: SettingsManager?
        try bench.expectAiring { manager = try SettingsManager(bench.screen) }
        try bench.expectAiring { try manager?.set("Net/DoubleClickTime 300") }
        // Without it, toolkits fall back to their own settings.
        try bench.expectAiring { manager = nil }
        #expect(try bench.screen.windows() == [])
    }

    @Test func `a setting that the bus tells airs a held program without a name`() throws {
        let bench = try Bench("xlib one")
        try bench.expectAiring {
            try bench.bus.emit("org.freedesktop.portal.Settings.SettingChanged", [])
        }
        #expect(try bench.screen.windows() == [])
    }

    @Test func `the end of the bus ends no held program without a name, and is logged once`()
        throws
    {
        let bench = try Bench("xlib one")
        bench.bus.end()
        try Processes.wait("the loss is not logged") {
            bench.daemon.log.contains("cannot be watched for now")
        }
        try bench.expectAiring { try bench.screen.change("resources", "96") }
        let count = bench.daemon.log.split(separator: "\n").count {
            $0.contains("cannot be watched for now")
        }
        #expect(count == 1)
        #expect(try bench.client().launch(Self.app).instance == bench.held)
    }

    @Test func `the end of the watch ends no held program without a name`() throws {
        let bench = try Bench("xlib one")
        let watch = try #require(bench.bus.watches().first)
        kill(watch, SIGKILL)
        try Processes.awaitEnd(of: watch)
        #expect(try bench.client().launch(Self.app).instance == bench.held)
    }

    @Test(arguments: ["resources", "Net/ThemeName Dark", "Gtk/FontName Serif"])
    func `another scale, theme or font ends a held program`(setting: String) throws {
        // No other instance is held before the launch.
        var options = TestDaemon.Options()
        options.configuration = ["BackOffFirstSec=60"]
        let bench = try Bench("xlib one", options)
        var manager: SettingsManager?
        if setting == "resources" {
            try bench.screen.change("resources", "192")
        } else {
            manager = try SettingsManager(bench.screen)
            try manager?.set(setting)
        }
        let client = try bench.client()
        #expect(try client.wait(bench.held).reason == .stale)
        let launched = try client.launch(Self.app)
        #expect(launched.kind == .cold && launched.coldReason == .appearanceChanged)
        let last = try #require(try client.explain(Self.app).lastLaunch)
        #expect(last.coldReason == .known(.appearanceChanged))
    }
}
