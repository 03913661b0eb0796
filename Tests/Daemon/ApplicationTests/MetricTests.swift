import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The counts for real processes, through the real daemon.
@Suite struct `Metrics of launches and ends` {
    private static let app = "org.example.app"

    private static func kit(prewarm: Int = 0, _ environment: String...) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "measured"
        app.application = ["URLSchemes=probe"]
        app.environment = environment
        return app
    }

    private static func open(_ url: String) -> Control.ApplicationCall {
        .open(Control.OpenCall(urls: ["probe:" + url]))
    }

    @Test func `cold launches, prewarmed launches and resumes are counted separately`() throws {
        let daemon = try TestDaemon.with(Probe(Self.app))
        let client = try daemon.client()
        for _ in 0..<3 {
            let instance = try client.launch(Self.app).instance
            try daemon.awaitState(.active, of: instance)
            // The app comes back from the background and from suspension, by launches and by a
            // shell.
            try client.change(.background, instance)
            _ = try client.launch(Self.app)
            try daemon.awaitState(.active, of: instance)
            try client.change(.suspend, instance)
            try client.change(.foreground, instance)
            // The app is already in front, so this is neither a launch nor a return.
            try client.change(.foreground, instance)
            _ = try client.launch(Self.app)
            try client.change(.terminate, instance)
        }
        var probe = Probe(Self.app)
        probe.prewarm = 1
        try probe.install(in: daemon)
        _ = try client.reload()
        for _ in 0..<2 {
            try daemon.awaitPaused(Self.app)
            let instance = try client.launch(Self.app).instance
            try daemon.awaitState(.active, of: instance)
            try client.change(.terminate, instance)
        }
        // Nobody waits for a background launch, so it is not measured.
        let last = try client.launch(Self.app) { $0.isBackground = true }.instance
        try daemon.awaitState(.background, of: last)
        try client.change(.terminate, last)
        let metrics = try client.metrics(Self.app)
        #expect(metrics.total.launchCounts == [.firstDraw: 3, .optimizedFirstDraw: 2, .resume: 6])
        #expect(metrics.current.launchCounts == metrics.total.launchCounts)
        #expect(metrics.total.exitCounts == [.normal: [5, 1]])
        #expect(metrics.total.foregroundUSec > 0 && metrics.total.backgroundUSec > 0)
    }

    @Test func `the launch of an unmodified program is measured until it is ready`() throws {
        let daemon = try TestDaemon([
            TestApp(
                Self.app, exec: "/bin/sh -c 'echo up; exec sleep infinity'", "ReadyOn=first-output")
        ])
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try client.change(.kill, instance)
        _ = try client.wait(instance)
        let total = try client.metrics(Self.app).total
        #expect(total.launchCounts == [.firstDraw: 1])
        #expect(total.exitCounts == [.normal: [1, 0]])
    }

    @Test func `ends are counted by reason, in front and in the background`() throws {
        let daemon = try TestDaemon([
            TestApp(Self.app, exec: "/bin/sh", "CrashLoopCount=100")
        ])
        let client = try daemon.client()
        func end(inBackground: Bool, _ script: String) throws {
            let instance = try client.launch(Self.app, ["-c", script]) {
                $0.isBackground = inBackground
            }.instance
            _ = try client.wait(instance)
        }
        for inBackground in [false, false, true] {
            try end(inBackground: inBackground, "exit 0")
            try end(inBackground: inBackground, "exit 3")
        }
        try end(inBackground: false, "kill -SEGV $$")
        try end(inBackground: false, "kill -BUS $$")
        try end(inBackground: false, "kill -ILL $$")
        try end(inBackground: false, "kill -ABRT $$")
        try end(inBackground: false, "kill -XCPU $$")
        let metrics = try client.metrics(Self.app)
        #expect(
            metrics.total.exitCounts == [
                .normal: [2, 1], .abnormal: [3, 1], .badAccess: [2, 0],
                .illegalInstruction: [1, 0],
                .cpuLimit: [1, 0],
            ])
        // Each crash is a diagnostic; an exit with a status is not.
        #expect(metrics.diagnostics.map(\.signal) == [SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGXCPU])
        #expect(metrics.diagnostics.allSatisfy { $0.kind == .crash && $0.reason == "crashed" })
    }

    @Test func `ends by the watchdog, because of a file lock and because of memory are counted`()
        throws
    {
        var probe = Probe(Self.app)
        probe.lines = ["LaunchDeadlineSec=2s"]
        probe.environment = ["PROBE_HANG=launch"]
        let daemon = try TestDaemon.with(probe, configuration: ["LockedFileGraceSec=0"])
        let client = try daemon.client()
        let hung = try client.launch(Self.app).instance
        #expect(try client.wait(hung).reason == .launchWatchdog)
        (probe.lines, probe.environment) = ([], [])
        try probe.install(in: daemon)
        _ = try client.reload()
        // Under memory pressure the suspended app is ended.
        let taken = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: taken)
        try client.change(.suspend, taken)
        _ = try client.call(.debugPressure(.warning))
        #expect(try client.wait(taken).reason == .reclaimed)
        _ = try client.call(.debugPressure(.none))
        #expect(
            try client.metrics(Self.app).total.exitCounts == [
                .watchdog: [1, 0], .memoryPressure: [0, 1],
            ])
    }

    @Test func `counts survive the daemon's death and its end`() throws {
        let daemon = try TestDaemon.with(Probe(Self.app))
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        let before = try daemon.client().metrics(Self.app)
        #expect(before.total.launchCounts == [.firstDraw: 1])
        try daemon.kill()
        try daemon.start()
        let between = try daemon.client().metrics(Self.app)
        #expect(between.total.launchCounts == before.total.launchCounts)
        #expect(between.total.sinceTimestampUSec == before.total.sinceTimestampUSec)
        // The time in front went on while no supervisor ran.
        #expect(between.total.foregroundUSec > before.total.foregroundUSec)
        try daemon.terminate()
        try daemon.start()
        let after = try daemon.client().metrics(Self.app)
        #expect(after.total.launchCounts == before.total.launchCounts)
        // The app was ended with the daemon.
        #expect(after.total.exitCounts == [.normal: [1, 0]])
    }

    @Test func `a damaged file loses its counts and nothing else`() throws {
        let daemon = try TestDaemon.with(Probe(Self.app))
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        _ = try daemon.client().metrics(Self.app)
        let path = daemon.directory.path + "/state/metrics/\(getuid())/\(Self.app)"
        try #require(access(path, R_OK) == 0)
        try daemon.kill()
        let file = Glibc.open(path, O_WRONLY | O_TRUNC)
        let junk =
            "total 1\n launch.resume.200 x\ncurrent a b\n\u{0}\u{1}\npending 1 2 3\ndelivered x\n"
        #expect(write(file, junk, junk.utf8.count) == junk.utf8.count)
        close(file)
        try daemon.start()
        #expect(try daemon.client().metrics(Self.app).total.launchCounts == [:])
        try daemon.client().change(.terminate, instance)
        #expect(try daemon.client().metrics(Self.app).total.exitCounts == [.normal: [1, 0]])
    }

    @Test(arguments: KitApp.starts)
    func `the first draw that an app reports is counted, not its activation`(prewarm: Int) throws {
        let kit = try KitDaemon(Self.kit(prewarm: prewarm))
        try kit.launch()
        let client = try kit.daemon.client()
        let metric: Control.LaunchMetric = prewarm > 0 ? .optimizedFirstDraw : .firstDraw
        #expect(try client.metrics(kit.app.identifier).total.launchCounts == [metric: 1])
        // The app reports its first draw much later, which replaces the one count.
        try kit.ask(Self.open("hang"))
        let watcher = try kit.daemon.watch()
        try kit.ask(Self.open("draw"))
        try watcher.next { $0.kind == .launchStep && $0.step == "firstDraw" }
        let total = try client.metrics(kit.app.identifier).total
        #expect(total.launchCounts == [metric: 1])
        #expect(total.launches.first?.buckets.first?.fromUSec ?? 0 >= 300_000)
    }

    @Test func `a later draw does not count as the first, even for another supervisor`() throws {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        let name = kit.app.identifier
        func firstDraw() throws -> Int64 {
            try kit.daemon.await("the first draw") { client in
                let steps = try client.instances(of: name).first?.steps ?? []
                return steps.first { $0.step == "firstDraw" }?.elapsedUSec
            }
        }
        try kit.ask(Self.open("draw"))
        let (time, counted) = (
            try firstDraw(), try kit.daemon.client().metrics(name).total.launches
        )
        try kit.ask(Self.open("hang"))
        try kit.ask(Self.open("draw"))
        try kit.await { $0.count { $0 == "did probe:draw" } == 2 }
        #expect(try firstDraw() == time)
        // The next supervisor asks the app.
        try kit.daemon.kill()
        try kit.daemon.start()
        #expect(try firstDraw() == time)
        #expect(try kit.daemon.client().metrics(name).total.launches == counted)
    }

    @Test func `an app's own work extends the launch until the last work has ended`() throws {
        let kit = try KitDaemon(Self.kit("PROBE_TASKS=one,two,one,"))
        try kit.launch()
        let client = try kit.daemon.client()
        try kit.ask(Self.open("extend/three"))
        try kit.ask(Self.open("finish/one"))
        try kit.ask(Self.open("finish/one"))
        try kit.await { $0.contains { $0.hasPrefix("not finished") } }
        #expect(try client.metrics(kit.app.identifier).total.launchCounts == [.firstDraw: 1])
        try kit.ask(Self.open("finish/two"))
        try kit.await { $0.contains("finished two") }
        // The app reports that to the daemon, which need not have read it yet.
        try Processes.wait("the extended launch is not counted") {
            try client.metrics(kit.app.identifier).total.launchCounts == [
                .firstDraw: 1, .extendedLaunch: 1,
            ]
        }
        #expect(
            kit.said.filter { $0.contains("extended") || $0.contains("finished") } == [
                "extended one", "extended two",
                "not extended one: a launch task of this name is under way",
                "not extended three: the launch cannot be extended: the app is active, has drawn, "
                    + "or is not launched",
                "finished one", "not finished one: no launch task of this name is under way",
                "finished two",
            ])
    }

    @Test func `a hang is counted, and its diagnostic is delivered at once`() throws {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        try kit.ask(Self.open("hang"))
        try kit.await { $0.contains("hang application(_:open:options:) true") }
        // On a busy machine, it may take longer, and other callbacks may hang, too.
        let client = try kit.daemon.client()
        func hangs() throws -> [Control.HistogramBucket] {
            try client.metrics(kit.app.identifier).total.hangs
        }
        try Processes.wait("not as many hangs are counted as are told") {
            try hangs().reduce(0) { $0 + $1.count }
                == kit.said.count { $0.hasPrefix("hang ") }
        }
        #expect(try hangs().contains { $0.fromUSec >= 300_000 })
    }

    @Test func `the diagnostic of a crash is delivered at the next launch, once`() throws {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        let client = try kit.daemon.client()
        let first = kit.instance
        _ = try client.ask(Self.open("crash"))
        #expect(try client.wait(first).signal == SIGSEGV)
        #expect(try client.metrics(kit.app.identifier).diagnostics.count == 1)
        try kit.launch()
        try kit.await { $0.contains("crash crashed \(SIGSEGV)") }
        // No event reports the acknowledgement.
        try Processes.wait("it is not acknowledged") {
            try client.metrics(kit.app.identifier).diagnostics.isEmpty
        }
        try kit.change(.terminate)
        try kit.launch()
        #expect(!kit.said.contains { $0.hasPrefix("crash") })
    }

    @Test func `a payload is delivered when its period is over, and not before`() throws {
        let kit = try KitDaemon(Self.kit(), configuration: ["MetricsIntervalSec=600ms"])
        try kit.launch()
        try kit.await { $0.contains { $0.hasPrefix("payload") } }
        try kit.ask(Self.open("hang"))
        try kit.await { $0.filter { $0.hasPrefix("payload") }.count >= 3 }
        let payloads = kit.said.filter { $0.hasPrefix("payload") }
        // The counts are cold, prewarmed, resume, extended and hangs; each is in only one payload.
        #expect(payloads[0].hasPrefix("payload 1 0 0 0 "))
        #expect(payloads[1...].allSatisfy { $0.hasPrefix("payload 0 0 0 0 ") })
        // On a busy machine, other callbacks may hang, too.
        let hangs = payloads.reduce(0) { $0 + (UInt64($1.split(separator: " ")[5]) ?? 0) }
        let total = try kit.daemon.client().metrics(kit.app.identifier).total.hangs
        #expect(hangs >= 1 && hangs <= total.reduce(0) { $0 + $1.count })
        for payload in payloads {
            let words = payload.split(separator: " ")
            #expect(Int(words[8]) ?? 0 >= 600, "\(payload)")
        }
    }

    @Test func `a shorter time between payloads takes effect at the reload`() throws {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        try kit.daemon.configure(["MetricsIntervalSec=100ms"])
        _ = try kit.daemon.client().reload()
        try kit.await { $0.contains { $0.hasPrefix("payload") } }
    }

    @Test func `no payload is delivered within the day, or to an app that does not subscribe`()
        throws
    {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        try kit.ask(Self.open("hang"))
        try kit.await { $0.contains { $0.hasPrefix("hang") } }
        #expect(!(try kit.end()).contains { $0.hasPrefix("payload") })
        let other = try KitDaemon(
            Self.kit("PROBE_UNSUBSCRIBED=1"), configuration: ["MetricsIntervalSec=100ms"])
        try other.launch()
        try other.ask(Self.open("hang"))
        try other.await { $0.contains("did probe:hang") }
        #expect(!(try other.end()).contains { $0.hasPrefix("payload") || $0.hasPrefix("hang") })
        let metrics = try other.daemon.client().metrics(other.app.identifier)
        #expect(metrics.diagnostics.count == 1)
    }

    @Test func `payloads of days without a subscriber are kept and delivered together`() throws {
        let app = Self.kit("PROBE_UNSUBSCRIBED=1")
        let kit = try KitDaemon(app, configuration: ["MetricsIntervalSec=50ms"])
        for _ in 0..<3 {
            try kit.launch()
            try kit.ask(Self.open("hang"))
            try kit.await { $0.contains("did probe:hang") }
            try kit.change(.terminate)
        }
        let client = try kit.daemon.client()
        #expect(try client.metrics(app.identifier).undeliveredCount >= 2)
        try Self.kit().install(in: kit.daemon)
        _ = try client.reload()
        try kit.launch()
        try kit.await { $0.filter { $0.hasPrefix("payload") }.count >= 2 }
    }

    @Test func `the next supervisor still delivers to a subscriber`() throws {
        let kit = try KitDaemon(Self.kit())
        try kit.launch()
        try kit.daemon.kill()
        try kit.daemon.start()
        try kit.ask(Self.open("hang"))
        try kit.await { $0.contains { $0.hasPrefix("hang") } }
    }
}

