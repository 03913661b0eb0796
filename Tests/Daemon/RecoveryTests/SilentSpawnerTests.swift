import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A spawner that is alive but does nothing. The tests stop it; in real use, it would hang in the
/// kernel.
@Suite struct SilentSpawnerTests {
    private let app = "org.example.a"
    private let other = "org.example.b"
    private let daemon: TestDaemon

    init() throws {
        let probe = try compileProbe("behave.c")
        daemon = try TestDaemon(program(app, probe, prewarm: 1), program(other, probe))
        try daemon.awaitPaused(app)
    }

    private func stopSpawner() throws -> Int32 {
        let spawner = try daemon.spawnerPid
        Glibc.kill(spawner, SIGSTOP)
        try Processes.wait("it is not stopped") { Processes.state(of: spawner) == "T" }
        return spawner
    }

    private func launchCold(_ path: String) throws -> Control.Launched {
        let output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
        defer { close(output) }
        return try daemon.client().launch(other, ["print", "ran"], output: output)
    }

    @Test func `a spawner that does not answer is killed and replaced, and no app is lost`() throws
    {
        let running = try daemon.client().launch(app, ["wait-forever"])
        let paused = try daemon.awaitPaused(app)[0]
        let old = try stopSpawner()
        let path = daemon.directory.path + "/ran"
        // The launch is answered at its own deadline, or at the spawner's end.
        #expect(control { _ = try launchCold(path) } != nil)
        // The killed spawner can never perform its orders.
        try Processes.awaitEnd(of: old)
        #expect(try daemon.client().launch(app, ["wait-forever"]).processId == paused.processId)
        let second = try launchCold(path)
        // The line is written after the kill, and before anything else is answered.
        #expect(daemon.log.contains("the spawner does not answer: it is killed"))
        #expect(try daemon.client().wait(second.instance).status == 0)
        #expect(String(decoding: try readFile(path), as: UTF8.self) == "ran\n")
        #expect(try daemon.spawnerPid != old)
        #expect(try daemon.client().describe().degraded.allSatisfy { $0.code != "no_spawner" })
        #expect(Processes.isAlive(running.processId!))
        for instance in try daemon.client().instances(of: app) where instance.state == .active {
            try daemon.client().change(.kill, instance.instance)
        }
    }

    @Test func `a starting supervisor does not wait forever for a silent spawner`() throws {
        let running = try daemon.client().launch(app, ["wait-forever"])
        let old = try stopSpawner()
        try daemon.kill()
        try daemon.start()
        #expect(!Processes.isAlive(old))
        #expect(try daemon.pid(of: running.instance) == running.processId)
        try daemon.client().change(.kill, running.instance)
    }
}
