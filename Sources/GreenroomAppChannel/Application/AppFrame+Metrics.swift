extension AppFrame {
    private static let reportName = "payload"

    static func metrics(_ reports: [MetricReport], _ cookie: UInt64) -> AppFrame {
        var frame = AppFrame(.metrics, cookie: cookie)
        for report in reports {
            frame.fields.add(reportName, "\(report.begin) \(report.end)")
            for line in report.lines { frame.fields.add(line.name, line.value) }
        }
        return frame
    }

    /// The reports. Fields before the first report are ignored.
    var metricReports: [MetricReport] {
        var reports: [MetricReport] = []
        for (name, value) in fields.pairs {
            if name == Self.reportName {
                let times = value.split(separator: " ").compactMap { Int64($0) }
                guard times.count == 2 else { continue }
                reports.append(MetricReport(begin: times[0], end: times[1]))
            } else if !reports.isEmpty {
                reports[reports.count - 1].take(name, value)
            }
        }
        return reports
    }
}
