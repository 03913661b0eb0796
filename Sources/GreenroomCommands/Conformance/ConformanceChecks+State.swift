import Glibc
import GreenroomAppChannel

// State restoration; source: greenroom-protocol(7), and UIKit's article "Preserving your app's UI across
// launches". An app that saves nothing takes no part in most of it.

extension ConformanceCheck {
    static let restoring: [ConformanceCheck] = [
        .init("a launch that is announced state waits for it, and goes on where it cannot be had") {
            (bench) throws(ConformanceFault) in
            for start in [ConformanceBench.Start.cold, .prewarmed] {
                try Self.restore(nil, try bench.start(start)).settle()
            }
        },
        .init("state is saved once, before the step into the background is acknowledged") {
            (bench) throws(ConformanceFault) in try Self.checkSaving(bench)
        },
        .init("an app that ends in the foreground saves before it acknowledges that") {
            (bench) throws(ConformanceFault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try client.tell(.willTerminate)
            let count = client.states.count
            while try client.next() != nil {}
            try Self.requireOne(client.states, count, of: nil)
        },
        .init("what it saved is given back to it at a launch, and saved anew") {
            (bench) throws(ConformanceFault) in
            let state = SavedState(try Self.saved(try bench.launched(.cold)))
            for start in [ConformanceBench.Start.cold, .prewarmed] {
                let client = try bench.start(start)
                try Self.restore(state, client)
                try Self.leave(client)
                try Self.requireSaved(again: client)
            }
        },
        .init("what was protected at its launch is given back when it is available") {
            (bench) throws(ConformanceFault) in
            let state = SavedState(try Self.saved(try bench.launched(.cold)))
            let client = try bench.launched(.cold, [.foreground])
            try client.tell(.didBecomeActive)
            try client.tell(.protectedDataDidBecomeAvailable)
            try client.tell { .restoreState(state, session: nil, cookie: $0) }
            try client.tell(.willResignActive)
            try client.tell(.didEnterBackground)
            try Self.requireSaved(again: client)
        },
        .init("a scene's state is saved under its session, and given back with its connection") {
            (bench) throws(ConformanceFault) in try Self.checkScene(bench)
        },
    ]

    /// A launch that is told that state comes. The state is sent after something else, as it may be.
    @discardableResult
    private static func restore(
        _ state: SavedState?, _ client: ConformanceClient
    ) throws(ConformanceFault) -> ConformanceClient {
        if client.isPrewarmed { try client.awaitPause() }
        try client.launch(client.plainLaunch([.foreground, .protectedDataAvailable, .archive]))
        let (active, restored) = (client.cookie(), client.cookie())
        try client.send(.lifecycle(.didBecomeActive, cookie: active))
        try client.send(.restoreState(state, session: nil, cookie: restored))
        let answer = try client.nextAnswer()
        switch answer {
        case .report(.acknowledged(restored, let handled))?:
            try require(state != nil || !handled, "it says that it restored what it never got")
        case .report(.acknowledged(ConformanceClient.launchCookie, _))?:
            try requireUnknown(client, active: active, restored: restored)
        default:
            throw ConformanceFault(
                "the state (\(restored)) was to be acknowledged before the launch, not "
                    + client.words(answer))
        }
        try client.awaitAcknowledgement(of: ConformanceClient.launchCookie)
        try client.awaitAcknowledgement(of: active)
        return client
    }

    /// Its launch is over before the state was read: so it is with an app that does not know of state.
    private static func requireUnknown(
        _ client: ConformanceClient, active: UInt64, restored: UInt64
    ) throws(ConformanceFault) -> Never {
        try client.awaitAcknowledgement(of: active)
        guard try client.nextAnswer() == .error(errno: ENOSYS, cookie: restored) else {
            throw ConformanceFault("it finishes its launch before it has read its state")
        }
        throw .skip("it does not know of state restoration")
    }

    private static func leave(_ client: ConformanceClient) throws(ConformanceFault) {
        try client.tell(.willResignActive)
        try client.tell(.didEnterBackground)
    }

    // MARK: What it saves

    private static func checkSaving(_ bench: ConformanceBench) throws(ConformanceFault) {
        let client = try bench.launched(.cold)
        _ = try saved(client)
        for event in [AppEvent.Lifecycle.willEnterForeground, .didBecomeActive] {
            try client.tell(event)
        }
        let count = client.states.count
        try leave(client)
        try client.settle()
        try require(
            client.states.count - count == 1, "it saves the first time only, or more than once")
        let hidden = try bench.launched(.cold, [.protectedDataAvailable])
        try hidden.tell(.didEnterBackground)
        try hidden.settle()
        try require(
            hidden.states.isEmpty, "it saves though it has not been in the foreground")
    }

    /// Takes a launched app to the foreground and out of it.
    /// - Returns: what it saved.
    private static func saved(
        _ client: ConformanceClient
    ) throws(ConformanceFault) -> AppArchive {
        try client.tell(.didBecomeActive)
        try leave(client)
        let count = client.states.count
        try client.settle()
        return try requireOne(client.states, count, of: nil)
    }

    /// - Parameter count: how many of them had come when the step was acknowledged.
    @discardableResult
    private static func requireOne(
        _ states: [ConformanceClient.SaidState], _ count: Int, of session: String?
    ) throws(ConformanceFault) -> AppArchive {
        guard let first = states.first else { throw .skip("it saves no state") }
        try require(count > 0, "its state comes after the acknowledgement")
        try require(states.count == 1, "it saves \(states.count) times at one step")
        try require(
            first.session == session,
            "its state is that of session \(first.session ?? "none"), not of "
                + (session ?? "the app"))
        switch first.report {
        case .save(let archive):
            try require(
                archive.byteCount <= AppArchive.byteLimit,
                "its state has \(archive.byteCount) bytes, more than \(AppArchive.byteLimit)")
            return archive
        case .forget: throw .skip("it wants its state forgotten")
        case .tooLarge: throw .skip("it says that its state is too large")
        case .extend, .complete:
            throw ConformanceFault("it is told nothing to restore, and restores")
        }
    }

    /// Unless it says that it has not restored yet.
    private static func requireSaved(
        again client: ConformanceClient
    ) throws(ConformanceFault) {
        try client.settle()
        var isRestoring = false
        var count = 0
        for state in client.states {
            switch state.report {
            case .extend: isRestoring = true
            case .complete: isRestoring = false
            case .save, .forget, .tooLarge:
                try require(!isRestoring, "it saves before its restoration is complete")
                count += 1
            }
        }
        try require(isRestoring || count == 1, "after it was restored it saves \(count) times")
    }

    // MARK: Scenes

    private static func checkScene(_ bench: ConformanceBench) throws(ConformanceFault) {
        let client = try bench.launched(.cold, [.foreground, .scenes, .protectedDataAvailable])
        try show("a scene", client)
        // So that there is something to keep.
        var content = AppContent()
        content.urls = [AppContent.OpenURL("conformance:1")]
        try client.tell { .deliver(content, session: "a scene", cookie: $0) }
        try hide("a scene", client)
        let count = client.states.count
        try client.settle()
        let archive = try requireOne(client.states, count, of: "a scene")
        guard let activity = archive.activity else {
            throw ConformanceFault("the state of a scene is an activity, and that has none")
        }
        for start in [ConformanceBench.Start.cold, .prewarmed] {
            let next = try bench.launched(start, [.foreground, .scenes, .protectedDataAvailable])
            try show("a scene", next, activity)
            try hide("a scene", next)
            try requireSaved(again: next)
        }
        // Too long for the connection's message, it comes by itself.
        let late = try bench.launched(.cold, [.foreground, .scenes, .protectedDataAvailable])
        try show("a scene", late)
        try late.tell { .restoreState(SavedState(archive), session: "a scene", cookie: $0) }
        try hide("a scene", late)
        try requireSaved(again: late)
    }
}

extension ConformanceClient {
    typealias SaidState = (report: StateReport, session: String?)

    /// What it has said about its state, in order.
    var states: [SaidState] {
        said.compactMap {
            if case .state(let report, let session, _) = $0 { (report, session) } else { nil }
        }
    }
}
