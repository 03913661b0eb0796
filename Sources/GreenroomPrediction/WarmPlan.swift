// What to keep warm. For each app, in milliseconds of a user's time:
//
//   value = probability × time saved − bytes × price − (warm already ? 0 : CPU time × price)
//
// An app without value is never warm. Of the others, those are taken that fit and have together the
// greatest merit, as far as a short search finds them (`Knapsack`). The merit has hysteresis: it
// depends on what would usually be warm, that is, on the same plan made with the average
// probabilities over the last launches.
//
//   merit = value + CPU time × price of a change   warm, usually warm: it would be prepared again
//           value − the same                       cold, usually cold: for this moment only
//           value                                  otherwise
//
//   first, each present user fills an equal share of half of the budget
//   then the rest goes to the best apps of all users; more often to users who launch more now
//
// So no user loses the share to another who launches more often, and an app takes no more than its
// own bytes, whatever it does.

/// An app of a user that may be kept warm.
public struct Candidate: Hashable, Sendable {
    public var user: UInt32
    public var app: String
    /// The probability that the user's next launch is one of this app, whenever that is. What is
    /// warm stays warm over decisions that no launch precedes, so the saving is only put off.
    public var probability: Double
    /// The same probability independent of the moment (`Rank.usualProbability`).
    public var usualProbability: Double
    /// What a launch from the pool saves, as measured, in milliseconds.
    public var savedMilliseconds: Double
    /// The memory of a paused instance.
    public var byteCount: UInt64
    /// The processor time that preparing an instance takes, in milliseconds.
    public var cpuMilliseconds: Double
    public var isWarm: Bool

    public init(
        user: UInt32, app: String, probability: Double, usualProbability: Double,
        savedMilliseconds: Double, byteCount: UInt64, cpuMilliseconds: Double, isWarm: Bool
    ) {
        self.user = user
        self.app = app
        self.probability = probability
        self.usualProbability = usualProbability
        self.savedMilliseconds = savedMilliseconds
        self.byteCount = byteCount
        self.cpuMilliseconds = cpuMilliseconds
        self.isWarm = isWarm
    }
}

/// The prices of memory and work, in milliseconds of a user's time.
public struct Prices: Hashable, Sendable {
    /// The price of a mebibyte that is kept until the next decision.
    public var perMebibyte = 0.002
    /// The price of a millisecond of a processor that would have been idle.
    var perCPUMillisecond = 0.001
    /// The price of such a millisecond while the machine runs on a battery.
    var perCPUMillisecondOnBattery = 0.02
    /// The price of a millisecond of a processor that is spent because the plan changes back and
    /// forth.
    public var perChangedMillisecond = 0.005
    /// A launch counts as saving at most this much, whatever was measured, because an app could
    /// make its own cold launches slow.
    var savedMillisecondsLimit = 5000.0

    public init() {}
}

/// A user for whom something may be kept warm.
public struct PlannedUser: Hashable, Sendable {
    public var user: UInt32
    /// How much the user launches now, compared with others (`Predictor.activity(at:)`).
    public var activity: Double
    /// Whether the user has a share of the budget, for example because of a login session.
    public var hasShare: Bool

    public init(user: UInt32, activity: Double = 1, hasShare: Bool = true) {
        self.user = user
        self.activity = activity
        self.hasShare = hasShare
    }
}

/// What should be warm, and why.
public struct WarmPlan: Hashable, Sendable {
    public enum Verdict: UInt8, Hashable, Sendable {
        /// The app stays warm, or is prepared.
        case keep, prepare
        /// It would be next if there were more room.
        case noRoom
        /// It would cost more than it is expected to save.
        case notWorthIt
    }

    public struct Entry: Hashable, Sendable {
        public var candidate: Candidate
        public var value: Double
        public var merit: Double
        public var verdict: Verdict

        init(candidate: Candidate, value: Double, merit: Double) {
            self.candidate = candidate
            self.value = value
            self.merit = merit
            verdict = value > 0 ? .noRoom : .notWorthIt
        }
    }

    /// Every candidate. The highest merit per byte, times the user's activity, comes first.
    public var entries: [Entry] = []
    public var byteCount: UInt64 = 0

    public func isWarm(_ app: String, of user: UInt32) -> Bool {
        entries.contains {
            $0.candidate.user == user && $0.candidate.app == app && $0.verdict <= .prepare
        }
    }

