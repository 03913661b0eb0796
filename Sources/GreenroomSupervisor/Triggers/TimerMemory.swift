internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux

/// What timers remember beyond the daemon's life: a file for each app.
///
///     STATE/timers/APP    its time is that of the last calendar launch (as systemd's stamp files)
///     RUNTIME/timers/APP  the next time on the clock since the boot, or "over"; then the schedule
///
/// What cannot be written is forgotten when the daemon ends, and the timers go on.
struct TimerMemory {
    private let stamps: String
    private let deadlines: String

    init(stateDirectory: String, runtimeDirectory: String) {
        stamps = stateDirectory + "/timers"
        deadlines = runtimeDirectory + "/timers"
    }

    // MARK: Calendar

    /// The time of the app's last calendar launch in microseconds since 1970 UTC. If there was
    /// none, `now` is noted as the first, and times count from now on.
    func lastElapse(of app: AppIdentifier, now: Int64) -> Int64 {
        var status = stat()
        if unsafe stat("\(stamps)/\(app)", &status) == 0 {
            let time = status.st_mtim
            // The clock may have been put back: no launch was in the future.
            return min(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000, now)
        }
        noteElapse(of: app, at: now)
        return now
    }

    func noteElapse(of app: AppIdentifier, at time: Int64) {
        let slash = stamps.lastIndex(of: "/") ?? stamps.startIndex
        unsafe mkdir(String(stamps[..<slash]), 0o755)
        unsafe mkdir(stamps, 0o755)
        guard
            let file = try? FileDescriptor.open(
                "\(stamps)/\(app)", O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o644)
        else { return }
        let seconds = time_t(time / 1_000_000)
        let stamp = timespec(tv_sec: seconds, tv_nsec: Int(time % 1_000_000) * 1000)
        let times = [stamp, stamp]
        _ = unsafe futimens(file.rawValue, times)
    }

    // MARK: Since the boot

    enum Deadline: Equatable {
        /// No deadline is known for this schedule.
        case unknown
        /// The deadline has passed and does not come again.
        case over
        /// Nanoseconds of CLOCK_BOOTTIME.
        case at(UInt64)
    }

    /// - Parameter schedule: the schedule that the deadline was noted for; another schedule has not
    ///   begun.
    func deadline(of app: AppIdentifier, schedule: String) -> Deadline {
        guard let text = try? SmallFile.text(of: "\(deadlines)/\(app)") else { return .unknown }
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[1] == schedule else { return .unknown }
        return UInt64(words[0]).map(Deadline.at) ?? .over
    }

    func note(_ deadline: UInt64?, of app: AppIdentifier, schedule: String) {
        unsafe mkdir(deadlines, 0o755)
        let path = "\(deadlines)/\(app)"
        let text = (deadline.map(String.init) ?? "over") + " " + schedule
        try? SmallFile.replace(path, with: text)
    }

    func forget(_ app: AppIdentifier) { unsafe unlink("\(deadlines)/\(app)") }
}
