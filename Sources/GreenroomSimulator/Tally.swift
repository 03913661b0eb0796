public import GreenroomLifecycle

/// What has come to pass in the worlds, so that one can see that nothing was left untried.
public struct Tally: Sendable {
    public private(set) var launches: [LaunchKind: Int] = [:]
    public private(set) var coldReasons: [ColdReason: Int] = [:]
    public private(set) var exits: [ExitReason: Int] = [:]
    public internal(set) var restarts = 0
    /// Apps started again, and given up.
    public internal(set) var appRestarts = 0
    public internal(set) var failures = 0
    /// Scheduled work that was run, and what became of it.
    public internal(set) var runs = 0
    public internal(set) var runOutcomes: [RunOutcome: Int] = [:]

    mutating func note(_ outcome: LaunchOutcome) {
        guard !outcome.isRepeated else { return }
        launches[outcome.kind, default: 0] += 1
        if let reason = outcome.coldReason { coldReasons[reason, default: 0] += 1 }
    }

    mutating func note(_ end: InstanceRecord) {
        if let reason = end.endReason { exits[reason, default: 0] += 1 }
    }

    mutating func add(_ other: Tally) {
        launches.merge(other.launches, uniquingKeysWith: +)
        coldReasons.merge(other.coldReasons, uniquingKeysWith: +)
        exits.merge(other.exits, uniquingKeysWith: +)
        restarts += other.restarts
        appRestarts += other.appRestarts
        failures += other.failures
        runs += other.runs
        runOutcomes.merge(other.runOutcomes, uniquingKeysWith: +)
    }
}

extension Tally: CustomStringConvertible {
    /// A line for each, the most frequent first.
    public var description: String {
        let lines = [
            "launches: \(Self.words(launches))",
            "cold because: \(Self.words(coldReasons))",
            "ends: \(Self.words(exits))",
            "scheduled work: \(runs) runs, \(Self.words(runOutcomes))",
            "supervisors killed: \(restarts); apps started again: \(appRestarts), given up: "
                + "\(failures)",
        ]
        return lines.joined(separator: "\n")
    }

    private static func words(_ counts: [some Hashable: Int]) -> String {
        counts.map { (word: "\($0.key)", count: $0.value) }
            .sorted { ($1.count, $0.word) < ($0.count, $1.word) }
            .map { "\($0.word) \($0.count)" }.joined(separator: ", ")
    }
}
