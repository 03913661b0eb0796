import TestSupport
import Testing

@testable import GreenroomAppChannel

/// The messages that only apps with an SDK know.
@Suite struct AppMessageTests {
    static let content: AppContent = {
        var url = AppContent.OpenURL("notes://open?id=1&b=2")
        url.sourceApplication = "org.example.mail"
        url.annotation = "a=b"
        url.eventAttribution = ""
        url.opensInPlace = true
        var action = AppContent.QuickAction("new-note")
        action.title = "New note"
        action.subtitle = "empty"
        action.userInfo = ["colour": "red=warm", "": "x"]
        var activity = AppContent.Activity("org.example.editing")
        activity.title = "Editing"
        activity.webpageURL = "https://example.org/1"
        activity.targetContentIdentifier = "note-1"
        activity.userInfo = ["line": "7"]
        var content = AppContent()
        content.urls = [url, AppContent.OpenURL("file:///tmp/ü")]
        content.sourceApplication = "org.example.mail"
        content.quickAction = action
        content.userActivities = [activity, AppContent.Activity("org.example.reading")]
        content.handoffUserActivityType = "org.example.later"
        content.remoteNotification = #"{"aps":{"alert":"hi"}}"#
        content.localNotification = "tea"
        content.notificationResponse = "snooze"
        content.isForLocation = true
        content.newsstandDownloads = ["1", "2"]
        content.bluetoothCentrals = ["c"]
        content.bluetoothPeripherals = ["p"]
        content.cloudKitShareMetadata = "share"
        return content
    }()

    static let archive: AppArchive = {
        var archive = AppArchive()
        archive.add("note", "7=b")
        archive.add("", "")
        return archive
    }()

    static let events: [AppEvent] =
        [
            .launch(AppLaunch(cookie: .max)),
            .launch(
                AppLaunch(
                    cookie: 0, reason: .system,
                    flags: [.foreground, .scenes, .protectedDataAvailable, .credentials],
                    requestInstant: .max, interface: "main.ui", content: content)),
            .connectScene(SceneConnection(session: "s", cookie: 1)),
            .connectScene(
                SceneConnection(
                    session: "s", role: "external", configuration: "Default", delegate: "Scene",
                    content: content, restoration: content.userActivities[0],
                    isForForeground: false,
                    cookie: 2)),
            .credentials(cookie: 12),
            .launch(
                {
                    var launch = AppLaunch(
                        cookie: 3, flags: [.archive, .firstLaunch, .firstLaunchOfVersion])
                    launch.container = AppContainer(state: "/s", cache: "/c", temporary: "/t")
                    launch.version = "1.2"
                    return launch
                }()),
            .restoreState(nil, session: nil, cookie: 13),
            .restoreState(
                SavedState(
                    archive, appVersion: "1.2", stateVersion: "2", savedAt: .max, user: .max),
                session: "s", cookie: 14),
            .restoreState(SavedState(AppArchive()), session: nil, cookie: 15),
            .discardScenes(["a", "b"], cookie: 3), .discardScenes([], cookie: 3),
            .deliver(content, session: nil, cookie: 4), .deliver(content, session: "s", cookie: 5),
            .handleEvents(for: .socket, AppContent(), cookie: 16),
            .handleEvents(for: .system, content, cookie: 17), .answer(request: 6, .done),
            .answer(request: 7, .refused(code: 1, reason: "Scenes= is not set")),
        ]
        + MetricSamples.events
        + backgroundEvents.map { .background($0) }
        + AppEvent.Lifecycle.allCases.map { .lifecycle($0, cookie: 8) }
        + AppEvent.SceneTransition.allCases.map { .scene($0, session: "s", cookie: 9) }

    static let reports: [AppReport] =
        [
            .acknowledged(cookie: 1, handled: true), .acknowledged(cookie: .max, handled: false),
            .callbackOverran("sceneDidBecomeActive", duration: .nanoseconds(250_000_001)),
            .didDrawFirstFrame(at: 5, session: nil), .didDrawFirstFrame(at: 5, session: "s"),
            .requestScene(.activate(session: nil, content), cookie: 6),
            .requestScene(.activate(session: "s", AppContent()), cookie: 7),
            .requestScene(.refresh(session: "s"), cookie: 8),
            .requestScene(.destroy(session: "s"), cookie: 9),
            .openURL("https://example.org", cookie: 10),
            .launchTask("first page", isFinished: false, at: 11),
            .launchTask("first page", isFinished: true, at: 12), .subscribesToMetrics(true),
            .launchSteps(LaunchSteps(requestedAt: .max)),
            .launchSteps(
                {
                    var steps = LaunchSteps(requestedAt: 1, pausedAt: 2, drawnAt: 5)
                    steps.steps = [.init(.main, at: 3), .init(.afterLaunch, at: .max)]
                    return steps
                }()),
            .subscribesToMetrics(false),
            .state(.save(archive), session: nil, cookie: 0),
            .state(.save(AppArchive(content.userActivities[0])), session: "s", cookie: 11),
            .state(.forget, session: "s", cookie: 0),
            .state(.tooLarge(byteCount: .max), session: nil, cookie: 0),
            .state(.extend, session: nil, cookie: 12), .state(.complete, session: "s", cookie: 13),
        ]
        + backgroundReports.map { .background($0) }
        + AppReport.LaunchStep.allCases.map { .launchStep($0, at: .max, session: "s") }

