internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Synchronization

/// Instants of the monotonic clock as wall-clock time. The two clocks drift apart when somebody
/// sets the wall clock, so the offset is read again each time. But an instant is given the same
/// time each time, unless the clock was set in between.
enum WallClock {
    /// In microseconds: a smaller change of the offset is not taken for a change of the clock. The
    /// two clocks are read one after the other, which makes the offset wrong by far less. Whoever
    /// corrects the clock steps it by 128 ms or more (ntpd(8)), or slews both clocks alike.
    private static let tolerance: Int64 = 100_000

    /// The wall clock's offset from the monotonic clock; 0 until it was read.
    private static let offset = Atomic<Int64>(0)

    /// CLOCK_REALTIME in microseconds (clock_gettime(2)).
    static var nowMicroseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The time that files are stamped with now, by CLOCK_REALTIME_COARSE, which lags by up to a
    /// tick. So no file that is written later has an earlier stamp.
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

extension Duration {
    /// Whole microseconds, saturating.
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : scaled + attoseconds / 1_000_000_000_000
    }
}

extension Duration {
    /// The duration in milliseconds, for people to read.
    var milliseconds: String {
        let tenths = (microseconds + 50) / 100
        return tenths >= 100 ? "\(tenths / 10) ms" : "\(tenths / 10).\(tenths % 10) ms"
    }
}
