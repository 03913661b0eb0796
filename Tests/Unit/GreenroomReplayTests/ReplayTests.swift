import Foundation
import GreenroomPrediction
import Testing

@testable import GreenroomReplay

@Suite struct `A replay` {
    private func launch(_ app: String, at second: Int64, saved: Double = 40) -> Launch {
        Launch(
            time: LocalTime(seconds: second), user: 1000, app: app, savedMilliseconds: saved,
            byteCount: 1 << 20)
    }

    /// There is room for one app. Three seconds after each launch, its app is prepared anew, and it
    /// is used if it comes next.
    @Test func `counts what a hand counts`() {
        let launches = [
            launch("a", at: 0), launch("a", at: 100), launch("b", at: 200), launch("b", at: 300),
            launch("a", at: 400),
        ]
        let outcome = Replay(launches, byteBudget: 1 << 20).run(.recent)
        #expect(outcome.launchCount == 5)
        #expect(outcome.hitCount == 2)
        #expect(outcome.savedMilliseconds == 80)
        #expect(outcome.savableMilliseconds == 200)
        // There is no plan any more after the last launch. Four instances were prepared: two were
        // used, and two dropped for another app.
        #expect(outcome.prepareCount == 4)
        #expect(outcome.wasteCount == 2)
        #expect(outcome.cpuMilliseconds == 160)
        #expect(outcome.peakByteCount == 1 << 20)
    }

    /// The first plan comes three seconds after the launch, and then the work takes its time.
    @Test(arguments: [(3, 0), (4, 1)] as [(Int64, Int)])
    func `saves nothing before the app is ready`(second: Int64, hits: Int) {
        let launches = [launch("a", at: 0, saved: 500), launch("a", at: second, saved: 500)]
        #expect(Replay(launches, byteBudget: 1 << 20).run(.recent).hitCount == hits)
    }

    /// The apps of the last plan are prepared again a second after a launch.
    @Test(arguments: [(101, 1), (102, 2)] as [(Int64, Int)])
    func `does not wait for a plan to prepare again what was launched`(second: Int64, hits: Int) {
        let launches = [0, 100, second].map { launch("a", at: $0, saved: 500) }
        #expect(Replay(launches, byteBudget: 1 << 20).run(.recent).hitCount == hits)
    }

    @Test func `prepares one after the other`() {
        let launches = [
            launch("a", at: 0, saved: 3000), launch("b", at: 10, saved: 3000),
            // Both are prepared: a from 3 to 6, b from 13 to 16.
            launch("c", at: 100, saved: 3000), launch("c", at: 105, saved: 3000),
        ]
        // c is prepared from 103 to 106.
        #expect(Replay(launches, byteBudget: 8 << 20).run(.recent).hitCount == 0)
    }

    @Test func `keeps what is warm until it is launched or its user has logged out`() {
        let launches = [launch("a", at: 0), launch("a", at: 86000), launch("a", at: 1_000_000)]
        let outcome = Replay(launches, byteBudget: 1 << 20).run(.recent)
        // The first is launched a day later; the next one ends a day after that.
        #expect(outcome.prepareCount == 2)
        #expect(outcome.hitCount == 1)
        #expect(outcome.wasteCount == 1)
    }

    @Test func `keeps to the budget under every rule`() {
        let launches = Generator.named("shared")!.launches(seed: 3, days: 2)
        let replay = Replay(launches, byteBudget: 20 << 20)
        for name in RuleName.baselines + RuleName.informed + [.predictor, .without(.value)] {
            let outcome = replay.run(name)
            #expect(outcome.peakByteCount <= 20 << 20)
            #expect(outcome.hitCount > 0, "\(name)")
            #expect(outcome.prepareCount == outcome.hitCount + outcome.wasteCount, "\(name)")
        }
    }

