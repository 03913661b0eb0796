import GreenroomControl
import struct GreenroomReplay.RecordedHistory
import TestSupport
import Testing
import VarlinkTestSupport

@testable import GreenroomCommands

/// What `plan`, `explain`, `history --savings` and `report` print.
@Suite struct PictureTests {
    static let hour: Int64 = 3_600_000_000
    static let now: Int64 = 1_700_000_000_000_000

    static func launch(
        _ app: String, _ kind: Control.LaunchKind, hoursAgo: Int64 = 1, ready: Int64 = 20_000
    ) -> Control.LaunchRecord {
        var launch = Control.LaunchRecord(
            app: app, userId: 1, instance: 1, launchIdentifier: "", kind: kind,
            requestTimestampUSec: now - hoursAgo * hour)
        launch.readyUSec = ready
        return launch
    }

    static func pause(
        _ app: String, _ kind: Control.LaunchKind?, hoursAgo: Int64 = 2
    ) -> Control.PauseRecord {
        var pause = Control.PauseRecord(
            app: app, userId: 1, instance: 1, pausedTimestampUSec: now - hoursAgo * hour,
            untilTimestampUSec: now - hoursAgo * hour + hour, byteCount: 4 << 20)
        pause.preparationUSec = 100_000
        pause.processorUSec = 70_000
        pause.kind = kind.map { .known($0) }
        pause.depth = .known(.runtime)
        return pause
    }

    static let rank = Control.PlannedApp(
        app: "a.b", userId: 1, verdict: .prepare, isWarm: false, probability: 0.25,
        usualProbability: 0.125,
        terms: [
            .init(term: .hour, probability: 0.0625, logarithm: -2.8),
            .init(term: .recency, probability: 0.1875, logarithm: -1.7),
        ],
        savedUSec: 100_000, valueUSec: -2_500, byteCount: 4 << 20)

    @Test func `savings count hits, waste and what both cost`() throws {
        let savings = Savings(
            [
                Self.launch("a.b", .prewarmed), Self.launch("a.b", .cold),
                Self.launch("a.b", .resume), Self.launch("c.d", .startedAnew),
            ],
            [
                Self.pause("a.b", .prewarmed), Self.pause("a.b", nil),
                Self.pause("c.d", .startedAnew),
            ])
        let account = try #require(savings.accounts.first)
        #expect(account.app == "a.b" && account.launchCount == 2 && account.hitCount == 1)
        #expect(account.savedUSec == 100_000 && account.processorUSec == 140_000)
        #expect(account.pausedCount == 2 && account.wastedCount == 1)
        #expect(account.wastedProcessorUSec == 70_000 && account.mebibyteHours == 8)
        #expect(savings.sum.launchCount == 3 && savings.sum.wastedCount == 2)
        let text = Report.savings(savings)
        #expect(text.contains("1 (50.0 %)") && text.contains("12.0 MiB h"))
        // Only what served a launch has saved something.
        #expect(savings.sum.depths == ["runtime": .init(hitCount: 1, savedUSec: 100_000)])
        #expect(text.split(separator: "\n").last?.hasPrefix("runtime") == true, "\(text)")
        #expect(Report.savings(Savings([], [])) == "No launches.\n")
    }

