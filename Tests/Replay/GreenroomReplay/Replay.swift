import GreenroomPrediction

/// What a rule has won and cost.
public struct Outcome: Hashable, Sendable {
    public var launchCount = 0
    public var hitCount = 0
    public var savedMilliseconds = 0.0
    /// What would have been saved if every app had been warm at each of its launches.
    public var savableMilliseconds = 0.0
    public var prepareCount = 0
    /// Prepared and never launched.
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

/// Runs a rule over a history. After each launch, and while nobody launches anything at the moments
/// at which a rule may change its mind, the rule says what should be warm. What is not wanted any
/// more ends. What is new is prepared, one after the other and a quiet second later, and is of use
/// only once it is ready. A launch uses up its paused instance.
public struct Replay: Sendable {
    public let launches: [Launch]
    public let byteBudget: UInt64

    /// From a launch to the first preparation.
    static let quietSeconds = 1.0

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
        var last: LocalTime?
        for launch in launches {
            if let last, state.rule.looksAtTime {
                for time in Self.quietMoments(from: last, to: launch.time) {
                    state.decide(at: time)
                }
            }
            state.launch(launch)
            last = launch.time
        }
        state.outcome.wasteCount += state.warm.count
        return state.outcome
    }

    /// After a rest and after a long one; at each full hour of the first day.
    static func quietMoments(from last: LocalTime, to next: LocalTime) -> [LocalTime] {
        let rests = [Predictor.restSeconds, Predictor.longRestSeconds].map {
            last.seconds + Int64($0)
        }
        let end = min(next.seconds, last.seconds + 86400)
        let hours = stride(from: (last.seconds / 3600 + 1) * 3600, to: end, by: 3600)
        return (rests + Array(hours)).filter { $0 > last.seconds && $0 < next.seconds }.sorted()
            .map(LocalTime.init)
    }

    private struct State {
        var rule: any Rule
        let budget: UInt64
        /// When each is ready.
        var warm: [Key: Double] = [:]
        var sizes: [Key: Cost] = [:]
        var preparesUntil = 0.0
        var outcome = Outcome()

        init(rule: any Rule, budget: UInt64) {
            self.rule = rule
            self.budget = budget
        }

        mutating func launch(_ launch: Launch) {
            outcome.launchCount += 1
            outcome.savableMilliseconds += launch.savedMilliseconds
            if let ready = warm[launch.key], ready <= Double(launch.time.seconds) {
                warm[launch.key] = nil
                outcome.hitCount += 1
                outcome.savedMilliseconds += launch.savedMilliseconds
            }
            sizes[launch.key] = Cost(
                savedMilliseconds: launch.savedMilliseconds, byteCount: launch.byteCount,
                cpuMilliseconds: launch.cpuMilliseconds)
            rule.launched(launch)
            decide(at: launch.time)
        }

        mutating func decide(at time: LocalTime) {
            let wanted = rule.wanted(at: time, warm: Set(warm.keys), budget: budget)
            let set = Set(wanted)
            for key in warm.keys where !set.contains(key) {
                warm[key] = nil
                outcome.wasteCount += 1
            }
            preparesUntil = max(preparesUntil, Double(time.seconds) + Replay.quietSeconds)
            for key in wanted where warm[key] == nil {
                let cost = sizes[key]!
                preparesUntil += cost.cpuMilliseconds / 1000
                warm[key] = preparesUntil
                outcome.prepareCount += 1
                outcome.cpuMilliseconds += cost.cpuMilliseconds
            }
            let bytes = warm.keys.reduce(0) { $0 + sizes[$1]!.byteCount }
            precondition(bytes <= budget, "the rule is over its budget")
            outcome.peakByteCount = max(outcome.peakByteCount, bytes)
        }
    }
}
