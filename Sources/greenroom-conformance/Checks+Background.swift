import Glibc
import GreenroomAppChannel
import GreenroomLinux

// Background tasks and scheduled work. Sources: greenroom-protocol(7), the pages of UIKit and
// BackgroundTasks. A URL asks the app to begin work that only the app can begin. If the app does
// not respond to the URL, these checks are skipped.

extension Check {
    static let background: [Check] = [
        .init("the limit of background time is received and not acknowledged") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try requireKnown(client, .time(until: Self.soon))
            try client.send(.background(.timeExpires(at: Self.soon)))
            try client.send(.background(.time(until: nil)))
            try client.settle()
        },
        .init("a background task is ended when its time is over") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try Self.open("begin", client)
            try Self.leave(client)
            try client.settle()
            // Some apps begin a task by themselves when they enter the background.
            try Self.requireBegun(client)
            try Self.expire(client)
            try client.tell(.willEnterForeground)
            try client.settle()
        },
        .init("no background task begins after the time is over, until there is time again") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try Self.open("begin", client)
            try Self.requireBegun(client)
            try Self.leave(client)
            try Self.expire(client)
            let count = client.begun.count
            try Self.open("begin", client)
            try require(client.begun.count == count, "it begins a task although its time is over")
            try client.tell(.willEnterForeground)
            try client.send(.background(.time(until: nil)))
            try Self.open("begin", client)
            try require(
                client.begun.count > count, "it begins no task although there is time again")
            try require(
                Set(client.begun).count == client.begun.count, "it uses an identifier twice")
        },
        .init("scheduled work without a handler is reported as such") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold)
            try client.tell(.didBecomeActive)
            try requireKnown(client, .run(Self.run(7, "conformance.nobody", .appRefresh)))
            try require(
                client.completions.map(\.run) == [7]
                    && client.completions.allSatisfy { $0.completion == .noHandler },
                "work without a handler is completed at once with status 2, not "
                    + "\(client.completions)")
        },
        .init("a run is completed once, at the latest when its time is over") {
            (bench) throws(Fault) in try Self.checkRun(bench)
        },
        .init("only unanswered requests are sent again to a restarted daemon") {
            (bench) throws(Fault) in try Self.checkAskingAgain(bench)
        },
    ]

    private static var soon: UInt64 { MonotonicClock.nanoseconds + 5_000_000_000 }

    private static func run(
        _ number: UInt64, _ identifier: String, _ kind: TaskSubmission.Kind
    ) -> TaskRun {
        TaskRun(number: number, identifier: identifier, kind: kind, deadline: soon)
    }

    /// Opens conformance:WORD in the app, and receives what the app sends then and shortly
    /// afterwards.
    private static func open(_ word: String, _ client: TestedApp) throws(Fault) {
        var content = AppContent()
        content.urls = [AppContent.OpenURL("conformance:" + word)]
        try client.tell { .deliver(content, session: nil, cookie: $0) }
        for _ in 0..<3 { try client.settle() }
    }

    /// Skips the check if the app does not know this message, as older apps do not.
    private static func requireKnown(
        _ client: TestedApp, _ event: AppEvent.Background
    ) throws(Fault) {
        try client.send(.background(event))
        let ping = client.cookie() | 1 << 40
        try client.send(.ping(cookie: ping))
        let answer = try client.nextAnswer()
        if case .error(ENOSYS, _)? = answer { throw .skip("it does not know this message") }
        try require(
            answer == .pong(cookie: ping),
            "this message must not be answered, but the app sent \(client.words(answer))")
    }

    // MARK: Background tasks

    private static func requireBegun(_ client: TestedApp) throws(Fault) {
        guard !client.begun.isEmpty else {
            throw .skip("it begins no background task when it is opened with conformance:begin")
        }
        try require(!client.begun.contains(0), "the identifier of a background task must not be 0")
    }

    private static func leave(_ client: TestedApp) throws(Fault) {
        try client.tell(.willResignActive)
        try client.tell(.didEnterBackground)
        try client.send(.background(.time(until: soon)))
    }

    private static func expire(_ client: TestedApp) throws(Fault) {
        let begun = Set(client.begun)
        try client.send(.background(.timeExpires(at: soon)))
        try client.await("the end of its background tasks") { Set($0.ended).isSuperset(of: begun) }
        try require(
            begun.isSuperset(of: client.ended), "it ends a task that it has not begun")
    }

    // MARK: Scheduled work

    /// Launches the app and asks it to submit a request, which is not answered yet.
    private static func submitted(
        _ bench: Bench
    ) throws(Fault) -> (TestedApp, TaskSubmission, cookie: UInt64) {
        let client = try bench.launched(.cold)
        try client.tell(.didBecomeActive)
        try open("submit", client)
        guard let (request, cookie) = client.requests.first else {
            throw .skip("it submits no request when it is opened with conformance:submit")
        }
        try require(cookie != 0, "the cookie of a request must not be 0")
        return (client, request, cookie)
    }

    private static func checkRun(_ bench: Bench) throws(Fault) {
        let (client, request, cookie) = try submitted(bench)
        try client.send(.answer(request: cookie, .done))
        try leave(client)
        for number in [UInt64(11), 12] {
            let run = run(number, request.identifier, request.kind)
            // A restarted daemon repeats this message, because it does not know whether it was
            // sent.
            for _ in 0..<2 { try client.send(.background(.run(run))) }
            try client.settle()
            for _ in 0..<2 { try client.send(.background(.expire(run))) }
            try client.await("the completion of run \(number)") {
                $0.completions.contains { $0.run == number }
            }
            try client.settle()
        }
        let completions = client.completions
        try require(
            completions.map(\.run) == [11, 12],
            "it must complete runs 11 and 12, once each, not \(completions.map(\.run))")
        try require(
            completions.allSatisfy { $0.completion != .noHandler },
            "it has no handler for \(request.identifier), which it requested")
    }

    private static func checkAskingAgain(_ bench: Bench) throws(Fault) {
        let (client, request, cookie) = try submitted(bench)
        try client.send(.askAgain)
        try client.await("its request, again") { $0.requests.count > 1 }
        try client.settle()
        let again = client.requests.dropFirst()
        try require(
            again.count == 1 && again.first?.request == request
                && again.first?.cookie == cookie | AppReport.againBit,
            "it repeats the request with \(again.map(\.cookie)), not with \(cookie) and the highest bit"
        )
        try client.send(.answer(request: cookie, .done))
        try client.settle()
        try client.send(.askAgain)
        try client.settle()
        try require(client.requests.count == 2, "it repeats a request that was answered")
    }
}