    /// Tests the product's promise in small, with seeds for which nothing was tuned.
    @Test func `the predictor saves more than every baseline`() {
        var report = Report(RuleName.baselines + [.predictor])
        for generator in Generator.all {
            report.add(
                Replay(generator.launches(seed: 1, days: 7), budgetShare: 0.125), generator.name)
        }
        #expect(report.shortfalls == [], "\(report)")
        let gains = report.sources.map { report.gain($0, over: RuleName.baselines) }
        #expect(gains.allSatisfy { $0 >= Report.leastBar }, "\(report)")
        #expect(report.meanGain(over: RuleName.baselines) >= 0.1, "\(report)")
    }
}

@Suite struct `A report` {
    private static func outcomes(
        _ saved: [(RuleName, Double)]
    ) -> [RuleName: Outcome] {
        [RuleName: Outcome](
            uniqueKeysWithValues: saved.map { name, saved in
                var outcome = Outcome()
                (outcome.savedMilliseconds, outcome.savableMilliseconds) = (saved, 400)
                outcome.cpuMilliseconds = 2 * saved
                return (name, outcome)
            })
    }

    /// The decayed count is not one of the rules against which the bars are set.
    @Test(
        arguments: [
            (150, 98, []), (116, 116, []),
            (150, 96, ["b gains -4.0 %, and should gain -3.0 %"]),
            (110, 110, ["the mean of gains is +10.0 %, and should be +15.0 %"]),
        ] as [(Double, Double, [String])])
    func `says what is below the bars`(one: Double, other: Double, shortfalls: [String]) {
        var report = Report(RuleName.baselines + [.predictor])
        for (source, saved) in [("a", one), ("b", other)] {
            report.add(
                Self.outcomes([
                    (.recent, 80), (.frequent, 100), (.mixed, 90), (.decayed, 200),
                    (.predictor, saved),
                ]), source)
        }
        #expect(report.shortfalls == shortfalls)
    }

    @Test func `shows the gain over the plain rules, over all four, and of each history`() {
        var report = Report([.recent, .decayed, .predictor])
        report.add(Self.outcomes([(.recent, 100), (.decayed, 120), (.predictor, 90)]), "a")
        report.add(Self.outcomes([(.recent, 100), (.decayed, 120), (.predictor, 210)]), "a")
        let text = report.description
        #expect(text.contains("best plain rule +50.0 %, against the best of four +25.0 %"))
        #expect(text.contains("mean of gains over the best plain rule +50.0 %, least +50.0 %,"))
        #expect(text.contains("mean of gains over the best of four +25.0 %, least +25.0 %,"))
        #expect(text.hasSuffix("least gain over the best plain rule in one history -10.0 %"))
    }

    /// No single rule is the best on both.
    @Test func `adds up the milliseconds of all histories`() {
        var report = Report([.recent, .frequent, .predictor])
        report.add(Self.outcomes([(.recent, 100), (.frequent, 50), (.predictor, 110)]), "a")
        report.add(Self.outcomes([(.recent, 40), (.frequent, 100), (.predictor, 100)]), "b")
        #expect(abs(report.meanGain(over: RuleName.plain) - 0.05) < 1e-9)
        #expect(abs(report.gainInAll(over: RuleName.plain) - 0.4) < 1e-9)
    }

    @Test func `shows what is lost without each part`() {
        var report = Report([.recent, .predictor, .without(.term(.hour)), .without(.hysteresis)])
        report.add(
            Self.outcomes([
                (.recent, 100), (.predictor, 200), (.without(.term(.hour)), 180),
                (.without(.hysteresis), 202),
            ]), "a")
        let rows = report.description.split(separator: "\n").suffix(4).map {
            $0.split(separator: " ").map(String.init)
        }
        #expect(
            rows == [
                ["a", "mean", "CPU"], ["predictor", "0.0", "0.0", "2.0"],
                ["without", "hour", "5.0", "5.0", "2.0"],
                ["without", "hysteresis", "-0.5", "-0.5", "2.0"],
            ])
    }

    @Test func `of a history in which nothing can be saved shows no gain`() {
        var report = Report([.recent, .predictor])
        report.add(Self.outcomes([(.recent, 0), (.predictor, 0)]), "a")
        #expect(report.gain("a", over: RuleName.plain) == 0)
    }
}

