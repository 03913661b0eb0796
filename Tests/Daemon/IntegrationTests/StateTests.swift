import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// State changes that clients request take effect on the real processes.
@Suite struct StateTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    @Test(arguments: Runner.allCases)
    func `an instance goes through every state`(_ runner: Runner) throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1),
            options: runner.options)
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let running = try client.start(Self.app)
        let instance = running.instance
        #expect(running.launched.kind == .prewarmed)
        #expect(try client.instance(instance).state == .active)
        #expect(try client.change(.background, instance) == .background)
        #expect(try client.change(.suspend, instance) == .suspended)
        #expect(Processes.isFrozen(running.pid))
        #expect(try client.change(.resume, instance) == .background)
        #expect(!Processes.isFrozen(running.pid))
        #expect(try client.change(.suspend, instance) == .suspended)
        #expect(Processes.isFrozen(running.pid))
        #expect(try client.change(.foreground, instance) == .active)
        #expect(!Processes.isFrozen(running.pid))
        #expect(try client.change(.suspend, instance) == .suspended)
        #expect(try client.change(.terminate, instance) == .notRunning)
        #expect(!Processes.isAlive(running.pid))
        let exit = try client.wait(instance)
        #expect(exit.reason == .terminated)
        #expect(exit.signal == SIGTERM)
        #expect(exit.lastState == .suspended)
        let exited = try watcher.next { $0.kind == .exited && $0.instance == instance }
        #expect(exited.exit == exit)
        let states = watcher.events.filter { $0.kind == .stateChanged && $0.instance == instance }
            .map(\.to?.known)
        #expect(
            states == [
                .launching, .inactive, .active, .inactive, .background, .suspended, .background,
                .suspended, .background, .inactive, .active, .inactive, .background, .suspended,
                .terminating, .notRunning,
            ])
    }

    @Test func `a suspended instance and its children do not run`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/bin/sh"))
        let client = try daemon.client()
        let (input, output) = (try Pipe(), try Output())
        let launched = try client.launch(
            Self.app, ["-c", "sh -c 'echo $$; while read x; do echo $x; done'; echo end"],
            input: input.readEnd, output: output.number)
        defer { input.closeWriteEnd() }
        let child = try #require(Int32(try output.line()))
        try client.change(.suspend, launched.instance)
        #expect(Processes.isFrozen(launched.processId ?? 0))
        #expect(Processes.isFrozen(child))
        try client.change(.kill, launched.instance)
        #expect(!Processes.isAlive(child))
    }

    @Test func `an instance in the background is suspended after its grace`() throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("behave.c"), "SuspendInBackground=yes",
                "BackgroundGraceSec=100ms"))
        let client = try daemon.client()
        let running = try client.start(Self.app)
        let watcher = try daemon.watch()
        try client.change(.background, running.instance)
        try watcher.awaitState(.suspended, of: running.instance)
        // The event comes with the order to freeze, and the answer after the freeze.
        try client.change(.suspend, running.instance)
        #expect(Processes.isFrozen(running.pid))
        // Another launch brings the thawed instance to the front.
        try client.change(.foreground, running.instance)
        #expect(!Processes.isFrozen(running.pid))
    }

    @Test func `a single instance comes to the front instead of starting twice`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), "Instances=single"))
        let client = try daemon.client()
        let running = try client.start(Self.app)
        try client.change(.background, running.instance)
        let second = try client.launch(Self.app)
        #expect(second.kind == .foreground)
        #expect(second.instance == running.instance)
        #expect(second.processId == running.pid)
        #expect(try client.instance(running.instance).state == .active)
        try client.change(.suspend, running.instance)
        let third = try client.launch(Self.app)
        #expect(third.kind == .resume)
        #expect(third.instance == running.instance)
        #expect(try client.instance(running.instance).state == .active)
        #expect(!Processes.isFrozen(running.pid))
        // An attached launch always has its own instance.
        let attached = try client.start(Self.app) { $0.isAttached = true }
        #expect(attached.instance != running.instance)
    }

    /// The daemon learns of the end and of the launch at the same moment, and handles ends first.
    @Test func `a launch does not join a single instance that is ending, but starts a new one`()
        throws
    {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), "Instances=single"))
        let client = try daemon.client()
        let running = try client.start(Self.app)
        let (supervisor, spawner) = (try daemon.pid, try daemon.spawnerPid)
        kill(supervisor, SIGSTOP)
        defer { kill(supervisor, SIGCONT) }
        kill(running.pid, SIGKILL)
        try Processes.awaitReaped(running.pid)
        // When the spawner waits again, it has reported the end.
        try Processes.awaitSleep(of: spawner)
        let call = ControlCall.launch(Control.LaunchCall(app: Self.app))
        try client.send(call)
        kill(supervisor, SIGCONT)
        guard case .launched(let second) = try client.reply(to: call) else {
            throw TestError("another answer")
        }
        #expect(second.kind == .cold && second.instance != running.instance)
        #expect(try client.wait(running.instance).signal == SIGKILL)
    }

    @Test func `an app that comes to the front displaces the other one of its group`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, "ForegroundGroup=one"),
            TestApp(Self.other, exec: program, "ForegroundGroup=one"),
            TestApp("org.example.elsewhere", exec: program, "ForegroundGroup=two"),
            TestApp("org.example.tool", exec: program, "ForegroundGroup=none"))
        let client = try daemon.client()
        func state(_ running: Running) throws -> Control.Word<Control.ExecutionState> {
            try client.instance(running.instance).state
        }
        let first = try client.start(Self.app)
        let elsewhere = try client.start("org.example.elsewhere")
        let tool = try client.start("org.example.tool")
        #expect(try state(first) == .active)
        let second = try client.start(Self.other)
        #expect(try state(first) == .background)
        #expect(try state(second) == .active)
        let third = try client.start(Self.app) { $0.isBackground = true }
        #expect(try state(third) == .background)
        #expect(try state(second) == .active)
        try client.change(.foreground, first.instance)
        #expect(try state(first) == .active)
        #expect(try state(second) == .background)
        #expect(try state(elsewhere) == .active)
        #expect(try state(tool) == .active)
    }

    @Test func `a transition that the state does not allow is refused with both states`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1))
        let paused = try #require(try daemon.awaitPaused(Self.app).first).instance
        let client = try daemon.client()
        let expected = ControlError.illegalTransition(
            instance: paused, from: .known(.prewarmed), to: .known(.suspended))
        #expect(throws: expected) { try client.change(.suspend, paused) }
        #expect(throws: ControlError.notRunning(.instance(999))) {
            try client.change(.suspend, 999)
        }
        #expect(throws: ControlError.notRunning(.app(Self.app))) {
            try client.call(.transition(.foreground, .app(Self.app)))
        }
    }

    @Test func `status measures the memory of a running app`() throws {
        let daemon = try TestDaemon(
            TestApp(
                "org.example.big", exec: "/usr/bin/python3", prewarm: 1, "ReadyOn=first-output"))
        let client = try daemon.client()
        let paused = try daemon.awaitPaused("org.example.big", count: 1)
        let known = try #require(paused.first?.byteCount)
        let code =
            "import time; x = bytearray(b'x') * (64 << 20); print(1, flush=True); time.sleep(600)"
        let launched = try client.launch("org.example.big", ["-c", code])
        try daemon.await("its first output") { client in
            try client.instance(launched.instance).state == .active ? true : nil
        }
        let now = try #require(try client.instance(launched.instance).byteCount)
        #expect(launched.kind == .prewarmed && known < 32 << 20)
        #expect(now > 64 << 20, "measured \(now), and \(known) at its pause")
    }
}
