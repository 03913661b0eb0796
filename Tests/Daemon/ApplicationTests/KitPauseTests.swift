import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Prewarmed apps made with ApplicationKit, under the real daemon.
@Suite struct `How ApplicationKit waits for a launch` {
    @Test func `a prewarmed app has run only main, on one thread, and that process is launched`()
        throws
    {
        let kit = try KitDaemon(KitApp(prewarm: 1))
        let paused = try #require(try kit.daemon.client().paused(kit.app.identifier).first)
        let pid = try #require(paused.processId)
        #expect(kit.app.said(pid, in: kit.daemon) == ["main"])
        #expect(KernelObjects.threadCount(of: pid) == 1)
        try kit.launch()
        #expect(kit.pid == pid && kit.instance == paused.instance)
    }

    @Test(arguments: [Control.Transition.terminate, .kill])
    func `a prewarmed app that is reclaimed ends without ApplicationMain`(
        how: Control.Transition
    ) throws {
        var app = KitApp(prewarm: 1)
        app.prewarmLines = ["When=demand"]
        let daemon = try TestDaemon.with()
        try app.install(in: daemon)
        let client = try daemon.client()
        _ = try client.reload()
        let instance = try #require(try client.prewarm(app.identifier).first)
        let pid = try #require(try daemon.awaitPaused(app.identifier).first?.processId)
        _ = try? client.change(how, instance)
        try Processes.awaitEnd(of: pid)
        #expect(app.said(pid, in: daemon) == ["main"])
    }

    @Test func `a paused app whose manifest changes ends without ApplicationMain`()
        throws
    {
        let kit = try KitDaemon(KitApp(prewarm: 1))
        let name = kit.app.identifier
        let pid = try #require(try kit.daemon.client().paused(name).first?.processId)
        var changed = kit.app
        changed.environment = ["PROBE_NEW=1"]
        try changed.install(in: kit.daemon)
        _ = try kit.daemon.client().reload()
        try Processes.awaitEnd(of: pid)
        #expect(kit.app.said(pid, in: kit.daemon) == ["main"])
        let next = try kit.daemon.awaitPaused(name).first?.processId
        #expect(next != pid)
    }

    @Test(arguments: ["exit", "never"])
    func `a prewarm that does not reach ApplicationMain fails, and the log says so`(
        delegate: String
    ) throws {
        var app = KitApp(prewarm: 1)
        app.delegate = delegate
        let daemon = try TestDaemon.with(configuration: ["PauseDeadlineSec=300ms"])
        let watcher = try daemon.watch()
        try app.install(in: daemon)
        _ = try daemon.client().reload()
        let failed = try watcher.next { $0.kind == .prewarmFailed }
        #expect(failed.app == app.identifier)
        #expect(daemon.log.contains("prewarming \(app.identifier) failed"), "\(daemon.log)")
    }

