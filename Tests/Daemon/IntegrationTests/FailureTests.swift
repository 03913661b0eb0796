import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Launches and prewarms that fail are reported precisely, are retried only after a delay, and harm
/// nothing else.
@Suite struct FailureTests {
    private static let app = "org.example.app"

    private static func spawnFailure(
        _ client: TestClient, _ app: String, _ change: (inout Control.LaunchCall) -> Void = { _ in }
    ) throws -> (stage: String, errno: Int32)? {
        do {
            _ = try client.launch(app, [], change)
        } catch ControlError.spawnFailed(let stage, let errno, let reason) {
            #expect(!reason.isEmpty)
            return (stage, errno)
        }
        return nil
    }

    @Test func `a failed spawn names its stage and the error, and harms nobody`() throws {
        let program = try compileProbe("behave.c")
        let folder = try TemporaryDirectory()
        let text = try folder.write("no program\n", to: "text", mode: 0o755)
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program), TestApp("org.example.text", exec: text),
            TestApp("org.example.directory", exec: program, "WorkingDirectory=/nonexistent"),
            TestApp("org.example.limit", exec: program, "LimitNOFILE=2000000000"))
        let client = try daemon.client()
        let format = try Self.spawnFailure(client, "org.example.text")
        #expect(format?.stage == "executing the program" && format?.errno == ENOEXEC)
        let directory = try Self.spawnFailure(client, "org.example.directory")
        #expect(directory?.stage == "entering the working directory")
        #expect(directory?.errno == ENOENT)
        let limit = try Self.spawnFailure(client, "org.example.limit")
        #expect(limit?.stage == "setting resource limits" && limit?.errno == EPERM)
        #expect(try client.run(Self.app, ["exit", "3"]).exit.status == 3)
    }

    @Test func `a launch fails when no process can be created, and the daemon goes on`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as a user of its own")
        var options = TestDaemon.Options()
        // Limits on processes count those of a user, so this one is not shared with other tests.
        options.user = 64_901
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, "ForegroundGroup=none"), options: options)
        let client = try daemon.client()
        let running = try [client.start(Self.app), client.start(Self.app)]
        let count = Processes.count(ofUser: 64_901)
        let spawner = try daemon.spawnerPid
        let prlimit = try #require(findProgram("prlimit"))
        // The waiter makes the app's process, and has its own limits.
        let waiters = Set(Processes.descendants(of: spawner)).subtracting(
            Processes.apps(of: spawner))
        for process in waiters.union([spawner]) {
            var request = ChildRequest(
                prlimit, arguments: ["prlimit", "--pid=\(process)", "--nproc=\(count)"])
            request.user = options.user
            let limited = try TestSupport.run(request, mergingErrors: true)
            #expect(
                limited.exit == .status(0), "\(String(decoding: limited.output, as: UTF8.self))")
        }
        let failure = try Self.spawnFailure(client, Self.app)
        #expect(failure?.stage == "creating the process" && failure?.errno == EAGAIN)
        for app in running { try client.change(.terminate, app.instance) }
        #expect(try client.run(Self.app, ["exit", "8"]).exit.status == 8)
    }

    @Test func `a launch with too many arguments does not disturb the spawner`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        let spawner = try daemon.spawnerPid
        let many = try Self.spawnFailure(client, Self.app) {
            $0.arguments = Array(repeating: "", count: 70_000)
        }
        #expect(many?.stage == "passing the arguments" && many?.errno == E2BIG)
        let long = try Self.spawnFailure(client, Self.app) {
            $0.arguments = [.text(String(repeating: "x", count: 7 << 20))]
        }
        #expect(long?.stage == "passing the arguments" && long?.errno == E2BIG)
        #expect(try client.run(Self.app, ["exit", "4"]).exit.status == 4)
        #expect(try daemon.spawnerPid == spawner)
        #expect(!daemon.log.contains("the spawner is back"))
    }

    @Test func `an app that keeps crashing is in a crash loop`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1))
        let client = try daemon.client()
        let watcher = try daemon.watch()
        for _ in 0..<2 {
            try daemon.awaitPaused(Self.app)
            #expect(try client.run(Self.app, ["signal", "\(SIGSEGV)"]).exit.reason == .crashed)
        }
        let event = try watcher.next { $0.kind == .crashLooped }
        #expect(event.app == Self.app)
        #expect(event.retryAfterUSec ?? 0 > 0)
        let error = #expect(throws: ControlError.self) {
            try client.launch(Self.app) { $0.isBackground = true }
        }
        guard case .backOff(Self.app, 1..., isCrashLooping: true, wasReclaimed: false) = error
        else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        // A launch into the foreground is tried even in a crash loop.
        #expect(try client.run(Self.app, ["exit", "0"]).exit.status == 0)
        #expect(try client.explain(Self.app).reasons.map(\.code).contains("crash_loop"))
    }

    @Test func `the number of instances never exceeds the limit`() throws {
        var options = TestDaemon.Options()
        options.configuration = ["InstanceLimit=2"]
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c")), options: options)
        let client = try daemon.client()
        let running = try client.start(Self.app)
        _ = try client.start(Self.app)
        #expect(throws: ControlError.limitExceeded(what: "instances", limit: 2)) {
            try client.launch(Self.app)
        }
        try client.change(.kill, running.instance)
        _ = try client.start(Self.app)
    }
}