@Suite struct `An ablation` {
    private static let launches = Generator.named("desktop")!.launches(seed: 1, days: 10)
    private static let replay = Replay(launches, budgetShare: 0.125)

    /// Without a difference, the part's row in the report would say nothing.
    @Test(arguments: Ablation.all)
    func `changes what is warm`(ablation: Ablation) {
        #expect(Self.replay.run(.without(ablation)) != Self.replay.run(.predictor))
    }
}

@Suite struct `A generated history` {
    @Test(arguments: Generator.all.map(\.name))
    func `is the same for the same seed`(name: String) {
        let generator = Generator.named(name)!
        let launches = generator.launches(seed: 5, days: 5)
        #expect(launches == generator.launches(seed: 5, days: 5))
        #expect(launches != generator.launches(seed: 6, days: 5))
        #expect(launches.map(\.time) == launches.map(\.time).sorted())
        #expect(launches.allSatisfy { $0.savedMilliseconds >= 3 && $0.savedMilliseconds <= 300 })
        #expect(launches.allSatisfy { $0.byteCount >= 100_000 && $0.byteCount <= 32_000_000 })
    }

    /// Sessions with one app are 68 % of all sessions.
    @Test func `has as many short sessions as its figures say`() {
        let launches = Generator.named("independent")!.launches(seed: 1, days: 60)
        var (sessions, singles, length) = (0, 0, 1)
        for (one, next) in zip(launches, launches.dropFirst()) {
            if next.time.seconds - one.time.seconds < 300 {
                length += 1
            } else {
                sessions += 1
                if length == 1 { singles += 1 }
                length = 1
            }
        }
        let share = Double(singles) / Double(sessions)
        // Sessions that begin within five minutes of another one count as one here.
        #expect(0.5...0.72 ~= share, "\(share)")
    }

    /// De Nadai et al.: the exponent is 1.2, so the most popular of fifty has a share of 0.27 or so.
    @Test func `has the popularity of the study`() {
        let launches = Generator.named("independent")!.launches(seed: 2, days: 60)
        let counts = Dictionary(grouping: launches, by: \.app).mapValues(\.count)
        let share = Double(counts.values.max()!) / Double(launches.count)
        #expect(0.18...0.36 ~= share, "\(share)")
    }
}

