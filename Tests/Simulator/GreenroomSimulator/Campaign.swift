import GreenroomLifecycle

/// A world that failed. Its seed replays it.
public struct Failure: Sendable, CustomStringConvertible {
    public let seed: UInt64
    public let words: String
    /// The shortest run found that fails in the same way: stimuli, the events that they caused, and
    /// effects.
    public let trace: [String]

    public var description: String {
        let replay = "replay: greenroom-simulate --events 1 --seed \(seed)"
        return (["seed \(seed): \(words)", replay] + trace).joined(separator: "\n")
    }
}

/// Runs one world after another, beginning with a seed, until enough events were handled.
public struct Campaign: Sendable {
    /// The number is high enough that pools, back-offs and crash loops begin and end, and low
    /// enough to shrink.
    static let stimuliPerWorld = 800
    /// At most this many runs are spent on shrinking, which is a few seconds in a debug build.
    static let shrinkLimit = 600

    public private(set) var eventCount = 0
    public private(set) var worldCount = 0
    public private(set) var tally = Tally()

    public init() {}

    /// Runs worlds until at least this many events were handled or one world fails. At least the
    /// world of `seed` is run. Returns nil if every invariant held.
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

    /// Leaves out smaller and smaller pieces of the run as long as it still fails in the same way.
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
    /// The text without its numbers, which change from run to run.
    fileprivate var kind: String { words.filter { !$0.isNumber } }
}
