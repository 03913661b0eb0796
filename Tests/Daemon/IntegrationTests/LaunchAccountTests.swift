import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Every launch records who asked for it, how long it took, and how long the app ran.
@Suite struct LaunchAccountTests {
    private static let app = "org.example.app"

    /// The name of this process.
    private static func ownName() throws -> String {
        String(decoding: try readFile("/proc/self/comm").dropLast(), as: UTF8.self)
    }

    @Test func `the events of a launch name its caller and its times`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1))
        try daemon.awaitPaused(Self.app)
        let watcher = try daemon.watch()
        let (launched, _, _) = try daemon.client().run(Self.app, ["exit", "3"])
        let event = try watcher.next { $0.kind == .launched && $0.app == Self.app }
        let caller = try #require(event.caller)
        #expect(caller.userId == getuid() && caller.processId == getpid())
        #expect(try caller.program == Self.ownName())
        #expect(event.elapsedUSec == launched.elapsedUSec)
        let ready = try watcher.next {
            $0.kind == .stateChanged && $0.instance == launched.instance && $0.from == .launching
        }
        #expect(try #require(ready.elapsedUSec) >= launched.elapsedUSec)
        let end = try watcher.next { $0.kind == .exited && $0.instance == launched.instance }
        #expect(try #require(end.ranUSec) > 0)
        #expect(daemon.log.contains("caller_pid=\(getpid())"))

        let last = try #require(try daemon.client().explain(Self.app).lastLaunch)
        #expect(last.caller == caller)
        #expect(last.elapsedUSec == launched.elapsedUSec)
        #expect(last.readyUSec == ready.elapsedUSec)
        #expect(last.exit?.status == 3 && last.ranUSec == end.ranUSec)
    }

    @Test func `each of two clients that one instance serves is named`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), "Instances=single"))
        let client = try daemon.client()
        let running = try client.start(Self.app)
        let watcher = try daemon.watch()
        let again = try client.launch(Self.app)
        #expect(again.kind == .foreground && again.instance == running.instance)
        let event = try watcher.next { $0.kind == .launched }
        #expect(event.launchKind == .foreground && event.caller?.processId == getpid())
        try client.change(.kill, running.instance)
        let end = try watcher.next { $0.kind == .exited }
        #expect(try #require(end.ranUSec) > 0)
    }

    @Test func `a launch that outlives its supervisor still says how long it ran`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        let running = try daemon.client().start(Self.app)
        try daemon.kill()
        try daemon.start()
        let watcher = try daemon.watch()
        try daemon.client().change(.kill, running.instance)
        let end = try watcher.next { $0.kind == .exited && $0.instance == running.instance }
        #expect(try #require(end.ranUSec) > 0)
        // It is no longer known who asked.
        #expect(try daemon.client().explain(Self.app).lastLaunch?.caller == nil)
    }
}