@Suite struct `A recorded history` {
    @Test func `is read line by line`() throws {
        let history = try RecordedHistory(
            """
            # SECONDS USER APP SAVED_MS BYTES

            1767571200.75 1000 org.example.editor 41.5 4194304
            1767571260\t1001\torg.example.shell\t0\t0
            """)
        #expect(
            history.launches == [
                Launch(
                    time: LocalTime(seconds: 1_767_571_200), user: 1000, app: "org.example.editor",
                    savedMilliseconds: 41.5, byteCount: 4 << 20),
                Launch(
                    time: LocalTime(seconds: 1_767_571_260), user: 1001, app: "org.example.shell",
                    savedMilliseconds: 0, byteCount: 0),
            ])
    }

    @Test(arguments: [
        "1 1000 app 4", "1 1000 app 4 5 6", "x 1000 app 4 5", "nan 1000 app 4 5",
        "1e300 1000 app 4 5", "1 -1 app 4 5", "1 1000 app -4 5", "1 1000 app inf 5",
        "1 1000 app 4 -5", "5 1000 app 4 5\n4 1000 app 4 5",
    ])
    func `with a fault is refused, with its line`(text: String) {
        let fault = #expect(throws: RecordedHistory.Fault.self) { try RecordedHistory(text) }
        #expect(fault?.line == text.split(separator: "\n").count)
    }

    /// Three launches as the product writes them, the second recorded before the first.
    private static let json = """
        {"app":"b.c","userId":1000,"instance":2,"launchIdentifier":"x",\
        "caller":{"userId":1000,"processId":7},"kind":"prewarmed","requestTimestampUSec":90500000}
        {"app":"a.b","userId":1000,"instance":1,"launchIdentifier":"x",\
        "caller":{"userId":1000,"processId":7},"kind":"cold","requestTimestampUSec":60000000,\
        "elapsedUSec":5000,"somethingNew":[]}

        {"app":"a.b","userId":1001,"instance":3,"launchIdentifier":"x",\
        "caller":{"userId":1001,"processId":7},"kind":"started_anew","requestTimestampUSec":99000000}
        """

    @Test func `is read from the product's JSON`() throws {
        let history = try RecordedHistory(Self.json) { _ in 3600 }
        #expect(history.launches.map(\.time.seconds) == [3660, 3690, 3699])
        #expect(history.launches.map(\.app) == ["a.b", "b.c", "a.b"])
        #expect(history.launches.map(\.user) == [1000, 1000, 1001])
        // No costs were measured.
        #expect(history.launches.allSatisfy { $0.savedMilliseconds == 50 })
        #expect(history.launches.allSatisfy { $0.byteCount == 16 << 20 })
        #expect(history.assumed == ["a.b", "b.c"] && history.byteBudget == nil)
    }

    @Test func `has the costs and the budget of a plan`() throws {
        let plan = """
            {"byteBudget":8388608,"byteCount":0,"onBattery":false,"apps":[{"app":"a.b",\
            "userId":1000,"verdict":"prepare","warm":false,"probability":0.5,\
            "usualProbability":0.5,"terms":[],"savedUSec":41500,"valueUSec":1,"byteCount":4194304}]}
            """
        let history = try RecordedHistory(plan + "\n" + Self.json) { _ in 0 }
        #expect(history.byteBudget == 8 << 20 && history.assumed == ["a.b", "b.c"])
        #expect(history.launches.map(\.savedMilliseconds) == [41.5, 50, 50])
        #expect(history.launches.map(\.byteCount) == [4 << 20, 16 << 20, 16 << 20])
    }

    /// No plan learns from these launches: the daemon's own, another user's, and returns to a
    /// running app.
    @Test(arguments: [
        #""caller":null,"kind":"cold""#, #""kind":"cold""#,
        #""caller":{"userId":0,"processId":1},"kind":"cold""#,
        #""caller":{"userId":1000,"processId":1},"kind":"resume""#,
        #""caller":{"userId":1000,"processId":1},"kind":"foreground""#,
        #""caller":{"userId":1000,"processId":1},"kind":"a kind of the future""#,
    ])
    func `leaves out what plans leave out`(members: String) throws {
        let line = #"{"app":"a","userId":1000,\#(members),"requestTimestampUSec":1}"#
        #expect(try RecordedHistory(line).launches == [])
    }

    @Test(arguments: [
        "{", #"{"app":"a.b"}"#, #"{"requestTimestampUSec":"soon"}"#, #"{"apps":1}"#,
        "1 1000 app 4 5\n{}",
    ])
    func `of JSON with a fault is refused, with its line`(text: String) {
        let fault = #expect(throws: RecordedHistory.Fault.self) { try RecordedHistory(text) }
        #expect(fault?.line == text.split(separator: "\n").count)
    }

    @Test func `is in the machine's local time`() {
        // Noon, in a time zone that the test does not know.
        var (time, parts) = (time_t(1_767_614_400), tm())
        localtime_r(&time, &parts)
        let local = 1_767_614_400 + RecordedHistory.secondsEast(at: 1_767_614_400)
        #expect(LocalTime(seconds: local).hour == Int(parts.tm_hour))
    }

    @Test func `in Tests is replayed`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let file = folder.appending(path: "../../Replay/example.history")
        let history = try RecordedHistory(String(contentsOf: file, encoding: .utf8))
        let outcome = Replay(history.launches, byteBudget: 64 << 20).run(.predictor)
        #expect(outcome.hitCount > outcome.launchCount / 2)
    }
}
