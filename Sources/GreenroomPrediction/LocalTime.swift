/// A moment as its user's clock shows it: seconds since 1970-01-01 00:00 in local time. The caller
/// adds the offset from UTC, because this target has no clock and no time zone.
public struct LocalTime: Hashable, Comparable, Sendable {
    public var seconds: Int64

    public init(seconds: Int64) { self.seconds = seconds }

    public static func < (one: Self, other: Self) -> Bool { one.seconds < other.seconds }

    /// 0 to 23.
    public var hour: Int { Int(seconds.floored(by: 3600).remainder(by: 24)) }
    /// 0 is Monday. 1970-01-01 was a Thursday.
    public var weekday: Int {
        Int((seconds.floored(by: 86400) % 7 + 3).remainder(by: 7))
    }

    /// The seconds since an earlier moment; 0 if the clock was set back.
    func elapsed(since earlier: Self) -> Double {
        let (difference, isOverflow) = seconds.subtractingReportingOverflow(earlier.seconds)
        if isOverflow { return seconds > earlier.seconds ? Double(Int64.max) : 0 }
        return Double(max(0, difference))
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }

    fileprivate func remainder(by divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
