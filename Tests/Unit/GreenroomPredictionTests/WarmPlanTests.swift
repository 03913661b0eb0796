import GreenroomPrediction
import Testing

@Suite struct `A plan` {
    private func candidate(
        _ app: String, of user: UInt32 = 1, probability: Double, usually: Double? = nil,
        saved: Double = 100, mebibytes: UInt64 = 1, cpu: Double = 0, isWarm: Bool = false
    ) -> Candidate {
        Candidate(
            user: user, app: app, probability: probability,
            usualProbability: usually ?? probability, savedMilliseconds: saved,
            byteCount: mebibytes << 20, cpuMilliseconds: cpu, isWarm: isWarm)
    }

    private func plan(
        _ candidates: [Candidate], mebibytes: UInt64, users: [PlannedUser] = [PlannedUser(user: 1)],
        onBattery: Bool = false
    ) -> WarmPlan {
        WarmPlan(candidates, users: users, byteBudget: mebibytes << 20, onBattery: onBattery)
    }

    /// 0.5 × 100 ms − 4 × 0.002 − 60 × 0.001 is 49.932. In addition, a change costs 60 × 0.005.
    @Test(
        arguments: [
            (false, 0.5, 49.932, 49.932), (false, 0, 49.932, 49.632),
            (true, 0.5, 49.992, 50.292), (true, 0, 49.992, 49.992),
        ] as [(Bool, Double, Double, Double)])
    func `has the value and the merit that are computed by hand`(
        isWarm: Bool, usually: Double, value: Double, merit: Double
    ) {
        let entry = plan(
            [
                candidate(
                    "a", probability: 0.5, usually: usually, mebibytes: 4, cpu: 60,
                    isWarm: isWarm)
            ], mebibytes: 4
        ).entries[0]
        #expect(abs(entry.value - value) < 1e-9)
        #expect(abs(entry.merit - merit) < 1e-9)
        #expect(entry.verdict == (isWarm ? .keep : .prepare))
    }

    @Test func `takes what saves most for each byte`() {
        // Expected: 20 ms in 4 MiB, 18 in 2, 4 in 2. The first does not fit beside either other.
        let plan = plan(
            [
                candidate("large", probability: 0.2, mebibytes: 4),
                candidate("small", probability: 0.18, mebibytes: 2),
                candidate("rare", probability: 0.04, mebibytes: 2),
            ], mebibytes: 5)
        #expect(plan.entries.map(\.candidate.app) == ["small", "large", "rare"])
        #expect(plan.entries.map(\.verdict) == [.prepare, .noRoom, .prepare])
        #expect(plan.byteCount == 4 << 20)
    }

    @Test func `prefers one app that is worth more than all others that fit together`() {
        let plan = plan(
            [
                candidate("small", probability: 0.1, mebibytes: 1),
                candidate("large", probability: 0.8, mebibytes: 10),
            ], mebibytes: 10)
        #expect(plan.isWarm("large", of: 1))
        #expect(!plan.isWarm("small", of: 1))
    }

    /// Expected: 6 ms in 1 MiB, and 10 ms in each 2. In the order of value for each byte, the small
    /// app comes first, and only one of the two others fits beside it.
    @Test func `leaves out the best per byte if others then fill the room better`() {
        let plan = plan(
            [
                candidate("small", probability: 0.06, mebibytes: 1),
                candidate("one", probability: 0.1, mebibytes: 2),
                candidate("other", probability: 0.1, mebibytes: 2),
            ], mebibytes: 4)
        #expect(plan.entries.map(\.candidate.app) == ["small", "one", "other"])
        #expect(plan.entries.map(\.verdict) == [.noRoom, .prepare, .prepare])
    }

    @Test func `leaves out what costs more than it saves, even if there is room`() {
        let plan = plan(
            [candidate("never", probability: 0.0005, saved: 50, cpu: 50)], mebibytes: 100)
        #expect(plan.entries[0].verdict == .notWorthIt)
        #expect(plan.byteCount == 0)
    }