    @Test(arguments: KitApp.starts)
    func `an app that is prewarmed and launched during a lock knows of it and of the unlock`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(KitApp(prewarm: prewarm), isLocked: true)
        try kit.launch(until: .inactive)
        let client = try kit.daemon.client()
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        _ = try client.ask(.lock(user: nil))
        try kit.awaitState(.inactive)
        let said = try kit.end()
        #expect(
            said.dropFirst(5) == [
                "protectedDataDidBecomeAvailable token=nil, absent=nil", "didBecomeActive active",
                "willResignActive active",
                "protectedDataWillBecomeUnavailable token=nil, absent=nil", "willTerminate",
            ])
    }

    private static func hasCredentials(_ pid: Int32) -> Bool {
        KernelObjects.openFiles(of: pid).contains { $0.contains("greenroom-credentials") }
    }

    @Test(arguments: KitApp.starts)
    func `an app has its secret when the screen is unlocked, and a paused process never has it`(
        prewarm: Int
    ) throws {
        let folder = try TemporaryDirectory()
        try folder.write("s3cret", to: "token", mode: 0o600)
        var app = KitApp(prewarm: prewarm)
        app.lines = ["LoadCredential=token:\(folder.path)/token"]
        let kit = try KitDaemon(app, isLocked: true)
        let client = try kit.daemon.client()
        if let paused = try client.paused(app.identifier).first {
            let pid = try #require(paused.processId)
            #expect(!Self.hasCredentials(pid))
            let environment = try readFile("/proc/\(pid)/environ")
            #expect(!String(decoding: environment, as: UTF8.self).contains("CREDENTIALS"))
        }
        try kit.launch(until: .inactive)
        #expect(!Self.hasCredentials(kit.pid))
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        #expect(Self.hasCredentials(kit.pid))
        _ = try client.ask(.lock(user: nil))
        try kit.awaitState(.inactive)
        // A later message has also been answered.
        try kit.change(.background)
        #expect(!Self.hasCredentials(kit.pid))
        #expect(
            try kit.end().dropFirst(5) == [
                "protectedDataDidBecomeAvailable token=s3cret, absent=nil",
                "didBecomeActive active", "willResignActive active",
                "protectedDataWillBecomeUnavailable token=s3cret, absent=nil",
                "didEnterBackground background", "willTerminate",
            ])
        // An app that is launched unlocked has the secret from the start.
        _ = try client.ask(.unlock(user: nil))
        if prewarm > 0 { try kit.daemon.awaitPaused(app.identifier) }
        try kit.launch()
        #expect(Self.hasCredentials(kit.pid))
        _ = try client.ask(.lock(user: nil))
        #expect(
            try kit.end().dropFirst(7).first
                == "protectedDataWillBecomeUnavailable token=s3cret, absent=nil")
    }

    @Test func `a secret that could not be read at an unlock is unavailable until the next unlock`()
        throws
    {
        let folder = try TemporaryDirectory()
        var app = KitApp()
        app.lines = ["LoadCredential=token:\(folder.path)/token"]
        let kit = try KitDaemon(app, isLocked: true)
        let client = try kit.daemon.client()
        try kit.launch(until: .inactive)
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        _ = try client.ask(.lock(user: nil))
        try kit.awaitState(.inactive)
        try folder.write("s3cret", to: "token", mode: 0o600)
        _ = try client.ask(.unlock(user: nil))
        try kit.awaitState(.active)
        let missing = "token: unavailable, absent: unavailable"
        #expect(
            try kit.end().dropFirst(5) == [
                "protectedDataDidBecomeAvailable \(missing)", "didBecomeActive active",
                "willResignActive active", "protectedDataWillBecomeUnavailable \(missing)",
                "protectedDataDidBecomeAvailable token=s3cret, absent=nil",
                "didBecomeActive active", "willTerminate",
            ])
        #expect(kit.daemon.log.contains("the credentials of \(app.identifier): "))
    }

    @Test func `a paused app outlives the supervisor, and is launched by the next`() throws {
        let kit = try KitDaemon(KitApp(prewarm: 1))
        let name = kit.app.identifier
        let paused = try #require(try kit.daemon.client().paused(name).first?.processId)
        try kit.daemon.kill()
        #expect(Processes.isAlive(paused))
        try kit.daemon.start()
        try kit.daemon.awaitPaused(name)
        try kit.launch()
        #expect(kit.pid == paused)
        #expect(kit.said == KitApp.beginning("[]", "inactive") + ["didBecomeActive active"])
    }

    @Test(arguments: ["both", "scenes"])
    func `an app still gets its events after the supervisor has been killed`(
        delegate: String
    ) throws {
        let kit = try KitDaemon(delegate == "both" ? KitApp(prewarm: 1) : .scenes(prewarm: 1))
        try kit.launch()
        let before = kit.said
        try kit.daemon.kill()
        try kit.daemon.start()
        #expect(try kit.daemon.client().instance(kit.instance).state == .active)
        #expect(kit.said == before)
        try kit.change(.background)
        try kit.change(.foreground)
        try kit.daemon.kill()
        try kit.daemon.start()
        _ = try kit.daemon.client().ask(.lock(user: nil))
        let said = try kit.end().dropFirst(before.count)
        let place = delegate == "both" ? "" : "1 "
        let ending = delegate == "both" ? 1 : 2  // a scene ends first
        #expect(said.count == 6 + ending)
        #expect(said.first?.hasPrefix("\(place)willResignActive") == true)
        #expect(said.dropFirst(3).first?.hasPrefix("\(place)didBecomeActive") == true)
        let told = said.suffix(ending + 1).first
        #expect(told?.hasPrefix("protectedDataWillBecomeUnavailable") == true)
        #expect(said.last == "willTerminate")
    }
}

