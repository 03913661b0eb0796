import GreenroomAppChannel
import GreenroomLifecycle
@testable import GreenroomSupervisor
import Testing

@Suite struct `A launch that is measured` {
    private static let start = Instant(nanoseconds: 0)

    /// Draws after 10 ms, works on the task until 50 ms, and returns the count of extended launches.
    private func extended(by task: String) -> UInt64 {
        var report = MetricReport(begin: 0, end: 0)
        var meter = LaunchMeter(.firstDraw, requestedAt: Self.start)
        func count(_ change: (inout MetricReport) -> Void) { change(&report) }
        meter.begin(task)
        _ = meter.drew(
            at: Self.start.advanced(by: .milliseconds(10)), isSaid: true, count)
        meter.finish(task, at: Self.start.advanced(by: .milliseconds(50)), count)
        return report.launches[.extendedLaunch]?.total ?? 0
    }

    @Test func `counts the first draw that the app reports, and until then its activation`() {
        var report = MetricReport(begin: 0, end: 0)
        var meter = LaunchMeter(.firstDraw, requestedAt: Self.start)
        func draw(at milliseconds: Int, isSaid: Bool) -> Duration? {
            meter.drew(at: Self.start.advanced(by: .milliseconds(milliseconds)), isSaid: isSaid) {
                $0(&report)
            }
        }
        #expect(draw(at: 10, isSaid: false) == .milliseconds(10))
        #expect(draw(at: 20, isSaid: false) == nil)
        #expect(draw(at: 100, isSaid: true) == nil)
        var expected = MetricHistogram()
        expected.add(microseconds: 100_000)
        #expect(report.launches[.firstDraw] == expected)
        #expect(draw(at: 1000, isSaid: true) == nil)
        #expect(report.launches[.firstDraw] == expected)
    }

    @Test func `is extended by the app's work if the work's name is not too long`() {
        #expect(extended(by: "first page") == 1)
        #expect(extended(by: String(repeating: "x", count: 128)) == 1)
        #expect(extended(by: String(repeating: "x", count: 129)) == 0)
    }
}
