import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Why apps are launched: only for reasons that their manifests declare. Running apps are told the
/// reason.
@Suite struct `Reasons to launch an app` {
    private static let app = "org.example.app"
    private static let other = "org.example.other"

    @Test func `a URL is opened by the app that declares its scheme, launched or running`() throws {
        var probe = Probe(Self.app)
        probe.application = ["URLSchemes=notes"]
        let daemon = try TestDaemon.with(probe, Probe(Self.other))
        let client = try daemon.client()
        let (app, launched) = try client.handled(.open(.init(urls: ["notes:one"])))
        #expect(app == Self.app)
        try daemon.awaitState(.active, of: launched.instance)
        let again = try client.handled(.open(.init(urls: ["notes:two"]))).1
        #expect(again.instance == launched.instance && again.kind == .foreground)
        try client.change(.background, launched.instance)
        #expect(
            probe.told(in: daemon) == [
                "launch url foreground unlocked notes:one", "didBecomeActive",
                "deliver app notes:two", "willResignActive", "didEnterBackground",
            ])
    }

    @Test func `a suspended app is thawed for a URL and comes to the front`() throws {
        var probe = Probe(Self.app)
        probe.application = ["URLSchemes=notes"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try client.change(.suspend, instance)
        let again = try client.handled(.open(.init(urls: ["notes:two"]))).1
        #expect(again.kind == .resume)
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon).suffix(3) == [
                "willEnterForeground", "deliver app notes:two", "didBecomeActive",
            ])
    }

    @Test(arguments: ["", "Scenes=yes"])
    func `URLs for an app that is leaving the front reach it when it has come back`(
        scenes: String
    ) throws {
        let folder = try TemporaryDirectory()
        let gate = folder.path + "/gate"
        mkfifo(gate, 0o600)
        var probe = Probe(Self.app)
        probe.scenes = scenes
        probe.application = ["URLSchemes=notes"]
        probe.environment = ["PROBE_WAIT=didEnterBackground", "PROBE_WAIT_AT=\(gate)"]
        let daemon = try TestDaemon.with(probe)
        let (client, other) = (try daemon.client(), try daemon.client())
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try other.send(.transition(.background, .instance(instance)))
        try daemon.awaitState(.inactive, of: instance)
        _ = try client.handled(.open(.init(urls: ["notes:one"])))
        _ = try client.handled(.open(.init(urls: ["notes:two"])))
        close(open(gate, O_WRONLY))
        try daemon.awaitState(.active, of: instance)
        let told = probe.told(in: daemon)
        let back = try #require(told.lastIndex { $0.contains("willEnterForeground") })
        let session = scenes.isEmpty ? "" : " 1"
        let place = scenes.isEmpty ? "app" : "1"
        #expect(
            told[(back - 1)...] == [
                "didEnterBackground" + session, "willEnterForeground" + session,
                "deliver \(place) notes:one notes:two", "didBecomeActive" + session,
            ])
    }

    @Test func `a URL brings its annotation, and its attribution if the app declares that`()
        throws
    {
        var (probe, second) = (Probe(Self.app), Probe(Self.other))
        probe.application = ["URLSchemes=notes", "EventAttribution=yes"]
        second.application = ["URLSchemes=other"]
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        var call = Control.OpenCall(urls: ["notes:1"])
        call.annotation = "plist"
        call.eventAttribution = "ad"
        let instance = try client.handled(.open(call)).1.instance
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon).first
                == "launch url foreground unlocked notes:1 annotation plist attribution ad")
        call.urls = ["other:1"]
        #expect(try client.refusal(.open(call)) == "undeclared_feature")
        call.eventAttribution = nil
        _ = try client.handled(.open(call))
    }

    @Test func `the content of a background launch reaches its scene even if the daemon is killed`()
        throws
    {
        let folder = try TemporaryDirectory()
        let gate = folder.path + "/gate"
        for fifo in [gate, gate + "2"] { mkfifo(fifo, 0o600) }
        var probe = Probe(Self.app)
        probe.scenes = "Scenes=yes"
        probe.application = ["RemoteNotifications=yes"]
        probe.environment = ["PROBE_GATE=\(gate)"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        try client.send(
            .application(.notify(app: Self.app, payload: "{}", response: nil)))
        // The test and the app wait for each other here.
        close(open(gate, O_WRONLY))
        #expect(probe.told(in: daemon) == ["launch remoteNotification background unlocked"])
        try daemon.kill()
        try daemon.start()
        close(open(gate + "2", O_WRONLY))
        try daemon.awaitState(.background, of: 1)
        try daemon.client().change(.foreground, 1)
        #expect(
            probe.told(in: daemon).contains("connect 1 in the background notification {}"),
            "\(probe.told(in: daemon))")
    }

    @Test func `the longest match wins, and of equal ones the default`() throws {
        var (probe, second) = (Probe(Self.app), Probe(Self.other))
        probe.application = ["URLSchemes=https notes", "DocumentTypes=*.gz text/*"]
        second.application = ["URLSchemes=https://a.b/ notes", "DocumentTypes=*.tar.gz"]
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        func app(_ url: String, _ type: String? = nil) throws -> String {
            var call = Control.OpenCall(urls: [url])
            call.contentType = type
            return try client.handled(.open(call)).app
        }
        #expect(try app("https://a.c/") == Self.app)
        #expect(try app("https://a.b/x") == Self.other)
        #expect(try app("file:///x.gz") == Self.app)
        #expect(try app("file:///X.TAR.GZ") == Self.other)
        #expect(try app("file:///x", "text/plain") == Self.app)
        #expect(try client.refusal(.open(.init(urls: ["notes:"]))) == "several_apps")
        // The administrator's default, and a user's choice against it.
        try daemon.directory.write(
            "scheme:notes \(Self.app)\n", to: "apps/default-handlers")
        #expect(try app("notes:") == Self.app)
        _ = try client.ask(.setDefaultHandler(app: Self.other, handles: "scheme:notes"))
        #expect(try app("notes:") == Self.other)
        try daemon.kill()
        try daemon.start()
        let next = try daemon.client()
        #expect(try next.handled(.open(.init(urls: ["notes:"]))).app == Self.other)
    }

    @Test func `content that no manifest declares is refused with the reason`() throws {
        var probe = Probe(Self.app)
        probe.application = ["URLSchemes=notes", "QuickActions=new"]
        let daemon = try TestDaemon.with(probe)
        try daemon.install(TestApp("org.example.program", exec: "/bin/true"))
        let client = try daemon.client()
        _ = try client.reload()
        var open = Control.OpenCall(urls: ["other:1"])
        #expect(try client.refusal(.open(open)) == "no_handler")
        open.app = Self.app
        #expect(try client.refusal(.open(open)) == "undeclared_feature")
        let undeclared: [Control.ApplicationCall] = [
            .performAction(app: Self.app, action: "old", isBackground: false),
            .notify(app: Self.app, payload: "{}", response: nil),
            .continueActivity(app: Self.app, type: "read", title: nil, webpageURL: nil),
            .deliver(app: Self.app, key: .location, values: []),
            .deliver(app: Self.app, key: .localNotification, values: ["x"]),
            .deliver(app: Self.app, key: .newsstandDownloads, values: ["x"]),
            .deliver(app: Self.app, key: .bluetoothCentrals, values: ["x"]),
            .deliver(app: Self.app, key: .bluetoothPeripherals, values: ["x"]),
            .deliver(app: Self.app, key: .cloudKitShareMetadata, values: ["x"]),
            .setDefaultHandler(app: Self.app, handles: "scheme:other"),
        ]
        for call in undeclared {
            #expect(try client.refusal(call) == "undeclared_feature", "\(call)")
        }
        let program = Control.ApplicationCall.notify(
            app: "org.example.program", payload: "{}", response: nil)
        #expect(try client.refusal(program) == "not_application_kit")
        #expect(probe.told(in: daemon).isEmpty)
    }

    @Test func `a notification is delivered in the background, and a tap on it in the foreground`()
        throws
    {
        var probe = Probe(Self.app)
        probe.application = ["RemoteNotifications=yes"]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let call = Control.ApplicationCall.notify(app: Self.app, payload: "{}", response: nil)
        let instance = try client.handled(call).1.instance
        try daemon.awaitState(.background, of: instance)
        #expect(
            probe.told(in: daemon) == [
                "launch remoteNotification background unlocked notification {}",
                "didEnterBackground",
            ])
        _ = try client.handled(.notify(app: Self.app, payload: "2", response: "tap"))
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon).dropFirst(2).prefix(2) == [
                "willEnterForeground", "deliver app notification 2",
            ])
    }

    @Test func `an app gets quick actions, activities and locations`() throws {
        var probe = Probe(Self.app)
        probe.application = [
            "QuickActions=new", "UserActivityTypes=org.example.read", "LocationUpdates=yes",
        ]
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let first = try client.handled(
            .performAction(app: Self.app, action: "new", isBackground: false))
        try daemon.awaitState(.active, of: first.1.instance)
        _ = try client.handled(
            .continueActivity(
                app: Self.app, type: "org.example.read", title: nil, webpageURL: nil))
        _ = try client.handled(.deliver(app: Self.app, key: .location, values: []))
        try client.change(.background, first.1.instance)
        #expect(
            probe.told(in: daemon).prefix(4) == [
                "launch quickAction foreground unlocked action new", "didBecomeActive",
                "deliver app activity org.example.read", "handleEvents location location",
            ])
    }

    @Test func `an app in front opens a URL with another app`() throws {
        var (probe, second) = (Probe(Self.app), Probe(Self.other))
        probe.environment = ["PROBE_OPEN=notes:7"]
        second.application = ["URLSchemes=notes"]
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let first = try client.launch(Self.app).instance
        try daemon.awaitState(.background, of: first)
        let told = probe.told(in: daemon)
        #expect(told.contains("answer 8 done"), "\(told)")
        #expect(
            second.told(in: daemon).first
                == "launch url foreground unlocked notes:7 from \(Self.app)")
    }

    @Test func `requests of an app above the limit are refused`() throws {
        var (probe, second) = (Probe(Self.app), Probe(Self.other))
        probe.environment = ["PROBE_OPEN=notes:7", "PROBE_OPENS=17"]
        second.application = ["URLSchemes=notes"]
        second.lines = ["ForegroundGroup=other"]
        let daemon = try TestDaemon.with(probe, second)
        let client = try daemon.client()
        let first = try client.launch(Self.app) { $0.isBackground = true }.instance
        // No request is answered before the other app runs.
        let spawner = try daemon.spawnerPid
        kill(spawner, SIGSTOP)
        defer { kill(spawner, SIGCONT) }
        try client.change(.foreground, first)
        try awaitAnswers(17, probe, daemon)
        let refused = (8..<24).map { "answer \($0) done" } + ["answer 24 refused"]
        #expect(answers(of: probe, daemon) == refused)
        kill(spawner, SIGCONT)
        try daemon.await("the other") { client in
            try client.instances(of: Self.other).contains { $0.state == .active } ? true : nil
        }
        // These requests are answered, so the app may ask again.
        try client.change(.background, first)
        try client.change(.foreground, first)
        try awaitAnswers(34, probe, daemon)
        #expect(
            answers(of: probe, daemon).dropFirst(17) == (25..<42).map { "answer \($0) done" }[...])
    }

    private func answers(of probe: Probe, _ daemon: TestDaemon) -> [String] {
        probe.told(in: daemon).filter { $0.hasPrefix("answer") }
    }

    private func awaitAnswers(_ count: Int, _ probe: Probe, _ daemon: TestDaemon) throws {
        try daemon.await("\(count) answers") { _ in
            answers(of: probe, daemon).count == count ? true : nil
        }
    }
}

