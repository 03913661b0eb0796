import GreenroomAppChannel
import TestSupport
import Testing

/// Apps with several scenes, and what they ask the daemon to do with them.
@Suite struct SceneTests {
    private func launched() throws -> AppProcess {
        let app = try AppProcess("scenes", .cold)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .cold)
        try app.connect("s1")
        try app.tell(.willEnterForeground, "s1")
        try app.tell(.didBecomeActive, "s1")
        return app
    }

    private func open(_ url: String, _ app: AppProcess) throws {
        var content = AppContent()
        content.urls = [.init(url)]
        #expect(try app.tell(.deliver(content, session: "s1", cookie: app.nextCookie())))
    }

    private func request(of app: AppProcess) -> (AppReport.SceneRequest, UInt64)? {
        for report in app.reports {
            if case .requestScene(let request, let cookie) = report { return (request, cookie) }
        }
        return nil
    }

    @Test func `an app asks for another scene and is told if it cannot have one`() throws {
        let app = try launched()
        try open("notes://another", app)
        let (asked, cookie) = try #require(request(of: app))
        #expect(asked == .activate(session: nil, AppContent()))
        try app.send(.answer(request: cookie, .refused(code: 1, reason: "MultipleScenes= is no")))
        #expect(try app.end().contains("refused: MultipleScenes= is no"))
    }

    @Test func `an app lets a scene update what it shows`() throws {
        let app = try launched()
        try open("notes://refresh", app)
        let (asked, cookie) = try #require(request(of: app))
        #expect(asked == .refresh(session: "s1"))
        try app.send(.answer(request: cookie, .done))
        #expect(try app.end().contains("connected true open true"))
    }

    @Test func `an app closes a scene for good`() throws {
        let app = try launched()
        try open("notes://close", app)
        let (asked, cookie) = try #require(request(of: app))
        #expect(asked == .destroy(session: "s1"))
        try app.send(.answer(request: cookie, .done))
        try app.tell(.didDisconnect, "s1")
        try app.tell(.discardScenes(["s1"], cookie: 50))
        #expect(
            try app.end().suffix(3) == [
                "s1 didDisconnect unattached app background", #"didDiscard ["s1"]"#,
                "willTerminate",
            ])
    }

    @Test func `an app learns at its launch which sessions were discarded while it did not run`()
        throws
    {
        let app = try AppProcess("scenes", .prewarmed)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .prewarmed)
        try app.tell(.discardScenes(["old", "older"], cookie: 2))
        try app.connect("s1")
        let lines = try app.end()
        #expect(lines[3] == #"didDiscard ["old", "older"]"#)
        #expect(lines[4].hasPrefix("configuration s1"))
    }

    @Test func `a session that comes back brings its activity`() throws {
        let app = try launched()
        try app.tell(.willResignActive, "s1")
        try app.tell(.didEnterBackground, "s1")
        try app.tell(.didDisconnect, "s1")
        try app.tell(
            .connectScene(
                SceneConnection(
                    session: "s1", restoration: .init("editing"), cookie: app.nextCookie())))
        #expect(
            try app.end().suffix(3) == [
                "restore editing", "s1 didDisconnect unattached app background", "willTerminate",
            ])
    }

    @Test func `an app with scenes gets no foreground events for the whole app`() throws {
        let app = try launched()
        for event: AppEvent.Lifecycle in [
            .willResignActive, .didEnterBackground, .willEnterForeground, .didBecomeActive,
        ] {
            #expect(try app.tell(event))
        }
        try app.tell(.didReceiveMemoryWarning)
        #expect(
            try app.end().suffix(5) == [
                "s1 didBecomeActive foregroundActive app active", "memoryWarning",
                "s1 willResignActive foregroundActive app active",
                "s1 didDisconnect unattached app background", "willTerminate",
            ])
    }

    @Test func `the app's own changes of state are posted, once for all its scenes`() throws {
        let app = try AppProcess("scenes", .cold, environment: ["PROBE_POSTS=1"])
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .cold)
        for session in ["s1", "s2"] {
            try app.connect(session)
            try app.tell(.willEnterForeground, session)
            try app.tell(.didBecomeActive, session)
        }
        for session in ["s1", "s2"] {
            try app.tell(.willResignActive, session)
            try app.tell(.didEnterBackground, session)
        }
        try app.tell(.willEnterForeground, "s2")
        try app.tell(.didBecomeActive, "s2")
        #expect(
            try app.end().filter { $0.hasPrefix("posted") } == [
                "posted didBecomeActive active", "posted willResignActive active",
                "posted didEnterBackground background",
                "posted willEnterForeground background", "posted didBecomeActive active",
                "posted willResignActive active", "posted willTerminate background",
            ])
    }
}
