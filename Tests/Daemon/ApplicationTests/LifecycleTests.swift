import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Real processes that acknowledge their states, through the real daemon.
@Suite struct `Apps that acknowledge their states` {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    @Test(arguments: [0, 1])
    func `an app is launched, put in the background, suspended and ended in UIKit's order`(
        prewarm: Int
    ) throws {
        var probe = Probe(Self.app)
        probe.prewarm = prewarm
        let daemon = try TestDaemon.with(probe)
        if prewarm > 0 { try daemon.awaitPaused(Self.app) }
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        #expect(launched.kind == (prewarm > 0 ? .prewarmed : .cold))
        let instance = launched.instance
        try daemon.awaitState(.active, of: instance)
        #expect(try client.change(.background, instance) == .background)
        #expect(try client.change(.foreground, instance) == .active)
        #expect(try client.change(.suspend, instance) == .suspended)
        #expect(try client.change(.foreground, instance) == .active)
        #expect(try client.change(.terminate, instance) == .notRunning)
        #expect(
            probe.told(in: daemon) == [
                "launch user foreground unlocked", "didBecomeActive",
                "willResignActive", "didEnterBackground",
                "willEnterForeground", "didBecomeActive",
                "willResignActive", "didEnterBackground",
                "willEnterForeground", "didBecomeActive", "willTerminate",
            ])
        let exit = try client.wait(instance)
        #expect(exit.reason == .terminated)
    }

    @Test func `an app launched in the background gets no foreground call and is suspended`() throws
    {
        var probe = Probe(Self.app)
        probe.lines = ["BackgroundGraceSec=100ms"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app) { $0.isBackground = true }.instance
        try daemon.awaitState(.suspended, of: instance)
        #expect(
            probe.told(in: daemon) == ["launch user background unlocked", "didEnterBackground"])
    }

    @Test func `a suspended app ends without a callback`() throws {
        let probe = Probe(Self.app)
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try client.change(.suspend, instance)
        try client.change(.terminate, instance)
        #expect(probe.told(in: daemon).last == "didEnterBackground")
        #expect(try client.wait(instance).signal == SIGKILL)
    }

    @Test func `another app in front sends the first one to the background`() throws {
        let (probe, second) = (Probe(Self.app), Probe(Self.other))
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let first = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: first)
        let next = try client.launch(Self.other).instance
        try daemon.awaitState(.background, of: first)
        try daemon.awaitState(.active, of: next)
        #expect(probe.told(in: daemon).suffix(2) == ["willResignActive", "didEnterBackground"])
    }

    @Test(arguments: ["PROBE_HANG", "PROBE_GARBAGE"])
    func `the watchdog ends an app that misses a deadline, and no other app`(how: String) throws {
        var probe = Probe(Self.app)
        probe.environment = ["\(how)=willResignActive"]
        let second = Probe(Self.other)
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        let watcher = try daemon.watch()
        let next = try client.launch(Self.other).instance
        try daemon.awaitState(.active, of: next)
        try watcher.next { $0.kind == .slowStep && $0.step == "willResignActive" }
        try watcher.next { $0.kind == .missedStep && $0.instance == instance }
        let exit = try client.wait(instance)
        #expect(exit.reason == .watchdog)
        #expect(try client.instance(next).state == .active)
    }

    @Test func `the watchdog waits while a debugger is attached`() throws {
        var probe = Probe(Self.app)
        probe.environment = ["PROBE_HANG=willResignActive"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        try daemon.awaitState(.active, of: launched.instance)
        let debugger = try Debugger(pid: try #require(launched.processId))
        let watcher = try daemon.watch()
        try client.send(.transition(.background, .instance(launched.instance)))
        try watcher.next { $0.kind == .slowStep }
        // This is longer than the second half of its time.
        #expect(throws: (any Error).self) {
            _ = try watcher.next(milliseconds: 4000)
        }
        #expect(Processes.isAlive(launched.processId ?? 0))
        debugger.detach()
        try watcher.next { $0.kind == .missedStep }
        #expect(try daemon.client().wait(launched.instance).reason == .watchdog)
    }

    @Test func `the launch watchdog ends a launch that is never finished`() throws {
        var probe = Probe(Self.app)
        probe.environment = ["PROBE_HANG=launch"]
        probe.lines = ["LaunchDeadlineSec=2s"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        #expect(try client.wait(instance).reason == .launchWatchdog)
    }

    @Test func `a prewarm that never reaches ApplicationMain fails`() throws {
        var probe = Probe(Self.app)
        probe.prewarm = 1
        probe.environment = ["PROBE_NO_MAIN=1"]
        let daemon = try TestDaemon.with(probe, configuration: ["PauseDeadlineSec=300ms"])
        let watcher = try daemon.watch()
        try watcher.next { $0.kind == .prewarmFailed }
    }

    @Test func `an app that floods the daemon with messages harms only itself`() throws {
        var probe = Probe(Self.app)
        probe.environment = ["PROBE_FLOOD=launch"]
        let second = Probe(Self.other)
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        let next = try client.launch(Self.other) { $0.isBackground = true }.instance
        try daemon.awaitState(.background, of: next)
        try daemon.awaitState(.active, of: instance)
        #expect(try client.instance(instance).steps?.count ?? 0 <= 32)
    }

    @Test func `a step under way survives the death of the supervisor`() throws {
        var probe = Probe(Self.app)
        probe.environment = ["PROBE_HANG=didEnterBackground"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let launched = try client.launch(Self.app)
        let instance = launched.instance
        try daemon.awaitState(.active, of: instance)
        try client.send(.transition(.background, .instance(instance)))
        try daemon.awaitState(.inactive, of: instance)
        try daemon.kill()
        try daemon.start()
        let status = try daemon.client().instance(instance)
        #expect(status.state == .inactive)
        #expect(status.processId == launched.processId)
        // The step is told again and still not acknowledged.
        #expect(try daemon.client().wait(instance).reason == .watchdog)
        // In addition to its steps, the app is told that it hangs.
        let told = probe.told(in: daemon).filter { !$0.hasPrefix("diagnostics") }
        #expect(told.suffix(2) == ["didEnterBackground", "didEnterBackground"])
    }

    @Test func `after the death of the supervisor an app is told its states as before`() throws {
        let probe = Probe(Self.app)
        let daemon = try TestDaemon.with(probe)
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try daemon.kill()
        try daemon.start()
        let client = try daemon.client()
        #expect(try client.instance(instance).state == .active)
        #expect(try client.change(.background, instance) == .background)
        #expect(probe.told(in: daemon).suffix(2) == ["willResignActive", "didEnterBackground"])
    }

    @Test func `a running app learns of a lock, and so does an app that is launched during a lock`()
        throws
    {
        let (probe, second) = (Probe(Self.app), Probe(Self.other))
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        _ = try client.ask(.lock(user: nil))
        let next = try client.launch(Self.other).instance
        try daemon.awaitState(.inactive, of: next)
        // The app was told about the lock before this, and has acknowledged it.
        try daemon.awaitState(.background, of: instance)
        _ = try client.ask(.unlock(user: nil))
        try client.change(.background, next)
        #expect(probe.told(in: daemon).contains("protectedDataWillBecomeUnavailable"))
        #expect(
            second.told(in: daemon).prefix(3) == [
                "launch user foreground locked", "protectedDataDidBecomeAvailable",
                "didBecomeActive",
            ])
    }

    @Test func `the status of an instance has the steps of its launch, with their times`() throws {
        var probe = Probe(Self.app)
        probe.prewarm = 1
        let daemon = try TestDaemon.with(probe)
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        let steps = try #require(try client.instance(instance).steps)
        #expect(
            steps.map(\.step) == [
                "prewarmed", "main", "willFinishLaunching", "didFinishLaunching",
            ])
        #expect(steps[0].elapsedUSec < 0)
        let times = steps.map(\.elapsedUSec)
        #expect(times == times.sorted())
    }
}
