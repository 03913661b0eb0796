import Glibc
import GreenroomSimulator

/// `greenroom-simulate [--events N] [--seed S]`: random worlds against the core. Exit status 0 if
/// every invariant held, 1 with the seed and a shrunk trace if not, or if a long run has not met what
/// it must meet, 64 for a usage error.
@main struct Program {
    /// From this number of events on, a run is long: the rarest encounter is then expected about ten
    /// times.
    static let longRun = 1_000_000

    static func main() {
        var (events, seed) = (1_000_000, UInt64.random(in: 0..<1_000_000_000))
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            guard let value = arguments.popFirst().flatMap(UInt64.init) else { usage() }
            switch option {
            case "--events": events = Int(clamping: value)
            case "--seed": seed = value
            default: usage()
            }
        }
        print("seed \(seed)")
        let clock = ContinuousClock()
        let start = clock.now
        var campaign = Campaign()
        let failure = campaign.run(events: events, seed: seed)
        let seconds = (clock.now - start) / .seconds(1)
        let rate = Int(Double(campaign.eventCount) / max(seconds, 0.001))
        print("\(campaign.eventCount) events in \(campaign.worldCount) worlds, \(rate) per second")
        print("\(campaign.tally)")
        if let failure {
            print(failure)
            exit(1)
        }
        let unmet = campaign.tally.unmetEncounters
        guard campaign.eventCount >= longRun, !unmet.isEmpty else { return }
        print("never met: \(unmet.map { "\($0)" }.joined(separator: ", "))")
        exit(1)
    }

    static func usage() -> Never {
        print("usage: greenroom-simulate [--events N] [--seed S]")
        exit(64)
    }
}
