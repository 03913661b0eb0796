internal import Glibc
internal import GreenroomControl
internal import GreenroomPrediction

/// Which apps are worth their memory, judged by past launches.
///
/// Nothing that is learned here is kept: each plan learns again from the rows, so that nothing
/// remains of a row that is deleted.
extension LaunchTable {
    /// A plan learns from at most this many launches of a user, and from as many paused instances;
    /// fewer if there are many users.
    private static let startsPerUser = 1000
    private static let startsPerPlan = 20_000
    /// While memory is short, memory costs this many times as much, so that only apps that save a
    /// lot, or are launched all the time, are kept.
    private static let shortMemoryFactor = 10.0

    /// A plan, and the ranks that it was made from.
    private struct Worth {
        var plan: WarmPlan
        var ranks: [UInt32: [String: Rank]]
    }

    /// - Parameter now: CLOCK_REALTIME in microseconds.
    /// - Returns: the identifiers of the apps to keep warm, in the plan's order (`WarmPlan.entries`).
    func plan(_ request: PlanRequest, now: Int64) throws(DatabaseError) -> [String] {
        try worth(request, now: now).plan.entries
            .filter { $0.verdict <= .prepare }.map(\.candidate.app)
    }

    /// - Parameters:
    ///   - app: only this app; nil means every app.
    ///   - user: only this user's apps; nil means all.
    ///   - now: CLOCK_REALTIME in microseconds.
    func rank(
        _ request: PlanRequest, app: String?, user: UInt32?, now: Int64
    ) throws(DatabaseError) -> Control.PlanReport {
        let worth = try worth(request, now: now)
        let entries = worth.plan.entries.filter {
            (user == nil || $0.candidate.user == user) && (app == nil || $0.candidate.app == app)
        }
        var report = Control.PlanReport(
            byteBudget: request.byteBudget, isOnBattery: request.isOnBattery)
        for entry in entries where entry.verdict <= .prepare {
            report.byteCount += entry.candidate.byteCount
        }
        for entry in entries.prefix(Control.PlanReport.appLimit) {
            guard let rank = worth.ranks[entry.candidate.user]?[entry.candidate.app] else {
                continue
            }
            report.apps.append(Control.PlannedApp(entry, rank))
        }
        return report
    }

    private func worth(_ request: PlanRequest, now: Int64) throws(DatabaseError) -> Worth {
        var allRanks: [UInt32: [String: Rank]] = [:]
        let apps = Dictionary(grouping: request.apps, by: \.user)
        let limit = min(Self.startsPerUser, Self.startsPerPlan / max(1, apps.count))
        let time = LocalTime(microseconds: now)
        var candidates: [Candidate] = []
        var users: [PlannedUser] = []
        for (user, apps) in apps {
            var predictor = Predictor()
            let starts = try starts(of: user, limit: limit)
            for start in starts.reversed() {
                predictor.launched(
                    start.app, at: LocalTime(microseconds: start.requestTimestampUSec))
            }
            let pauses = try latestPauses(
                of: user, perApp: MeasuredCosts.sampleLimit, limit: limit)
            let costs = MeasuredCosts(pauses, starts)
            users.append(PlannedUser(user: user, activity: predictor.activity(at: time)))
            var ranks: [String: Rank] = [:]
            for rank in predictor.ranking(at: time) { ranks[rank.app] = rank }
            allRanks[user] = ranks
            for app in apps {
                guard let rank = ranks[app.app] else { continue }
                candidates.append(
                    Candidate(
                        user: user, app: app.app, probability: rank.probability,
                        usualProbability: rank.usualProbability,
                        savedMilliseconds: costs.saved(app), byteCount: app.byteCount,
                        cpuMilliseconds: costs.taken(app), isWarm: app.isWarm))
            }
        }
        var prices = Prices()
        if request.isMemoryShort { prices.perMebibyte *= Self.shortMemoryFactor }
        let plan = WarmPlan(
            candidates, users: users, byteBudget: request.byteBudget,
            onBattery: request.isOnBattery, prices: prices)
        return Worth(plan: plan, ranks: allRanks)
    }

    /// The launches that the user asked for and that started a process of the user's own apps, the
    /// latest first. So no user influences what is learned about another.
    private func starts(
        of user: UInt32, limit: Int
    ) throws(DatabaseError) -> [Control.LaunchRecord] {
        var starts: [Control.LaunchRecord] = []
        try database.execute(
            """
            SELECT \(Self.launchColumns) FROM launches WHERE user = ?1 AND caller_user = ?1
                AND kind IN ('cold', 'prewarmed', 'started_anew') ORDER BY id DESC LIMIT ?2
            """, [.init(user), .init(limit)]
        ) { starts.append(Control.LaunchRecord($0)) }
        return starts
    }
}

extension Control.PlannedApp {
    fileprivate init(_ entry: WarmPlan.Entry, _ rank: Rank) {
        let candidate = entry.candidate
        self.init(
            app: candidate.app, userId: candidate.user, verdict: .init(entry.verdict),
            isWarm: candidate.isWarm, probability: rank.probability,
            usualProbability: rank.usualProbability,
            terms: Term.allCases.map {
                Control.TermShare(
                    term: .init($0), probability: rank.terms[$0],
                    logarithm: log(max(rank.terms[$0], 1e-4)))
            },
            savedUSec: Int64(candidate.savedMilliseconds * 1000),
            valueUSec: Int64(entry.value * 1000), byteCount: candidate.byteCount)
    }
}

extension Control.PlanVerdict {
    fileprivate init(_ verdict: WarmPlan.Verdict) {
        switch verdict {
        case .keep: self = .keep
        case .prepare: self = .prepare
        case .noRoom: self = .noRoom
        case .notWorthIt: self = .notWorthIt
        }
    }
}

extension Control.PlanTerm {
    fileprivate init(_ term: Term) {
        switch term {
        case .recency: self = .recency
        case .frequency: self = .frequency
        case .follows: self = .follows
        case .followsTwo: self = .followsTwo
        case .hour: self = .hour
        case .weekday: self = .weekday
        case .begins: self = .begins
        }
    }
}

extension LocalTime {
    /// A time of CLOCK_REALTIME as the machine's time zone shows it (localtime_r).
    fileprivate init(microseconds: Int64) {
        var seconds = time_t(microseconds / 1_000_000)
        var parts = unsafe tm()
        unsafe localtime_r(&seconds, &parts)
        self.init(seconds: Int64(seconds) + Int64(unsafe parts.tm_gmtoff))
    }
}
