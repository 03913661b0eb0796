import Glibc

// Predicts what a user launches next from what the user has launched. There is one value for each
// user, so a user's launches do not change what is expected of another user.
//
// Each term (`Term`) alone is a distribution over the apps. An app's probability is the sum of its
// probabilities by each term, each times the weight of its term: the weights of all terms add up to
// 1, and each says for which part of the launches its term is the reason. After each launch, the
// weights move a little towards the part that each term had in the probability of this launch (a
// step of expectation maximization). So a term that does not help for this user soon counts for
// little, without any tuning.
//
// There are separate weights for what is expected right after a launch (the next one, whenever it
// comes), after a rest, and after a long rest. For the first, it matters what usually follows the
// last app; for the others, what a session usually begins with.

public struct Predictor: Hashable, Sendable {
    // MARK: Limits

    /// At most this many apps of a user are remembered; the least used makes room for another.
    public static let appLimit = 256
    static let followerLimit = 24
    static let followerOfTwoLimit = 64
    /// An identifier has at most this many bytes. Launches of apps with longer ones are ignored.
    static let nameByteLimit = 255
    /// At most this many launches of an app in a row are learned from, and after that one per
    /// `secondsPerAllowance`, so that an app that is launched in a loop does not drive out
    /// everything else.
    static let allowanceLimit: Float = 30
    static let secondsPerAllowance = 60.0

    // MARK: Settings

    /// After this many seconds, a launch counts half.
    static let halfLife = 10.0 * 86400
    /// The part of its weight that a follower keeps when another one is counted.
    static let followLeft: Float = 0.95
    /// After this much time without a launch, the next one comes after a rest, or after a long rest
    /// (a night, for example).
    static let restSeconds = 15.0 * 60
    public static let longRestSeconds = 4.0 * 3600
    /// A distribution from this many launches has the same weight as the frequency.
    static let prior = 10.0
    /// How far the weights move with one launch. At first they move further: they are then the
    /// average over all launches and some in which all terms had the same part. There are fewer
    /// launches after a rest than others, so fewer are assumed there.
    static let learningRate = 0.01
    static let assumedLaunches = 10.0
    static let assumedLaunchesAfterRest = 2.0
    static let usualLaunches: Float = 20
    /// The assumed probability of a new app, because people try what they have installed.
    static let newAppProbability: Float = 0.15
    static let activityHalfLife = 3600.0
    /// The number of places in the order of recency that are counted separately.
    static let recencyPlaces = 32
    static let recencyLeft: Float = 0.999

    /// The situation in which a launch is expected.
    enum Setting: Int, CaseIterable { case soon, afterRest, afterLongRest }

    // MARK: State

    var apps: [Habits] = []
    /// Places in `apps`, the latest launch first.
    var order: [UInt16] = []
    /// How often the launched app was the first, second, ... in `order`.
    var recency = (0..<Predictor.recencyPlaces).map { 1 / Float($0 + 1) }
    var weights: [Terms]
    /// The number of launches that the weights of each setting were learned from.
    private var learned: [Int]
    var lastLaunch: LocalTime?
    /// The number of launches, with the weight of each halved every `activityHalfLife`, as of
    /// `lastLaunch`.
    private var recentCount = 0.0
    /// The terms that are used: all, except when the value of one of them is measured.
    let terms: [Term]

    public init(without excluded: Set<Term> = []) {
        terms = Term.allCases.filter { !excluded.contains($0) }
        var start = Terms()
        for term in terms { start[term] = 1 / Double(terms.count) }
        weights = Array(repeating: start, count: Setting.allCases.count)
        learned = Array(repeating: 0, count: Setting.allCases.count)
    }

    public func remembers(_ app: String) -> Bool { apps.contains { $0.app == app } }

    func setting(at time: LocalTime) -> Setting {
        guard let lastLaunch else { return .afterLongRest }
        let quiet = time.elapsed(since: lastLaunch)
        if quiet < Self.restSeconds { return .soon }
        return quiet < Self.longRestSeconds ? .afterRest : .afterLongRest
    }

    private func recentCount(at time: LocalTime) -> Double {
        guard let lastLaunch else { return 0 }
        return recentCount * exp2(-time.elapsed(since: lastLaunch) / Self.activityHalfLife)
    }

    /// How much the user launches now: the weighted number of launches in the last hours, never
    /// quite 0.
    public func activity(at time: LocalTime) -> Double {
        recentCount(at: time) + 0.1
    }

    // MARK: Learning

