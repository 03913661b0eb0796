import Testing

@testable import GreenroomPrediction

@Suite struct `The predictor` {
    @Test func `knows nothing at first`() {
        #expect(Predictor().ranking(at: moment()).isEmpty)
        #expect(Predictor().apps.count == 0)
    }

    @Test func `expects the only app that it knows`() {
        var predictor = Predictor()
        predictor.launched("editor", at: moment())
        let ranking = predictor.ranking(at: moment(minute: 1))
        #expect(ranking.map(\.app) == ["editor"])
        #expect(abs(ranking[0].probability - 1) < 1e-9)
    }

    /// Each app was launched once, within a minute. So all terms have the same counts for both
    /// apps, except recency and begins. Recency is 1 and 1/2 before anything was learned, which
    /// makes 2/3 and 1/3. Begins is one and none, each with the weight 10 for one half, which makes
    /// 6/11 and 5/11. Each term weighs a seventh.
    @Test func `gives the sum of its terms, computed by hand`() {
        var predictor = Predictor()
        predictor.launched("editor", at: moment())
        predictor.launched("shell", at: moment(second: 1))
        let now = moment(second: 2)
        let (editor, shell) = (predictor.rank("editor", at: now), predictor.rank("shell", at: now))
        func isNear(_ one: Double, _ other: Double) -> Bool { abs(one - other) < 1e-5 }
        #expect(isNear(editor.terms[.recency], 1 / 3.0 / 7))
        #expect(isNear(shell.terms[.recency], 2 / 3.0 / 7))
        #expect(isNear(editor.terms[.begins], 6 / 11.0 / 7))
        #expect(isNear(shell.terms[.begins], 5 / 11.0 / 7))
        for term in [Term.frequency, .follows, .followsTwo, .hour, .weekday] {
            #expect(isNear(editor.terms[term], 1 / 2.0 / 7), "\(term)")
            #expect(isNear(shell.terms[term], 1 / 2.0 / 7), "\(term)")
        }
        #expect(isNear(editor.probability, (5 / 2.0 + 1 / 3.0 + 6 / 11.0) / 7))
        #expect(isNear(editor.probability + shell.probability, 1))
    }

    /// As above, but now the editor is launched again. The weights are then the average over this
    /// launch and ten in which each term had a seventh.
    @Test func `moves its weights to the part of each term, computed by hand`() {
        var predictor = Predictor()
        predictor.launched("editor", at: moment())
        predictor.launched("shell", at: moment(second: 1))
        predictor.launched("editor", at: moment(second: 2))
        let (weights, all) = (predictor.weights[0], 5 / 2.0 + 1 / 3.0 + 6 / 11.0)
        func isNear(_ one: Double, _ other: Double) -> Bool { abs(one - other) < 1e-5 }
        #expect(isNear(weights[.frequency], (10 / 7.0 + 1 / 2.0 / all) / 11))
        #expect(isNear(weights[.recency], (10 / 7.0 + 1 / 3.0 / all) / 11))
        #expect(isNear(weights[.begins], (10 / 7.0 + 6 / 11.0 / all) / 11))
        #expect(isNear(weights.sum, 1))
        // There was no rest.
        #expect(predictor.weights[1] == predictor.weights[2])
        #expect(isNear(predictor.weights[1][.begins], 1 / 7.0))
    }

    /// In the evening, the weights that count are those for the next launch, and it comes in the
    /// morning.
    @Test func `learns what comes next, even if that is after a night`() {
        var predictor = Predictor()
        for day in 0..<20 {
            predictor.launched("mail", at: moment(day: day, hour: 8))
            for round in 0..<4 {
                predictor.launched("editor", at: moment(day: day, hour: 9, minute: round * 10))
                predictor.launched("shell", at: moment(day: day, hour: 9, minute: round * 10 + 5))
            }
            predictor.launched("music", at: moment(day: day, hour: 20))
        }
        let evening = moment(day: 19, hour: 20, second: 3)
        #expect(predictor.setting(at: evening) == .soon)
        #expect(predictor.first(at: evening) == "mail")
        #expect(predictor.weights[0] != predictor.weights[2])
        #expect(predictor.rank("mail", at: evening).probability > 0.5)
    }

    @Test func `learns what follows what`() {
        var predictor = Predictor()
        for round in 0..<20 {
            for (number, app) in ["mail", "browser", "editor", "shell"].enumerated() {
                predictor.launched(app, at: moment(hour: 9, minute: round * 8 + number * 2))
            }
        }
        // The last launch was shell, which mail follows. Mail is neither the most recent nor the
        // most frequent.
        let now = moment(hour: 11, minute: 39)
        #expect(predictor.first(at: now) == "mail")
        let (mail, browser) = (predictor.rank("mail", at: now), predictor.rank("browser", at: now))
        #expect(mail.terms[.follows] > browser.terms[.follows])
        #expect(mail.terms[.followsTwo] > browser.terms[.followsTwo])
        predictor.launched("mail", at: now)
        #expect(predictor.first(at: now) == "browser")
    }

    @Test func `tells what follows two apps from what follows the last`() {
        var predictor = Predictor(without: [.recency, .hour, .weekday, .begins])
        for round in 0..<30 {
            let apps = round % 2 == 0 ? ["a", "x", "b"] : ["c", "x", "d"]
            for (number, app) in apps.enumerated() {
                predictor.launched(app, at: moment(minute: round * 9 + number * 3))
            }
        }
        let end = moment(minute: 300)
        predictor.launched("a", at: end)
        predictor.launched("x", at: end)
        #expect(predictor.first(at: end) == "b")
        predictor.launched("c", at: end)
        predictor.launched("x", at: end)
        #expect(predictor.first(at: end) == "d")
    }

