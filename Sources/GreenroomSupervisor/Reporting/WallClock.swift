internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// Points of the monotonic clock, told as people's time. The two drift when somebody sets the
/// clock, so the offset is read anew each time.
enum WallClock {
    /// CLOCK_REALTIME in microseconds (clock_gettime(2)).
    static var nowMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    static func microseconds(at instant: Instant) -> Int64 {
        let now = Int64(clamping: MonotonicClock.nanoseconds / 1000)
        return nowMicroseconds - now + Int64(clamping: instant.nanoseconds / 1000)
    }
}