    @Test func `spends less from a battery`() {
        let seldom = [candidate("seldom", probability: 0.01, saved: 50, cpu: 50)]
        #expect(plan(seldom, mebibytes: 8).isWarm("seldom", of: 1))
        #expect(!plan(seldom, mebibytes: 8, onBattery: true).isWarm("seldom", of: 1))
        // It does not throw away what is there.
        let warm = [candidate("seldom", probability: 0.01, saved: 50, cpu: 50, isWarm: true)]
        #expect(plan(warm, mebibytes: 8, onBattery: true).isWarm("seldom", of: 1))
    }

    /// Two apps have 100 ms of work each. If one of them comes only for a moment, it must be better
    /// by 1.1 ms of expected time than one that is usually warm.
    @Test(arguments: [(0.108, false), (0.115, true)])
    func `replaces an app for a moment only by one that is worth the work of both changes`(
        probability: Double, changes: Bool
    ) {
        let plan = plan(
            [
                candidate("warm", probability: 0.1, usually: 0.1, cpu: 100, isWarm: true),
                candidate("other", probability: probability, usually: 0.05, cpu: 100),
            ], mebibytes: 1)
        #expect(plan.isWarm("other", of: 1) == changes)
        #expect(plan.isWarm("warm", of: 1) == !changes)
    }

    @Test func `replaces an app for good as soon as another is usually better`() {
        let plan = plan(
            [
                candidate("warm", probability: 0.1, usually: 0.1, cpu: 100, isWarm: true),
                candidate("other", probability: 0.105, usually: 0.105, cpu: 100),
            ], mebibytes: 1)
        #expect(plan.isWarm("other", of: 1))
    }

    @Test func `does not go back and forth between two apps that are much alike`() {
        var (warm, changes) = ("a", 0)
        var dice = Dice(state: 3)
        for _ in 0..<1000 {
            let plan = plan(
                ["a", "b"].map {
                    candidate(
                        $0, probability: 0.1 + 0.01 * dice.unit(), usually: 0.105, cpu: 100,
                        isWarm: $0 == warm)
                }, mebibytes: 1)
            let next = plan.isWarm("a", of: 1) ? "a" : "b"
            if next != warm { changes += 1 }
            warm = next
        }
        #expect(changes == 0)
    }

    // MARK: Users

    @Test func `keeps a share for each user, whoever launches more`() {
        let busy = (0..<20).map { candidate("busy\($0)", of: 1, probability: 0.05) }
        let quiet = (0..<20).map { candidate("quiet\($0)", of: 2, probability: 0.05) }
        let plan = plan(
            busy + quiet, mebibytes: 16,
            users: [PlannedUser(user: 1, activity: 1e6), PlannedUser(user: 2, activity: 0.1)])
        let warm = plan.entries.filter { $0.verdict == .prepare }
        #expect(warm.count { $0.candidate.user == 2 } == 4, "a half of half of the budget")
        #expect(warm.count { $0.candidate.user == 1 } == 12)
    }

    @Test func `gives what a user does not need to the others`() {
        let plan = plan(
            [candidate("only", of: 2, probability: 1)]
                + (0..<20).map { candidate("busy\($0)", of: 1, probability: 0.05) }, mebibytes: 16,
            users: [PlannedUser(user: 1), PlannedUser(user: 2)])
        #expect(plan.byteCount == 16 << 20)
        #expect(plan.isWarm("only", of: 2))
    }

    @Test func `has nothing for a user who is not there`() {
        let plan = plan(
            [candidate("a", of: 2, probability: 1), candidate("b", of: 1, probability: 0.1)],
            mebibytes: 16)
        #expect(!plan.isWarm("a", of: 2))
        #expect(plan.isWarm("b", of: 1))
    }

