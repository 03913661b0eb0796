import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Every end of a program is noticed and recorded, and nothing of the program is left.
@Suite struct EndingTests {
    private static let app = "org.example.app"

    private static func daemon(_ runner: Runner = .ownUser, prewarm: Int = 0) throws -> TestDaemon {
        let daemon = try TestDaemon(
            TestApp(
                app, exec: try compileProbe("behave.c"), prewarm: prewarm, "TerminateGraceSec=300ms"
            ), options: runner.options)
        if prewarm > 0 { try daemon.awaitPaused(app, count: prewarm) }
        return daemon
    }

    @Test(arguments: Runner.allCases, [0, 1])
    func `a status is recorded and can be asked for later`(_ runner: Runner, prewarm: Int) throws {
        let daemon = try Self.daemon(runner, prewarm: prewarm)
        let (launched, _, exit) = try daemon.client().run(Self.app, ["exit", "42"])
        #expect(exit.status == 42 && exit.signal == nil)
        #expect(exit.reason == .exitedSelf)
        // Another client asks by the number and by the name of the launch.
        let client = try daemon.client()
        #expect(try client.wait(launched.instance) == exit)
        #expect(try client.wait(.launch(launched.launchIdentifier)) == exit)
        #expect(try client.instance(launched.instance).exit == exit)
    }

    @Test(arguments: Runner.allCases, [SIGSEGV, SIGKILL, SIGUSR1])
    func `a signal is recorded as a crash`(_ runner: Runner, signal: Int32) throws {
        let daemon = try Self.daemon(runner)
        let client = try daemon.client()
        let running = try client.start(Self.app)
        kill(running.pid, signal)
        let exit = try client.wait(running.instance)
        #expect(exit.signal == signal && exit.status == nil)
        #expect(exit.reason == .crashed)
        #expect(exit.lastState == .active)
    }

    @Test(arguments: Runner.allCases, [SIGHUP, SIGINT, SIGPIPE, SIGTERM])
    func `an ordinary termination signal does not count as a crash, however often it is sent`(
        _ runner: Runner, signal: Int32
    ) throws {
        let daemon = try Self.daemon(runner, prewarm: 1)
        let client = try daemon.client()
        for _ in 0..<3 {
            try daemon.awaitPaused(Self.app)
            let exit = try client.run(Self.app, ["signal", "\(signal)"]).exit
            #expect(exit.signal == signal)
            #expect(exit.reason == .exitedSelf)
        }
        // The app is still prewarmed, so it is not in a crash loop.
        try daemon.awaitPaused(Self.app)
        let forwarded = try client.start(Self.app)
        _ = try client.call(.signal(instance: forwarded.instance, signal: SIGUSR1))
        #expect(try client.wait(forwarded.instance).reason == .exitedSelf)
    }

    @Test(arguments: Runner.allCases, [false, true])
    func `an app that ignores SIGTERM is killed after its grace`(
        _ runner: Runner, isSuspended: Bool
    ) throws {
        let daemon = try Self.daemon(runner)
        let client = try daemon.client()
        let running = try client.start(Self.app, ["ignore-term"])
        if isSuspended { try client.change(.suspend, running.instance) }
        #expect(try client.change(.terminate, running.instance) == .notRunning)
        let exit = try client.wait(running.instance)
        #expect(exit.reason == .terminateTimeout)
        #expect(exit.signal == SIGKILL)
        #expect(!Processes.isAlive(running.pid))
    }

