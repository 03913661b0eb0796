import GreenroomLifecycle

/// A failing world: its seed replays it.
public struct Failure: Sendable, CustomStringConvertible {
    public let seed: UInt64
    public let words: String
    /// The shortest run found that fails alike: stimuli, the events they became, and effects.
    public let trace: [String]

    public var description: String {
        let replay = "replay: greenroom-simulate --events 1 --seed \(seed)"
        return (["seed \(seed): \(words)", replay] + trace).joined(separator: "\n")
    }
}

/// Worlds one after the other, from a seed, until enough events were handled.
public struct Campaign: Sendable {
    /// Long enough for pools, back-offs and crash loops to come and go; short enough to shrink.
    static let stimuliPerWorld = 800
    /// Runs spent on shrinking: some seconds in a debug build.
    static let shrinkLimit = 600

    public private(set) var eventCount = 0
    public private(set) var worldCount = 0
    public private(set) var tally = Tally()

    public init() {}

    /// Nil if every invariant held. At least one world is run, that of `seed`.
    public mutating func run(events: Int, seed: UInt64) -> Failure? {
        var seed = seed
        repeat {
            var dice = Dice(seed: seed, thing: 1)
            let stimuli = (0..<Self.stimuliPerWorld).map { _ in Stimulus.random(&dice) }
            var simulation = Simulation(seed: seed)
            let violation = Self.outcome(of: &simulation, stimuli)
            eventCount += simulation.eventCount
            worldCount += 1
            tally.add(simulation.checker.tally)
            if let violation { return Self.shrink(stimuli, violation, seed) }
            seed &+= 1
        } while eventCount < events
        return nil
    }

    private static func outcome(
        of simulation: inout Simulation, _ stimuli: [Stimulus]
    ) -> Violation? {
        do {
            try simulation.run(stimuli)
            return nil
        } catch { return error }
    }

    /// Leaves out ever smaller pieces as long as it still fails in the same way.
    private static func shrink(
        _ stimuli: [Stimulus], _ violation: Violation, _ seed: UInt64
    ) -> Failure {
        var (best, runs) = (stimuli, 0)
        func fails(_ candidate: [Stimulus]) -> Bool {
            runs += 1
            var simulation = Simulation(seed: seed)
            return outcome(of: &simulation, candidate)?.kind == violation.kind
        }
        var size = best.count / 2
        while size > 0 && runs < shrinkLimit {
            var start = 0
            while start < best.count && runs < shrinkLimit {
                var candidate = best
                candidate.removeSubrange(start..<min(start + size, best.count))
                if fails(candidate) { best = candidate } else { start += size }
            }
            size /= 2
        }
        var simulation = Simulation(seed: seed)
        simulation.isTracing = true
        let last = outcome(of: &simulation, best) ?? violation
        return Failure(seed: seed, words: last.words, trace: simulation.trace)
    }
}

extension Violation {
    /// The words without the numbers that change from run to run.
    fileprivate var kind: String { words.filter { !$0.isNumber } }
}
