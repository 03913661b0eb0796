import GreenroomAppChannel
import GreenroomControl
import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

@Suite struct `How an end is counted` {
    private func exit(
        _ reason: ExitReason, launched: Bool = true,
        _ change: (inout InstanceRecord) -> Void = { _ in }
    ) -> MetricExit? {
        var saved = RecordedState(.notRunning)
        if launched { saved.launchedAt = Instant(nanoseconds: 2) }
        saved.endReason = reason
        saved.exitStatus = .signaled(9, coreDumped: false)
        var record = InstanceRecord(
            instance: InstanceIdentifier(1), app: AppIdentifier("org.example.app"), generation: 1,
            environmentKey: EnvironmentKey(0), saved: saved, since: Instant(nanoseconds: 1))
        change(&record)
        return MetricExit(record)
    }

    @Test func `an end at the app's own memory limit is distinguished from memory pressure`() {
        #expect(exit(.outOfMemory) { $0.wasOverOwnLimit = true } == .memoryLimit)
        #expect(exit(.outOfMemory) == .memoryPressure)
        #expect(exit(.probablyOutOfMemory) == .memoryPressure)
        #expect(exit(.reclaimed) == .memoryPressure)
    }

    /// greenroom-protocol(7) says so.
    @Test func `clients and apps are told the same words, except for the dash`() {
        func words(_ values: [some RawRepresentable<String>]) -> [String] {
            values.map { $0.rawValue.replacing("-", with: "_") }
        }
        #expect(words(LaunchMetric.allCases) == words(Control.LaunchMetric.allCases))
        #expect(words(MetricExit.allCases) == words(Control.MetricExit.allCases))
        #expect(words(DiagnosticReport.Kind.allCases) == words(Control.DiagnosticKind.allCases))
        for exit in MetricExit.allCases {
            #expect(words([exit]) == words([Control.MetricExit(exit)]))
        }
        for metric in LaunchMetric.allCases {
            #expect(words([metric]) == words([Control.LaunchMetric(metric)]))
        }
    }

    @Test func `the end of an instance that was never launched is not counted`() {
        #expect(exit(.outOfMemory, launched: false) == nil)
    }
}