    @Test func `many users without activity leave the share of one`() {
        let crowd = (2..<34).flatMap { user in
            (0..<8).map { candidate("app\($0)", of: UInt32(user), probability: 0.9) }
        }
        let mine = (0..<8).map { candidate("app\($0)", of: 1, probability: 0.9) }
        let users = (1..<34).map { PlannedUser(user: UInt32($0), activity: .nan) }
        let plan = plan(mine + crowd, mebibytes: 66, users: users)
        let warm = plan.entries.filter { $0.verdict == .prepare && $0.candidate.user == 1 }
        #expect(warm.count >= 1)
        #expect(plan.byteCount <= 66 << 20)
    }

    // MARK: Numbers that lie

    @Test func `counts no launch for more than five seconds`() {
        let plan = plan(
            [
                candidate("slow on purpose", probability: 0.01, saved: .greatestFiniteMagnitude),
                candidate("honest", probability: 0.9, saved: 200),
            ], mebibytes: 1)
        #expect(plan.isWarm("honest", of: 1))
    }

    @Test func `is not confused by impossible numbers`() {
        let odd = [Double.nan, .infinity, -.infinity, -1, 0, 1e308, .leastNonzeroMagnitude]
        var candidates: [Candidate] = []
        for (number, probability) in odd.enumerated() {
            for (other, saved) in odd.enumerated() {
                for size in [0, 1, 1 << 20, UInt64.max] {
                    candidates.append(
                        Candidate(
                            user: 1, app: "\(number) \(other) \(size)", probability: probability,
                            usualProbability: saved, savedMilliseconds: saved, byteCount: size,
                            cpuMilliseconds: odd[(number + other) % odd.count], isWarm: other == 1))
                }
            }
        }
        let users = [
            PlannedUser(user: 1, activity: .infinity), PlannedUser(user: 2, activity: -.nan),
        ]
        let plan = WarmPlan(candidates, users: users, byteBudget: 1 << 30)
        #expect(plan.entries.count == candidates.count)
        #expect(plan.entries.allSatisfy { $0.value.isFinite && $0.merit.isFinite })
        #expect(plan.byteCount <= 1 << 30)
    }

    // MARK: Properties

    /// Compares the plan with every subset, when nothing is warm and nothing costs anything.
    @Test func `is the best that could be chosen`() {
        var dice = Dice(state: 11)
        for _ in 0..<200 {
            let candidates = (0..<8).map {
                candidate(
                    "\($0)", probability: dice.unit() / 4, saved: 10 + 90 * dice.unit(),
                    mebibytes: UInt64(1 + dice.below(8)))
            }
            let plan = plan(candidates, mebibytes: 12)
            let mine = plan.entries.filter { $0.verdict == .prepare }.reduce(0) { $0 + $1.value }
            var optimum = 0.0
            for subset in 0..<(1 << 8) {
                let chosen = (0..<8).filter { subset & (1 << $0) != 0 }.map { plan.entries[$0] }
                guard chosen.reduce(0, { $0 + $1.candidate.byteCount }) <= 12 << 20 else {
                    continue
                }
                optimum = max(optimum, chosen.reduce(0) { $0 + $1.value })
            }
            #expect(abs(mine - optimum) < 1e-6)
        }
    }

    @Test func `does not depend on the order of the candidates, and keeps to the budget`() {
        var dice = Dice(state: 12)
        for _ in 0..<50 {
            var candidates = (0..<30).map {
                candidate(
                    "\($0)", of: UInt32($0 % 3), probability: dice.unit() / 10,
                    saved: 100 * dice.unit(), mebibytes: UInt64(dice.below(9)),
                    cpu: 100 * dice.unit(), isWarm: dice.below(2) == 0)
            }
            let users = (0..<3).map {
                PlannedUser(user: $0, activity: dice.unit(), hasShare: dice.below(3) > 0)
            }
            let one = plan(candidates, mebibytes: 20, users: users)
            candidates.reverse()
            #expect(plan(candidates, mebibytes: 20, users: users) == one)
            let warm = one.entries.filter { $0.verdict <= .prepare }
            #expect(warm.reduce(0) { $0 + $1.candidate.byteCount } == one.byteCount)
            #expect(one.byteCount <= 20 << 20)
            #expect(warm.allSatisfy { $0.value > 0 })
        }
    }
}
