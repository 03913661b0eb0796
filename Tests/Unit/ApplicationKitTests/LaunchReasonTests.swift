import GreenroomAppChannel
import TestSupport
import Testing

/// Why an app was launched, and what the results of the two launch methods change.
@Suite struct LaunchReasonTests {
    typealias Start = AppProcess.Start

    /// Launches without scenes and into the foreground. Returns what the app printed after `main`,
    /// and whether it accepted the launch.
    private func launch(
        _ delegate: String, _ content: AppContent, _ reason: AppLaunch.Reason = .url,
        _ environment: [String] = [], start: Start = .prewarmed
    ) throws -> (lines: [String], handled: Bool) {
        let app = try AppProcess(delegate, start, environment: environment)
        try app.launch(
            AppLaunch(cookie: 1, reason: reason, content: content), start,
            environment: environment)
        let handled = try app.awaitAcknowledgement(1)
        try app.tell(.didBecomeActive)
        return (Array(try app.end().dropFirst()), handled)
    }

    private static let url: AppContent = {
        var content = AppContent()
        var url = AppContent.OpenURL("notes://1")
        url.sourceApplication = "org.example.mail"
        content.urls = [url]
        return content
    }()

    private static let opened = "open notes://1 from org.example.mail inactive"

    @Test(arguments: Start.allCases)
    func `a URL is in the launch options, and opened if both methods return true`(
        start: Start
    ) throws {
        let (lines, handled) = try launch("both", Self.url, start: start)
        let options = #"["url", "sourceApplication"]"#
        #expect(handled)
        #expect(
            lines == [
                "delegate", "willFinishLaunching \(options) inactive",
                "didFinishLaunching \(options) inactive",
                "didFinishLaunchingNotification \(options)", Self.opened,
                "didBecomeActive active", "willTerminate",
            ])
    }

    @Test(
        arguments: [
            ("both", [String](), true), ("both", ["PROBE_WILL=false"], false),
            ("both", ["PROBE_DID=false"], false),
            ("both", ["PROBE_WILL=false", "PROBE_DID=false"], false),
            ("will", [], true), ("will", ["PROBE_WILL=false"], false),
            ("will", ["PROBE_DID=false"], true), ("did", [], true),
            ("did", ["PROBE_DID=false"], false), ("did", ["PROBE_WILL=false"], true),
            ("neither", ["PROBE_WILL=false", "PROBE_DID=false"], true),
        ])
    func
        `if either method returns false the system does not open the URL; one that is missing does not count`(
            delegate: String, environment: [String], opens: Bool
        ) throws
    {
        let (lines, handled) = try launch(delegate, Self.url, .url, environment)
        #expect(lines.contains(Self.opened) == opens)
        #expect(handled == opens)
    }

    @Test(arguments: ["PROBE_WILL=false", "PROBE_DID=false", "PROBE_X=1"])
    func `an activity is not continued if either method returns false`(variable: String) throws {
        var activity = AppContent.Activity("editing")
        activity.userInfo = ["line": "7"]
        var content = AppContent()
        content.userActivities = [activity]
        let (lines, _) = try launch("both", content, .userActivity, [variable])
        let expected =
            variable == "PROBE_X=1"
            ? ["willContinue editing", #"continue editing ["line": "7"]"#] : []
        #expect(lines.filter { $0.contains("ontinue") } == expected)
        #expect(lines[1].contains("userActivityDictionary"))
    }

    @Test(arguments: ["PROBE_WILL=false", "PROBE_DID=false", "PROBE_ACTION=later", "PROBE_X=1"])
    func `performActionFor is not called if a method says that it handled the quick action`(
        variable: String
    ) throws {
        var content = AppContent()
        content.quickAction = .init("new-note")
        let (lines, _) = try launch("both", content, .quickAction, [variable])
        #expect(lines[1].contains(#"["shortcutItem"]"#))
        let isHandled = variable == "PROBE_WILL=false" || variable == "PROBE_DID=false"
        #expect(lines.contains("performAction new-note") == !isHandled)
    }

    @Test(arguments: ["PROBE_WILL=false", "PROBE_DID=false", "PROBE_X=1"])
    func `the return value is ignored if the app launches for a remote notification`(
        variable: String
    ) throws {
        var content = AppContent()
        content.remoteNotification = #"{"a":1}"#
        let (lines, handled) = try launch("both", content, .remoteNotification, [variable])
        #expect(handled)
        #expect(lines.contains(#"remoteNotification {"a":1}"#))
    }

    /// Every reason for a launch at once, with different values.
    private static let everything: AppContent = {
        var url = AppContent.OpenURL("notes://1")
        url.sourceApplication = "org.example.mail"
        url.annotation = "a"
        url.eventAttribution = "e"
        url.opensInPlace = true
        var activity = AppContent.Activity("t")
        activity.title = "title"
        activity.webpageURL = "https://example.org"
        activity.targetContentIdentifier = "target"
        activity.userInfo = ["k": "v"]
        var action = AppContent.QuickAction("q")
        action.title = "Q"
        action.subtitle = "sub"
        action.userInfo = ["k": "w"]
        var content = AppContent()
        content.urls = [url]
        content.localNotification = "l"
        content.remoteNotification = "r"
        content.isForLocation = true
        content.newsstandDownloads = ["n"]
        content.bluetoothCentrals = ["c"]
        content.bluetoothPeripherals = ["p"]
        content.userActivities = [activity]
        content.quickAction = action
        content.cloudKitShareMetadata = "s"
        return content
    }()

    private static let activity =
        #"["t", "title", "https://example.org", "target", "v"]"#
    private static let action = #"["q", "Q", "sub", "w"]"#

    @Test func `every key of the launch options has its typed value`() throws {
        let (lines, _) = try launch("will", Self.everything, .url, ["PROBE_VALUES=1"])
        #expect(
            lines[0] == """
                willFinishLaunching ["url", "sourceApplication", "annotation", "localNotification", \
                "remoteNotification", "location", "newsstandDownloads", "bluetoothCentrals", \
                "bluetoothPeripherals", "userActivityDictionary", "userActivityType", "shortcutItem", \
                "cloudKitShareMetadata", "eventAttribution"] inactive
                """)
        #expect(
            lines[1...3] == [
                #"texts ["notes://1", "org.example.mail", "a", "l", "r", "t", "s", "e"]"#,
                #"location true lists [["n"], ["c"], ["p"]]"#,
                "activity \(Self.activity) action \(Self.action)",
            ])
        let (none, _) = try launch("will", AppContent(), .user, ["PROBE_VALUES=1"])
        #expect(
            none[1...3] == [
                #"texts ["-", "-", "-", "-", "-", "-", "-", "-"]"#,
                "location false lists [[], [], []]", "activity [] action []",
            ])
    }

    @Test func `a scene's connection options have every value, too`() throws {
        let app = try AppProcess("scenes", .cold, environment: ["PROBE_VALUES=1"])
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .cold)
        var content = Self.everything
        content.sourceApplication = "org.example.shell"
        content.handoffUserActivityType = "h"
        content.notificationResponse = "tap"
        try app.connect("s1", content)
        #expect(
            try app.end().suffix(5).dropLast(2) == [
                #"urls [["notes://1", "org.example.mail", "a", "e", "true"]]"#,
                #"texts ["org.example.shell", "h", "s", "tap", "r"]"#,
                "activities [\(Self.activity)] action \(Self.action)",
            ])
    }

    @Test func `the same requests reach a running app`() throws {
        let app = try AppProcess("both", .cold, environment: ["PROBE_ACTION=later"])
        try app.launch(AppLaunch(cookie: 1), .cold)
        var content = Self.url
        content.userActivities = [.init("editing")]
        content.quickAction = .init("new")
        content.remoteNotification = "r"
        #expect(try app.tell(.deliver(content, session: nil, cookie: 2)))
        let lines = try app.end().dropFirst(5)
        #expect(
            Array(lines) == [
                Self.opened, "willContinue editing", "continue editing [:]", "performAction new",
                "remoteNotification r", "performed later", "willTerminate",
            ])
    }

    @Test func `an app that cannot do what a request asks refuses it`() throws {
        let app = try AppProcess(
            "both", .cold, environment: ["PROBE_OPEN=false", "PROBE_ACTION=false"])
        try app.launch(AppLaunch(cookie: 1), .cold)
        var action = AppContent()
        action.quickAction = .init("new")
        #expect(try !app.tell(.deliver(Self.url, session: nil, cookie: 2)))
        #expect(try !app.tell(.deliver(action, session: nil, cookie: 3)))
        let bare = try AppProcess("bare", .cold)
        try bare.launch(AppLaunch(cookie: 1), .cold)
        #expect(try !bare.tell(.deliver(Self.url, session: nil, cookie: 2)))
        #expect(try !bare.tell(.deliver(action, session: nil, cookie: 3)))
    }

    @Test func `a scene gets the content that is meant for the scene`() throws {
        let app = try AppProcess("scenes", .cold)
        try app.launch(AppLaunch(cookie: 1, flags: [.foreground, .scenes]), .cold)
        try app.connect("s1")
        var content = Self.url
        content.quickAction = .init("new")
        content.remoteNotification = "r"
        #expect(try app.tell(.deliver(content, session: "s1", cookie: 2)))
        // This scene's delegate has no method for activities.
        var activity = AppContent()
        activity.userActivities = [.init("editing")]
        #expect(try !app.tell(.deliver(activity, session: "s1", cookie: 3)))
        #expect(
            try app.end().suffix(5) == [
                #"scene opens ["notes://1"]"#, "scene performs new", "remoteNotification r",
                "s1 didDisconnect unattached app inactive", "willTerminate",
            ])
    }
}
