import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs that take windows back, or show more of them, while they are thawed for a moment
/// between the hold and the launch: the launch leaves the same windows as a direct start.
@Suite struct AiredWindowTests {
    private static let app = "org.example.windows"

    /// A daemon with one app, which holds its windows and has been aired once because its watch has
    /// begun.
    private final class Held {
        let daemon: TestDaemon
        let instance: UInt64
        let pid: Int32

        init(_ command: String, lines: [String]) throws {
            try requireOrSkip(
                getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
            var app = TestApp(AiredWindowTests.app, exec: command, prewarm: 1, depth: "window")
            app.lines = lines + ["User=\(windowUser)"]
            daemon = try TestDaemon(app)
            let status = try daemon.await("a held window") { client in
                try client.paused(AiredWindowTests.app).first {
                    $0.depth == .known(.window) && $0.areThreadsFrozen == true
                }
            }
            (instance, pid) = (status.instance, try #require(status.processId))
            try awaitFirstThaw(of: pid, AiredWindowTests.app, client())
            try awaitFreeze()
        }

        private func awaitFreeze() throws {
            try Processes.wait("it is neither frozen again nor at its end") {
                Processes.isFrozen(self.pid) || !Processes.isAlive(self.pid)
            }
        }

        func air(_ change: () throws -> Void) throws {
            let count = try Processes.sleepCount(of: pid)
            try change()
            try Processes.awaitThaw(of: pid, since: count)
            try awaitFreeze()
        }

        func client() throws -> TestClient {
            let descriptor = cts_connect_as(daemon.socketPath, windowUser, windowUser, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }

        func launch() throws -> Control.Launched { try client().launch(AiredWindowTests.app) }

        /// Tells the daemon that the app will be launched, until the program is thawed. A hint airs
        /// it only if it was not aired in the last five seconds; by time, it is aired once a minute.
        func hint() throws {
            let client = try client()
            try Processes.wait("no hint airs it") {
                guard Processes.isFrozen(pid) else { return false }
                let reply = try client.call(.prepare(app: AiredWindowTests.app))
                guard reply == .prepared(isReady: true) else { throw TestError("\(reply)") }
                return !Processes.isFrozen(pid)
            }
        }
    }

    private func await(
        _ expected: Set<String>, _ what: String, windows: () throws -> Set<String>
    ) throws {
        var seen: Set<String> = []
        do {
            try Processes.wait("\(what) does not show \(expected)") {
                seen = (try? windows()) ?? []
                return seen == expected
            }
        } catch { throw TestError("\(what) shows \(seen), not \(expected)") }
    }

    @Test(
        arguments: [
            ("unmapped one xlib two", ["two"]), ("withdrawn one xlib two", ["two"]),
            ("destroyed one xlib two", ["two"]), ("remapped one", ["one"]),
            ("xlib one late two", ["one", "two"]), ("destroyed one late two", ["two"]),
        ] as [(String, Set<String>)])
    func `a client of an X server`(words: String, shown: Set<String>) throws {
        let direct = try Screen()
        let watch = try direct.watch()
        let started = try direct.show(words.split(separator: " ").map(String.init))
        defer { started.kill(SIGKILL) }
        #expect(try !watch.next().isEmpty)
        try self.await(shown, "a direct start") {
            // The client may not have asked yet for changes, and only takes the first.
            try direct.change("resources", "96")
            return Set(try direct.windows())
        }

        let screen = try Screen()
        let held = try Held(
            "\(try Screen.probe()) \(words)", lines: ["Environment=DISPLAY=\(screen.display)"])
        try held.air { try screen.change("resources", "96") }
        #expect(try screen.windows() == [])
        #expect(try held.launch().instance == held.instance)
        try self.await(shown, "the launch") { Set(try screen.windows()) }
    }

    @Test func `a hint thaws a held program for a moment, and the launch shows its window`()
        throws
    {
        let screen = try Screen()
        let held = try Held(
            "\(try Screen.probe()) xlib one", lines: ["Environment=DISPLAY=\(screen.display)"])
        try held.hint()
        try Processes.wait("it is not frozen again") { Processes.isFrozen(held.pid) }
        #expect(try screen.windows() == [])
        // Before it is frozen again, the launch comes.
        try held.hint()
        let launched = try held.launch()
        #expect(launched.kind == .prewarmed && launched.instance == held.instance)
        try self.await(["one"], "the launch") { Set(try screen.windows()) }
    }

    /// What shows no window any more cannot be what a launch shows, and a new process has not taken
    /// its window back.
    @Test(arguments: ["unmapped one", "withdrawn one", "destroyed one"])
    func `a client of an X server that takes its last window back is launched cold`(words: String)
        throws
    {
        let screen = try Screen()
        let watch = try screen.watch()
        let held = try Held(
            "\(try Screen.probe()) \(words)", lines: ["Environment=DISPLAY=\(screen.display)"])
        try held.air { try screen.change("resources", "96") }
        #expect(try held.launch().kind == .cold)
        #expect(try watch.next() == "one")
        #expect(try screen.windows() == ["one"])
    }

    @Test(
        arguments: [
            ("unmapped one flags two", ["two"]), ("destroyed one flags two", ["two"]),
            ("flags one late two", ["one", "two"]), ("destroyed one late two", ["two"]),
        ] as [(String, Set<String>)])
    func `a client of a compositor`(words: String, shown: Set<String>) throws {
        let direct = try Compositor()
        let watch = try direct.watch()
        let started = try direct.show(words.split(separator: " ").map(String.init))
        defer { started.kill(SIGKILL) }
        #expect(try !watch.next().isEmpty)
        try direct.tell("create_output")
        try self.await(shown, "a direct start") { try direct.windows() }

        let compositor = try Compositor()
        let held = try Held(
            "\(try Compositor.probe()) \(words)",
            lines: compositor.variables.map { "Environment=\($0)" })
        try held.air { try compositor.tell("create_output") }
        #expect(try compositor.windows() == [])
        #expect(try held.launch().instance == held.instance)
        try self.await(shown, "the launch") { try compositor.windows() }
    }

    /// The same as for an X server. A compositor may have no size for a window that it never
    /// showed, so a program that shows its window again cannot stay held.
    @Test(arguments: ["unmapped one", "destroyed one", "remapped one"])
    func `a client of a compositor that takes its last window back is launched cold`(words: String)
        throws
    {
        let compositor = try Compositor()
        let watch = try compositor.watch()
        let held = try Held(
            "\(try Compositor.probe()) \(words)",
            lines: compositor.variables.map { "Environment=\($0)" })
        try held.air { try compositor.tell("create_output") }
        #expect(try held.launch().instance != held.instance)
        #expect(try watch.next() == "one")
        #expect(try compositor.windows() == ["one"])
    }
}
