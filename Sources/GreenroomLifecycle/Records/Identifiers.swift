/// The reverse-DNS name of an installed app, for example `org.ffmpeg.ffmpeg`.
public struct AppIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One process tree of an app. Counts up and is never reused while the runtime state lives.
public struct InstanceIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public var description: String { String(rawValue) }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One question of one client. The shell makes them; the core answers each exactly once.
public struct RequestIdentifier: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The name that a client gave its launch. Repeating it returns the recorded outcome.
/// At most 64 bytes of printable ASCII.
public struct LaunchIdentifier: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
}

/// Stands for everything that programs read from the environment before `main`, and for whose it is. A
/// paused instance may only be used by a launch whose key is equal; the shell sees to it that no two
/// environments of an app have one key.
public struct EnvironmentKey: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A point on `CLOCK_MONOTONIC`: it stands still while the machine sleeps and survives the
/// supervisor, not a reboot.
public struct Instant: Hashable, Comparable, Sendable {
    public let nanoseconds: UInt64
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    /// Saturates at both ends.
    public func advanced(by duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        let delta = Int64(
            clamping: Int128(seconds) * 1_000_000_000 + Int128(attoseconds) / 1_000_000_000)
        if delta >= 0 {
            let (sum, overflow) = nanoseconds.addingReportingOverflow(UInt64(delta))
            return Instant(nanoseconds: overflow ? .max : sum)
        }
        let (difference, underflow) = nanoseconds.subtractingReportingOverflow(delta.magnitude)
        return Instant(nanoseconds: underflow ? 0 : difference)
    }
    /// From this instant to a later one; negative to an earlier one.
    public func duration(to other: Instant) -> Duration {
        other >= self
            ? .nanoseconds(Int64(clamping: other.nanoseconds - nanoseconds))
            : .zero - .nanoseconds(Int64(clamping: nanoseconds - other.nanoseconds))
    }
}
