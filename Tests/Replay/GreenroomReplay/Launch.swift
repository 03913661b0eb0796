public import GreenroomPrediction

/// One launch of a recorded or generated history.
public struct Launch: Hashable, Sendable {
    public var time: LocalTime
    public var user: UInt32
    public var app: String
    /// The time that a launch from the pool saves.
    public var savedMilliseconds: Double
    /// The memory of a paused instance.
    public var byteCount: UInt64

    public init(
        time: LocalTime, user: UInt32, app: String, savedMilliseconds: Double, byteCount: UInt64
    ) {
        self.time = time
        self.user = user
        self.app = app
        self.savedMilliseconds = savedMilliseconds
        self.byteCount = byteCount
    }

    var key: Key { Key(user: user, app: app) }
    /// The launch saves what the prewarm does.
    var cpuMilliseconds: Double { savedMilliseconds }
}

/// An app of a user.
struct Key: Hashable, Comparable, Sendable {
    var user: UInt32
    var app: String

    static func < (one: Self, other: Self) -> Bool {
        one.user != other.user ? one.user < other.user : one.app < other.app
    }
}
