import Glibc

/// A span of CLOCK_REALTIME in microseconds, with the days of the local time zone in it.
struct TimeSpan {
    let start: Int64
    let end: Int64

    init(from start: Int64, to end: Int64) {
        self.start = start
        self.end = max(end, start &+ 1)
    }

    /// At most this many days are drawn, because the span may be years.
    private static let dayLimit = 62

    /// Where a time lies: 0 at the start, 1 at the end; times outside are moved to the edge.
    func place(of time: Int64) -> Double {
        let share = (Double(time) - Double(start)) / (Double(end) - Double(start))
        return min(max(share, 0), 1)
    }

    /// The midnights in the span, with the day that begins there (localtime_r, mktime).
    var midnights: [(time: Int64, name: String)] {
        var seconds = time_t(start / 1_000_000)
        var fields = unsafe tm()
        unsafe localtime_r(&seconds, &fields)
        var days: [(Int64, String)] = []
        unsafe (fields.tm_hour, fields.tm_min, fields.tm_sec) = (0, 0, 0)
        while days.count < Self.dayLimit {
            unsafe fields.tm_mday += 1
            unsafe fields.tm_isdst = -1
            // A daemon may send a time that no calendar has.
            let (midnight, isOverflow) = unsafe Int64(mktime(&fields))
                .multipliedReportingOverflow(by: 1_000_000)
            guard !isOverflow, midnight > max(start, days.last?.0 ?? start), midnight < end else {
                break
            }
            days.append((midnight, unsafe Self.name(&fields)))
        }
        return days
    }

    private static func name(_ fields: inout tm) -> String {
        var buffer = [CChar](repeating: 0, count: 32)
        let count = unsafe strftime(&buffer, buffer.count, "%a %-d %b", &fields)
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
