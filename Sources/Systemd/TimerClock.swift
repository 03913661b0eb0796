internal import CSystemd
import Glibc

/// The clocks of timers (clock_gettime(2)).
public enum TimerClock: Hashable, Sendable {
    /// Stops while the machine sleeps.
    case monotonic
    /// The time since boot, including sleep. A timer that expires during sleep fires afterwards.
    case boot
    /// The time since 1970 UTC. When the clock is set, timers follow the new time.
    case realtime

    var identifier: clockid_t {
        switch self {
        case .monotonic: CLOCK_MONOTONIC
        // CLOCK_BOOTTIME in <bits/time.h>, which the C library's module hides.
        case .boot: 7
        case .realtime: CLOCK_REALTIME
        }
    }

    /// The clock's time in nanoseconds.
    public var nowNanoseconds: UInt64 {
        var now = timespec()
        _ = unsafe clock_gettime(identifier, &now)
        return UInt64(max(0, now.tv_sec)) * 1_000_000_000 + UInt64(now.tv_nsec)
    }
}
