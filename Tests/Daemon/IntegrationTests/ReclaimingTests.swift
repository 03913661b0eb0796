import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Taking memory back from real processes, and the conditions for prewarming.
@Suite struct ReclaimingTests {
    private static let pool = "org.example.pool"
    private static let app = "org.example.app"

    private func press(_ level: Control.MemoryPressure, _ client: TestClient) throws {
        _ = try client.call(.debugPressure(level))
    }

    /// The event of the next reclaimed instance.
    private func nextReclaimed(_ watcher: EventWatcher) throws -> Control.Event {
        try watcher.next { $0.kind == .reclaimed }
    }

    @Test(arguments: Runner.allCases)
    func `paused, suspended and background apps are reclaimed, never an app in front`(
        _ runner: Runner
    ) throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1),
            TestApp(Self.app, exec: program, "Instances=multiple"), options: runner.options)
        let client = try daemon.client()
        let paused = try #require(try daemon.awaitPaused(Self.pool).first?.instance)
        let small = try client.start(Self.app, ["hold", "8"])
        let large = try client.start(Self.app, ["hold", "48"])
        for app in [small, large] { try client.change(.suspend, app.instance) }
        let background = try client.start(Self.app) { $0.isBackground = true }
        let front = try client.start(Self.app, ["hold", "64"])
        let watcher = try daemon.watch()

        try press(.warning, client)
        #expect(try nextReclaimed(watcher).instance == paused)
        let refusal = #expect(throws: ControlError.self) { try client.prewarm(Self.pool) }
        #expect(refusal?.description.contains("while memory is short") == true)
        try press(.warning, client)
        let first = try nextReclaimed(watcher)
        #expect(first.instance == large.instance)
        #expect(first.byteCount ?? 0 > 48 << 20)
        #expect(first.from == .suspended)
        #expect(first.pressure == .warning)
        try press(.critical, client)
        #expect(try nextReclaimed(watcher).instance == small.instance)
        try press(.critical, client)
        #expect(try nextReclaimed(watcher).instance == background.instance)
        #expect(try client.wait(background.instance).reason == .reclaimed)
        try press(.critical, client)
        try press(.none, client)
        try watcher.next {
            $0.kind == .pressureChanged && $0.pressure == Control.MemoryPressure.none
        }
        #expect(try client.instance(front.instance).state == .active)
        #expect(Processes.isAlive(front.pid))
    }

    @Test func `prewarm says that an app was reclaimed, and when to try again`() throws {
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: try compileProbe("behave.c"), prewarm: 1))
        let client = try daemon.client()
        try daemon.awaitPaused(Self.pool)
        let watcher = try daemon.watch()
        try press(.warning, client)
        _ = try nextReclaimed(watcher)
        try press(.none, client)
        let refusal = #expect(throws: ControlError.self) { try client.prewarm(Self.pool) }
        guard case .backOff(Self.pool, 1..., false, wasReclaimed: true)? = refusal else {
            throw TestError("\(String(describing: refusal))")
        }
        #expect(refusal?.description.contains("was taken back recently") == true)
        #expect(try client.explain(Self.pool).reasons.map(\.code) == ["reclaimed"])
        let launched = try client.launch(Self.pool)
        #expect(launched.kind == .cold && launched.coldReason == .reclaimed)
    }

    @Test func `pressure falls by itself after a quiet time`() throws {
        var options = TestDaemon.Options()
        options.configuration = ["PressureQuietSec=100ms"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program), options: options)
        let watcher = try daemon.watch()
        try press(.critical, try daemon.client())
        for level in [Control.MemoryPressure.critical, .warning, .none] {
            #expect(try watcher.next { $0.kind == .pressureChanged }.pressure == level)
        }
    }

    @Test func `an app that keeps a file lock in the background is ended`() throws {
        var options = TestDaemon.Options()
        options.configuration = ["LockedFileGraceSec=2s", "BackgroundGraceSec=100ms"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, "SuspendInBackground=yes"), options: options)
        let client = try daemon.client()
        let app = try client.start(Self.app, ["lock", daemon.directory.path + "/locked"])
        #expect(throws: ControlError.self) { try client.change(.suspend, app.instance) }
        #expect(Processes.isAlive(app.pid))
        #expect(try client.wait(app.instance).reason == .suspendedWithLockedFile)
    }

    @Test func `an app is suspended by itself when it holds no lock`() throws {
        var options = TestDaemon.Options()
        options.configuration = ["BackgroundGraceSec=100ms"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, "SuspendInBackground=yes"), options: options)
        let client = try daemon.client()
        let watcher = try daemon.watch()
        let app = try client.start(Self.app)
        try client.change(.background, app.instance)
        try watcher.awaitState(.suspended, of: app.instance)
    }

    @Test func `a SIGKILL at the time of an out-of-memory kill is distinguished from another`()
        throws
    {
        var options = TestDaemon.Options()
        options.machine = ["proc/vmstat": "nr_free_pages 1\noom_kill 3\n"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, "Instances=multiple"), options: options)
        let client = try daemon.client()
        let first = try client.start(Self.app)
        let second = try client.start(Self.app)
        kill(first.pid, SIGKILL)
        #expect(try client.wait(first.instance).reason == .crashed)
        try daemon.describeMachine("proc/vmstat", "nr_free_pages 1\noom_kill 4\n")
        kill(second.pid, SIGKILL)
        #expect(try client.wait(second.instance).reason == .probablyOutOfMemory)
    }

    /// Without the memory controller, only the kernel's count is known when the channel closes.
    @Test func `an out-of-memory report counts for only one paused instance`() throws {
        var options = TestDaemon.Options()
        options.machine = ["proc/vmstat": "nr_free_pages 1\noom_kill 3\n"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 2), options: options)
        let client = try daemon.client()
        let paused = try daemon.awaitPaused(Self.pool, count: 2)
        try daemon.describeMachine("proc/vmstat", "nr_free_pages 1\noom_kill 4\n")
        let spawner = try daemon.spawnerPid
        defer { kill(spawner, SIGCONT) }
        let reasons = try paused.map { instance in
            // The daemon hears of the closed channel before the spawner tells of the exit.
            kill(spawner, SIGSTOP)
            try Processes.wait("the spawner does not stop") { Processes.state(of: spawner) == "T" }
            kill(try #require(instance.processId), SIGSEGV)
            try daemon.await("the loss of its channel") { client in
                try client.instance(instance.instance).state == .terminating ? true : nil
            }
            kill(spawner, SIGCONT)
            return try client.wait(instance.instance).reason
        }
        #expect(reasons[0] == .probablyOutOfMemory && reasons[1] == .prewarmFailed)
    }

    @Test func `a paused instance that the kernel kills for others is not a failed prewarm`() throws
    {
        var options = TestDaemon.Options()
        options.machine = ["proc/vmstat": "nr_free_pages 1\noom_kill 3\n"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1), options: options)
        let client = try daemon.client()
        let paused = try #require(try daemon.awaitPaused(Self.pool).first)
        try daemon.describeMachine("proc/vmstat", "nr_free_pages 1\noom_kill 4\n")
        kill(try #require(paused.processId), SIGKILL)
        #expect(try client.wait(paused.instance).reason == .probablyOutOfMemory)
        #expect(try client.explain(Self.pool).reasons.map(\.code) == ["reclaimed"])
        let launched = try client.start(Self.pool)
        #expect(launched.launched.coldReason == .reclaimed)
        // The kernel's report has been used, so the next kill is an ordinary one.
        kill(launched.pid, SIGKILL)
        #expect(try client.wait(launched.instance).reason == .crashed)
    }

    @Test(arguments: [
        ("low_memory", ["proc/meminfo": "MemTotal: 4000000 kB\nMemAvailable: 100000 kB\n"]),
        ("high_load", ["proc/loadavg": "2000.00 1.0 1.0 1/1 1\n"]),
        (
            "low_battery",
            [
                "sys/class/power_supply/BAT0/type": "Battery\n",
                "sys/class/power_supply/BAT0/status": "Discharging\n",
                "sys/class/power_supply/BAT0/capacity": "5\n",
            ]
        ),
        (
            "thermal_stress",
            [
                "sys/class/thermal/thermal_zone0/type": "cpu\n",
                "sys/class/thermal/thermal_zone0/temp": "95000\n",
                "sys/class/thermal/thermal_zone0/trip_point_0_type": "passive\n",
                "sys/class/thermal/thermal_zone0/trip_point_0_temp": "90000\n",
            ]
        ),
    ])
    func `the machine can hold prewarming back, and explain says why`(
        _ code: String, _ files: [String: String]
    ) throws {
        var options = TestDaemon.Options()
        options.machine = files
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1), options: options)
        let client = try daemon.client()
        #expect(try client.explain(Self.pool).reasons.map(\.code) == [code])
        // The daemon handles a hint in its next turn.
        _ = try client.call(.prepare(app: Self.pool))
        #expect(try client.instances(of: Self.pool).isEmpty)
        if code == "low_memory" {
            #expect(throws: ControlError.self) { try client.prewarm(Self.pool) }
        } else {
            #expect(try client.prewarm(Self.pool).count == 1)
        }
    }

    @Test func `prewarming goes on when the machine allows again`() throws {
        var options = TestDaemon.Options()
        options.machine = ["proc/loadavg": "2000.00 1.0 1.0 1/1 1\n"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1), options: options)
        #expect(try daemon.client().explain(Self.pool).reasons.map(\.code) == ["high_load"])
        try daemon.describeMachine("proc/loadavg", "0.10 1.0 1.0 1/1 1\n")
        try daemon.awaitPaused(Self.pool)
    }

    @Test func `a reload of greenroom.conf changes the conditions at once, if the file is valid`()
        throws
    {
        var options = TestDaemon.Options()
        options.machine = ["proc/loadavg": "2000.00 1.0 1.0 1/1 1\n"]
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1), options: options)
        let client = try daemon.client()
        #expect(try client.explain(Self.pool).reasons.map(\.code) == ["high_load"])
        try daemon.configure(["PrewarmMaxLoad=wind"])
        let failed = try client.reload().failed
        // The invalid line comes after the section and the line that every test has.
        #expect(failed.map(\.line) == [3])
        #expect(failed.first?.file.hasSuffix("greenroom.conf") == true)
        #expect(try client.explain(Self.pool).reasons.map(\.code) == ["high_load"])
        try daemon.configure(["PrewarmMaxLoad=0"])
        #expect(try client.reload().failed.isEmpty)
        try daemon.awaitPaused(Self.pool)
        #expect(try client.explain(Self.pool).reasons.isEmpty)
    }

    @Test func `a load of four for each processor holds prewarming back by default`() throws {
        let program = try compileProbe("behave.c")
        let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        for (load, codes) in [(count * 4 + 1, ["high_load"]), (count * 4 - 1, [])] {
            var options = TestDaemon.Options()
            options.machine = ["proc/loadavg": "\(load).00 1.0 1.0 1/1 1\n"]
            let daemon = try TestDaemon(
                TestApp(Self.pool, exec: program, prewarm: 1), options: options)
            #expect(try daemon.client().explain(Self.pool).reasons.map(\.code) == codes)
        }
    }

    @Test func `a suspended app's memory is paged out, and the freed bytes are reported`() throws {
        try requireOrSkip(getuid() == 0, "it takes CAP_SYS_NICE, or the memory controller")
        var options = TestDaemon.Options()
        options.configuration = ["PageOutSuspended=yes"]
        let daemon = try TestDaemon([], options)
        // Only pages that are on disk and not used elsewhere can be paged out without swap.
        let program = daemon.directory.path + "/own"
        let bytes = try readFile(try compileProbe("behave.c"))
        let copy = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0o755)
        #expect(bytes.withUnsafeBytes { write(copy, $0.baseAddress, $0.count) } == bytes.count)
        fsync(copy)
        close(copy)
        try daemon.install(TestApp(Self.app, exec: program))
        let client = try daemon.client()
        _ = try client.reload()
        let watcher = try daemon.watch()
        let app = try client.start(Self.app)
        try client.change(.suspend, app.instance)
        let event = try watcher.next { $0.kind == .pagedOut }
        #expect(event.instance == app.instance)
        #expect(event.byteCount ?? 0 >= 4096)
        try client.change(.resume, app.instance)
        try client.change(.terminate, app.instance)
        #expect(try client.wait(app.instance).signal == SIGTERM)
    }

    @Test func `a hint prewarms an app with the occasion demand`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.pool, exec: program, prewarm: 1, prewarmLines: ["When=demand"]))
        let client = try daemon.client()
        #expect(try client.call(.prepare(app: Self.pool)) == .prepared(isReady: false))
        try daemon.awaitPaused(Self.pool)
        #expect(try client.call(.prepare(app: Self.pool)) == .prepared(isReady: true))
        #expect(try client.run(Self.pool).launched.kind == .prewarmed)
    }

    /// The test makes processor time short instead of memory; the kernel reports both in the same way.
    @Test(arguments: Runner.allCases)
    func `the daemon reacts to the kernel's report of a stall`(_ runner: Runner) throws {
        try requireOrSkip(
            access("/proc/pressure/cpu", R_OK) == 0, "the kernel has no pressure information")
        var options = runner.options
        options.machine = ["proc/pressure/about": ""]
        options.configuration = ["PressureWarningStallSec=10ms"]
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: "/bin/sh -c 'while :; do :; done'", "Instances=multiple"),
            options: options)
        try daemon.kill()
        try #require(
            symlink("/proc/pressure/cpu", daemon.machineDirectory + "/proc/pressure/memory") == 0)
        try daemon.start()
        let watcher = try daemon.watch()
        let client = try daemon.client()
        for _ in 0..<sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 2 {
            _ = try client.launch(Self.app) { $0.isBackground = true }
        }
        let event = try watcher.next { $0.kind == .pressureChanged }
        #expect(event.pressure != Control.MemoryPressure.none)
    }
}
