/// In what a launch differs from the state that paused instances have already.
struct CallerDifferences: OptionSet {
    let rawValue: UInt16

    static let directory = CallerDifferences(rawValue: 1 << 0)
    static let umask = CallerDifferences(rawValue: 1 << 1)
    /// Standard input, output and error, also if one of them is closed.
    static let streams = CallerDifferences(rawValue: 1 << 2)
    static let descriptors = CallerDifferences(rawValue: 1 << 3)
    static let limits = CallerDifferences(rawValue: 1 << 4)
    static let signals = CallerDifferences(rawValue: 1 << 5)
    /// Of the processors, or of input and output.
    static let priority = CallerDifferences(rawValue: 1 << 6)
    static let processors = CallerDifferences(rawValue: 1 << 7)
    static let privileges = CallerDifferences(rawValue: 1 << 8)
    static let personality = CallerDifferences(rawValue: 1 << 9)

    private static let all: [(CallerDifferences, String)] = [
        (.directory, "directory"), (.umask, "umask"), (.streams, "streams"),
        (.descriptors, "descriptors"), (.limits, "limits"), (.signals, "signals"),
        (.priority, "priority"), (.processors, "processors"), (.privileges, "privileges"),
        (.personality, "personality"),
    ]

    /// The words of the interface (`LaunchSummary.differingState`).
    var names: [String] { Self.all.filter { contains($0.0) }.map(\.1) }
}