@Suite struct `Apps that are launched without being asked` {
    private static let app = "org.example.app"

    @Test func `a timer launches an app in the background, again and again`() throws {
        var probe = Probe(Self.app)
        probe.timer = ["OnActiveSec=200ms", "OnUnitActiveSec=300ms"]
        let daemon = try TestDaemon.with(probe)
        let watcher = try daemon.watch()
        for _ in 0..<2 {
            let launched = try watcher.next { $0.kind == .launched && $0.app == Self.app }
            let instance = try #require(launched.instance)
            try watcher.awaitState(.background, of: instance)
            try daemon.client().change(.terminate, instance)
        }
        #expect(
            probe.told(in: daemon).prefix(2) == [
                "launch timer background unlocked", "didEnterBackground",
            ])
    }

    @Test func `a timer ends when its manifest is removed`() throws {
        var probe = Probe(Self.app)
        probe.timer = ["OnActiveSec=5s"]
        let daemon = try TestDaemon.with(probe)
        let watcher = try daemon.watch()
        probe.timer = []
        try probe.install(in: daemon)
        _ = try daemon.client().reload()
        #expect(throws: (any Error).self) {
            try watcher.next(milliseconds: 6000)
        }
        #expect(probe.told(in: daemon).isEmpty)
    }
}

