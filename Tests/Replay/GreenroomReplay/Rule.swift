import Glibc
public import GreenroomPrediction

/// The costs and savings of an app, as measured at its last launch.
struct Cost {
    var savedMilliseconds: Double
    var byteCount: UInt64
    var cpuMilliseconds: Double
}

/// Decides what is kept warm. Rules know only what was launched before.
protocol Rule {
    mutating func launched(_ launch: Launch)
    /// The apps that should be warm, the most urgent first. There is room for all of them.
    func wanted(at time: LocalTime, warm: Set<Key>, budget: UInt64) -> [Key]
}

/// The names of the rules, for reports.
public enum RuleName: Hashable, Sendable, CustomStringConvertible {
    case recent, frequent, mixed, decayed
    /// These two rules know time saved and bytes, as the predictor does.
    case frequentByValue, decayedByValue
    case predictor
    case without(Ablation)

    /// The rules against which the bars are set (`Report.shortfalls`). They have the same budget,
    /// and know nothing but launches.
    public static let plain: [RuleName] = [.recent, .frequent, .mixed]
    /// A further rule that knows nothing but launches is harder to beat.
    public static let baselines: [RuleName] = plain + [.decayed]
    public static let informed: [RuleName] = [.frequentByValue, .decayedByValue]

    public var description: String {
        switch self {
        case .recent: "most recent"
        case .frequent: "most frequent"
        case .mixed: "both in turns"
        case .decayed: "decayed count"
        case .frequentByValue: "frequent by value"
        case .decayedByValue: "decayed by value"
        case .predictor: "predictor"
        case .without(let ablation): "without \(ablation)"
        }
    }

    var rule: any Rule {
        switch self {
        case .recent: Counts { history, key, _ in Double(history.last[key]!) }
        case .frequent: Counts { history, key, _ in history.count[key]! }
        case .decayed: Counts { history, key, now in history.decayed(key, now) }
        case .frequentByValue:
            Counts { history, key, _ in history.value(key) * history.count[key]! }
        case .decayedByValue:
            Counts { history, key, now in history.value(key) * history.decayed(key, now) }
        case .mixed: Mixed()
        case .predictor: Predicting()
        case .without(let ablation): Predicting(without: ablation)
        }
    }
}

/// A part of the predictor or of the plan that can be left out, to see what it is worth.
public enum Ablation: Hashable, Sendable, CustomStringConvertible {
    case term(Term)
    /// Takes away the price of a change of the plan (`Prices.perChangedMillisecond`).
    case hysteresis
    /// Orders by probability alone, and ignores time saved and bytes.
    case value

    public static let all = Term.allCases.map(Self.term) + [.hysteresis, .value]

    public var description: String {
        switch self {
        case .term(let term): "\(term)"
        case .hysteresis: "hysteresis"
        case .value: "value"
        }
    }
}

/// The facts that every simple rule remembers.
struct Tally {
    /// The number of each app's last launch.
    var last: [Key: Int] = [:]
    var count: [Key: Double] = [:]
    var costs: [Key: Cost] = [:]
    private var decaying: [Key: (value: Double, time: LocalTime)] = [:]
    private var launches = 0

    mutating func note(_ launch: Launch) {
        let key = launch.key
        launches += 1
        last[key] = launches
        count[key, default: 0] += 1
        decaying[key] = (decayed(key, launch.time) + 1, launch.time)
        costs[key] = Cost(
            savedMilliseconds: launch.savedMilliseconds, byteCount: launch.byteCount,
            cpuMilliseconds: launch.cpuMilliseconds)
    }

    /// The count of launches, which is halved every three days.
    func decayed(_ key: Key, _ now: LocalTime) -> Double {
        guard let (value, time) = decaying[key] else { return 0 }
        return value * exp2(-Double(now.seconds - time.seconds) / (3 * 86400))
    }

    func value(_ key: Key) -> Double {
        let cost = costs[key]!
        return cost.savedMilliseconds / Double(max(1, cost.byteCount))
    }

