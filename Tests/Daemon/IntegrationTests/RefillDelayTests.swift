import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// With a delay of refills (`RefillDelaySec=`), which most tests do without, a launched app has the
/// machine to itself until it is ready or the delay has passed.
@Suite struct RefillDelayTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    private static func delayed(by delay: String) -> TestDaemon.Options {
        var options = TestDaemon.Options()
        options.configuration = ["RefillDelaySec=\(delay)"]
        return options
    }

    /// Waits until an instance of the app has left for the pause.
    private func awaitRefill(of app: String, _ watcher: EventWatcher) throws {
        try watcher.next { $0.app == app && $0.to == .prewarming }
    }

    @Test func `a pool is refilled when the launched app is ready, and not before`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, "ReadyOn=notify"),
            TestApp(Self.other, exec: program, prewarm: 1, prewarmLines: ["When=demand"]),
            options: Self.delayed(by: "1min"))
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let input = try Pipe()
        let launched = try client.launch(
            Self.app, ["wait-input", "notify", "wait-forever"], input: input.readEnd)
        #expect(launched.kind == .prewarmed)
        // A client that waits is served meanwhile: an instance could have been made for the pool.
        try client.prewarm(Self.other)
        #expect(try client.instances(of: Self.app).map(\.instance) == [launched.instance])
        #expect(try client.instance(launched.instance).state == .launching)
        input.closeWriteEnd()
        try watcher.awaitState(.active, of: launched.instance)
        #expect(!watcher.events.contains { $0.app == Self.app && $0.to == .prewarming })
        try awaitRefill(of: Self.app, watcher)
        try daemon.awaitPaused(Self.app)
    }

    @Test func `a pool is refilled when the delay has passed since the last launch`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1), TestApp(Self.other, exec: program),
            options: Self.delayed(by: "1s"))
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        #expect(try client.launch(Self.app, ["wait-forever"]).kind == .prewarmed)
        let last = ContinuousClock.now
        _ = try client.launch(Self.other, ["wait-forever"])
        try awaitRefill(of: Self.app, watcher)
        #expect(ContinuousClock.now - last >= .seconds(1))
        try daemon.awaitPaused(Self.app)
    }

    /// Both pools have been found empty, so neither waits for the end of the delay.
    @Test func `two pools are refilled one after the other while apps start on two processors`()
        throws
    {
        let gates = [Self.app: try GatedProgram(), Self.other: try GatedProgram()]
        var options = Self.delayed(by: "1min")
        let library = try compileProbe(
            "two-processors.c", with: ProbeCompiler("clang", ["-shared", "-fPIC"]),
            output: "two-processors.so")
        options.environment = ["LD_PRELOAD=\(library)"]
        let daemon = try TestDaemon(
            gates.map { app, gated in
                TestApp(
                    app, exec: gated.program, prewarm: 1, gated.environment, "Instances=multiple")
            }, options)
        for (app, gated) in gates {
            gated.open()
            try daemon.awaitPaused(app)
        }
        let client = try daemon.client()
        let watcher = try daemon.watch()
        for kind in [Control.LaunchKind.prewarmed, .cold] {
            for app in [Self.app, Self.other] {
                #expect(try client.launch(app).kind == kind)
            }
        }
        try awaitRefill(of: Self.app, watcher)
        #expect(try client.instances().count { $0.state == .prewarming } == 1)
        try gates[Self.app]?.stayOpen()
        try awaitRefill(of: Self.other, watcher)
        let refilled = watcher.events.firstIndex { $0.app == Self.app && $0.to == .prewarmed }
        #expect(refilled != nil)
        try gates[Self.other]?.stayOpen()
        try daemon.awaitPaused(Self.other)
    }
}
