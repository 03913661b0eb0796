internal import CSystemd
import Glibc

/// The clocks that a timer can go by (clock_gettime(2)).
public enum TimerClock: Hashable, Sendable {
    /// Stands while the machine sleeps.
    case monotonic
    /// Since the machine was started, sleep included: what came due in sleep comes after it.
    case boot
    /// Since 1970 UTC; a timer follows when it is set.
    case realtime

    var identifier: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        // <bits/time.h>, whose number the C library's module hides.
        case .boot: 7
        case .realtime: CLOCK_REALTIME
        }
    }

    /// Nanoseconds on it.
    public var nowNanoseconds: UInt64 {
        var now = timespec()
        _ = unsafe clock_gettime(identifier, &now)
        return UInt64(max(0, now.tv_sec)) * 1_000_000_000 + UInt64(now.tv_nsec)
    }
}