    @discardableResult
    private static func decode(_ bytes: [UInt8], descriptors: Int = 0) throws -> DaemonMessage {
        try DaemonMessage(decoding: bytes.span.bytes, descriptorCount: descriptors)
    }

    @Test(arguments: events) func `an app reads the event that was sent`(event: AppEvent) throws {
        let encoded = try DaemonMessage.event(event).encoded()
        #expect(encoded.descriptorStrings == nil)
        var descriptorCount = 0
        if case .launch(let launch) = event, launch.flags.contains(.credentials) {
            descriptorCount = 1
        } else if case .credentials = event {
            descriptorCount = 1
        }
        let decoded = try Self.decode(encoded.datagram, descriptors: descriptorCount)
        #expect(decoded == .event(event))
    }

    @Test(arguments: reports) func `the daemon reads the report that was sent`(
        report: AppReport
    ) throws {
        let bytes = try AppMessage.report(report).encoded()
        #expect(try AppMessage(decoding: bytes) == .report(report))
    }

    @Test func `neither side takes a message of the other direction`() throws {
        for event in Self.events.dropFirst(2) where event != .credentials(cookie: 12) {
            let bytes = try DaemonMessage.event(event).encoded().datagram
            #expect(throws: WireError.unknownType(UInt16(bytes[6]))) {
                try AppMessage(decoding: bytes)
            }
        }
        for report in Self.reports {
            let bytes = try AppMessage.report(report).encoded()
            #expect(throws: WireError.unknownType(UInt16(bytes[6]))) {
                try Self.decode(bytes)
            }
        }
    }

    @Test func `an unknown field, flag or detail is ignored`() throws {
        var frame = AppLaunch(cookie: 1).frame
        frame.flags |= 1 << 30
        frame.fields.entries += ["future=1", "url.source=nobody's", "no equals sign", "action.x=1"]
        let message = try Self.decode(frame.encoded())
        guard case .event(.launch(let launch)) = message else { throw TestError("\(message)") }
        #expect(launch.content.isEmpty)
        #expect(launch.flags.contains(.foreground))
    }

    @Test func `each mistake in a message has its own error`() throws {
        let good = try AppEvent.scene(.didDisconnect, session: "s", cookie: 1).encoded()
        func expect(_ error: WireError, changing offset: Int, to byte: UInt8) {
            var bytes = good
            bytes[offset] = byte
            #expect(throws: error) { try Self.decode(bytes) }
        }
        expect(.unknownType(63), changing: 6, to: 63)
        expect(.unknownValue(77, type: 35), changing: 40, to: 77)
        expect(.malformedStrings, changing: 12, to: 2)
        expect(.malformedStrings, changing: 14, to: 2)
        expect(.malformedStrings, changing: 16, to: 1)
        expect(.malformedStrings, changing: 161, to: 65)
        expect(.malformedStrings, changing: 160, to: 0)
        expect(.wrongLength(announced: 3, received: 2), changing: 20, to: 3)
        expect(.unusedFieldSet(type: 35), changing: 24, to: 1)
        expect(.unusedFieldSet(type: 35), changing: 44, to: 1)

        var launch = AppLaunch(cookie: 1, flags: .credentials)
        let withDescriptor = try AppEvent.launch(launch).encoded()
        #expect(throws: WireError.wrongDescriptorCount(announced: 1, received: 0)) {
            try Self.decode(withDescriptor)
        }
        launch.flags = []
        var frame = launch.frame
        frame.roles = [-4]
        let unannounced = try frame.encoded()
        #expect(throws: WireError.wrongDescriptorCount(announced: 0, received: 1)) {
            try Self.decode(unannounced, descriptors: 1)
        }
        frame.roles = [0]
        let unknown = try frame.encoded()
        #expect(throws: WireError.unknownRole(0)) { try Self.decode(unknown, descriptors: 1) }
        launch.interface = String(repeating: "x", count: 65_536)
        let tooLong = AppEvent.launch(launch)
        #expect(throws: WireError.tooManyStringBytes(65_549)) { try tooLong.encoded() }
        launch.interface = "a\0b"
        let withNUL = AppEvent.launch(launch)
        #expect(throws: WireError.stringContainsNUL(index: 0)) { try withNUL.encoded() }
    }

    @Test func `a message read from random bytes can always be sent again`() throws {
        var generator = SeededGenerator()
        let seeds =
            try Self.events.map { try DaemonMessage.event($0).encoded().datagram }
            + Self.reports.map { try AppMessage.report($0).encoded() }
        var decoded = 0
        for round in 0..<20_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                bytes[.random(in: 0..<bytes.count)] = .random(in: .min ... .max, using: &generator)
            }
            if round % 7 == 0 { bytes.removeLast(.random(in: 0..<bytes.count, using: &generator)) }
            let descriptors = round % 2 == 0 ? Int(bytes.count > 28 ? bytes[28] : 0) : 0
            if case .report(let report)? = try? AppMessage(decoding: bytes) {
                let again = try AppMessage.report(report).encoded()
                #expect(try AppMessage(decoding: again) == .report(report))
                decoded += 1
            }
            if case .event(let event)? = try? Self.decode(bytes, descriptors: descriptors) {
                let again = try DaemonMessage.event(event).encoded().datagram
                let decodedAgain = try Self.decode(again, descriptors: Int(again[28]))
                #expect(decodedAgain == .event(event))
                decoded += 1
            }
        }
        #expect(decoded > 1000, "the mutations are so wild that nothing was tested")
    }
}
