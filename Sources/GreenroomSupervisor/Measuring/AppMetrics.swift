internal import GreenroomAppChannel

/// What is counted for one app of one user, and the part of it that the app has not received yet.
struct AppMetrics: Equatable {
    /// Everything since the first count, for people to read.
    var total: MetricReport
    /// What was counted since the last report for the app was closed.
    var current: MetricReport
    /// Reports that are closed and not delivered, oldest first.
    var pending: [MetricReport] = []
    /// Diagnostics that are not delivered, oldest first.
    var diagnostics: [DiagnosticReport] = []
    /// When the app last received a payload; microseconds since 1970 UTC.
    var deliveredAt: Int64 = 0

    /// A week of daily reports, like MetricKit's past payloads. Above the limit, the oldest is
    /// dropped.
    static let pendingLimit = 7
    /// More diagnostics than a bad day brings. Above the limit, the oldest is dropped.
    static let diagnosticLimit = 16

    init(now: Int64) {
        total = MetricReport(begin: now, end: now)
        current = total
    }

    mutating func count(at now: Int64, _ change: (inout MetricReport) -> Void) {
        change(&total)
        change(&current)
        total.end = now
        current.end = now
    }

    mutating func add(_ diagnostic: DiagnosticReport) {
        diagnostics.append(diagnostic)
        if diagnostics.count > Self.diagnosticLimit { diagnostics.removeFirst() }
    }

    /// Closes the current report if its interval is over.
    mutating func close(at now: Int64, interval: Int64) {
        // The clock may have been put back: no report begins in the future.
        if current.begin > now { current.begin = now }
        if deliveredAt > now { deliveredAt = now }
        guard now - current.begin >= interval else { return }
        if !current.isEmpty {
            var closed = current
            closed.end = now
            pending.append(closed)
            if pending.count > Self.pendingLimit { pending.removeFirst() }
        }
        current = MetricReport(begin: now, end: now)
    }

    /// Whether the app may have its payloads now: at most once in the interval.
    func mayDeliver(at now: Int64, interval: Int64) -> Bool {
        !pending.isEmpty && now - deliveredAt >= interval
    }

    /// The earliest time at which there may be something to deliver to the app.
    func nextDelivery(interval: Int64) -> Int64 {
        let free = deliveredAt + interval
        return pending.isEmpty ? max(free, current.begin + interval) : free
    }
}

/// The text has a line for each item: `delivered TIME`; `total BEGIN END`, `current …` and
/// `pending …`, each followed by indented lines with what was counted; `diagnostic …`.
extension AppMetrics {
    var text: String {
        var text = "delivered \(deliveredAt)\n"
        for (name, report) in [("total", total), ("current", current)]
            + pending.map({ ("pending", $0) })
        {
            text += "\(name) \(report.begin) \(report.end)\n"
            for line in report.lines { text += " \(line.name) \(line.value)\n" }
        }
        for diagnostic in diagnostics { text += "diagnostic \(diagnostic.text)\n" }
        return text
    }

    /// Skips what it does not understand: damaged counts are not a reason not to start.
    init(text: String, now: Int64) {
        self.init(now: now)
        var place = WritableKeyPath<AppMetrics, MetricReport>?.none
        for line in StateLines(text).lines {
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { continue }
            if line.hasPrefix(" ") {
                if let place { self[keyPath: place].take(words[0], words[1]) }
                continue
            }
            switch words[0] {
            case "delivered": deliveredAt = Int64(words[1]).map { min(max(0, $0), now) } ?? 0
            case "diagnostic": if let report = DiagnosticReport(text: words[1]) { add(report) }
            case _: place = begin(words[0], words[1].split(separator: " "), now)
            }
        }
    }

    private mutating func begin(
        _ name: Substring, _ words: [Substring], _ now: Int64
    ) -> WritableKeyPath<AppMetrics, MetricReport>? {
        // A time before 1970 or after now does not come from a clock that counted here.
        let times = words.compactMap { Int64($0) }.map { min(max(0, $0), now) }
        guard times.count == 2 else { return nil }
        let report = MetricReport(begin: times[0], end: max(times[0], times[1]))
        switch name {
        case "total":
            total = report
            return \.total
        case "current":
            current = report
            return \.current
        case "pending" where pending.count < Self.pendingLimit:
            pending.append(report)
            return \.pending[pending.count - 1]
        case _: return nil
        }
    }
}
