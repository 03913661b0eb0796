internal import CGreenroomLinux

/// CLOCK_MONOTONIC, the clock of deadlines and of the app channel's time stamps.
public enum MonotonicClock {
    /// Nanoseconds since some point at boot (clock_gettime, which does not enter the kernel).
    public static var nanoseconds: UInt64 { gr_monotonic_nanoseconds() }
}
