import Glibc
import GreenroomAppChannel
import GreenroomLinux

extension Check {
    static let living: [Check] = [
        .init("without scenes: active, background and back, each acknowledged once") {
            (bench) throws(Fault) in
            for start in [Bench.Start.cold, .prewarmed] {
                let client = try bench.launched(start)
                for event in Self.visit { try client.tell(event) }
                try client.settle()
            }
        },
        .init("events that come all at once are acknowledged in their order") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            var cookies: [UInt64] = []
            for event in Self.visit + Self.visit.dropFirst() {
                cookies.append(client.cookie())
                try client.send(.lifecycle(event, cookie: cookies[cookies.count - 1]))
            }
            for cookie in cookies { try client.awaitAcknowledgement(of: cookie) }
            try client.settle()
        },
        .init("events of the app as a whole are acknowledged") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            for event in [
                AppEvent.Lifecycle.didReceiveMemoryWarning, .significantTimeChange,
                .protectedDataWillBecomeUnavailable, .protectedDataDidBecomeAvailable,
            ] { try client.tell(event) }
            try client.settle()
        },
        .init("a scene connects, is shown and hidden, and disconnects") {
            (bench) throws(Fault) in
            for start in [Bench.Start.cold, .prewarmed] {
                try Self.checkScene(bench, start)
            }
        },
        .init("a scene that connects in the background stays there") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, [.scenes, .protectedDataAvailable])
            try client.tell {
                .connectScene(SceneConnection(session: "1", isForForeground: false, cookie: $0))
            }
            try client.settle()
            try require(
                !client.steps.contains { $0.step == .active }, "it says that it was active")
        },
        .init("several scenes, and the end of one, are distinguished") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, Self.scenes)
            for session in ["1", "2"] { try Self.show(session, client) }
            try Self.hide("1", client)
            try client.tell { .scene(.didDisconnect, session: "1", cookie: $0) }
            try client.tell { .discardScenes(["1", "7"], cookie: $0) }
            try Self.hide("2", client)
            try client.settle()
        },
        .init("content for a running app is acknowledged, whether handled or not") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            var content = AppContent()
            content.urls = [
                AppContent.OpenURL("conformance:1"), AppContent.OpenURL("conformance:2"),
            ]
            try client.tell { .deliver(content, session: nil, cookie: $0) }
            content = AppContent()
            content.quickAction = AppContent.QuickAction("conformance")
            try client.tell { .deliver(content, session: nil, cookie: $0) }
            content = AppContent()
            content.userActivities = [AppContent.Activity("conformance")]
            try client.tell { .deliver(content, session: nil, cookie: $0) }
            content = AppContent()
            content.localNotification = "conformance"
            content.cloudKitShareMetadata = "conformance"
            try client.tell { .deliver(content, session: nil, cookie: $0) }
            for reason in AppLaunch.Reason.allCases {
                try client.tell { .handleEvents(for: reason, AppContent(), cookie: $0) }
            }
            content = AppContent()
            content.bluetoothCentrals = ["one", "two"]
            try client.tell { .handleEvents(for: .system, content, cookie: $0) }
            try client.settle()
        },
        .init("an app that is asked to end acknowledges that and ends by itself") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try client.tell(.willTerminate)
            let status = try client.awaitExit()
            try require(status == .exited(0), "it must end with status 0, not with \(status)")
        },
    ]

    /// More checks of a running app. They come last, so that the earlier checks keep their numbers.
    static let returning: [Check] = [
        .init("a scene that connects for a notification is acknowledged once") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, [.scenes, .protectedDataAvailable])
            var content = AppContent()
            content.remoteNotification = "conformance"
            try client.tell { [content] in
                .connectScene(
                    SceneConnection(
                        session: "1", content: content, isForForeground: false, cookie: $0))
            }
            try client.tell { [content] in .deliver(content, session: "1", cookie: $0) }
            content.notificationResponse = "conformance"
            try client.tell { [content] in .deliver(content, session: "1", cookie: $0) }
            try client.settle()
        },
        .init("content between willEnterForeground and didBecomeActive is acknowledged") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            for event in Self.visit.prefix(4) { try client.tell(event) }
            var content = AppContent()
            content.urls = [AppContent.OpenURL("conformance:1")]
            content.urls[0].sourceApplication = "org.example.conformance"
            try client.tell { [content] in .deliver(content, session: nil, cookie: $0) }
            try client.tell(.didBecomeActive)
            try client.settle()
        },
        .init("an app that is asked to end with a scene in front ends by itself") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, scenes)
            try show("1", client)
            try client.tell(.willTerminate)
            let status = try client.awaitExit()
            try require(status == .exited(0), "it must end with status 0, not with \(status)")
        },
    ]

    static let refusing: [Check] = [
        .init("a running app answers PING") { (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            for _ in 0..<3 { try client.settle() }
        },
        .init("a running app refuses unknown messages, and goes on") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.send(bytes: Self.unknown(cookie: 79))
            try client.awaitError(ENOSYS, cookie: 79, "an unknown message")
            try client.tell(.didBecomeActive)
            try client.settle()
        },
        .init("a running app refuses a message that is cut off, and goes on") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            let event = AppEvent.discardScenes(["a session"], cookie: 80)
            let bytes = (try? DaemonMessage.event(event).encoded().datagram) ?? []
            try client.send(bytes: Array(bytes.dropLast(4)))
            try client.awaitError(EPROTO, cookie: 80, "a message that is cut off")
            try client.tell(.didBecomeActive)
            try client.settle()
        },
        .init("a process refuses a second launch") { (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            var launch = client.plainLaunch([.foreground])
            launch.cookie = 81
            try client.send(.launch(launch))
            try client.awaitError(EPROTO, cookie: 81, "a second launch")
            try client.tell(.didBecomeActive)
            try client.settle()
        },
        .init("a second GO is refused, and its descriptors are closed") {
            (bench) throws(Fault) in try Self.checkSecondGo(bench)
        },
    ]

    private static let visit: [AppEvent.Lifecycle] = [
        .didBecomeActive, .willResignActive, .didEnterBackground, .willEnterForeground,
        .didBecomeActive, .willResignActive, .didEnterBackground, .willEnterForeground,
    ]
    private static let scenes: AppLaunch.Flags = [.foreground, .scenes, .protectedDataAvailable]

    static func show(
        _ session: String, _ client: TestedApp, _ kept: AppContent.Activity? = nil
    ) throws(Fault) {
        try client.tell {
            .connectScene(SceneConnection(session: session, restoration: kept, cookie: $0))
        }
        try client.tell { .scene(.willEnterForeground, session: session, cookie: $0) }
        try client.tell { .scene(.didBecomeActive, session: session, cookie: $0) }
    }

    static func hide(
        _ session: String, _ client: TestedApp
    ) throws(Fault) {
        try client.tell { .scene(.willResignActive, session: session, cookie: $0) }
        try client.tell { .scene(.didEnterBackground, session: session, cookie: $0) }
    }

    private static func checkScene(
        _ bench: Bench, _ start: Bench.Start
    ) throws(Fault) {
        let client = try bench.launched(start, scenes)
        try show("1", client)
        try client.settle()
        try require(
            client.steps.count { $0.step == .active } == 1, "it does not say that it is active")
        try hide("1", client)
        try client.tell { .scene(.willEnterForeground, session: "1", cookie: $0) }
        try client.tell { .scene(.didBecomeActive, session: "1", cookie: $0) }
        try hide("1", client)
        try client.tell { .scene(.didDisconnect, session: "1", cookie: $0) }
        try client.settle()
        try require(
            client.steps.count { $0.step == .active } == 1, "its launch has one active step")
    }

    private static func checkSecondGo(_ bench: Bench) throws(Fault) {
        let client = try bench.launched(.prewarmed)
        try client.settle()
        let before = entries(client.file("fd")).count
        guard let words = try? StringList(["conformance"]), let none = try? StringList([]),
            let file = try? FileDescriptor.open("/dev/null", O_RDONLY)
        else { throw Fault("/dev/null cannot be opened") }
        for number in 0..<3 {
            let cookie = UInt64(82 + number)
            let go = GoMessage(
                arguments: words, environment: none, roles: [.place(500)], cookie: cookie)
            try client.send(.go(go), descriptors: [file])
            try client.awaitError(EPROTO, cookie: cookie, "a second GO")
        }
        try client.settle()
        let after = entries(client.file("fd")).count
        try require(after <= before, "it keeps descriptors that came with what it refused")
    }
}
