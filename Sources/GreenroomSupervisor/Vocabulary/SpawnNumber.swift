internal import GreenroomLifecycle

/// Identifies the process that an order to the spawner, or a message from it, is about. The spawner
/// knows only a number.
enum SpawnNumber: Hashable, Sendable {
    case instance(InstanceIdentifier)
    /// A process that empties a folder for temporary files. The core does not know it.
    case cleaning(UInt64)

    /// Instances have numbers below this one. No supervisor lives long enough to count that far.
    static let firstCleaning: UInt64 = 1 << 61

    init(_ rawValue: UInt64) {
        self =
            rawValue < Self.firstCleaning
            ? .instance(InstanceIdentifier(rawValue)) : .cleaning(rawValue - Self.firstCleaning)
    }

    var rawValue: UInt64 {
        switch self {
        case .instance(let identifier): identifier.rawValue
        case .cleaning(let number): Self.firstCleaning + number
        }
    }
}
