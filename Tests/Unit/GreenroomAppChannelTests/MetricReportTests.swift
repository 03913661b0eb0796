@testable import GreenroomAppChannel
import TestSupport
import Testing

enum MetricSamples {
    static var full: MetricReport {
        var report = MetricReport(begin: 1 << 50, end: (1 << 50) + 5)
        for (index, metric) in LaunchMetric.allCases.enumerated() {
            report.launches[metric, default: .init()].add(microseconds: Int64(index) * 1_000_000)
            report.launches[metric, default: .init()].add(microseconds: .max)
        }
        report.hangs.add(microseconds: 300_000)
        for exit in MetricExit.allCases {
            report.foregroundExits[exit] = 3
            // This is the largest number that the reader accepts.
            report.backgroundExits[exit] = UInt64(Int64.max / 2)
        }
        for depth in MetricDepth.allCases {
            report.savings[depth, default: .init()].launches = 2
            report.savings[depth, default: .init()].time = 9
        }
        for (index, number) in MetricReport.numbers.enumerated() {
            report[keyPath: number.count] = 7 + UInt64(index)
        }
        return report
    }

    static let diagnostics = [
        DiagnosticReport(.crash, time: 5, wasInForeground: true, reason: "crashed", signal: 11),
        DiagnosticReport(
            .hang, time: .max, wasInForeground: false,
            reason: "application(_:open:options:) and more", duration: 250_000),
        DiagnosticReport(.launch, time: 0, wasInForeground: true, reason: "", duration: 5),
    ]

    static let events: [AppEvent] = [
        .metrics([], cookie: 1), .metrics([full, MetricReport(begin: 3, end: 4), full], cookie: 2),
        .diagnostics([], cookie: 3), .diagnostics(diagnostics, cookie: 4),
    ]
}

@Suite struct `Counts of launches and ends` {
    @Test func `a report is the same after its lines were read`() {
        var read = MetricReport(begin: MetricSamples.full.begin, end: MetricSamples.full.end)
        for line in MetricSamples.full.lines { read.take(line.name, line.value) }
        #expect(read == MetricSamples.full)
    }

    @Test func `a count of 0 is as if its line were missing`() {
        let empty = MetricReport(begin: 1, end: 2)
        var read = empty
        for name in [
            "exit.foreground.watchdog", "exit.background.normal", "launch.resume.0", "hang.0",
        ] {
            read.take(name, "0")
        }
        #expect(read == empty)
    }

    @Test func `a report has a line for every field`() {
        let empty = MetricReport(begin: 1, end: 2)
        for (field, other) in zip(
            Mirror(reflecting: MetricSamples.full).children, Mirror(reflecting: empty).children)
        {
            #expect("\(field.value)" != "\(other.value)", "\(field.label ?? "") is in no line")
        }
    }

    @Test func `the manual names every line`() throws {
        let page = try String(
            decoding: readFile("\(packageRoot)/Sources/Documentation/man/greenroom-protocol.7"),
            as: UTF8.self)
        for line in MetricSamples.full.lines {
            let words = line.name.split(separator: ".")
            let name =
                switch words[0] {
                // The interface's words follow, or the beginning of a bucket.
                case "launch", "hang": "\(words[0])."
                case "exit": "exit.\(words[1])."
                case "saved": "saved."
                case _: line.name
                }
            #expect(page.contains(name), "\(name)")
        }
    }

    @Test(arguments: [
        "", ".", "launch", "launch.resume", "launch.resume.4", "launch.later.200", "hang.x",
        "saved.runtime.money", "saved.deep.time", "saved.runtime",
        "exit.foreground.never", "exit.somewhere", "time.", "memory.unknown", "launch.resume.200.1",
    ]) func `a report ignores a line that it does not know`(name: String) {
        var report = MetricReport(begin: 1, end: 2)
        report.take(name, "3")
        report.take("launch.resume.200", "many")
        #expect(report == MetricReport(begin: 1, end: 2))
    }

    @Test func `a duration falls into the bucket that begins at or before it`() {
        for (index, bound) in MetricHistogram.bounds.enumerated() {
            #expect(MetricHistogram.bucket(of: Int64(bound) * 1000) == UInt8(index))
            guard index > 0 else { continue }
            #expect(MetricHistogram.bucket(of: Int64(bound) * 1000 - 1) == UInt8(index - 1))
        }
        // The clock of another process may be ahead of ours.
        #expect(MetricHistogram.bucket(of: -5) == 0)
    }

    @Test func `a removal changes one bucket and no other`() {
        var histogram = MetricHistogram()
        histogram.add(2, to: 3)
        histogram.add(1, to: 4)
        histogram.remove(from: 3)
        histogram.remove(from: 4)
        histogram.remove(from: 5)
        #expect(histogram.counts == [3: 1])
    }

    @Test func `a diagnostic is read back, and a text of another form is none`() {
        for report in MetricSamples.diagnostics {
            #expect(DiagnosticReport(text: report.text) == report)
        }
        for text in ["", "crash", "crash 1 foreground - -", "other 1 foreground - - x"] {
            #expect(DiagnosticReport(text: text) == nil)
        }
    }
}
