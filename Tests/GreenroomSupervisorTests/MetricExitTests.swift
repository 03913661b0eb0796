import GreenroomAppChannel
import GreenroomLifecycle
import Testing

@testable import GreenroomSupervisor

@Suite struct `What an end counts as` {
    private func exit(
        _ reason: ExitReason, launched: Bool = true,
        _ change: (inout InstanceRecord) -> Void = { _ in }
    ) -> MetricExit? {
        var record = InstanceRecord(
            instance: InstanceIdentifier(1), app: AppIdentifier("org.example.app"), generation: 1,
            environmentKey: EnvironmentKey(0), state: .notRunning, since: Instant(nanoseconds: 1))
        if launched { record.progress = .running(since: Instant(nanoseconds: 2)) }
        record.endReason = reason
        record.exitStatus = .signaled(9, coreDumped: false)
        change(&record)
        return MetricExit(record)
    }

    @Test func `its own limit and others' want of memory are two things`() {
        #expect(exit(.outOfMemory) { $0.wasOverOwnLimit = true } == .memoryLimit)
        #expect(exit(.outOfMemory) == .memoryPressure)
        #expect(exit(.probablyOutOfMemory) == .memoryPressure)
        #expect(exit(.reclaimed) == .memoryPressure)
    }

    @Test func `what was never launched counts as nothing`() {
        #expect(exit(.outOfMemory, launched: false) == nil)
    }
}
