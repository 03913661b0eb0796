import GreenroomPrediction

/// The gain and the cost of a rule.
public struct Outcome: Hashable, Sendable {
    public var launchCount = 0
    public var hitCount = 0
    public var savedMilliseconds = 0.0
    /// What would have been saved if every app had been warm at each of its launches.
    public var savableMilliseconds = 0.0
    public var prepareCount = 0
    /// The number of instances that were prepared and never launched.
    public var wasteCount = 0
    public var cpuMilliseconds = 0.0
    /// The greatest number of bytes that were warm at once.
    public var peakByteCount: UInt64 = 0

    public var hitRate: Double { Double(hitCount) / Double(max(1, launchCount)) }
    public var wasteRate: Double { Double(wasteCount) / Double(max(1, prepareCount)) }

    public mutating func add(_ other: Self) {
        launchCount += other.launchCount
        hitCount += other.hitCount
        savedMilliseconds += other.savedMilliseconds
        savableMilliseconds += other.savableMilliseconds
        prepareCount += other.prepareCount
        wasteCount += other.wasteCount
        cpuMilliseconds += other.cpuMilliseconds
        peakByteCount = max(peakByteCount, other.peakByteCount)
    }
}

/// Runs a rule over a history, and does with it what the daemon does:
///
///     a launch                   uses up its paused instance; if the last plan has the app, the next
///                                one is prepared after a quiet second
///     `planSeconds` after the    the rule says what should be warm; what is not wanted any more
///     first of a few launches    ends, and what is new is prepared, one after the other
///     a day without a launch     everybody has logged out, and everything ends
///
/// What is prepared is of use only once it is ready, and stays until it is launched or no longer in
/// the plan: programs that are held at their windows, which are replaced while the machine is used,
/// are not among these. The daemon also plans when somebody comes back (an unlock, the end of a
/// sleep), of which a history says nothing.
public struct Replay: Sendable {
    public let launches: [Launch]
    public let byteBudget: UInt64

    /// The time from a launch to the first preparation.
    static let quietSeconds = 1.0
    /// The time from a launch to the plan that it changes (`LaunchHistory.planningDelay`).
    static let planSeconds: Int64 = 3
    static let sessionSeconds: Int64 = 86400

    public init(_ launches: [Launch], byteBudget: UInt64) {
        self.launches = launches
        self.byteBudget = byteBudget
    }

    /// The budget: a share of what all apps of the history would take together.
    public init(_ launches: [Launch], budgetShare: Double) {
        var sizes: [Key: UInt64] = [:]
        for launch in launches { sizes[launch.key] = launch.byteCount }
        let all = sizes.values.reduce(0, +)
        self.init(launches, byteBudget: UInt64(Double(all) * budgetShare))
    }

    public func run(_ name: RuleName) -> Outcome {
        var state = State(rule: name.rule, budget: byteBudget)
        for launch in launches {
            state.pass(until: launch.time)
            state.launch(launch)
        }
        state.outcome.wasteCount += state.warm.count
        return state.outcome
    }

    private struct State {
        var rule: any Rule
        let budget: UInt64
        /// The time at which each prepared app is ready.
        var warm: [Key: Double] = [:]
        var sizes: [Key: Cost] = [:]
        var plan: Set<Key> = []
        /// The time of the next plan, if a launch has changed anything.
        var due: LocalTime?
        var lastLaunch: LocalTime?
        var preparesUntil = 0.0
        var outcome = Outcome()

        init(rule: any Rule, budget: UInt64) {
            self.rule = rule
            self.budget = budget
        }

        mutating func launch(_ launch: Launch) {
            let (key, now) = (launch.key, Double(launch.time.seconds))
            outcome.launchCount += 1
            outcome.savableMilliseconds += launch.savedMilliseconds
            if let ready = warm[key], ready <= now {
                warm[key] = nil
                outcome.hitCount += 1
                outcome.savedMilliseconds += launch.savedMilliseconds
            }
            sizes[key] = Cost(
                savedMilliseconds: launch.savedMilliseconds, byteCount: launch.byteCount,
                cpuMilliseconds: launch.cpuMilliseconds)
            rule.launched(launch)
            lastLaunch = launch.time
            due = due ?? LocalTime(seconds: launch.time.seconds + Replay.planSeconds)
            if plan.contains(key) { prepare(key, at: now) }
        }

        /// Lets pass the time until the next launch.
        mutating func pass(until next: LocalTime) {
            guard let lastLaunch else { return }
            let logout = lastLaunch.seconds + Replay.sessionSeconds
            if let due, due <= min(next, LocalTime(seconds: logout)) {
                self.due = nil
                decide(at: due)
            }
            guard next.seconds > logout else { return }
            outcome.wasteCount += warm.count
            warm = [:]
            plan = []
        }

        private mutating func decide(at time: LocalTime) {
            let wanted = rule.wanted(at: time, warm: Set(warm.keys), budget: budget)
            plan = Set(wanted)
            precondition(byteCount(of: plan) <= budget, "the rule is over its budget")
            for key in warm.keys where !plan.contains(key) {
                warm[key] = nil
                outcome.wasteCount += 1
            }
            for key in wanted { prepare(key, at: Double(time.seconds)) }
        }

        private mutating func prepare(_ key: Key, at time: Double) {
            let cost = sizes[key]!
            // An app may have grown since the plan.
            guard warm[key] == nil, byteCount(of: warm.keys) + cost.byteCount <= budget else {
                return
            }
            let quiet = Double(lastLaunch!.seconds) + Replay.quietSeconds
            preparesUntil = max(preparesUntil, time, quiet) + cost.cpuMilliseconds / 1000
            warm[key] = preparesUntil
            outcome.prepareCount += 1
            outcome.cpuMilliseconds += cost.cpuMilliseconds
            outcome.peakByteCount = max(outcome.peakByteCount, byteCount(of: warm.keys))
        }

        private func byteCount(of keys: some Sequence<Key>) -> UInt64 {
            keys.reduce(0) { $0 + sizes[$1]!.byteCount }
        }
    }
}