extension KitDaemon {
    /// Waits until the lines of the process fulfil the condition. Checks them after each change in
    /// the folder of its log (inotify(7)).
    func await(_ isSo: ([String]) -> Bool) throws {
        let watch = inotify_init1(Int32(IN_CLOEXEC))
        defer { close(watch) }
        let events = UInt32(IN_MODIFY | IN_CREATE)
        guard inotify_add_watch(watch, daemon.directory.path, events) >= 0 else {
            throw TestError("inotify_add_watch: errno \(errno)")
        }
        var entry = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !isSo(said) {
            guard poll(&entry, 1, Processes.deadline) == 1 else {
                throw TestError("it said only \(said)")
            }
            _ = read(watch, &buffer, buffer.count)
        }
    }
}

extension TestClient {
    func metrics(_ app: String) throws -> Control.MetricsReply {
        guard case .metrics(let metrics) = try call(.metrics(app: app)) else {
            throw TestError("another reply")
        }
        return metrics
    }
}

extension Control.AppMetrics {
    var launchCounts: [Control.LaunchMetric: UInt64] {
        Dictionary(
            uniqueKeysWithValues: launches.map { launch in
                (launch.metric.known!, launch.buckets.reduce(0) { $0 + $1.count })
            })
    }

    /// The counts of exits in front, and in the background.
    var exitCounts: [Control.MetricExit: [UInt64]] {
        Dictionary(
            uniqueKeysWithValues: exits.map { ($0.exit.known!, [$0.foreground, $0.background]) })
    }
}
