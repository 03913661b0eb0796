import Glibc
import GreenroomAppChannel

// State restoration. Sources: greenroom-protocol(7) and UIKit's article "Preserving your app's UI
// across launches". Most of these checks are skipped if the app saves nothing.

extension Check {
    static let restoring: [Check] = [
        .init("a launch waits for announced state, and goes on if there is none after all") {
            (bench) throws(Fault) in
            for start in [Bench.Start.cold, .prewarmed] {
                try Self.restore(nil, try bench.start(start)).settle()
            }
        },
        .init("state is saved once, before the step into the background is acknowledged") {
            (bench) throws(Fault) in try Self.checkSaving(bench)
        },
        .init("an app that ends in the foreground saves before it acknowledges that") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try client.tell(.willTerminate)
            let count = client.states.count
            while try client.next() != nil {}
            try Self.requireOne(client.states, count, of: nil)
        },
        .init("saved state is given back at a launch, and saved again") {
            (bench) throws(Fault) in
            let state = SavedState(try Self.saved(try bench.launched(.cold)))
            for start in [Bench.Start.cold, .prewarmed] {
                let client = try bench.start(start)
                try Self.restore(state, client)
                try Self.leave(client)
                try Self.requireSaved(again: client)
            }
        },
        .init("state that was protected at the launch is given back when it is available") {
            (bench) throws(Fault) in
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
            (bench) throws(Fault) in try Self.checkScene(bench)
        },
    ]

    /// Launches the app with the announcement of an archive, and sends the archive after another
    /// message, which is allowed.
    @discardableResult
    private static func restore(
        _ state: SavedState?, _ client: TestedApp
    ) throws(Fault) -> TestedApp {
        if client.isPrewarmed { try client.awaitPause() }
        try client.launch(client.plainLaunch([.foreground, .protectedDataAvailable, .archive]))
        let (active, restored) = (client.cookie(), client.cookie())
        try client.send(.lifecycle(.didBecomeActive, cookie: active))
        try client.send(.restoreState(state, session: nil, cookie: restored))
        let answer = try client.nextAnswer()
        switch answer {
        case .report(.acknowledged(restored, let handled))?:
            try require(state != nil || !handled, "it says that it restored what it never got")
        case .report(.acknowledged(TestedApp.launchCookie, _))?:
            try requireUnknown(client, active: active, restored: restored)
        default:
            throw Fault(
                "the state (\(restored)) had to be acknowledged before the launch, not "
                    + client.words(answer))
        }
        try client.awaitAcknowledgement(of: TestedApp.launchCookie)
        try client.awaitAcknowledgement(of: active)
        return client
    }

    /// Skips the check if the app does not restore state, so that its launch was over before.
    private static func requireUnknown(
        _ client: TestedApp, active: UInt64, restored: UInt64
    ) throws(Fault) -> Never {
        try client.awaitAcknowledgement(of: active)
        guard try client.nextAnswer() == .error(errno: ENOSYS, cookie: restored) else {
            throw Fault("it finishes its launch before it has read its state")
        }
        throw .skip("it does not know of state restoration")
    }

    private static func leave(_ client: TestedApp) throws(Fault) {
        try client.tell(.willResignActive)
        try client.tell(.didEnterBackground)
    }

    // MARK: What it saves

    private static func checkSaving(_ bench: Bench) throws(Fault) {
        let client = try bench.launched(.cold)
        _ = try saved(client)
        for event in [AppEvent.Lifecycle.willEnterForeground, .didBecomeActive] {
            try client.tell(event)
        }
        let count = client.states.count
        try leave(client)
        try client.settle()
        try require(
            client.states.count - count == 1, "it saves the first time only, or repeatedly")
        let hidden = try bench.launched(.cold, [.protectedDataAvailable])
        try hidden.tell(.didEnterBackground)
        try hidden.settle()
        try require(
            hidden.states.isEmpty, "it saves although it has not been in the foreground")
    }

    /// Moves a launched app into the foreground and out of it.
    /// - Returns: what the app saved.
    private static func saved(
        _ client: TestedApp
    ) throws(Fault) -> AppArchive {
        try client.tell(.didBecomeActive)
        try leave(client)
        let count = client.states.count
        try client.settle()
        return try requireOne(client.states, count, of: nil)
    }

    /// - Parameter count: how many states had arrived when the step was acknowledged.
    @discardableResult
    private static func requireOne(
        _ states: [TestedApp.SaidState], _ count: Int, of session: String?
    ) throws(Fault) -> AppArchive {
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
            throw Fault("it restores although it got no state")
        }
    }

    /// Requires the app to save again, unless it has reported that it has not restored its state
    /// yet.
    private static func requireSaved(
        again client: TestedApp
    ) throws(Fault) {
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

    private static func checkScene(_ bench: Bench) throws(Fault) {
        let client = try bench.launched(.cold, [.foreground, .scenes, .protectedDataAvailable])
        try show("a scene", client)
        // This gives the app something to save.
        var content = AppContent()
        content.urls = [AppContent.OpenURL("conformance:1")]
        try client.tell { .deliver(content, session: "a scene", cookie: $0) }
        try hide("a scene", client)
        let count = client.states.count
        try client.settle()
        let archive = try requireOne(client.states, count, of: "a scene")
        guard let activity = archive.activity else {
            throw Fault("the state of a scene is an activity, and this state has none")
        }
        for start in [Bench.Start.cold, .prewarmed] {
            let next = try bench.launched(start, [.foreground, .scenes, .protectedDataAvailable])
            try show("a scene", next, activity)
            try hide("a scene", next)
            try requireSaved(again: next)
        }
        // State that is too long for the message of the connection comes in its own message.
        let late = try bench.launched(.cold, [.foreground, .scenes, .protectedDataAvailable])
        try show("a scene", late)
        try late.tell { .restoreState(SavedState(archive), session: "a scene", cookie: $0) }
        try hide("a scene", late)
        try requireSaved(again: late)
    }
}

extension TestedApp {
    typealias SaidState = (report: StateReport, session: String?)

    /// What the app has reported about its state, in order.
    var states: [SaidState] {
        said.compactMap {
            if case .state(let report, let session, _) = $0 { (report, session) } else { nil }
        }
    }
}