    @Test(arguments: Runner.allCases)
    func `a force quit does not wait, even if the app is already being terminated`(
        _ runner: Runner
    ) throws {
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), "TerminateGraceSec=3600"),
            options: runner.options)
        let client = try daemon.client()
        let running = try client.start(Self.app, ["ignore-term"])
        let terminating = try daemon.client()
        let call = ControlCall.transition(.terminate, .instance(running.instance))
        try terminating.send(call)
        try daemon.await("the termination") {
            try $0.instance(running.instance).state == .terminating ? true : nil
        }
        #expect(try client.change(.kill, running.instance) == .notRunning)
        guard case .changed(let changed) = try terminating.reply(to: call) else {
            Issue.record("another reply")
            return
        }
        #expect(changed.state == .notRunning)
        #expect(try client.wait(running.instance).reason == .forceQuit)
    }

    @Test(arguments: Runner.allCases, [0, 1])
    func `the children of an instance end with it`(_ runner: Runner, prewarm: Int) throws {
        let daemon = try Self.daemon(runner, prewarm: prewarm)
        let client = try daemon.client()
        let running = try client.start(Self.app, ["child", "child"])
        let children = Processes.descendants(of: running.pid)
        #expect(children.count == 2)
        kill(running.pid, SIGKILL)
        _ = try client.wait(running.instance)
        #expect(children.filter(Processes.isAlive) == [])
    }

    @Test(arguments: Runner.allCases)
    func `an app that forks and exits has ended, and its child ends too`(_ runner: Runner) throws {
        let daemon = try Self.daemon(runner, prewarm: 1)
        let client = try daemon.client()
        let (launched, _, exit) = try client.run(Self.app, ["fork", "wait-forever"])
        #expect(launched.kind == .prewarmed)
        #expect(exit.status == 0)
        #expect(exit.reason == .exitedSelf)
        try daemon.awaitPaused(Self.app)
        let spawner = try daemon.spawnerPid
        let paused = try client.paused(Self.app).compactMap(\.processId)
        #expect(Processes.apps(of: spawner) == paused)
    }

    @Test func `an app that closes all its descriptors is controlled like any other`() throws {
        let daemon = try Self.daemon(prewarm: 1)
        let client = try daemon.client()
        let running = try client.start(Self.app, ["close-all"])
        #expect(running.launched.kind == .prewarmed)
        #expect(try client.change(.suspend, running.instance) == .suspended)
        #expect(try client.change(.foreground, running.instance) == .active)
        #expect(try client.change(.terminate, running.instance) == .notRunning)
        #expect(try client.wait(running.instance).reason == .terminated)
    }

    @Test func `the launch of an app that ends at once is still answered`() throws {
        let daemon = try Self.daemon(prewarm: 2)
        let client = try daemon.client()
        for status in 0..<20 as Range<UInt8> {
            let launched = try client.launch(Self.app, ["exit", "\(status)"])
            #expect(try client.wait(launched.instance).status == status)
        }
    }

    @Test func `a daemon that is told to end ends all apps`() throws {
        let daemon = try Self.daemon(prewarm: 2)
        let client = try daemon.client()
        let running = try client.start(Self.app, ["child"])
        let stubborn = try client.start(Self.app, ["ignore-term"])
        let frozen = try client.start(Self.app)
        try client.change(.suspend, frozen.instance)
        _ = try daemon.spawnerPid
        #expect(daemon.processes.count >= 6)
        #expect(try daemon.terminate() == .status(0))
        // The daemon's helper processes notice its end, and then end too.
        for pid in daemon.processes { try Processes.awaitEnd(of: pid) }
        #expect(daemon.processes == [])
        for pid in [running.pid, stubborn.pid, frozen.pid] { #expect(!Processes.isAlive(pid)) }
    }

    @Test func `signals reach only the main process`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let output = try Output()
        let launched = try client.launch(Self.app, ["signals"], output: output.number)
        #expect(try output.line() == "waiting")
        for number in [SIGUSR1, SIGINT, SIGTERM] {
            try client.call(.signal(instance: launched.instance, signal: number))
            #expect(try output.line() == "\(number)")
        }
        try client.change(.kill, launched.instance)
        #expect(throws: ControlError.notRunning(.instance(launched.instance))) {
            try client.call(.signal(instance: launched.instance, signal: SIGUSR1))
        }
    }
}
