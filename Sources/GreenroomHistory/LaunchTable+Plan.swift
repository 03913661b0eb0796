internal import Glibc
internal import GreenroomControl
internal import GreenroomPrediction

/// Which apps are worth their memory, by past launches.
///
/// Nothing is kept of what is learned here: each plan learns anew from the rows, so what is
/// forgotten of them is forgotten altogether.
extension LaunchTable {
    /// At most this many launches of a user teach, the latest; fewer if there are many users.
    private static let startsPerUser = 1000
    private static let startsPerPlan = 20_000
    /// What preparing an instance takes as long as nobody has measured it, in milliseconds.
    private static let assumedPreparation = 50.0

    /// - Parameter now: CLOCK_REALTIME in microseconds.
    /// - Returns: the identifiers of the apps to keep warm, the best for each byte first.
    func plan(_ request: PlanRequest, now: Int64) throws(DatabaseError) -> [String] {
        let apps = Dictionary(grouping: request.apps, by: \.user)
        let limit = min(Self.startsPerUser, Self.startsPerPlan / max(1, apps.count))
        let time = LocalTime(microseconds: now)
        var candidates: [Candidate] = []
        var users: [Presence] = []
        for (user, apps) in apps {
            var predictor = Predictor()
            for start in try starts(of: user, limit: limit) {
                predictor.launched(start.app, at: LocalTime(microseconds: start.requested))
            }
            users.append(Presence(user: user, activity: predictor.activity(at: time)))
            var ranks: [String: Rank] = [:]
            for rank in predictor.ranking(at: time) { ranks[rank.app] = rank }
            for app in apps {
                guard let rank = ranks[app.app] else { continue }
                let preparation = app.preparationUSec.map { Double($0) / 1000 }
                candidates.append(
                    Candidate(
                        user: user, app: app.app, probability: rank.probability,
                        usualProbability: rank.usualProbability,
                        savedMilliseconds: preparation ?? Self.assumedPreparation,
                        byteCount: app.byteCount,
                        cpuMilliseconds: preparation ?? Self.assumedPreparation,
                        isWarm: app.isWarm))
            }
        }
        return WarmPlan(candidates, users: users, byteBudget: request.byteBudget).entries
            .filter { $0.verdict <= .prepare }.map(\.candidate.app)
    }

    /// The launches that started a process of the user's own apps, and that the user asked for, the
    /// earliest first. So nobody teaches what another user does.
    private func starts(
        of user: UInt32, limit: Int
    ) throws(DatabaseError) -> [(app: String, requested: Int64)] {
        var starts: [(app: String, requested: Int64)] = []
        try database.execute(
            """
            SELECT app, requested FROM launches WHERE user = ?1 AND caller_user = ?1
                AND kind IN ('cold', 'prewarmed', 'started_anew') ORDER BY id DESC LIMIT ?2
            """, [.init(user), .init(limit)]
        ) { row in
            if let app = row.text(0), let requested = row.integer(1) {
                starts.append((app, requested))
            }
        }
        return starts.reversed()
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