    /// The user has launched the app.
    public mutating func launched(_ app: String, at time: LocalTime) {
        guard app.utf8.count <= Self.nameByteLimit, spendAllowance(of: app, at: time) else {
            return
        }
        let setting = setting(at: time)
        // A second launch of the same app in a row is easy to predict, so no weights are learned
        // from it.
        if let place = apps.firstIndex(where: { $0.app == app }), order.first != UInt16(place),
            let lastLaunch
        {
            // Most plans are made right after a launch, so this is what they should have expected.
            // (A clock that was put back leaves a launch in the future.)
            learnWeights(place, .soon, at: min(lastLaunch, time))
            if setting != .soon { learnWeights(place, setting, at: time) }
        }
        let place = place(of: app, at: time)
        learn(place, setting, at: time)
        if let position = order.firstIndex(of: place) {
            if position < Self.recencyPlaces {
                for index in recency.indices { recency[index] *= Self.recencyLeft }
                recency[position] += 1
            }
            order.remove(at: position)
        }
        order.insert(place, at: 0)
        recentCount = recentCount(at: time) + 1
        lastLaunch = max(time, lastLaunch ?? time)
    }

    /// Forgets an app, for example because it is no longer installed.
    public mutating func forget(_ app: String) {
        guard let place = apps.firstIndex(where: { $0.app == app }) else { return }
        // The last app moves to the free place.
        remove(UInt16(place))
        let last = UInt16(apps.count - 1)
        if last != UInt16(place) {
            apps[place] = apps[Int(last)]
            for index in order.indices where order[index] == last { order[index] = UInt16(place) }
            for index in apps.indices { apps[index].rename(last, to: UInt16(place)) }
        }
        apps.removeLast()
    }

    private mutating func spendAllowance(of app: String, at time: LocalTime) -> Bool {
        guard let place = apps.firstIndex(where: { $0.app == app }) else { return true }
        let earned = time.elapsed(since: apps[place].lastLaunch) / Self.secondsPerAllowance
        let allowance = min(Self.allowanceLimit, apps[place].allowance + Float(earned))
        guard allowance >= 1 else { return false }
        apps[place].allowance = allowance - 1
        return true
    }

    /// The app's place in the table, which is made if necessary.
    private mutating func place(of app: String, at time: LocalTime) -> UInt16 {
        if let known = apps.firstIndex(where: { $0.app == app }) { return UInt16(known) }
        guard apps.count >= Self.appLimit else {
            apps.append(Habits(app: app, usual: Self.newAppProbability, at: time))
            return UInt16(apps.count - 1)
        }
        let place = leastUsed(at: time)
        remove(place)
        apps[Int(place)] = Habits(app: app, usual: Self.newAppProbability, at: time)
        return place
    }

    private func leastUsed(at time: LocalTime) -> UInt16 {
        let counts = apps.map {
            Double($0.count) * Double(Habits.decay(over: time.elapsed(since: $0.lastLaunch)))
        }
        return UInt16(counts.indices.min { counts[$0] < counts[$1] }!)
    }

    private mutating func remove(_ place: UInt16) {
        order.removeAll { $0 == place }
        for index in apps.indices { apps[index].forget(place: place) }
    }

    private mutating func learn(_ place: UInt16, _ setting: Setting, at time: LocalTime) {
        if let last = order.first { apps[Int(last)].follow(place) }
        if order.count > 1 { apps[Int(order[0])].follow(place, before: order[1]) }
        let index = Int(place)
        apps[index].age(to: time)
        apps[index].lastLaunch = max(time, apps[index].lastLaunch)
        apps[index].count += 1
        apps[index].hours[time.hour] += 1
        apps[index].weekdays[time.weekday] += 1
        if setting != .soon { apps[index].beginnings += 1 }
    }

    private mutating func learnWeights(_ place: Int, _ setting: Setting, at time: LocalTime) {
        let distributions = distributions(at: time)
        var weights = weights[setting.rawValue]
        if setting == .soon {
            var probabilities = [Double](repeating: 0, count: apps.count)
            for (term, values) in distributions {
                let weight = weights[term]
                for index in values.indices { probabilities[index] += weight * values[index] }
            }
            for index in apps.indices {
                apps[index].usual +=
                    (Float(probabilities[index]) - apps[index].usual) / Self.usualLaunches
            }
        }
        let whole = distributions.reduce(0) { $0 + weights[$1.term] * $1.values[place] }
        guard whole > 0 else { return }
        let assumed = setting == .soon ? Self.assumedLaunches : Self.assumedLaunchesAfterRest
        learned[setting.rawValue] += 1
        let rate = max(Self.learningRate, 1 / (Double(learned[setting.rawValue]) + assumed))
        for (term, values) in distributions {
            let part = weights[term] * values[place] / whole
            weights[term] += rate * (part - weights[term])
        }
        self.weights[setting.rawValue] = weights
    }
}

extension Habits {
    fileprivate mutating func rename(_ place: UInt16, to other: UInt16) {
        for index in followers.indices where followers[index].place == place {
            followers[index].place = other
        }
        for index in followersOfTwo.indices {
            if followersOfTwo[index].place == place { followersOfTwo[index].place = other }
            if followersOfTwo[index].before == place { followersOfTwo[index].before = other }
        }
    }
}