    @Test func `learns the hour`() {
        var predictor = Predictor()
        for day in 0..<14 {
            predictor.launched("news", at: moment(day: day, hour: 8))
            predictor.launched("game", at: moment(day: day, hour: 21))
        }
        let (morning, evening) = (moment(day: 14, hour: 8), moment(day: 14, hour: 21))
        #expect(
            predictor.rank("news", at: morning).terms[.hour]
                > predictor.rank("game", at: morning).terms[.hour])
        #expect(
            predictor.rank("game", at: evening).terms[.hour]
                > predictor.rank("news", at: evening).terms[.hour])
    }

    @Test func `learns the day of the week`() {
        var predictor = Predictor()
        for day in 0..<28 {
            predictor.launched(day % 7 < 5 ? "office" : "photos", at: moment(day: day))
        }
        let (saturday, tuesday) = (moment(day: 33), moment(day: 29))
        func weekday(_ app: String, _ time: LocalTime) -> Double {
            predictor.rank(app, at: time).terms[.weekday]
        }
        #expect(weekday("photos", saturday) > weekday("photos", tuesday))
        #expect(weekday("office", tuesday) > weekday("office", saturday))
    }

    @Test func `learns what a session begins with`() {
        var predictor = Predictor()
        for day in 0..<10 {
            for (minute, app) in ["mail", "editor", "shell", "editor", "shell"].enumerated() {
                predictor.launched(app, at: moment(day: day, minute: minute))
            }
        }
        let morning = moment(day: 10)
        #expect(
            predictor.rank("mail", at: morning).terms[.begins]
                > predictor.rank("editor", at: morning).terms[.begins])
        #expect(predictor.first(at: morning) == "mail", "although it is launched least")
    }

    @Test func `forgets by half in ten days`() {
        var predictor = Predictor()
        predictor.launched("old", at: moment())
        predictor.launched("old", at: moment(minute: 1))
        predictor.launched("new", at: moment(day: 10, minute: 1))
        let now = moment(day: 10, minute: 1)
        let frequency = { (app: String) in
            predictor.rank(app, at: now).terms[.frequency] * 7
        }
        // The old app has two launches that count half, and the new one has one.
        #expect(abs(frequency("old") - 0.5) < 1e-3)
        #expect(abs(frequency("new") - 0.5) < 1e-3)
    }

    @Test func `trusts a term that was right more than one that was wrong`() {
        func weights(without excluded: Set<Term>) -> Terms {
            var predictor = Predictor(without: excluded)
            for round in 0..<600 {
                predictor.launched(
                    ["a", "b", "c", "d", "e"][round % 5], at: moment(minute: round * 3))
            }
            return predictor.weights[0]
        }
        // The least recent of five is next, each time. Without this term, others explain it.
        #expect(weights(without: [])[.recency] > 0.5)
        #expect(weights(without: [.recency])[.followsTwo] > 0.5)
        #expect(weights(without: [.recency, .followsTwo])[.follows] > 0.5)
        #expect(weights(without: [])[.frequency] < 0.1)
    }

    @Test func `forgets an app and renames none`() {
        var predictor = Predictor()
        for round in 0..<40 {
            predictor.launched(["a", "b", "c", "d"][round % 4], at: moment(minute: round))
        }
        predictor.forget("a")
        #expect(!predictor.remembers("a"))
        #expect(predictor.apps.count == 3)
        #expect(Set(predictor.ranking(at: moment(minute: 41)).map(\.app)) == ["b", "c", "d"])
        // d was last, and c is still followed by d, under whatever place d has now.
        let d = predictor.apps.firstIndex { $0.app == "d" }!
        let c = predictor.apps.first { $0.app == "c" }!
        #expect(c.followers.map { Int($0.place) } == [d])
        predictor.forget("unknown")
        #expect(predictor.apps.count == 3)
        for app in ["b", "c", "d"] { predictor.forget(app) }
        #expect(predictor.ranking(at: moment()).isEmpty)
    }
}

@Suite struct `Local time` {
    @Test(
        arguments: [
            (0, 0, 3), (86399, 23, 3), (86400, 0, 4), (-1, 23, 2), (-86400, 0, 2),
            (4 * 86400, 0, 0), (monday, 0, 0), (monday + 6 * 86400 + 3600, 1, 6),
        ] as [(Int64, Int, Int)])
    func `has an hour and a day`(seconds: Int64, hour: Int, weekday: Int) {
        #expect(LocalTime(seconds: seconds).hour == hour)
        #expect(LocalTime(seconds: seconds).weekday == weekday)
    }

    @Test(arguments: [Int64.min, .min + 1, -1, .max - 1, .max])
    func `has them at every number`(seconds: Int64) {
        #expect(0..<24 ~= LocalTime(seconds: seconds).hour)
        #expect(0..<7 ~= LocalTime(seconds: seconds).weekday)
    }

    @Test func `does not run backwards`() {
        let (early, late) = (LocalTime(seconds: .min), LocalTime(seconds: .max))
        #expect(early.elapsed(since: late) == 0)
        #expect(late.elapsed(since: early) > 1e18)
        #expect(moment(minute: 1).elapsed(since: moment()) == 60)
    }
}
