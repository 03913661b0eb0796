import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Apps that their user force-quit.
@Suite struct `Force quits` {
    private static let app = "org.example.app"

    /// A probe with every kind of trigger that could launch it.
    private func daemon(_ configuration: [String] = []) throws -> (TestDaemon, Probe) {
        var options = TestDaemon.Options()
        options.configuration = configuration
        let daemon = try TestDaemon([], options)
        var probe = Probe(Self.app)
        probe.timer = ["OnActiveSec=1h", "OnCalendar=*:*:*"]
        probe.application = ["RemoteNotifications=yes"]
        let path = daemon.directory.path
        probe.sections = [
            "[Socket]", "ListenStream=\(path)/front", "[Path]", "PathExists=\(path)/job",
        ]
        try probe.install(in: daemon)
        #expect(try daemon.client().reload().failed.isEmpty)
        return (daemon, probe)
    }

    private func launches(_ probe: Probe, _ daemon: TestDaemon) -> Int {
        probe.told(in: daemon).count { $0.hasPrefix("launch ") }
    }

    /// Launches the app as a user does.
    private func launch(_ daemon: TestDaemon) throws -> UInt64 {
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        return instance
    }

    /// Launches the app as a user does, and force-quits it.
    private func quit(_ daemon: TestDaemon) throws {
        let instance = try launch(daemon)
        try daemon.client().change(.kill, instance)
        _ = try daemon.client().wait(instance)
    }

    /// Makes everything happen that would launch the app.
    private func provoke(_ daemon: TestDaemon) throws -> UnixSocket {
        let socket = try UnixSocket.connect(
            to: daemon.directory.path + "/front", .stream, nonblocking: false)
        let code = try daemon.client().refusal(
            .notify(app: Self.app, payload: "{}", response: nil))
        #expect(code == "force_quit")
        try daemon.directory.write("", to: "job")
        // The timer elapses every second, and nothing must happen.
        let watcher = try daemon.watch()
        #expect(throws: (any Error).self) {
            _ = try watcher.next(milliseconds: 2500)
        }
        return socket
    }

    @Test func `no timer, path, connection, push or task launches an app that its user force-quit`()
        throws
    {
        let (daemon, probe) = try daemon()
        try quit(daemon)
        let before = launches(probe, daemon)
        let socket = try provoke(daemon)
        let explained = try daemon.client().explain(Self.app).supervision
        #expect(explained?.forceQuit?.code == "force_quit")
        try daemon.kill()
        try daemon.start()
        let other = try provoke(daemon)
        #expect(launches(probe, daemon) == before)
        #expect(try daemon.client().explain(Self.app).supervision?.forceQuit != nil)
        // After the user has launched the app, every trigger launches it.
        let instance = try launch(daemon)
        #expect(try daemon.client().explain(Self.app).supervision?.forceQuit == nil)
        try daemon.client().change(.terminate, instance)
        try daemon.await("a launch by the daemon") { _ in
            launches(probe, daemon) > before + 1 ? true : nil
        }
        withExtendedLifetime((socket, other)) {}
    }

    @Test func `a force quit does not last if the configuration says so`() throws {
        let (daemon, probe) = try daemon(["ForceQuitLasts=no"])
        try quit(daemon)
        let before = launches(probe, daemon)
        _ = try daemon.client().handled(.notify(app: Self.app, payload: "{}", response: nil))
        try daemon.await("the launch") { _ in launches(probe, daemon) > before ? true : nil }
    }

    @Test func `a launch while a single instance is ending waits, so there are never two`() throws {
        let program = TestApp(
            Self.app, exec: "\(try compileProbe("behave.c")) ignore-term notify wait-forever",
            "Instances=single", "ReadyOn=notify", "TerminateGraceSec=3")
        let daemon = try TestDaemon(program)
        let client = try daemon.client()
        let first = try client.launch(Self.app)
        try daemon.awaitState(.active, of: first.instance)
        let ending = try daemon.client()
        try ending.send(
            .transition(.terminate, .instance(first.instance)))
        try daemon.awaitState(.terminating, of: first.instance)
        let pid = try #require(first.processId)
        #expect(Processes.isAlive(pid))
        let second = try client.launch(Self.app)
        #expect(second.instance != first.instance)
        #expect(!Processes.isAlive(pid))
        let end = try client.instance(first.instance)
        #expect(end.state == .notRunning)
    }
}
