import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing
import Varlink

/// Past launches are kept in a separate process and file.
@Suite struct HistoryTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    private static func file(_ daemon: TestDaemon) -> String {
        daemon.directory.path + "/state/history.db"
    }

    private static func daemon(
        _ lines: [String] = [], user: Int32? = nil
    ) throws -> TestDaemon {
        var options = TestDaemon.Options()
        options.configuration = lines
        options.user = user
        let program = try compileProbe("behave.c")
        return try TestDaemon(
            [TestApp(app, exec: program, prewarm: 1), TestApp(other, exec: program)], options)
    }

    private static func history(
        _ client: TestClient, _ change: (inout Control.HistoryQuery) -> Void = { _ in }
    ) throws -> Control.HistoryPage<Control.LaunchRecord> {
        var query = Control.HistoryQuery()
        change(&query)
        guard case .history(let page) = try client.call(.history(query)) else {
            throw TestError("another reply")
        }
        return page
    }

    private static func greenroomctl(_ words: [String], _ daemon: TestDaemon) throws -> String {
        let client = try Programs.client
        let (exit, output) = try run(
            ChildRequest(
                client, arguments: [client] + words,
                environment: ["GREENROOM_SOCKET=\(daemon.socketPath)"]
                    + ChildRequest.sanitizerOptions))
        #expect(exit == .status(0))
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `an end that was not written is not a run`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let launched = try client.launch(Self.other, ["wait-forever"])
        // A query writes what waits.
        #expect(try Self.history(client).records.first?.exit == nil)
        try client.change(.kill, launched.instance)
        _ = try client.wait(launched.instance)
        try daemon.kill()
        try daemon.start()
        let again = try daemon.client()
        #expect(try again.run(Self.other, ["exit", "0"]).exit.status == 0)
        let launch = try Self.history(again).records.first { $0.instance == launched.instance }
        #expect(launch?.exit != nil, "\(launch as Any)")
    }

    @Test(arguments: Runner.allCases)
    func `a launch is kept with its caller, its times and its end`(runner: Runner) throws {
        let daemon = try Self.daemon(user: runner.options.user)
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let (launched, _, _) = try client.run(Self.app, ["exit", "3"])
        let launch = try #require(try Self.history(client).records.first)
        #expect(launch.app == Self.app && launch.instance == launched.instance)
        #expect(launch.userId == UInt32(daemon.options.user ?? Int32(getuid())))
        #expect(launch.launchIdentifier == launched.launchIdentifier)
        #expect(launch.kind == launched.kind && launch.coldReason == launched.coldReason)
        #expect(launch.caller?.processId == getpid() && launch.caller?.userId == getuid())
        #expect(launch.elapsedUSec == launched.elapsedUSec)
        #expect(try #require(launch.readyUSec) >= launched.elapsedUSec)
        #expect(launch.exit?.status == 3 && launch.exit?.reason == .exitedSelf)
        #expect(try #require(launch.ranUSec) > 0)
        var status = stat()
        #expect(stat(Self.file(daemon), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    private static func helpers(_ daemon: TestDaemon) -> [Int32] {
        Processes.mentioning(file(daemon)).filter {
            Processes.description(of: $0).contains("greenroom-history")
        }
    }

    private static func awaitNoHelper(_ daemon: TestDaemon) throws {
        try Processes.wait("greenroom-history does not end") { helpers(daemon).isEmpty }
    }

    // MARK: Plans

    private static func planned(
        _ lines: [String] = [], manifest: [String] = []
    ) throws -> TestDaemon {
        var options = TestDaemon.Options()
        options.configuration = lines
        let program = try compileProbe("behave.c")
        return try TestDaemon(
            [TestApp(app, exec: program, prewarm: 1, prewarmLines: ["When=auto"] + manifest)],
            options)
    }

    @Test func `a launched app is kept warm, also by the next daemon`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        let reason = try #require(try client.explain(Self.app).reasons.first)
        #expect(reason.code == "not_planned" && reason.text.hasPrefix("no launch by its user"))
        let (first, _, _) = try client.run(Self.app)
        #expect(first.kind == .cold)
        // When the launch has been written, a plan follows.
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        #expect(try client.explain(Self.app).reasons.isEmpty)
        #expect(try client.run(Self.app).0.kind == .prewarmed)
        try daemon.terminate()
        try daemon.forgetBoot()
        try daemon.start()
        try daemon.awaitPaused(Self.app)
    }

    @Test func `what was measured before a restart counts after it`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        #expect(try client.run(Self.app).0.kind == .prewarmed)
        try daemon.terminate()
        try daemon.forgetBoot()
        // Nothing is prewarmed any more, so this daemon measures nothing.
        try daemon.configure(["PrewarmMinMemory=1000T"])
        try daemon.start()
        let next = try daemon.client()
        guard case .pauseHistory(let page) = try next.call(.pauseHistory(.init())) else {
            throw TestError("another reply")
        }
        let shortest = try #require(page.records.compactMap(\.preparationUSec).min())
        #expect(try next.explain(Self.app).rank?.savedUSec == shortest)
    }

    @Test func `an app whose history is forgotten is not kept warm`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        _ = try client.call(.forgetHistory(app: nil))
        try daemon.awaitPaused(Self.app, count: 0)
    }

    @Test(arguments: ["PlanPrewarms", "History"])
    func `nothing is planned if plans or the history are off`(key: String) throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        try daemon.configure(["\(key)=no"])
        _ = try client.reload()
        try daemon.awaitPaused(Self.app, count: 0)
    }

    @Test func `a rank is explained, and the plan shown`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        #expect(try client.explain(Self.app).rank == nil)
        _ = try client.run(Self.app)
        let rank = try #require(try client.explain(Self.app).rank)
        #expect(rank.app == Self.app && rank.probability > 0.5 && rank.terms.count == 7)
        try daemon.awaitPaused(Self.app)
        guard case .planned(let plan) = try client.call(.plan(app: nil)) else {
            throw TestError("another reply")
        }
        #expect(plan.apps.map(\.app) == [Self.app] && plan.apps.first?.isWarm == true)
        #expect(plan.apps.first?.verdict == .known(.keep))
        #expect(plan.byteCount > 0 && plan.byteCount <= plan.byteBudget)
        #expect(try Self.greenroomctl(["plan"], daemon).contains(Self.app))
        #expect(
            try Self.greenroomctl(["explain", "app"], daemon)
                .contains("how recently it was launched"))
        let error = #expect(throws: ControlError.self) {
            try client.call(.plan(app: "no.such"))
        }
        guard case .noSuchApp? = error else { throw TestError("\(String(describing: error))") }
    }

    @Test func `a rank that is asked for again needs no other process`() throws {
        let daemon = try Self.planned()
        try daemon.install(TestApp(Self.other, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        _ = try client.reload()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        // A process that was made for a call is seen, if the test looks while it is there.
        try Processes.wait("no greenroom-history is seen") {
            _ = try Self.history(client)
            return !Self.helpers(daemon).isEmpty
        }
        try Self.awaitNoHelper(daemon)
        let rank = try #require(try client.explain(Self.app).rank)
        try Self.awaitNoHelper(daemon)
        #expect(try client.explain(Self.app).rank == rank)
        #expect(Self.helpers(daemon).isEmpty)
        // The launch of another app changes the rank of this one. (A second launch of the only app
        // need not: the app is certain to be the next one anyway.)
        _ = try client.run(Self.other)
        #expect(try client.explain(Self.app).rank != rank)
    }

    @Test func `a plan does not show a user what others keep paused`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1))
        let client = try daemon.client()
        try daemon.awaitPaused(Self.app)
        let descriptor = cts_connect_as(daemon.socketPath, 65_534, 65_534, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        func budget(_ client: TestClient) throws -> UInt64 {
            guard case .planned(let plan) = try client.call(.plan(app: nil)) else {
                throw TestError("another reply")
            }
            return plan.byteBudget
        }
        let stranger = TestClient(owning: descriptor)
        // The budget of the daemon's user is smaller by the bytes of the paused instance.
        #expect(try budget(client) < budget(stranger))
    }

    /// The next plan finds no launch, so it keeps no app warm.
    private static func loseHistory(_ daemon: TestDaemon) throws {
        try awaitNoHelper(daemon)
        for end in ["", "-wal"] { unlink(file(daemon) + end) }
    }

    /// The test of the system's daemon and root is in the machine's suite, which has a logind.
    @Test func `nothing is planned for a user without a session`() throws {
        try requireOrSkip(getuid() == 0, "only root can have clients of two users")
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, prewarmLines: ["When=auto"]),
            TestApp(
                Self.other, exec: program, prewarm: 1, "User=\(Self.stranger)",
                prewarmLines: ["When=auto"]))
        let (root, stranger) = (try daemon.client(), try Self.stranger(daemon))
        _ = try stranger.run(Self.other)
        _ = try root.run(Self.app)
        #expect(try Self.history(root).records.count == 2)
        // The same plan is about both.
        try daemon.awaitPaused(Self.app)
        let reason = try #require(try root.explain(Self.other).reasons.first)
        #expect(reason.code == "not_planned" && reason.text.contains("no login session"))
        #expect(try root.paused(Self.other).isEmpty)
    }

    private static let stranger: Int32 = 65_534

    private static func stranger(_ daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, stranger, stranger, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    @Test func `a plan follows an unlock`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        try daemon.awaitPaused(Self.app)
        _ = try client.call(.application(.lock(user: nil)))
        try Self.loseHistory(daemon)
        #expect(try client.paused(Self.app).count == 1)
        _ = try client.call(.application(.unlock(user: nil)))
        try daemon.awaitPaused(Self.app, count: 0)
    }

    @Test func `a plan follows when memory becomes short, and when it no longer is`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        // While memory is short, no instance is paused, so no event tells of another plan. After a
        // plan that took long, the next one comes twenty times as long afterwards.
        func awaitPlan(has isPlanned: Bool) throws {
            try Processes.wait(
                "the plan \(isPlanned ? "does not have" : "still has") the app",
                milliseconds: 4 * Processes.deadline
            ) {
                try client.explain(Self.app).reasons.map(\.code).contains("not_planned")
                    != isPlanned
            }
        }
        for level: Control.MemoryPressure in [.warning, .none] {
            _ = try client.run(Self.app)
            _ = try Self.history(client)
            try awaitPlan(has: true)
            if level == .none { _ = try client.call(.debugPressure(.warning)) }
            try Self.loseHistory(daemon)
            _ = try client.call(.debugPressure(level))
            try awaitPlan(has: false)
        }
    }

    @Test func `a plan decides whether an instance that is too old is replaced`() throws {
        let daemon = try Self.planned(
            ["PrewarmTimeToLiveSec=2"], manifest: ["TimeToLiveSec=2"])
        let client = try daemon.client()
        _ = try client.run(Self.app)
        _ = try Self.history(client)
        let first = try #require(try daemon.awaitPaused(Self.app).first?.instance)
        _ = try daemon.await("another instance") { client in
            try client.paused(Self.app).first { $0.instance != first }
        }
        try Self.loseHistory(daemon)
        _ = try daemon.await("the plan has it not") { client in
            let codes = try client.explain(Self.app).reasons.map(\.code)
            return codes.contains("not_planned") ? codes : nil
        }
        try daemon.awaitPaused(Self.app, count: 0)
    }

    @Test func `a plan follows a launch by itself`() throws {
        let daemon = try Self.planned()
        let client = try daemon.client()
        _ = try client.run(Self.app)
        // Nobody asks for the history, because a query would have it written.
        try daemon.awaitPaused(Self.app)
    }

    /// The depth is recorded as the app has it, which a new daemon does not know at its start.
    @Test func `a paused instance that a former daemon has prepared is kept with its depth`() throws
    {
        let program = try compile(
            source: "\(packageRoot)/Sources/Samples/Pause/primes.c",
            with: ProbeCompiler("clang", ["-I", "\(packageRoot)/Sources/CPrewarm/include"]))
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, prewarmLines: ["Depth=declared"]))
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        try daemon.kill()
        try daemon.start()
        let client = try daemon.client()
        try client.change(.kill, paused.instance)
        let row = try daemon.await("its row") { client in
            guard case .pauseHistory(let page) = try client.call(.pauseHistory(.init())) else {
                return nil as Control.PauseRecord?
            }
            return page.records.first { $0.instance == paused.instance }
        }
        #expect(row.depth == .known(.declared))
    }

    @Test func `paused instances are kept with their cost and their use`() throws {
        let daemon = try Self.daemon()
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let (launched, _, _) = try client.run(Self.app)
        #expect(launched.kind == .prewarmed)
        func pauses() throws -> [Control.PauseRecord] {
            guard case .pauseHistory(let page) = try client.call(.pauseHistory(.init())) else {
                throw TestError("another reply")
            }
            return page.records
        }
        let used = try #require(try pauses().last)
        #expect(used.app == Self.app && used.instance == launched.instance)
        #expect(used.kind == .known(.prewarmed) && used.byteCount > 0)
        #expect(try #require(used.preparationUSec) > 0)
        let processor = try #require(used.processorUSec)
        #expect(processor > 0 && processor <= (used.preparationUSec ?? 0) * 8)
        #expect(used.untilTimestampUSec > used.pausedTimestampUSec)
        // The next instance is ended without a launch.
        try daemon.awaitPaused(Self.app)
        let next = try #require(try client.paused(Self.app).first?.instance)
        try client.change(.kill, next)
        let wasted = try daemon.await("the one that nobody launched") { _ in
            try pauses().first { $0.instance == next }
        }
        #expect(wasted.kind == nil)
        let savings = try Self.greenroomctl(["history", "--savings"], daemon)
        #expect(savings.contains("1 (100.0 %)"))
        #expect(try Self.greenroomctl(["report"], daemon).contains("<svg"))
        _ = try client.call(.forgetHistory(app: nil))
        #expect(try pauses().allSatisfy { $0.instance > next })
    }

    /// Nobody knows how long a former daemon took to prepare an instance.
    @Test func `an instance that another daemon paused is kept without its cost`() throws {
        let daemon = try Self.daemon()
        try daemon.awaitPaused(Self.app)
        try daemon.kill()
        try daemon.start()
        try daemon.awaitPaused(Self.app)
        let client = try daemon.client()
        let (launched, _, _) = try client.run(Self.app)
        guard case .pauseHistory(let page) = try client.call(.pauseHistory(.init())) else {
            throw TestError("another reply")
        }
        let pause = try #require(page.records.first { $0.instance == launched.instance })
        #expect(pause.kind == .known(.prewarmed) && pause.preparationUSec == nil)
        #expect(pause.untilTimestampUSec > pause.pausedTimestampUSec)
    }

    @Test func `the record of a running instance is completed later, by any daemon`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        let running = try client.start(Self.other)
        #expect(try Self.history(client).records.first?.exit == nil)
        try daemon.kill()
        try daemon.start()
        let next = try daemon.client()
        try next.change(.kill, running.instance)
        _ = try next.wait(running.instance)
        let launches = try Self.history(next).records
        #expect(launches.count == 1)
        #expect(launches.first?.exit?.reason == .forceQuit)
        #expect(launches.first?.caller?.processId == getpid())
        #expect(try #require(launches.first?.ranUSec) > 0)
    }

    @Test func `the history outlives the daemon, the spawner and the boot`() throws {
        let daemon = try Self.daemon()
        let (first, _, _) = try daemon.client().run(Self.other)
        let running = try daemon.client().start(Self.other)
        #expect(running.instance != first.instance)
        // The daemon hands over unwritten launches when it is told to end.
        try daemon.terminate()
        try daemon.forgetBoot()
        try daemon.start()
        let launches = try daemon.await("both launches") { client in
            let found = try Self.history(client).records
            return found.count == 2 ? found : nil
        }
        #expect(launches.map(\.exit?.reason) == [.known(.shutdown), .known(.exitedSelf)])
    }

    @Test func `an end that no daemon saw is unknown`() throws {
        let daemon = try Self.daemon()
        let running = try daemon.client().start(Self.other)
        #expect(try Self.history(try daemon.client()).records.count == 1)
        let spawner = try daemon.spawnerPid
        try daemon.kill()
        kill(spawner, SIGKILL)
        kill(running.pid, SIGKILL)
        for pid in [spawner, running.pid] { try Processes.awaitEnd(of: pid) }
        try daemon.forgetBoot()
        try daemon.start()
        let (after, _, _) = try daemon.client().run(Self.other)
        let launches = try Self.history(try daemon.client()).records
        #expect(launches.first?.instance == after.instance)
        #expect(launches.last?.exit?.reason == .unknown && launches.count == 2)
        // Nobody adopts the first spawner's cgroup, because the file by which its successor would
        // find it is gone.
        try daemon.kill()
    }

    @Test func `queries choose apps and times, in pages`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        for app in [Self.app, Self.other, Self.app] { _ = try client.run(app) }
        let all = try Self.history(client).records
        #expect(all.map(\.app) == [Self.app, Self.other, Self.app])
        #expect(try Self.history(client) { $0.apps = ["*.other"] }.records == [all[1]])
        let page = try Self.history(client) { $0.limit = 2 }
        #expect(page.records == Array(all[..<2]))
        let rest = try Self.history(client) { $0.before = page.next }
        #expect(rest.records == [all[2]] && rest.next == nil)
        let middle = all[1].requestTimestampUSec
        #expect(
            try Self.history(client) {
                $0.sinceTimestampUSec = middle
                $0.untilTimestampUSec = middle
            }.records == [all[1]])
        #expect(try client.call(.forgetHistory(app: Self.other)) == .forgotten(count: 1))
        #expect(try Self.history(client).records.map(\.app) == [Self.app, Self.app])
        #expect(try client.call(.forgetHistory(app: nil)) == .forgotten(count: 2))
        #expect(try Self.history(client).records.isEmpty)
    }

    @Test func `a limited number of launches is kept for each user`() throws {
        let daemon = try Self.daemon(["HistoryLaunchesPerUser=2"])
        let client = try daemon.client()
        let instances = try (0..<4).map { _ in try client.run(Self.other).launched.instance }
        #expect(try Self.history(client).records.map(\.instance) == instances.suffix(2).reversed())
    }

    @Test func `nothing is written when the history is off`() throws {
        let daemon = try Self.daemon(["History=no"])
        let client = try daemon.client()
        _ = try client.run(Self.other)
        #expect(try Self.history(client).records.isEmpty)
        try daemon.configure(["History=yes"])
        _ = try client.reload()
        let (kept, _, _) = try client.run(Self.other)
        #expect(try Self.history(client).records.map(\.instance) == [kept.instance])
    }

    @Test func `a user's history is off until the user turns it on again`() throws {
        let daemon = try Self.planned()
        var client = try daemon.client()
        _ = try client.run(Self.app)
        #expect(try !Self.history(client).isOff)
        try daemon.awaitPaused(Self.app)
        #expect(try Self.greenroomctl(["history", "--off"], daemon).contains("no longer kept"))
        // The plan is made anew without the app.
        try daemon.awaitPaused(Self.app, count: 0)
        let reason = try #require(try client.explain(Self.app).reasons.first)
        #expect(reason.code == "not_planned" && reason.text.contains("history --off"))
        #expect(try Self.greenroomctl(["plan"], daemon).contains("Your history is off"))
        #expect(try Self.history(client).records.count == 1)
        // It outlives the daemon, the boot, the history and its damage.
        _ = try client.call(.forgetHistory(app: nil))
        try daemon.terminate()
        try daemon.forgetBoot()
        try daemon.directory.write("not a database", to: "state/history.db")
        try daemon.start()
        client = try daemon.client()
        _ = try client.run(Self.app)
        #expect(try Self.history(client).records.isEmpty && Self.history(client).isOff)
        #expect(try Self.greenroomctl(["history"], daemon).contains("Your history is off"))
        guard case .pauseHistory(let pauses) = try client.call(.pauseHistory(.init())) else {
            throw TestError("another reply")
        }
        #expect(pauses.records.isEmpty)
        #expect(try Self.greenroomctl(["history", "--on"], daemon).isEmpty)
        _ = try client.run(Self.app)
        #expect(try Self.history(client).records.count == 1)
        try daemon.awaitPaused(Self.app)
    }

    @Test func `an end is kept if the launch is, and not otherwise`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        func end(_ instance: UInt64) throws -> [Control.LaunchRecord] {
            try client.change(.kill, instance)
            _ = try client.wait(instance)
            return try Self.history(client).records
        }
        let recorded = try client.start(Self.other).instance
        #expect(try Self.history(client).records.count == 1)
        _ = try client.call(.keepHistory(false))
        #expect(try end(recorded).first?.exit?.reason == .forceQuit)
        let unrecorded = try client.start(Self.other).instance
        _ = try client.call(.keepHistory(true))
        #expect(try end(unrecorded).map(\.instance) == [recorded])
        let forgotten = try client.start(Self.other).instance
        #expect(try Self.history(client).records.count == 2)
        #expect(try client.call(.forgetHistory(app: "*.other")) == .forgotten(count: 2))
        #expect(try end(forgotten).isEmpty)
    }

    @Test func `a user's history is off for nobody else`() throws {
        try requireOrSkip(getuid() == 0, "only root can have clients of two users")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: "/bin/true"),
            TestApp(Self.other, exec: "/bin/true", "User=\(Self.stranger)"))
        let (root, stranger) = (try daemon.client(), try Self.stranger(daemon))
        _ = try stranger.call(.keepHistory(false))
        for app in [Self.app, Self.other] { _ = try root.run(app) }
        #expect(try Self.history(root).records.map(\.app) == [Self.app])
        #expect(try Self.history(stranger).isOff && !Self.history(root).isOff)
        // Root may turn it on for the stranger, and not the other way round.
        #expect(throws: ControlError.permissionDenied(needed: "root")) {
            try stranger.call(.keepHistory(false, user: 0))
        }
        _ = try root.call(.keepHistory(true, user: UInt32(Self.stranger)))
        #expect(try !Self.history(stranger).isOff && !Self.history(root).isOff)
    }

    @Test func `a damaged file is set aside, and launches go on`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        _ = try client.run(Self.other)
        #expect(try Self.history(client).records.count == 1)
        // The connection ends, so that the file is opened again. A process that wrote again would
        // repair it.
        try daemon.terminate()
        for writer in Processes.mentioning(Self.file(daemon)) {
            try Processes.awaitEnd(of: writer)
        }
        try daemon.directory.write(
            String(repeating: "not a database ", count: 1000), to: "state/history.db")
        try daemon.start()
        let (after, _, _) = try daemon.client().run(Self.other)
        #expect(
            try Self.history(try daemon.client()).records.map(\.instance) == [after.instance])
        #expect(daemon.log.contains("history.db is damaged"))
        #expect(access(Self.file(daemon) + ".damaged", F_OK) == 0)
    }

    @Test func `a file that cannot be written loses the batch, but no launch fails`() throws {
        let daemon = try Self.daemon()
        // A folder takes the place of the file: no mode would keep SQLite from writing as root.
        mkdir(daemon.directory.path + "/state", 0o755)
        mkdir(Self.file(daemon), 0o755)
        let client = try daemon.client()
        _ = try client.run(Self.other)
        let refusal = #expect(throws: ControlError.self) { try Self.history(client) }
        guard case .refused("no_history", _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(daemon.log.contains("are not kept"))
        #expect(try client.run(Self.other).exit.status == 0)
        rmdir(Self.file(daemon))
        let (kept, _, _) = try client.run(Self.other)
        #expect(try Self.history(client).records.first?.instance == kept.instance)
    }

    @Test func `a user sees that user's launches, and root sees all`() throws {
        try requireOrSkip(getuid() == 0, "only root can have clients of two users")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: "/bin/true"),
            TestApp(Self.other, exec: "/bin/true", "User=nobody"))
        let client = try daemon.client()
        for app in [Self.app, Self.other] {
            _ = try client.wait(try client.launch(app).instance)
        }
        #expect(try Self.history(client).records.count == 2)
        let descriptor = cts_connect_as(daemon.socketPath, 65_534, 65_534, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        let stranger = TestClient(owning: descriptor)
        #expect(try Self.history(stranger).records.map(\.app) == [Self.other])
        #expect(try stranger.call(.forgetHistory(app: nil)) == .forgotten(count: 1))
        #expect(try Self.history(client).records.map(\.app) == [Self.app])
    }

    @Test func `an idle daemon keeps no process for the history`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        _ = try client.run(Self.other)
        _ = try Self.history(client)
        let writers = daemon.processes.filter {
            Processes.description(of: $0).contains("greenroom-history")
        }
        #expect(writers.count <= 1)
        for writer in writers { try Processes.awaitEnd(of: writer) }
    }

    @Test func `when a writer is killed, only its call fails`() throws {
        let daemon = try Self.daemon()
        let client = try daemon.client()
        _ = try client.run(Self.other)
        _ = try Self.history(client)
        for process in daemon.processes
        where Processes.description(of: process).contains("greenroom-history") {
            kill(process, SIGKILL)
        }
        _ = try client.run(Self.other)
        var found: [Control.LaunchRecord]?
        try Processes.wait("every call fails") {
            found = try? Self.history(client).records
            return found != nil
        }
        #expect(try #require(found).count >= 1)
    }

    @Test func `launches are written however many queries wait`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let daemon = try Self.daemon()
        let client = try daemon.client()
        func asking(_ number: Int) throws -> TestClient {
            let user = Int32(12_000 + number / 4)
            let descriptor = cts_connect_as(daemon.socketPath, user, user, -1)
            guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
            return TestClient(owning: descriptor)
        }
        let first = try asking(0)
        var found: Int32?
        // The search may take longer than the second for which the process stays.
        try Processes.wait("no process of the history is found in time") {
            _ = try Self.history(client)
            found = daemon.processes.first {
                Processes.description(of: $0).contains("greenroom-history")
                    && kill($0, SIGSTOP) == 0
            }
            // This must be at once, because the daemon ends a process that has been idle for a
            // second.
            if found != nil { try first.send(.history(Control.HistoryQuery())) }
            return found != nil
        }
        let history = try #require(found)
        defer { kill(history, SIGCONT) }
        // One call is under way, and as many wait as the limit allows, so the one of these that
        // comes last is refused.
        let others = try (1..<66).map { number in
            let client = try asking(number)
            try client.send(.history(Control.HistoryQuery()))
            return client
        }
        try Self.awaitAnswer(of: others)
        let kept = try client.run(Self.other).launched
        kill(history, SIGCONT)
        var refusals: [ControlError] = []
        for client in [first] + others {
            do {
                _ = try client.reply(to: .history(Control.HistoryQuery()))
            } catch let error as ControlError {
                refusals.append(error)
            }
        }
        #expect(refusals.count == 1)
        #expect(try Self.history(client).records.map(\.instance) == [kept.instance])
        #expect(!daemon.log.contains("are not kept"))
    }

    /// Waits until one of the clients has an answer.
    private static func awaitAnswer(of clients: [TestClient]) throws {
        var entries = clients.map {
            pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
        }
        guard poll(&entries, nfds_t(entries.count), Processes.deadline) > 0 else {
            throw TestError("no client has an answer")
        }
    }

    @Test func `the client shows the history`() throws {
        let daemon = try Self.daemon()
        _ = try daemon.client().run(Self.other, ["exit", "3"])
        let shown = try Self.greenroomctl(["history", "other"], daemon)
        #expect(shown.contains("exited (status 3)"))
        #expect(shown.contains("[\(getpid())]"))
        let json = try Self.greenroomctl(["history", "--json", "--since", "1h"], daemon)
        #expect(json.hasPrefix("{\"app\":\"\(Self.other)\""))
        #expect(try Self.greenroomctl(["history", "--forget", "*"], daemon) == "forgot 1 launch\n")
    }

    @Test func `the client writes the latest launch as a trace`() throws {
        let daemon = try Self.daemon()
        let (launched, _, _) = try daemon.client().run(Self.other, ["exit", "3"])
        let trace = try JSONValue(parsing: try Self.greenroomctl(["trace", "other"], daemon))
        guard case .array(let events)? = trace["traceEvents"] else {
            throw TestError("another text")
        }
        func time(_ event: JSONValue?, _ name: String = "ts") throws -> Int64 {
            guard case .integer(let time)? = event?[name] else { throw TestError("no \(name)") }
            return time
        }
        func event(_ name: String) -> JSONValue? { events.first { $0["name"] == .string(name) } }
        let main = try time(event("request to main")) + launched.elapsedUSec
        #expect(try time(event("request to main"), "dur") == launched.elapsedUSec)
        #expect(try time(event("main to ready")) == main)
        #expect(events.last?["name"] == .string("end: exited (status 3)"))
        #expect(try time(events.last) > main)
    }
}