    /// Candidates of users who are not present are never taken.
    public init(
        _ candidates: [Candidate], users: [PlannedUser], byteBudget: UInt64,
        onBattery: Bool = false, prices: Prices = Prices()
    ) {
        let usual = Self(
            candidates.map {
                let value = $0.value($0.usualProbability, prices, onBattery: onBattery)
                return Entry(candidate: $0, value: value, merit: value)
            }, users, byteBudget)
        let isUsual = Set(
            usual.entries.filter { $0.verdict <= .prepare }
                .map { Owned(user: $0.candidate.user, app: $0.candidate.app) })
        self.init(
            candidates.map {
                let value = $0.value($0.probability, prices, onBattery: onBattery)
                let change = $0.work * prices.perChangedMillisecond
                let merit =
                    switch ($0.isWarm, isUsual.contains(Owned(user: $0.user, app: $0.app))) {
                    case (true, true): value + change
                    case (false, false): value - change
                    case (true, false), (false, true): value
                    }
                return Entry(candidate: $0, value: value, merit: merit)
            }, users, byteBudget)
    }

    /// Sums of merit, times the activity of users, stay numbers that can be compared.
    private static let activityLimit = 1e9

    private struct Owned: Hashable {
        var user: UInt32
        var app: String
    }

    private init(_ entries: [Entry], _ users: [PlannedUser], _ byteBudget: UInt64) {
        self.entries = entries
        let activities = [UInt32: Double](
            users.map { user in
                let activity = user.activity.isFinite ? user.activity : 0
                return (user.user, min(max(activity, 0), Self.activityLimit))
            },
            uniquingKeysWith: max)
        sort(by: activities)
        let sharers = Set(users.filter(\.hasShare).map(\.user)).sorted()
        if activities.count > 1, !sharers.isEmpty {
            let share = byteBudget / 2 / UInt64(sharers.count)
            for user in sharers { fill(share, [user: 1]) }
        }
        fill(byteBudget - byteCount, activities)
    }

    /// Sorts the entries by merit per byte, times the user's activity; equal ones by user and name.
    private mutating func sort(by activities: [UInt32: Double]) {
        let keyed = entries.map { entry in
            let density = entry.merit / Double(max(1, entry.candidate.byteCount))
            return (entry, density * (activities[entry.candidate.user] ?? 0))
        }
        entries = keyed.sorted { one, other in
            if one.1 != other.1 { return one.1 > other.1 }
            let (first, second) = (one.0.candidate, other.0.candidate)
            if first.user != second.user { return first.user < second.user }
            return first.app < second.app
        }.map(\.0)
    }

    /// Takes those apps of these users that are worth most together and are not taken yet. What is
    /// left takes any other app that has a value.
    private mutating func fill(_ limit: UInt64, _ activities: [UInt32: Double]) {
        let open = entries.indices.filter {
            entries[$0].verdict == .noRoom && activities[entries[$0].candidate.user] != nil
                && entries[$0].candidate.byteCount <= limit
        }
        func worth(_ index: Int) -> Double {
            entries[index].merit * activities[entries[index].candidate.user]!
        }
        let worthy = open.filter { worth($0) > 0 }
        let choice = Knapsack(
            worthy.map {
                .init(byteCount: max(1, entries[$0].candidate.byteCount), worth: worth($0))
            }, room: limit)
        let full = byteCount + limit
        for place in choice.taken { take(worthy[place]) }
        for index in open
        where entries[index].verdict == .noRoom
            && entries[index].candidate.byteCount <= full - byteCount
        {
            take(index)
        }
    }

    private mutating func take(_ index: Int) {
        entries[index].verdict = entries[index].candidate.isWarm ? .keep : .prepare
        byteCount += entries[index].candidate.byteCount
    }
}

extension WarmPlan.Verdict: Comparable {
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension Candidate {
    /// Numbers that cannot come from a measurement count as 0.
    fileprivate func value(
        _ probability: Double, _ prices: Prices, onBattery: Bool
    ) -> Double {
        let probability = probability.isFinite ? min(max(probability, 0), 1) : 0
        let saved =
            savedMilliseconds.isFinite
            ? min(max(savedMilliseconds, 0), prices.savedMillisecondsLimit) : 0
        let value = probability * saved - Double(byteCount) / 1_048_576 * prices.perMebibyte
        guard !isWarm else { return value }
        return value - work
            * (onBattery ? prices.perCPUMillisecondOnBattery : prices.perCPUMillisecond)
    }

    /// More than an hour of work counts as one hour, because that is never worth it.
    fileprivate var work: Double {
        cpuMilliseconds.isFinite ? min(max(cpuMilliseconds, 0), 3_600_000) : 3_600_000
    }
}
