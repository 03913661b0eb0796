public import GreenroomLifecycle

/// Counts the events in the worlds, which shows whether everything was tried.
public struct Tally: Sendable {
    public private(set) var launches: [LaunchKind: Int] = [:]
    public private(set) var anewReasons: [AnewReason: Int] = [:]
    /// Apps that were prewarmed less deep from then on.
    public internal(set) var demotions: [DepthFault: Int] = [:]
    /// Prewarms that opened libraries.
    public internal(set) var libraryPrewarms = 0
    public internal(set) var droppedLibraries = 0
    public internal(set) var windowPrewarms = 0
    /// Prewarms for which there was no room to hold them, and steps after which a program was held
    /// although its user's session was no longer active.
    public internal(set) var unheldForBytes = 0
    public internal(set) var unwelcomeHeld = 0
    /// How often the age of a paused instance without a limit was checked.
    public internal(set) var ageless = 0
    /// How often held programs were called, and how often they or the daemons lost something.
    public private(set) var heldEncounters: [HeldEncounter: Int] = [:]
    /// Hints by which a held program was aired.
    public internal(set) var hintedAirings = 0
    /// Launches that were measured to find out how much a depth saves.
    public internal(set) var timings = 0
    /// Held programs that were launched by a call of their name on a bus.
    public internal(set) var calledLaunches = 0
    public private(set) var coldReasons: [ColdReason: Int] = [:]
    public private(set) var exits: [ExitReason: Int] = [:]
    public internal(set) var restarts = 0
    /// The number of restarts of apps; and of apps that the daemon gave up.
    public internal(set) var appRestarts = 0
    public internal(set) var failures = 0
    /// The number of runs of scheduled work, and how they ended.
    public internal(set) var runs = 0
    public internal(set) var runOutcomes: [RunOutcome: Int] = [:]

    mutating func note(_ outcome: LaunchOutcome) {
        guard !outcome.isRepeated else { return }
        launches[outcome.kind, default: 0] += 1
        if let reason = outcome.anewReason { anewReasons[reason, default: 0] += 1 }
        if let reason = outcome.coldReason { coldReasons[reason, default: 0] += 1 }
    }

    mutating func note(_ encounter: HeldEncounter) {
        heldEncounters[encounter, default: 0] += 1
    }

    /// What a long run must have met, and this one has not.
    public var unmetEncounters: [HeldEncounter] {
        HeldEncounter.all.filter { heldEncounters[$0] == nil }
    }

    mutating func note(_ end: InstanceRecord) {
        if let reason = end.endReason { exits[reason, default: 0] += 1 }
    }

    mutating func add(_ other: Tally) {
        launches.merge(other.launches, uniquingKeysWith: +)
        coldReasons.merge(other.coldReasons, uniquingKeysWith: +)
        anewReasons.merge(other.anewReasons, uniquingKeysWith: +)
        demotions.merge(other.demotions, uniquingKeysWith: +)
        exits.merge(other.exits, uniquingKeysWith: +)
        libraryPrewarms += other.libraryPrewarms
        droppedLibraries += other.droppedLibraries
        windowPrewarms += other.windowPrewarms
        unheldForBytes += other.unheldForBytes
        unwelcomeHeld += other.unwelcomeHeld
        ageless += other.ageless
        heldEncounters.merge(other.heldEncounters, uniquingKeysWith: +)
        hintedAirings += other.hintedAirings
        timings += other.timings
        calledLaunches += other.calledLaunches
        restarts += other.restarts
        appRestarts += other.appRestarts
        failures += other.failures
        runs += other.runs
        runOutcomes.merge(other.runOutcomes, uniquingKeysWith: +)
    }
}

extension Tally: CustomStringConvertible {
    /// A line for each kind of count, with the most frequent entry first.
    public var description: String {
        let lines = [
            "launches: \(Self.words(launches))",
            "cold because: \(Self.words(coldReasons))",
            "ends: \(Self.words(exits))", "demoted because: \(Self.words(demotions))",
            "held at windows: \(windowPrewarms), not for lack of room: \(unheldForBytes), steps for an "
                + "absent user: \(unwelcomeHeld), aired by hints: \(hintedAirings), "
                + "without an age limit: \(ageless)",
            "met while held: \(Self.words(heldEncounters))",
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
