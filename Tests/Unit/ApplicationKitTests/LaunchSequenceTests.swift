import GreenroomAppChannel
import TestSupport
import Testing

/// The callback sequences of real processes are those of the articles about UIKit's launch.
@Suite struct LaunchSequenceTests {
    typealias Start = AppProcess.Start

    /// The first lines of every launch of the probe with both methods. If it was prewarmed, its
    /// main ran with the prewarm's arguments.
    static func beginning(_ start: Start, _ options: String, _ state: String) -> [String] {
        [
            "main", "delegate", "willFinishLaunching \(options) \(state)",
            "didFinishLaunching \(options) \(state)", "didFinishLaunchingNotification \(options)",
        ]
    }

    static let stepsOfEveryLaunch: [AppReport.LaunchStep] = [
        .main, .objects, .eventLoop, .willFinishLaunching, .stateRestoration, .didFinishLaunching,
        .didFinishLaunchingNotification,
    ]

    @Test(arguments: Start.allCases)
    func `a foreground launch without scenes is inactive while launching, then active`(
        start: Start
    ) throws {
        let app = try AppProcess("both", start)
        try app.launch(AppLaunch(cookie: 1), start)
        #expect(try app.awaitAcknowledgement(1))
        try app.tell(.didBecomeActive)
        #expect(app.steps == Self.stepsOfEveryLaunch + [.active])
        try app.tell(.willResignActive)
        try app.tell(.didEnterBackground)
        try app.tell(.willEnterForeground)
        try app.tell(.didBecomeActive)
        #expect(app.steps.count == 9, "a step of the launch is reported once")
        let lines = try app.end()
        #expect(
            lines
                == Self.beginning(start, "[]", "inactive") + [
                    "didBecomeActive active", "willResignActive active",
                    "didEnterBackground background", "willEnterForeground background",
                    "didBecomeActive active", "willTerminate",
                ])
    }

    @Test(arguments: Start.allCases)
    func `a background launch without scenes begins in the background, with no foreground calls`(
        start: Start
    ) throws {
        let app = try AppProcess("both", start)
        try app.launch(AppLaunch(cookie: 1, reason: .timer, flags: []), start)
        #expect(try app.awaitAcknowledgement(1))
        try app.tell(.didEnterBackground)
        #expect(app.steps == Self.stepsOfEveryLaunch + [.background])
        let lines = try app.end()
        #expect(
            lines
                == Self.beginning(start, "[]", "background") + [
                    "didEnterBackground background", "willTerminate",
                ])
    }

    @Test(arguments: Start.allCases)
    func `a foreground launch with scenes has options for the scene and none for the app`(
        start: Start
    ) throws {
        let app = try AppProcess("scenes", start)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), start)
        #expect(try app.awaitAcknowledgement(1))
        var content = AppContent()
        content.urls = [.init("notes://1")]
        content.quickAction = .init("new")
        content.userActivities = [.init("editing")]
        content.notificationResponse = "tapped"
        try app.connect("s1", content)
        try app.tell(.willEnterForeground, "s1")
        try app.tell(.didBecomeActive, "s1")
        #expect(
            app.steps
                == Self.stepsOfEveryLaunch + [.sceneConfiguration, .sceneConnection, .active])
        #expect(
            app.reports.contains {
                if case .didDrawFirstFrame(_, "s1") = $0 { true } else { false }
            })
        try app.tell(.willResignActive, "s1")
        try app.tell(.didEnterBackground, "s1")
        try app.tell(.didDisconnect, "s1")
        let lines = try app.end()
        #expect(
            lines == [
                "main", "willFinishLaunching nil inactive", "didFinishLaunching nil inactive",
                #"configuration s1 application ["notes://1"] inactive"#,
                "s1 willConnect unattached app inactive",
                #"options ["notes://1"] new ["editing"] tapped"#,
                "s1 willEnterForeground unattached app inactive",
                "s1 didBecomeActive foregroundActive app active",
                "s1 willResignActive foregroundActive app active",
                "s1 didEnterBackground background app background",
                "s1 didDisconnect unattached app background", "willTerminate",
            ])
    }

    @Test(arguments: Start.allCases)
    func `a background launch with scenes connects the scene and makes no foreground calls`(
        start: Start
    ) throws {
        let app = try AppProcess("scenes", start)
        try app.launch(AppLaunch(cookie: 1, reason: .socket, flags: [.scenes]), start)
        #expect(try app.awaitAcknowledgement(1))
        try app.connect("s1", foreground: false)
        #expect(app.steps == Self.stepsOfEveryLaunch + [.sceneConfiguration, .sceneConnection])
        // Later the user brings the app to the front.
        try app.tell(.willEnterForeground, "s1")
        try app.tell(.didBecomeActive, "s1")
        let lines = try app.end()
        #expect(
            lines == [
                "main", "willFinishLaunching nil background",
                "didFinishLaunching nil background",
                "configuration s1 application [] background",
                "s1 willConnect unattached app background",
                "s1 willEnterForeground background app background",
                "s1 didBecomeActive foregroundActive app active",
                "s1 willResignActive foregroundActive app active",
                "s1 didDisconnect unattached app background", "willTerminate",
            ])
    }

    @Test func `the app's state is the aggregate of its scenes' activation states`() throws {
        let app = try AppProcess("scenes", .cold)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .cold)
        try app.connect("a")
        try app.tell(.willEnterForeground, "a")
        try app.tell(.didBecomeActive, "a")
        try app.connect("b")
        try app.tell(.willEnterForeground, "b")
        try app.tell(.willResignActive, "a")
        try app.tell(.didEnterBackground, "a")
        try app.tell(.didBecomeActive, "b")
        try app.tell(.willResignActive, "b")
        try app.tell(.didEnterBackground, "b")
        let states = try app.end().filter { $0.contains(" app ") && !$0.contains("didDisconnect") }
        #expect(
            states == [
                "a willConnect unattached app inactive",
                "a willEnterForeground unattached app inactive",
                "a didBecomeActive foregroundActive app active",
                "b willConnect unattached app active",
                "b willEnterForeground unattached app active",
                "a willResignActive foregroundActive app active",
                "a didEnterBackground background app inactive",
                "b didBecomeActive foregroundActive app active",
                "b willResignActive foregroundActive app active",
                "b didEnterBackground background app background",
            ])
    }

    @Test func `the default interface is handed over before willFinishLaunching`() throws {
        let app = try AppProcess("both", .cold)
        try app.launch(AppLaunch(cookie: 1, interface: "main.ui"), .cold)
        try app.awaitAcknowledgement(1)
        #expect(Array(app.steps[2...4]) == [.eventLoop, .interface, .willFinishLaunching])
        #expect(Array(try app.end()[1...2]) == ["delegate", "loadInterface main.ui"])
        // An app with scenes loads no default interface.
        let other = try AppProcess("scenes", .cold)
        try other.launch(
            AppLaunch(cookie: 1, flags: [.foreground, .scenes], interface: "main.ui"), .cold)
        try other.awaitAcknowledgement(1)
        #expect(!other.steps.contains(.interface))
        #expect(try other.end().count == 4)
    }

    @Test func `each step has a time, and the times follow each other`() throws {
        let app = try AppProcess("both", .prewarmed)
        try app.launch(AppLaunch(cookie: 1), .prewarmed)
        try app.awaitAcknowledgement(1)
        let times = app.reports.compactMap {
            if case .launchStep(_, let time, _) = $0 { time } else { nil }
        }
        #expect(times.count == 7)
        #expect(times == times.sorted() && times[0] > 0)
    }

    @Test func `a delegate that implements nothing launches, too`() throws {
        let app = try AppProcess("bare", .cold)
        try app.launch(AppLaunch(cookie: 1), .cold)
        #expect(try app.awaitAcknowledgement(1))
        try app.tell(.didBecomeActive)
        try app.tell(.didReceiveMemoryWarning)
        #expect(try app.end() == ["main", "bare"])
    }

    @Test(arguments: AppProcess.Start.allCases)
    func `an app that reports more than the daemon reads loses no acknowledgement`(
        start: AppProcess.Start
    ) throws {
        let flood = ["PROBE_FLOOD=didBecomeActive"]
        let app = try AppProcess("both", start, environment: flood)
        try app.launch(AppLaunch(cookie: 1), start, environment: flood)
        try app.awaitAcknowledgement(1)
        let events: [AppEvent.Lifecycle] = [
            .didBecomeActive, .didReceiveMemoryWarning, .willResignActive, .didEnterBackground,
            .willTerminate,
        ]
        var cookies: [UInt64] = []
        for event in events {
            cookies.append(app.nextCookie())
            try app.send(.lifecycle(event, cookie: cookies.last!))
        }
        // The daemon reads only after the app has done everything.
        #expect(try app.awaitLine("willTerminate"))
        while try app.receive() != nil {}
        let acknowledged = app.reports.compactMap {
            if case .acknowledged(let cookie, true) = $0 { cookie } else { nil }
        }
        #expect(acknowledged == [1] + cookies)
        // The library drops reports above a limit if nothing waits for them.
        #expect(app.hasDrawn && app.reports.count < 5000)
        #expect(try app.child.waitForExit() == .status(0))
    }

    @Test func `events that are sent all at once are handled in their order`() throws {
        let app = try AppProcess("both", .prewarmed)
        try app.awaitPause()
        let go = GoMessage(arguments: try StringList(["a"]), environment: StringList())
        try app.send(.event(.launch(AppLaunch(cookie: 1))))
        try app.send(.go(go))
        try app.send(.lifecycle(.didBecomeActive, cookie: 2))
        try app.send(.lifecycle(.didReceiveMemoryWarning, cookie: 3))
        try app.send(.lifecycle(.significantTimeChange, cookie: 4))
        try app.awaitAcknowledgement(4)
        let cookies = app.reports.compactMap {
            if case .acknowledged(let cookie, _) = $0 { cookie } else { nil }
        }
        #expect(cookies == [1, 2, 3, 4])
        #expect(
            try app.end().suffix(4) == [
                "didBecomeActive active", "memoryWarning", "timeChange", "willTerminate",
            ])
    }
}