/// Deadlines of apps made with ApplicationKit.
@Suite struct `How ApplicationKit apps are watched` {
    private func hanging(_ word: String, prewarm: Int = 0) -> KitApp {
        var app = KitApp(prewarm: prewarm)
        app.environment = ["PROBE_HANG=\(word)"]
        return app
    }

    @Test(arguments: ["willResignActive", "didEnterBackground"], KitApp.starts)
    func `a callback that does not return ends the app by the watchdog`(
        word: String, prewarm: Int
    ) throws {
        let kit = try KitDaemon(hanging(word, prewarm: prewarm))
        try kit.launch()
        let watcher = try kit.daemon.watch()
        try kit.daemon.client().send(.transition(.background, .instance(kit.instance)))
        let slow = try watcher.next { $0.kind == .slowStep }
        let missed = try watcher.next { $0.kind == .missedStep }
        #expect(slow.step == word && missed.step == word)
        #expect(try kit.daemon.client().wait(kit.instance).reason == .watchdog)
        #expect(kit.said.last?.hasPrefix(word) == true)
    }

    @Test func `the launch watchdog ends an app whose launch does not finish`() throws {
        var app = hanging("didFinishLaunching")
        app.lines = ["LaunchDeadlineSec=2s"]
        let daemon = try TestDaemon.with()
        try app.install(in: daemon)
        let client = try daemon.client()
        _ = try client.reload()
        let instance = try client.launch(app.identifier).instance
        #expect(try client.wait(instance).reason == .launchWatchdog)
    }

    @Test func `the daemon does not wait for a willTerminate that does not return`() throws {
        var app = hanging("willTerminate")
        app.lines = ["TerminateGraceSec=3s"]
        let kit = try KitDaemon(app)
        try kit.launch()
        try kit.change(.terminate)
        let exit = try kit.daemon.client().wait(kit.instance)
        #expect(exit.reason == .terminateTimeout && exit.signal == SIGKILL, "\(exit)")
        #expect(kit.said.last == "willTerminate")
    }

    @Test func `a suspended app is ended without a callback`() throws {
        let kit = try KitDaemon(KitApp())
        try kit.launch()
        try kit.change(.suspend)
        let before = kit.said
        try kit.change(.terminate)
        #expect(kit.said == before)
        #expect(before.last == "didEnterBackground background")
    }

    @Test(arguments: KitApp.starts)
    func `the watchdog waits until the debugger is gone`(prewarm: Int) throws {
        let kit = try KitDaemon(hanging("willResignActive", prewarm: prewarm))
        try kit.launch()
        let debugger = try Debugger(pid: kit.pid)
        let watcher = try kit.daemon.watch()
        try kit.daemon.client().send(.transition(.background, .instance(kit.instance)))
        try watcher.next { $0.kind == .slowStep }
        // This is longer than the second half of its time.
        #expect(throws: (any Error).self) { _ = try watcher.next(milliseconds: 4000) }
        #expect(Processes.isAlive(kit.pid))
        debugger.detach()
        try watcher.next { $0.kind == .missedStep }
        #expect(try kit.daemon.client().wait(kit.instance).reason == .watchdog)
    }
}
