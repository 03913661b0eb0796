import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// No thread of a paused instance runs, even if a library has started threads before the pause.
@Suite struct StillnessTests {
    private static let app = "org.example.app"
    private static let compiler = ProbeCompiler("clang", ["-pthread"])

    private func daemon(_ options: TestDaemon.Options = .init()) throws -> TestDaemon {
        let daemon = try TestDaemon([], options)
        try daemon.directory.write(String(repeating: "\0", count: 4096), to: "count")
        chmod(path(daemon), 0o666)
        try daemon.install(
            TestApp(
                Self.app,
                exec: try compileWithLibrary(
                    source: packageRoot + "/Tests/Probes/counting.c", with: Self.compiler),
                prewarm: 1, "Environment=COUNT=\(path(daemon))"))
        _ = try daemon.client().reload()
        return daemon
    }

    private func path(_ daemon: TestDaemon) -> String { daemon.directory.path + "/count" }

    private func count(_ daemon: TestDaemon) throws -> UInt64 {
        try readFile(path(daemon)).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func paused(_ daemon: TestDaemon) throws -> Control.InstanceStatus {
        try #require(try daemon.awaitPaused(Self.app).first)
    }

    /// Looks again and again, because no event reports what the kernel does to a thread.
    private func until(_ isTrue: () throws -> Bool) throws {
        try Processes.wait("it has not come true in time", isTrue)
    }

    private func expectStill(_ daemon: TestDaemon) throws {
        let pid = try #require(try paused(daemon).processId)
        try until { Processes.isFrozen(pid) }
        let before = try count(daemon)
        for _ in 0..<50 { _ = try daemon.client().list() }
        #expect(try count(daemon) == before)
        #expect(try paused(daemon).areThreadsFrozen == true)
    }

    private func expectLaunch(_ daemon: TestDaemon) throws {
        let output = try Pipe()
        let launched = try daemon.client().launch(Self.app, output: output.writeEnd)
        output.closeWriteEnd()
        #expect(launched.kind == .prewarmed)
        #expect(try readLine(output.readEnd) == "main")
        let before = try count(daemon)
        try until { try count(daemon) > before }
        #expect(try daemon.client().instance(launched.instance).areThreadsFrozen == nil)
    }

    private func requireCgroups() throws {
        try requireOrSkip(getuid() == 0 && Cgroups.mount != nil, "instances have no cgroups here")
    }

    @Test func `the threads of a paused instance are frozen until its launch`() throws {
        try requireCgroups()
        let daemon = try daemon()
        try expectStill(daemon)
        try expectLaunch(daemon)
    }

    @Test func `a frozen paused instance stays frozen when the daemon starts again`() throws {
        try requireCgroups()
        let daemon = try daemon()
        try expectStill(daemon)
        let instance = try paused(daemon).instance
        try daemon.restart()
        try expectStill(daemon)
        #expect(try paused(daemon).instance == instance)
        try expectLaunch(daemon)
    }

    @Test func `a frozen paused instance can be ended`() throws {
        try requireCgroups()
        let daemon = try daemon()
        try expectStill(daemon)
        let (client, instance) = (try daemon.client(), try paused(daemon).instance)
        try client.change(.terminate, instance)
        #expect(try client.wait(instance).signal == SIGKILL)
        try expectStill(daemon)
    }

    @Test func `without a cgroup the daemon says that the threads run on`() throws {
        let daemon = try daemon(.asNobody)
        let instance = try paused(daemon)
        #expect(instance.areThreadsFrozen == false)
        try until { daemon.log.contains("they run on, because it has no cgroup") }
        try expectLaunch(daemon)
    }
}
