internal import Glibc

/// The processor time that a process has used.
public enum ProcessorTime {
    /// The time in microseconds of all threads that the process has had, without its children
    /// (clock_getcpuclockid(3), clock_gettime(2)).
    ///
    /// Opens nothing and waits for nothing. If the process has ended, the result is nil, or the
    /// time of another process that now has its number.
    public static func microseconds(of pid: Int32) -> Int64? {
        var clock: clockid_t = 0
        guard unsafe clock_getcpuclockid(pid, &clock) == 0 else { return nil }
        var time = timespec()
        guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
