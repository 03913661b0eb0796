internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Synchronization

/// Points of the monotonic clock, told as people's time. The two drift when somebody sets the
/// clock, so the offset is read anew each time; but one instant is told alike each time, unless
/// the clock was set in between.
enum WallClock {
    /// Two readings one after the other differ by the time between them. Whoever corrects the
    /// clock steps it by 128 ms or more (ntpd(8)), or slews both clocks alike.
    private static let tolerance: Int64 = 100_000

    /// Of the wall clock; 0 until it was read.
    private static let offset = Atomic<Int64>(0)

    /// CLOCK_REALTIME in microseconds (clock_gettime(2)).
    static var nowMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// What files are stamped with now: CLOCK_REALTIME_COARSE, which lags by up to a tick, so that no file
    /// of the future is older.
    static var stampMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    static func microseconds(at instant: Instant) -> Int64 {
        let read = nowMicroseconds - Int64(clamping: MonotonicClock.nanoseconds / 1000)
        let known = offset.load(ordering: .relaxed)
        let isSet = known == 0 || abs(read - known) >= tolerance
        if isSet { offset.store(read, ordering: .relaxed) }
        return (isSet ? read : known) + Int64(clamping: instant.nanoseconds / 1000)
    }
}
