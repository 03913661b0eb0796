internal import GreenroomLifecycle
internal import GreenroomLinux

/// Numbers for the daemon's own processes, each used once. They begin at one that no former
/// supervisor has given, because that supervisor's processes may still run.
struct FreshNumbers {
    private var last = MonotonicClock.nanoseconds & 0xffff_ffff

    mutating func next() -> UInt64 {
        last += 1
        return last
    }
}

/// Identifies the process that an order to the spawner, or a message from it, is about. The spawner
/// knows only a number.
enum SpawnNumber: Hashable, Sendable {
    case instance(InstanceIdentifier)
    /// The process that watches the names of this instance. The core does not know it.
    case watch(InstanceIdentifier)
    /// A process that empties a folder for temporary files. The core does not know it.
    case cleaning(UInt64)
    /// A process that inspects imports. The core does not know it.
    case inspection(UInt64)

    /// Instances have numbers below this one. No supervisor lives long enough to count that far.
    static let firstWatch: UInt64 = 1 << 60
    static let firstCleaning: UInt64 = 1 << 61
    static let firstInspection: UInt64 = 1 << 62

    init(_ rawValue: UInt64) {
        self =
            switch rawValue {
            case ..<Self.firstWatch: .instance(InstanceIdentifier(rawValue))
            case ..<Self.firstCleaning:
                .watch(InstanceIdentifier(rawValue - Self.firstWatch))
            case ..<Self.firstInspection: .cleaning(rawValue - Self.firstCleaning)
            case _: .inspection(rawValue - Self.firstInspection)
            }
    }

    var rawValue: UInt64 {
        switch self {
        case .instance(let identifier): identifier.rawValue
        case .watch(let instance): Self.firstWatch + instance.rawValue
        case .cleaning(let number): Self.firstCleaning + number
        case .inspection(let number): Self.firstInspection + number
        }
    }
}