extension TestedApp {
    private var background: [AppReport.Background] {
        said.compactMap { if case .background(let report) = $0 { report } else { nil } }
    }

    /// The identifiers of background tasks, in the order of the messages.
    var begun: [UInt64] {
        background.compactMap { if case .begin(let identifier, _) = $0 { identifier } else { nil } }
    }
    var ended: [UInt64] {
        background.compactMap { if case .end(let identifier) = $0 { identifier } else { nil } }
    }
    var completions: [(run: UInt64, completion: AppReport.Completion)] {
        background.compactMap {
            if case .completed(let run, let completion) = $0 { (run, completion) } else { nil }
        }
    }
    var requests: [(request: TaskSubmission, cookie: UInt64)] {
        background.compactMap {
            if case .submit(let request, let cookie) = $0 { (request, cookie) } else { nil }
        }
    }

    /// Receives messages until the app has sent a certain report.
    func await(
        _ what: String, _ isSaid: (TestedApp) -> Bool
    ) throws(Fault) {
        while !isSaid(self) {
            guard let message = try next() else {
                throw Fault("\(what) is missing: it sent \(words(nil))")
            }
            guard case .report(let report) = message else {
                throw Fault("\(what) is missing: it sent \(words(message))")
            }
            if case .acknowledged = report {
                throw Fault("\(what) is missing: it sent \(words(message))")
            }
        }
    }
}
