/// The reverse-DNS name of an installed app, for example `org.ffmpeg.ffmpeg`.
public struct AppIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One process tree of an app. The numbers count up, and none is reused while the runtime state is
/// kept.
public struct InstanceIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public var description: String { String(rawValue) }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One request of one client. The shell makes the identifiers, and the core answers each request
/// exactly once.
public struct RequestIdentifier: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// One shell that reports the foreground, for as long as it is connected. The identifiers are made
/// outside the core.
public struct ShellIdentifier: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The name that a client gave its launch. Another launch with the same name gets the outcome that
/// was recorded for the first. At most 64 bytes of printable ASCII.
public struct LaunchIdentifier: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }
}

/// A key for the variables that programs read before `main`, together with the user to whom the
/// environment belongs. A launch may use a paused instance only if their keys are equal. The shell
/// ensures that no two environments of an app have the same key.
public struct EnvironmentKey: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A point on `CLOCK_MONOTONIC`. The clock stops while the machine sleeps. It continues when the
/// supervisor restarts, and begins again at a reboot.
public struct Instant: Hashable, Comparable, Sendable {
    public let nanoseconds: UInt64
    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }
    /// The instant that is `duration` later; earlier if `duration` is negative. Saturates at both
    /// ends.
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
    /// The time from this instant to `other`; negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration {
        other >= self
            ? .nanoseconds(Int64(clamping: other.nanoseconds - nanoseconds))
            : .zero - .nanoseconds(Int64(clamping: nanoseconds - other.nanoseconds))
    }
}
