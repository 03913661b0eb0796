import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Whole callback sequences of apps made with ApplicationKit, as in the articles on UIKit's launch,
/// through the real daemon.
@Suite struct `What ApplicationKit calls under the daemon` {
    @Test(arguments: KitApp.starts)
    func `an app without scenes is launched, goes to the background and the foreground, and ends`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(KitApp(prewarm: prewarm))
        try kit.launch()
        #expect(kit.said == KitApp.beginning("[]", "inactive") + ["didBecomeActive active"])
        try kit.change(.background)
        try kit.change(.foreground)
        let said = try kit.end()
        #expect(
            said
                == KitApp.beginning("[]", "inactive") + [
                    "didBecomeActive active", "willResignActive active",
                    "didEnterBackground background", "willEnterForeground background",
                    "didBecomeActive active", "willTerminate",
                ])
        #expect(try kit.daemon.client().wait(kit.instance).status == 0)
    }

    @Test(arguments: KitApp.starts)
    func `a background launch without scenes makes no foreground call, and the app is suspended`(
        prewarm: Int
    ) throws {
        var app = KitApp(prewarm: prewarm)
        app.lines = ["BackgroundGraceSec=100ms"]
        let kit = try KitDaemon(app)
        let launched = try kit.daemon.client().launch(app.identifier) { $0.isBackground = true }
        try kit.daemon.awaitState(.suspended, of: launched.instance)
        let said = app.said(try #require(launched.processId), in: kit.daemon)
        #expect(
            said
                == KitApp.beginning("[]", "background") + ["didEnterBackground background"])
    }

    @Test(arguments: KitApp.starts)
    func `an app with scenes is connected, active, in the background, in the foreground, and ends`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(.scenes(prewarm: prewarm))
        try kit.launch()
        try kit.change(.background)
        try kit.change(.foreground)
        #expect(
            try kit.end() == [
                "main", "willFinishLaunching nil inactive", "didFinishLaunching nil inactive",
                "configuration 1 application [] inactive",
                "1 willConnect unattached app inactive",
                "1 willEnterForeground unattached app inactive",
                "1 didBecomeActive foregroundActive app active",
                "1 willResignActive foregroundActive app active",
                "1 didEnterBackground background app background",
                "1 willEnterForeground background app background",
                "1 didBecomeActive foregroundActive app active",
                "1 willResignActive foregroundActive app active",
                "1 didDisconnect unattached app background", "willTerminate",
            ])
        #expect(try kit.daemon.client().instance(kit.instance).scenes == nil)
    }

    @Test(arguments: KitApp.starts)
    func `a background launch with scenes connects a scene, which comes to the front on request`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(.scenes(prewarm: prewarm))
        try kit.launch(inBackground: true)
        let launched = [
            "main", "willFinishLaunching nil background", "didFinishLaunching nil background",
            "configuration 1 application [] background", "1 willConnect unattached app background",
        ]
        #expect(kit.said == launched)
        try kit.change(.foreground)
        #expect(
            kit.said == launched + [
                "1 willEnterForeground background app background",
                "1 didBecomeActive foregroundActive app active",
            ])
    }

    @Test func `the manifest's interface is handed over first, to an app without scenes`() throws {
        var app = KitApp()
        app.application = ["Interface=main.ui"]
        let kit = try KitDaemon(app)
        try kit.launch()
        #expect(
            kit.said.prefix(4) == [
                "main", "delegate", "loadInterface main.ui", "willFinishLaunching [] inactive",
            ])
    }

    @Test func `steps and the first draw have their times since the request`() throws {
        let kit = try KitDaemon(.scenes(prewarm: 1))
        try kit.launch()
        let steps = try kit.daemon.await("the first draw") { client in
            let steps = try client.instance(kit.instance).steps ?? []
            return steps.contains { $0.step == "firstDraw" } ? steps : nil
        }
        #expect(
            steps.map(\.step) == [
                "prewarmed", "main", "objects", "eventLoop", "willFinishLaunching",
                "stateRestoration", "didFinishLaunching", "didFinishLaunchingNotification",
                "sceneConfiguration", "sceneConnection", "firstDraw", "active",
            ])
        #expect(steps[0].elapsedUSec < 0)
        let times = steps.map(\.elapsedUSec)
        #expect(times == times.sorted())
    }

    @Test(arguments: ["both", "scenes"])
    func `each return to the foreground has its own times since its request`(
        delegate: String
    ) throws {
        var app = delegate == "both" ? KitApp() : .scenes()
        app.application.append("URLSchemes=notes")
        let kit = try KitDaemon(app)
        try kit.launch()
        let launch = try steps(of: kit)
        // A request to an app in front is not counted as a return.
        try kit.ask(.open(.init(urls: ["notes:1"])))
        #expect(try steps(of: kit).map(\.step) == launch.map(\.step))
        try kit.change(.background)
        #expect(try steps(of: kit).map(\.step) == launch.map(\.step))
        let watcher = try kit.daemon.watch()
        try kit.change(.foreground)
        let seen = ["willEnterForeground"] + (delegate == "both" ? [] : ["firstDraw"]) + ["active"]
        try expectReturn(of: kit, seen, watcher)
        try kit.change(.suspend)
        try kit.change(.foreground)
        try expectReturn(of: kit, ["resume"] + seen, watcher)
        try kit.change(.suspend)
        try kit.ask(.open(.init(urls: ["notes:2"])))
        try expectReturn(of: kit, ["resume"] + seen, watcher)
    }

    @Test func `the first draw of a later scene does not count for the launch`() throws {
        let kit = try KitDaemon(.scenes())
        try kit.launch()
        let client = try kit.daemon.client()
        let launch = try steps(of: kit)
        #expect(launch.count { $0.step == "firstDraw" } == 1)
        _ = try client.ask(.scene(app: kit.app.identifier, .activate, session: nil))
        #expect(kit.said.contains("2 didBecomeActive foregroundActive app active"))
        #expect(try steps(of: kit) == launch)
    }

    private func steps(of kit: KitDaemon) throws -> [Control.LaunchStep] {
        try #require(try kit.daemon.client().instance(kit.instance).steps)
    }

    /// Expects the steps in the status, and each as an event, with times that count from the
    /// return.
    private func expectReturn(
        of kit: KitDaemon, _ names: [String], _ watcher: EventWatcher
    ) throws {
        let steps = try steps(of: kit)
        #expect(steps.map(\.step) == names)
        #expect(steps.map(\.elapsedUSec) == steps.map(\.elapsedUSec).sorted())
        for step in steps {
            let event = try watcher.next { $0.kind == .launchStep }
            #expect(event.step == step.step)
            #expect((0...step.elapsedUSec).contains(event.elapsedUSec ?? -1))
        }
    }

    @Test func `work that is deferred until after the launch runs when the app is active`() throws {
        var app = KitApp(prewarm: 1)
        app.delegate = "busy"
        let kit = try KitDaemon(app)
        try kit.launch()
        try kit.daemon.await("what was put off") { client in
            try client.instance(kit.instance).steps?.contains { $0.step == "afterLaunch" } == true
                ? true : nil
        }
        // One of the app's tasks says this, after it has run on another thread.
        let said = try kit.daemon.await("what the task says") { _ in
            kit.said.contains("prewarmed true because user") ? kit.said : nil
        }
        #expect(said.contains("afterLaunch active"))
        #expect(said.contains("task prewarm=-"))
        let active = try #require(said.firstIndex(of: "didBecomeActive active"))
        #expect(said.firstIndex(of: "afterLaunch active").map { $0 > active } == true)
    }

    @Test func `in a background launch, deferred work waits until the app is in the background`()
        throws
    {
        var app = KitApp(prewarm: 0)
        app.delegate = "busy"
        let kit = try KitDaemon(app)
        try kit.launch(inBackground: true)
        let said = try kit.daemon.await("what was put off") { _ in
            kit.said.contains("afterLaunch background") ? kit.said : nil
        }
        let told = try #require(said.firstIndex(of: "didEnterBackground background"))
        #expect(said.firstIndex(of: "afterLaunch background").map { $0 > told } == true)
    }

    @Test(arguments: KitApp.starts)
    func `a callback over 250 ms is named in the daemon's log`(prewarm: Int) throws {
        var app = KitApp(prewarm: prewarm)
        app.delegate = "busy"
        app.environment = ["PROBE_SLOW=1"]
        let kit = try KitDaemon(app)
        try kit.launch()
        #expect(
            kit.daemon.log.contains("application(_:didFinishLaunchingWithOptions:) kept the main"))
    }

    @Test(arguments: KitApp.starts)
    func `an app learns of short memory in the foreground and background, not while suspended`(
        prewarm: Int
    ) throws {
        let kit = try KitDaemon(KitApp(prewarm: prewarm))
        try kit.launch()
        let client = try kit.daemon.client()
        // The daemon measures memory before it warns an app.
        try client.call(.debugPressure(.warning))
        try kit.hear("memoryWarning")
        try kit.change(.background)
        try client.call(.debugPressure(.none))
        try client.call(.debugPressure(.warning))
        try kit.hear("memoryWarning", times: 2)
        try kit.change(.foreground)
        #expect(
            kit.said.dropFirst(5) == [
                "didBecomeActive active", "memoryWarning", "willResignActive active",
                "didEnterBackground background", "memoryWarning",
                "willEnterForeground background", "didBecomeActive active",
            ])
    }

    @Test func `the app's state is the aggregate of several scenes that come and go`() throws {
        var app = KitApp.scenes()
        app.application.append("URLSchemes=notes")
        let kit = try KitDaemon(app)
        try kit.launch()
        // The app itself asks for another scene, and has it in front.
        try kit.ask(.open(.init(urls: ["notes://another"])))
        try kit.daemon.await("two scenes") { client in
            let scenes = try client.instance(kit.instance).scenes ?? []
            return scenes.count { $0.activation == .foregroundActive } == 2 ? true : nil
        }
        let client = try kit.daemon.client()
        _ = try client.ask(.scene(app: app.identifier, .background, session: "1"))
        #expect(try client.instance(kit.instance).state == .active)
        _ = try client.ask(.scene(app: app.identifier, .background, session: "2"))
        #expect(try client.instance(kit.instance).state == .background)
        _ = try client.ask(.scene(app: app.identifier, .disconnect, session: "1"))
        _ = try client.ask(.scene(app: app.identifier, .discard, session: "1"))
        let said = try kit.end()
        #expect(
            said.suffix(from: try #require(said.firstIndex { $0.hasPrefix("scene opens") })) == [
                #"scene opens ["notes://another"]"#, "asked",
                "configuration 2 application [] active", "2 willConnect unattached app active",
                "2 willEnterForeground unattached app active",
                "2 didBecomeActive foregroundActive app active",
                "1 willResignActive foregroundActive app active",
                "1 didEnterBackground background app active",
                "2 willResignActive foregroundActive app active",
                "2 didEnterBackground background app background",
                "1 didDisconnect unattached app background", #"didDiscard ["1"]"#,
                "2 didDisconnect unattached app background", "willTerminate",
            ])
    }

    @Test func `a second scene is refused if the manifest supports only one`() throws {
        var app = KitApp.scenes()
        app.application = ["Scenes=yes", "URLSchemes=notes"]
        let kit = try KitDaemon(app)
        try kit.launch()
        try kit.ask(.open(.init(urls: ["notes://another"])))
        try kit.change(.background)
        #expect(kit.said.contains { $0.hasPrefix("refused: ") })
        #expect(try kit.daemon.client().instance(kit.instance).scenes?.count == 1)
    }

    @Test func `an app learns at its launch that a scene was discarded while the app did not run`()
        throws
    {
        let kit = try KitDaemon(.scenes())
        try kit.launch()
        try kit.change(.kill)
        _ = try kit.daemon.client().ask(
            .scene(app: kit.app.identifier, .discard, session: "1"))
        try kit.launch()
        #expect(kit.said[3] == #"didDiscard ["1"]"#)
        #expect(kit.said[4].hasPrefix("configuration 2"))
    }
}