@Suite struct `Scenes of real apps` {
    private static let app = "org.example.app"

    private func probe() -> Probe {
        var probe = Probe(Self.app)
        probe.scenes = "Scenes=yes\nMultipleScenes=yes"
        probe.application = ["URLSchemes=notes"]
        return probe
    }

    @Test func `a launch connects a scene with the options that brought it`() throws {
        let probe = probe()
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.handled(.open(.init(urls: ["notes:1"]))).1.instance
        try daemon.awaitState(.active, of: instance)
        #expect(
            probe.told(in: daemon) == [
                "launch url foreground unlocked", "connect 1 notes:1", "willEnterForeground 1",
                "didBecomeActive 1",
            ])
        let scenes = try client.instance(instance).scenes
        #expect(scenes == [.init(session: "1", activation: .foregroundActive)])
        _ = try client.handled(.open(.init(urls: ["notes:2"])))
        try client.change(.background, instance)
        #expect(probe.told(in: daemon).contains("deliver 1 notes:2"))
    }

    @Test func `the state is the aggregate of the scenes' states in the app and in the daemon`()
        throws
    {
        let probe = probe()
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        func state(
            after action: Control.SceneAction, _ session: String?
        ) throws -> Control.Word<Control.ExecutionState> {
            guard
                case .changed(let changed) = try client.ask(
                    .scene(app: Self.app, action, session: session))
            else { throw TestError("another reply") }
            return changed.state
        }
        #expect(try state(after: .activate, nil) == .active)
        #expect(try state(after: .background, "1") == .active)
        #expect(try state(after: .background, "2") == .background)
        #expect(try state(after: .activate, "1") == .active)
        #expect(try state(after: .disconnect, "1") == .background)
        let scenes = try client.instance(instance).scenes
        #expect(scenes == [.init(session: "2", activation: .background)])
        #expect(
            try client.refusal(.scene(app: Self.app, .background, session: "9")) == "no_such_scene")
    }

    @Test func `an app learns of a discarded scene at its next launch, even from a new supervisor`()
        throws
    {
        let probe = probe()
        let daemon = try TestDaemon.with(probe)
        let client = try daemon.client()
        let instance = try client.launch(Self.app).instance
        try daemon.awaitState(.active, of: instance)
        try client.change(.kill, instance)
        _ = try client.ask(.scene(app: Self.app, .discard, session: "1"))
        try daemon.kill()
        try daemon.start()
        let next = try daemon.client().launch(Self.app).instance
        try daemon.awaitState(.active, of: next)
        #expect(
            probe.told(in: daemon).suffix(5) == [
                "launch user foreground unlocked", "discard 1", "connect 2",
                "willEnterForeground 2", "didBecomeActive 2",
            ])
    }

    @Test func `an app that asks for a scene gets one`() throws {
        var probe = probe()
        probe.environment = ["\"PROBE_SCENE=didBecomeActive 1\""]
        let daemon = try TestDaemon.with(probe)
        let instance = try daemon.client().launch(Self.app).instance
        try daemon.await("two scenes") { client in
            let scenes = try client.instance(instance).scenes ?? []
            return scenes.count { $0.activation == .foregroundActive } == 2 ? true : nil
        }
        // The app reads its messages in order, so it has read the answer before this one.
        try daemon.client().change(.background, instance)
        #expect(probe.told(in: daemon).contains("answer 7 done"))
    }

    @Test func `a background launch connects the scene in the background`() throws {
        let probe = probe()
        let daemon = try TestDaemon.with(probe)
        let instance = try daemon.client().launch(Self.app) { $0.isBackground = true }.instance
        try daemon.awaitState(.background, of: instance)
        #expect(
            probe.told(in: daemon) == [
                "launch user background unlocked", "connect 1 in the background",
            ])
    }
}