    @Test func `a probability is the sum of its terms, the strongest first`() {
        var explanation = Control.Explanation(app: "a.b", isEligible: true)
        explanation.rank = Self.rank
        #expect(
            Report.explanation(explanation).hasSuffix(
                """
                  plan: prepare; worth -2.5 ms of its user's time until the next plan
                    launched next: 25.0 %, usually 12.5 %. Of the former,
                      18.8 %  how recently it was launched
                       6.3 %  how often it was launched at this hour

                """))
    }

    @Test func `a plan shows the budget, the ranking and what would be next`() throws {
        var left = Self.rank
        (left.app, left.verdict) = ("c.\u{1B}d", .known(.noRoom))
        let plan = Control.PlanReport(
            byteBudget: 64 << 20, byteCount: 4 << 20, isOnBattery: true, apps: [Self.rank, left])
        let daemon = try FakeDaemon { received, _ in
            received.call == .plan(app: nil) ? .reply([ControlReply.planned(plan)]) : nil
        }
        #expect(
            try run("plan", on: daemon).output == """
                budget: 64.0 MiB, of which the plan takes 4.0 MiB; on battery
                APP      PLAN     WARM  NEXT    USUALLY  SAVES     WORTH    MEMORY
                a.b      prepare  no    25.0 %  12.5 %   100.0 ms  -2.5 ms  4.0 MiB
                c.\\x1bd  no room  no    25.0 %  12.5 %   100.0 ms  -2.5 ms  4.0 MiB
                next, if there were more room: c.\\x1bd

                """)
        #expect(
            try run("plan", "--json", on: daemon).output.hasPrefix(
                "{\"byteBudget\":67108864,\"byteCount\":4194304,\"onBattery\":true,"))
    }

    @Test func `past launches and that the history is off take one request`() throws {
        let daemon = try FakeDaemon { received, _ in
            guard case .history = received.call else { return nil }
            var page = Control.HistoryPage([Self.launch("a.b", .cold)], next: nil)
            page.isOff = true
            return .reply([ControlReply.history(page)])
        }
        #expect(try run("history", on: daemon).output.hasSuffix("history --on).\n"))
        #expect(daemon.received.count == 1)
    }

    /// `make replay TRACE=` reads what the commands print.
    @Test func `the JSON of past launches and of the plan can be replayed`() throws {
        let launches = [Int64(3), 2, 1].map {
            var launch = Self.launch("a.b", $0 == 3 ? .cold : .prewarmed, hoursAgo: $0)
            launch.caller = .init(userId: 1, processId: 7, program: "a shell")
            return launch
        }
        let plan = Control.PlanReport(
            byteBudget: 64 << 20, byteCount: 4 << 20, isOnBattery: false, apps: [Self.rank])
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .history: .reply([ControlReply.history(.init(launches.reversed(), next: nil))])
            case .plan: .reply([ControlReply.planned(plan)])
            case _: nil
            }
        }
        let text = try run("history", "--json", on: daemon).output
        let recorded = try RecordedHistory(text)
        #expect(recorded.launches.map(\.app) == ["a.b", "a.b", "a.b"])
        #expect(recorded.assumed == ["a.b"] && recorded.byteBudget == nil)
        let both = try RecordedHistory(text + run("plan", "--json", on: daemon).output)
        #expect(both.launches.allSatisfy { $0.savedMilliseconds == 100 })
        #expect(both.byteBudget == 64 << 20 && both.assumed == [])
    }

    @Test(arguments: [Double.nan, .infinity, 1e300, -1e300])
    func `numbers that no text has are shown as a dash`(number: Double) {
        #expect(Phrase.percent(number) == "- %")
    }

    @Test func `the page escapes whatever the daemon says`() {
        let hostile = "</title><script>alert(\"1\")</script>&'\u{1B}"
        let page = ReportPage(
            TimeSpan(from: Self.now - 168 * Self.hour, to: Self.now),
            [Self.launch(hostile, .cold)], [Self.pause(hostile, nil)],
            paused: [Self.pause(hostile + "2", nil)]
        ).html
        #expect(!page.contains("<script") && !page.contains("\u{1B}"))
        #expect(page.contains("&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)"))
        #expect(page.contains("default-src 'none'"))
    }

    @Test func `the page of no launches says so`() {
        let page = ReportPage(TimeSpan(from: 0, to: 0), [], [], paused: []).html
        #expect(page.contains("No launches.") && !page.contains("<svg"))
    }

    /// Numbers of a daemon that lies.
    @Test func `the page shows any number`() {
        var (launch, pause) = (Self.launch("a", .cold), Self.pause("a", nil))
        (launch.requestTimestampUSec, launch.readyUSec) = (.min, .max)
        (pause.pausedTimestampUSec, pause.untilTimestampUSec) = (.min, .max)
        (pause.byteCount, pause.processorUSec) = (.max, .max)
        let page = ReportPage(
            TimeSpan(from: .min, to: .max), [launch, launch], [pause, pause], paused: [pause]
        ).html
        #expect(page.contains("</html>"))
    }

    @Test func `report asks for a week, page by page, and for what is paused now`() throws {
        let daemon = try FakeDaemon { received, _ in
            switch received.call {
            case .history(let query):
                .reply([
                    ControlReply.history(
                        .init(
                            [Self.launch("a.b", .prewarmed)],
                            next: query.before == nil ? 7 : nil))
                ])
            case .pauseHistory:
                .reply([ControlReply.pauseHistory(.init([Self.pause("a.b", .prewarmed)]))])
            case .status: .reply([ControlReply.status([])])
            case _: nil
            }
        }
        let page = try run("report", on: daemon)
        #expect(page.code == 0 && page.output.contains("<b>2</b><span>launches</span>"))
        let queries = daemon.received.compactMap {
            if case .history(let query) = $0.call { query } else { nil }
        }
        #expect(queries.map(\.before) == [nil, 7])
        let since = try #require(queries.first?.sinceTimestampUSec)
        #expect(abs(Phrase.now - since - 168 * Self.hour) < Self.hour)
    }
}