    /// As many of the apps as fit, in this order.
    func fitting(_ keys: some Sequence<Key>, _ budget: UInt64) -> [Key] {
        var room = budget
        return keys.filter {
            guard let cost = costs[$0], cost.byteCount <= room else { return false }
            room -= cost.byteCount
            return true
        }
    }

    func sorted(by score: (Key) -> Double) -> [Key] {
        let scores = count.keys.map { ($0, score($0)) }
        return scores.sorted { $0.1 != $1.1 ? $0.1 > $1.1 : $0.0 < $1.0 }.map(\.0)
    }
}

/// Orders apps by one number.
struct Counts: Rule {
    var tally = Tally()
    let score: (Tally, Key, LocalTime) -> Double

    init(score: @escaping (Tally, Key, LocalTime) -> Double) { self.score = score }

    mutating func launched(_ launch: Launch) { tally.note(launch) }

    func wanted(at time: LocalTime, warm: Set<Key>, budget: UInt64) -> [Key] {
        tally.fitting(tally.sorted { score(tally, $0, time) }, budget)
    }
}

/// Takes the most recent app, the most frequent one, the next recent one, and so on.
struct Mixed: Rule {
    var tally = Tally()

    mutating func launched(_ launch: Launch) { tally.note(launch) }

    func wanted(at time: LocalTime, warm: Set<Key>, budget: UInt64) -> [Key] {
        let recent = tally.sorted { Double(tally.last[$0]!) }
        let frequent = tally.sorted { tally.count[$0]! }
        var seen: Set<Key> = []
        let turns = zip(recent, frequent).flatMap { [$0, $1] }.filter { seen.insert($0).inserted }
        return tally.fitting(turns, budget)
    }
}

/// The product's own rule: a predictor for each user, and the plan.
struct Predicting: Rule {
    var predictors: [UInt32: Predictor] = [:]
    var lastLaunch: [UInt32: LocalTime] = [:]
    var tally = Tally()
    /// The terms that do not count.
    var excluded: Set<Term> = []
    var isByValue = true
    var prices = Prices()
    /// A user who has launched nothing for this time, in seconds, counts as logged out.
    static let sessionSeconds: Int64 = 86400
    /// A user who has launched nothing for this time counts as absent.
    static let shareSeconds = Int64(Predictor.longRestSeconds)

    init(without ablation: Ablation? = nil) {
        switch ablation {
        case .term(let term): excluded = [term]
        case .hysteresis: prices.perChangedMillisecond = 0
        case .value: isByValue = false
        case nil: break
        }
    }

    mutating func launched(_ launch: Launch) {
        tally.note(launch)
        predictors[launch.user, default: Predictor(without: excluded)]
            .launched(launch.app, at: launch.time)
        lastLaunch[launch.user] = launch.time
    }

    func wanted(at time: LocalTime, warm: Set<Key>, budget: UInt64) -> [Key] {
        var candidates: [Candidate] = []
        var users: [PlannedUser] = []
        for (user, predictor) in predictors.sorted(by: { $0.key < $1.key })
        where time.seconds - lastLaunch[user]!.seconds < Self.sessionSeconds {
            users.append(
                PlannedUser(
                    user: user, activity: predictor.activity(at: time),
                    hasShare: time.seconds - lastLaunch[user]!.seconds < Self.shareSeconds))
            for rank in predictor.ranking(at: time) {
                let key = Key(user: user, app: rank.app)
                let cost = tally.costs[key]!
                candidates.append(
                    Candidate(
                        user: user, app: rank.app, probability: rank.probability,
                        usualProbability: rank.usualProbability,
                        savedMilliseconds: cost.savedMilliseconds, byteCount: cost.byteCount,
                        cpuMilliseconds: cost.cpuMilliseconds, isWarm: warm.contains(key)))
            }
        }
        guard isByValue else {
            return tally.fitting(
                candidates.sorted { $0.probability > $1.probability }
                    .map { Key(user: $0.user, app: $0.app) }, budget)
        }
        return WarmPlan(candidates, users: users, byteBudget: budget, prices: prices).entries
            .filter { $0.verdict <= .prepare }
            .map { Key(user: $0.candidate.user, app: $0.candidate.app) }
    }
}
