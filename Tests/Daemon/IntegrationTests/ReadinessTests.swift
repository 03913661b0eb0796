import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A program becomes ready by its condition, or is given up.
@Suite struct ReadinessTests {
    private static let app = "org.example.app"

    @Test(arguments: [0, 1])
    func `READY=1 makes an app ready`(prewarm: Int) throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("behave.c"), prewarm: prewarm, "ReadyOn=notify"))
        try daemon.awaitPaused(Self.app, count: prewarm)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let (input, output) = (try Pipe(), try Output())
        let launched = try client.launch(
            Self.app, ["print", "x", "wait-input", "notify", "wait-forever"],
            input: input.readEnd, output: output.number)
        #expect(launched.kind == (prewarm == 0 ? .cold : .prewarmed))
        #expect(try output.line() == "x")
        // The app is running and is not ready yet.
        #expect(try client.instance(launched.instance).state == .launching)
        input.closeWriteEnd()
        try watcher.awaitState(.active, of: launched.instance)
    }

    @Test(arguments: [0, 1])
    func `the first output makes an app ready`(prewarm: Int) throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("behave.c"), prewarm: prewarm,
                "ReadyOn=first-output"))
        try daemon.awaitPaused(Self.app, count: prewarm)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let input = try Pipe()
        let launched = try client.launch(
            Self.app, ["wait-input", "print", "x", "wait-forever"], input: input.readEnd)
        #expect(try client.instance(launched.instance).state == .launching)
        input.closeWriteEnd()
        try watcher.awaitState(.active, of: launched.instance)
    }

    @Test(arguments: [0, 1])
    func `an app whose output goes to its client is ready when it runs`(prewarm: Int) throws {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("behave.c"), prewarm: prewarm,
                "ReadyOn=first-output"))
        try daemon.awaitPaused(Self.app, count: prewarm)
        let watcher = try daemon.watch()
        let output = try Output()
        let launched = try daemon.client().launch(
            Self.app, ["wait-forever"], output: output.number)
        try watcher.awaitState(.active, of: launched.instance)
    }

    @Test(arguments: ["notify", "first-output"])
    func `the launch deadline ends a program that does not become ready`(_ condition: String) throws
    {
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: try compileProbe("behave.c"), "ReadyOn=\(condition)",
                "LaunchDeadlineSec=2s"))
        let client = try daemon.client()
        let launched = try client.launch(Self.app, ["wait-forever"])
        let exit = try client.wait(launched.instance)
        #expect(exit.reason == .launchWatchdog)
        #expect(exit.lastState == .launching)
    }
}
