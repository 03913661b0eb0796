import Glibc
import Testing

@testable import GreenroomPrediction

/// Properties that hold whatever is launched, and the influence of one app on the others.
@Suite struct `Whatever is launched` {
    /// Launches apps at times that jump back and forth, to the ends of the range. Apps come, return
    /// and go.
    private func feed(_ predictor: inout Predictor, seed: UInt64, count: Int) {
        var dice = Dice(state: seed)
        var seconds = monday
        for _ in 0..<count {
            switch dice.below(40) {
            case 0: seconds = [Int64.min, .max, 0, monday][dice.below(4)]
            case 1: seconds &-= Int64(dice.below(1_000_000))
            default: seconds &+= Int64(dice.below(5000))
            }
            let app = "app\(dice.below(1 + dice.below(600)))"
            if dice.below(50) == 0 {
                predictor.forget(app)
            } else {
                predictor.launched(app, at: LocalTime(seconds: seconds))
            }
        }
    }

    private func check(_ predictor: Predictor) {
        #expect(predictor.apps.count <= Predictor.appLimit)
        let places = Set(predictor.apps.indices.map { UInt16($0) })
        #expect(Set(predictor.order) == places)
        #expect(predictor.order.count == places.count)
        for app in predictor.apps {
            #expect(app.followers.count <= Predictor.followerLimit)
            #expect(app.followersOfTwo.count <= Predictor.followerOfTwoLimit)
            #expect(app.followers.allSatisfy { places.contains($0.place) })
            #expect(
                app.followersOfTwo.allSatisfy {
                    places.contains($0.place) && places.contains($0.before)
                })
        }
        for weights in predictor.weights {
            #expect(Term.allCases.allSatisfy { 0...1 ~= weights[$0] })
            #expect(abs(weights.sum - 1) < 1e-9)
        }
    }

    private func check(_ ranking: [Rank]) {
        let sum = ranking.reduce(0) { $0 + $1.probability }
        #expect(ranking.isEmpty || abs(sum - 1) < 1e-9)
        for rank in ranking {
            #expect(rank.probability.isFinite && 0...1 ~= rank.probability)
            #expect(Term.allCases.allSatisfy { 0...1 ~= rank.terms[$0] })
            #expect(0...1 ~= rank.usualProbability)
        }
        #expect(ranking.map(\.probability) == ranking.map(\.probability).sorted(by: >))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `probabilities are numbers and add up to one`(seed: UInt64) {
        var predictor = Predictor()
        for round in 0..<10 {
            feed(&predictor, seed: seed &* 100 &+ UInt64(round), count: 100)
            check(predictor)
            for seconds in [Int64.min, monday, .max] {
                check(predictor.ranking(at: LocalTime(seconds: seconds)))
            }
        }
    }

    @Test func `the same launches give the same ranking`() {
        var (one, other) = (Predictor(), Predictor())
        feed(&one, seed: 7, count: 500)
        feed(&other, seed: 7, count: 500)
        #expect(one == other)
        #expect(one.ranking(at: moment()) == other.ranking(at: moment()))
    }

    /// Names have the greatest length, and there is no habit at all, so that every list gets full.
    @Test func `an app costs at most 4 kB`() {
        var dice = Dice(state: 5)
        var predictor = Predictor()
        for number in 0..<8000 {
            let app = "\(dice.below(48)) "
            predictor.launched(
                app + String(repeating: "n", count: 255 - app.utf8.count),
                at: LocalTime(seconds: monday + Int64(number * 400)))
        }
        #expect(predictor.apps.allSatisfy { $0.followers.count == Predictor.followerLimit })
        #expect(
            predictor.apps.allSatisfy { $0.followersOfTwo.count == Predictor.followerOfTwoLimit })
        let most = predictor.apps.map(\.byteCount).max()!
        #expect(most > 1000, "the sum has all parts")
        #expect(most <= 4096, "\(most) bytes")
    }

    @Test func `a name that is too long teaches nothing`() {
        var predictor = Predictor()
        predictor.launched(String(repeating: "x", count: 256), at: moment())
        #expect(predictor.apps.count == 0)
        predictor.launched(String(repeating: "x", count: 255), at: moment())
        #expect(predictor.apps.count == 1)
    }
}

@Suite struct `One app against the others` {
    /// Two weeks of a user with five apps, some of them used more than others.
    private func habits() -> Predictor {
        var predictor = Predictor()
        for day in 0..<14 {
            for (minute, app) in [
                "mail", "editor", "shell", "editor", "browser", "editor", "shell",
            ]
            .enumerated() {
                predictor.launched(app, at: moment(day: day, minute: minute * 3))
            }
        }
        predictor.launched("music", at: moment(day: 13, hour: 10))
        return predictor
    }

    @Test func `an app launched in a loop teaches thirty launches, then one a minute`() {
        var predictor = habits()
        for second in 0..<3600 {
            predictor.launched("loop", at: moment(day: 14, hour: 3, second: second))
        }
        let count = predictor.apps.first { $0.app == "loop" }!.count
        #expect(count <= 30 + 60 + 1)
        #expect(count >= 80)
    }

    /// The app is compared with one launch of it, which is enough to learn. The loop takes a part of
    /// what each term gives to the others, and more of some terms than of others.
    @Test func `an app launched in a loop takes little of the odds between the others`() {
        var before = habits()
        var after = before
        before.launched("loop", at: moment(day: 14, hour: 3))
        for second in 0..<7200 {
            after.launched("loop", at: moment(day: 14, hour: 3, second: second))
        }
        #expect(after.weights == before.weights)
        let morning = moment(day: 14, hour: 9)
        let former = before.ranking(at: morning).map(\.app).filter { $0 != "loop" }
        for (one, other) in zip(former, former.dropFirst()) {
            func distance(_ predictor: Predictor) -> Double {
                log(
                    predictor.rank(one, at: morning).probability
                        / predictor.rank(other, at: morning).probability)
            }
            let factor = exp(abs(distance(after) - distance(before)))
            #expect(factor < 3, "\(one) against \(other)")
        }
        // The loop does not keep the others from being warm, either.
        let plan = WarmPlan(
            after.ranking(at: morning).map {
                Candidate(
                    user: 1, app: $0.app, probability: $0.probability,
                    usualProbability: $0.usualProbability, savedMilliseconds: 40,
                    byteCount: 4 << 20, cpuMilliseconds: 40, isWarm: false)
            }, users: [PlannedUser(user: 1)], byteBudget: 64 << 20)
        for app in former { #expect(plan.isWarm(app, of: 1), "\(app)") }
    }

    @Test func `two thousand new apps do not drive out those in use`() {
        var predictor = habits()
        for number in 0..<2000 {
            predictor.launched("new\(number)", at: moment(day: 14, hour: 3, second: number))
        }
        #expect(predictor.apps.count == Predictor.appLimit)
        for app in ["mail", "editor", "shell", "browser"] { #expect(predictor.remembers(app)) }
    }
}

extension Habits {
    /// The size of the habits, with reserves of their arrays, headers, and their place in the table
    /// and in the order of recency.
    fileprivate var byteCount: Int {
        MemoryLayout<Habits>.stride + MemoryLayout<UInt16>.stride + 32 + app.utf8.count
            + hours.byteCount + weekdays.byteCount + followers.byteCount + followersOfTwo.byteCount
    }
}

extension Array {
    fileprivate var byteCount: Int { 32 + capacity * MemoryLayout<Element>.stride }
}
