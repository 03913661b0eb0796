import Glibc

extension LoopActor {
    /// CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)), the default clock of timers.
    public nonisolated static var nowNanoseconds: UInt64 {
        var now = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    /// The instant `duration` from now, in nanoseconds of CLOCK_MONOTONIC, without overflow.
    public nonisolated static func deadline(after duration: Duration) -> UInt64 {
        let (sum, overflow) = nowNanoseconds.addingReportingOverflow(nanoseconds(of: duration))
        return overflow ? .max : sum
    }
}

/// A duration in nanoseconds: 0 if it is negative, and the highest number if it exceeds 584 years.
func nanoseconds(of duration: Duration) -> UInt64 {
    guard duration > .zero else { return 0 }
    let (seconds, attoseconds) = duration.components
    let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
    return overflow || carry ? .max : sum
}
