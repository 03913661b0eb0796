import DaemonTestSupport
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Why an app made with ApplicationKit was launched, and the effects of its answers, through the
/// real daemon.
@Suite struct `Why ApplicationKit says an app was launched` {
    /// An app that supports every feature that these tests use.
    private func kit(
        _ variables: [String] = [], prewarm: Int = 0, delegate: String = "both"
    ) throws -> KitDaemon {
        var app = KitApp(prewarm: prewarm)
        app.delegate = delegate
        app.environment = variables
        app.application = [
            "URLSchemes=notes", "QuickActions=new", "UserActivityTypes=org.example.read",
            "RemoteNotifications=yes", "LocationUpdates=yes",
        ]
        if delegate == "scenes" { app.application.append("Scenes=yes") }
        return try KitDaemon(app)
    }

    private static let open = Control.ApplicationCall.open(.init(urls: ["notes:1"]))

    @Test(arguments: KitApp.starts)
    func `a URL that both methods accept is opened before the app is active`(
        prewarm: Int
    ) throws {
        let kit = try kit(prewarm: prewarm)
        try kit.ask(Self.open)
        #expect(
            kit.said
                == KitApp.beginning(#"["url"]"#, "inactive") + [
                    "open notes:1 from - inactive", "didBecomeActive active",
                ])
    }

    @Test(arguments: KitApp.starts, ["PROBE_WILL=false", "PROBE_DID=false"])
    func `a URL that one method refuses is not opened, and the app becomes active`(
        prewarm: Int, refusal: String
    ) throws {
        let kit = try kit([refusal], prewarm: prewarm)
        try kit.ask(Self.open)
        #expect(
            kit.said
                == KitApp.beginning(#"["url"]"#, "inactive") + ["didBecomeActive active"])
    }

    @Test(arguments: [
        ("will", ["PROBE_DID=false"], true), ("will", ["PROBE_WILL=false"], false),
        ("did", ["PROBE_WILL=false"], true), ("did", ["PROBE_DID=false"], false),
        ("neither", ["PROBE_WILL=false", "PROBE_DID=false"], true),
    ])
    func `only the methods that the app implements decide on a URL`(
        delegate: String, variables: [String], opens: Bool
    ) throws {
        let kit = try kit(variables, delegate: delegate)
        try kit.ask(Self.open)
        #expect(kit.said.contains("open notes:1 from - inactive") == opens)
    }

    @Test(arguments: KitApp.starts, ["PROBE_WILL=false", "PROBE_DID=false", "PROBE_ACTION=later"])
    func `a quick action is performed unless a method says that it handled the action`(
        prewarm: Int, variable: String
    ) throws {
        let kit = try kit([variable], prewarm: prewarm)
        try kit.ask(.performAction(app: kit.app.identifier, action: "new", isBackground: false))
        let isPerformed = variable == "PROBE_ACTION=later"
        let expected =
            KitApp.beginning(#"["shortcutItem"]"#, "inactive")
            + (isPerformed ? ["performAction new"] : []) + ["didBecomeActive active"]
        #expect(kit.said.filter { $0 != "performed later" } == expected)
    }

    @Test(arguments: KitApp.starts, ["PROBE_WILL=false", "PROBE_DID=false", "PROBE_X=1"])
    func `a notification launches into the background, whatever the methods return`(
        prewarm: Int, variable: String
    ) throws {
        let kit = try kit([variable], prewarm: prewarm)
        try kit.ask(
            .notify(app: kit.app.identifier, payload: "{}", response: nil), .background)
        #expect(
            kit.said
                == KitApp.beginning(#"["remoteNotification"]"#, "background") + [
                    "remoteNotification {}", "didEnterBackground background",
                ])
    }

    @Test(arguments: KitApp.starts, ["PROBE_DID=false", "PROBE_X=1"])
    func `an activity is announced and continued, unless a method refuses it`(
        prewarm: Int, variable: String
    ) throws {
        let kit = try kit([variable], prewarm: prewarm)
        try kit.ask(
            .continueActivity(
                app: kit.app.identifier, type: "org.example.read", title: nil, webpageURL: nil))
        let continued = [
            "willContinue org.example.read", "continue org.example.read [:]",
        ]
        #expect(
            kit.said
                == KitApp.beginning(
                    #"["userActivityDictionary", "userActivityType"]"#, "inactive")
                + (variable == "PROBE_X=1" ? continued : []) + ["didBecomeActive active"])
    }

    @Test func `a location launches into the background with its key`() throws {
        let kit = try kit(prewarm: 1)
        try kit.ask(.deliver(app: kit.app.identifier, key: .location, values: []), .background)
        #expect(
            kit.said
                == KitApp.beginning(#"["location"]"#, "background") + [
                    "didEnterBackground background"
                ])
    }

    @Test(arguments: KitApp.starts)
    func `an app with scenes gets everything in the options of the connection`(prewarm: Int) throws
    {
        let kit = try kit(prewarm: prewarm, delegate: "scenes")
        try kit.ask(Self.open)
        try kit.ask(.performAction(app: kit.app.identifier, action: "new", isBackground: false))
        try kit.change(.background)
        #expect(
            kit.said == [
                "main", "willFinishLaunching nil inactive", "didFinishLaunching nil inactive",
                #"configuration 1 application ["notes:1"] inactive"#,
                "1 willConnect unattached app inactive", #"options ["notes:1"] - [] -"#,
                "1 willEnterForeground unattached app inactive",
                "1 didBecomeActive foregroundActive app active", "scene performs new",
                "1 willResignActive foregroundActive app active",
                "1 didEnterBackground background app background",
            ])
    }

    @Test(arguments: KitApp.starts)
    func `a silent notification reaches the delegate of an app with scenes`(prewarm: Int) throws {
        let kit = try kit(prewarm: prewarm, delegate: "scenes")
        try kit.ask(
            .notify(app: kit.app.identifier, payload: "{}", response: nil), .background)
        #expect(
            kit.said == [
                "main", "willFinishLaunching nil background",
                "didFinishLaunching nil background",
                "configuration 1 application [] background",
                "1 willConnect unattached app background", "remoteNotification {}",
            ])
    }

    @Test(arguments: ["both", "scenes"])
    func `the answer to a notification keeps its identifier while the app runs`(
        delegate: String
    ) throws {
        let kit = try kit(["PROBE_RESPONSES=1"], delegate: delegate)
        try kit.launch()
        let before = kit.said.count
        try kit.ask(.notify(app: kit.app.identifier, payload: "{}", response: "reply"))
        #expect(Array(kit.said.dropFirst(before)) == ["response reply {}"])
    }

    @Test func `the answer to a notification launches the app and keeps its identifier`() throws {
        let kit = try kit(["PROBE_RESPONSES=1"])
        try kit.ask(.notify(app: kit.app.identifier, payload: "{}", response: "reply"))
        #expect(
            kit.said
                == KitApp.beginning(#"["remoteNotification"]"#, "inactive") + [
                    "response reply {}", "didBecomeActive active",
                ])
    }

    @Test func `an app that opens a URL is named to the app that it opens`() throws {
        var app = KitApp()
        app.delegate = "busy"
        app.environment = ["PROBE_OPENS=notes:1"]
        let kit = try KitDaemon(app)
        var handler = KitApp("org.example.handler")
        handler.application = ["URLSchemes=notes"]
        try handler.install(in: kit.daemon)
        let client = try kit.daemon.client()
        _ = try client.reload()
        try kit.launch()
        let opened = try kit.daemon.await("the other app") { client in
            try client.instances(of: handler.identifier).first { $0.state == .active }
        }
        #expect(
            handler.said(opened.processId ?? 0, in: kit.daemon).contains(
                "open notes:1 from org.example.kit inactive"))
    }

    @Test func `a running app gets the same requests by its methods`() throws {
        let kit = try kit()
        let name = kit.app.identifier
        try kit.launch()
        try kit.ask(Self.open)
        try kit.ask(.performAction(app: name, action: "new", isBackground: false))
        try kit.ask(
            .continueActivity(app: name, type: "org.example.read", title: nil, webpageURL: nil))
        try kit.ask(.notify(app: name, payload: "2", response: nil))
        let said = try kit.end()
        #expect(
            said.dropFirst(6) == [
                "open notes:1 from - active", "performAction new",
                "willContinue org.example.read", "continue org.example.read [:]",
                "remoteNotification 2", "willTerminate",
            ])
    }

    /// An app with triggers in this folder, launched in the background.
    private func triggered(
        _ sections: [String], delegate: String = "both"
    ) throws -> KitDaemon {
        var app = KitApp()
        app.delegate = delegate
        app.application =
            [
                "LocationUpdates=yes", "BluetoothCentrals=yes", "LocalNotifications=yes",
                "CloudKitShares=yes", delegate == "scenes" ? "Scenes=yes" : "",
            ] + sections
        let kit = try KitDaemon(app)
        try kit.launch(inBackground: true)
        return kit
    }

    /// Suspends the app, lets something happen, and returns what the app says when it runs again.
    private func afterSuspension(_ kit: KitDaemon, _ happens: () throws -> Void) throws -> [String]
    {
        let watcher = try kit.daemon.watch()
        let count = kit.said.count
        try kit.change(.suspend)
        try happens()
        try watcher.next { $0.instance == kit.instance && $0.from == .suspended }
        try kit.daemon.await("the reason") { _ in kit.said.count > count ? true : nil }
        return Array(kit.said.dropFirst(count))
    }

    @Test(arguments: ["both", "scenes"])
    func `a suspended app is told of the timer that it was thawed for`(delegate: String) throws {
        let kit = try triggered(["[Timer]", "OnCalendar=*:*:*"], delegate: delegate)
        #expect(try afterSuspension(kit) {}.first == "handleEvents timer [] timer")
    }

    @Test(arguments: ["both", "scenes"])
    func `a suspended app is told of the path, socket or delivery that it was thawed for`(
        delegate: String
    ) throws {
        let folder = try TemporaryDirectory()
        let kit = try triggered(
            [
                "[Path]", "PathChanged=\(folder.path)/file", "[Socket]",
                "ListenStream=\(folder.path)/socket",
            ], delegate: delegate)
        #expect(
            try afterSuspension(kit) { try folder.write("new", to: "file") }
                == ["handleEvents path [] path"])
        let name = kit.app.identifier
        #expect(
            try afterSuspension(kit) {
                try kit.ask(.deliver(app: name, key: .location, values: []), .background)
            } == [#"handleEvents location ["location"] location"#])
        // The same for an app that runs.
        let count = kit.said.count
        try kit.ask(.deliver(app: name, key: .bluetoothCentrals, values: ["one"]), .background)
        try kit.daemon.await("the event") { _ in kit.said.count > count ? true : nil }
        #expect(kit.said.last == #"handleEvents system ["bluetoothCentrals"] system"#)
        // It never accepts, so it is not suspended again.
        var client: UnixSocket?
        #expect(
            try afterSuspension(kit) {
                client = try UnixSocket.connect(to: folder.path + "/socket", .stream)
            } == ["handleEvents socket [] socket"])
        withExtendedLifetime(client) {}
    }

    private static let tap = Control.LaunchKey.localNotification
    private static let share = Control.LaunchKey.cloudKitShareMetadata

    @Test(arguments: [
        (tap, "localNotification", "localNotification one"),
        (share, "cloudKitShareMetadata", "acceptShare one"),
    ])
    func `a tapped notification and an accepted share bring the app to the front`(
        key: Control.LaunchKey, option: String, line: String
    ) throws {
        var app = KitApp()
        app.application = ["LocalNotifications=yes", "CloudKitShares=yes"]
        let kit = try KitDaemon(app)
        try kit.ask(.deliver(app: app.identifier, key: key, values: ["one"]))
        #expect(
            kit.said == KitApp.beginning(#"["\#(option)"]"#, "inactive") + [
                line, "didBecomeActive active",
            ])
        #expect(try kit.change(.suspend) == .suspended)
        try kit.ask(.deliver(app: app.identifier, key: key, values: ["one"]))
        #expect(kit.said.count { $0 == line } == 2)
        #expect(kit.said.last == "didBecomeActive active")
    }

    @Test func `a scene hears of a share, and its app of a local notification`() throws {
        let kit = try triggered([], delegate: "scenes")
        let name = kit.app.identifier
        try kit.ask(.deliver(app: name, key: Self.share, values: ["list"]))
        try kit.ask(.deliver(app: name, key: Self.tap, values: ["tea"]))
        let said = try kit.end()
        #expect(said.contains("scene accepts share list"), "\(said)")
        #expect(said.contains("localNotification tea"), "\(said)")
    }

    @Test func `an app without a feature is not launched for it, and gets no key`() throws {
        let kit = try KitDaemon(KitApp(prewarm: 1))
        let name = kit.app.identifier
        let client = try kit.daemon.client()
        for call in [
            Control.ApplicationCall.notify(app: name, payload: "{}", response: nil),
            .performAction(app: name, action: "new", isBackground: false),
            .continueActivity(app: name, type: "t", title: nil, webpageURL: nil),
            .deliver(app: name, key: .location, values: []),
        ] { #expect(try client.refusal(call) == "undeclared_feature") }
        let paused = try #require(try client.paused(name).first?.processId)
        #expect(kit.app.said(paused, in: kit.daemon) == ["main"])
        try kit.launch()
        #expect(kit.pid == paused)
        #expect(kit.said[2] == "willFinishLaunching [] inactive")
    }

    @Test func `an app that asks for a URL to be opened is told if that fails`() throws {
        var app = KitApp()
        app.delegate = "busy"
        let kit = try KitDaemon(app)
        try kit.launch()
        // The app has its answer by then.
        try kit.daemon.await("a first draw") { client in
            let steps = try client.instance(kit.instance).steps ?? []
            return steps.contains { $0.step == "firstDraw" } ? true : nil
        }
        let said = try kit.end()
        #expect(said.contains { $0.hasPrefix("not opened: ") }, "\(said)")
    }
}
