import Testing

@testable import GreenroomLifecycle

@Suite struct `Every transition` {
    /// The legal changes of the state that clients see, as pairs.
    static let legal: Set<[ExecutionState]> = [
        [.prewarming, .prewarmed], [.prewarming, .terminating], [.prewarming, .notRunning],
        [.prewarmed, .launching], [.prewarmed, .terminating], [.prewarmed, .notRunning],
        [.launching, .inactive], [.launching, .background], [.launching, .terminating],
        [.launching, .notRunning], [.inactive, .active], [.inactive, .background],
        [.inactive, .terminating], [.inactive, .notRunning], [.active, .inactive],
        [.active, .terminating], [.active, .notRunning], [.background, .inactive],
        [.background, .suspended], [.background, .terminating], [.background, .notRunning],
        [.suspended, .background], [.suspended, .terminating], [.suspended, .notRunning],
        [.terminating, .notRunning],
    ]

    @Test(arguments: ExecutionState.allCases, ExecutionState.allCases)
    func `is legal or illegal as the table says`(from: ExecutionState, to: ExecutionState) {
        let steps = Phase.allCases.filter { $0.state == from }.flatMap(\.successors)
        let isLegal = from != to && steps.contains { $0.state == to }
        #expect(isLegal == Self.legal.contains([from, to]))
    }

    @Test(arguments: ExecutionState.allCases, ExecutionState.allCases)
    func `that is legal keeps the indices correct`(from: ExecutionState, to: ExecutionState) {
        guard Self.legal.contains([from, to]) else { return }
        var core = core(in: from)
        let exit = InstanceEnd.Exit(
            status: nil, reason: .unknown, at: Instant(nanoseconds: 0), from: from)
        switch to {
        case .terminating: core.move(InstanceIdentifier(1), to: .ordered(.terminated))
        case .notRunning: core.move(InstanceIdentifier(1), to: .over(exit))
        case _: core.move(InstanceIdentifier(1), to: to, deadline: Instant(nanoseconds: 1))
        }
        let app = core.directory[Stage.app]!
        #expect(core.instance(InstanceIdentifier(1))?.state == to)
        #expect(app.filling.count == (to == .prewarming ? 1 : 0))
        #expect(app.pool.count == (to == .prewarmed ? 1 : 0))
        #expect(app.running.count == (to.isRunning ? 1 : 0))
        #expect(core.prewarmedBytes == (to.isPrewarm ? 7 : 0))
        #expect(core.liveCount == (to == .notRunning ? 0 : 1))
        #expect(!core.foreground(of: "seat").isEmpty == to.isForeground)
    }

    @Test func `out of not running traps`() async {
        await #expect(processExitsWith: .failure) {
            var core = `Every transition`().core(in: .notRunning)
            core.move(InstanceIdentifier(1), to: .active)
        }
    }

    @Test func `from active straight to suspended traps`() async {
        await #expect(processExitsWith: .failure) {
            var core = `Every transition`().core(in: .active)
            core.move(InstanceIdentifier(1), to: .suspended)
        }
    }

    /// The state may follow, but the freeze was not ordered.
    @Test func `from the background straight to frozen traps`() async {
        await #expect(processExitsWith: .failure) {
            var core = `Every transition`().core(in: .background)
            core.update(InstanceIdentifier(1)) { $0.course = $0.course.running(.frozen) }
        }
    }

    /// The state that clients see is the same, and so is everything else that is saved.
    @Test func `follows from the course alone`() {
        var core = core(in: .launching)
        #expect(core.instance(InstanceIdentifier(1))?.phase == .starting)
        core.update(InstanceIdentifier(1)) {
            $0.conversation = Conversation(scenes: [])
            $0.deadline = Instant(nanoseconds: 1)
        }
        #expect(core.instance(InstanceIdentifier(1))?.phase == .starting)
        core.update(InstanceIdentifier(1)) { $0.course = $0.course.running(.arriving) }
        #expect(core.instance(InstanceIdentifier(1))?.phase == .arriving)
    }

    @Test func `that a change of a record causes traps in debug builds`() async {
        await #expect(processExitsWith: .failure) {
            var core = `Every transition`().core(in: .prewarmed)
            core.update(InstanceIdentifier(1)) { $0.course = .ordered }
        }
    }

    @Test func `of an unknown instance traps`() async {
        await #expect(processExitsWith: .failure) {
            _ = `Every transition`().core(in: .active)[InstanceIdentifier(9)]
        }
    }

    @Test(arguments: ExecutionState.allCases)
    func `from a saved record that contradicts itself keeps what comes first`(
        state: ExecutionState
    ) {
        var saved = RecordedState(state)
        saved.isToldToGo = true
        saved.isEmpty = state != .notRunning
        saved.exitStatus = .unknown
        let record = record(saved)
        #expect(record.state == state)
        #expect(record.exitStatus == .unknown && record.endReason == .unknown)
        #expect(record.isEmpty == (state == .notRunning))
        #expect(record.phase != .toldToGo)
        var core = Lifecycle(
            restoring: [record], apps: [], nextInstance: InstanceIdentifier(2), policy: Policy(),
            seed: 1, at: Instant(nanoseconds: 0))
        for event in [Event.restored, .emptied(record.instance)] {
            _ = core.handle(event, at: Instant(nanoseconds: 0))
        }
        #expect(core.instances.allSatisfy { $0.state == .notRunning })
    }

    private func record(_ saved: RecordedState) -> InstanceRecord {
        InstanceRecord(
            instance: InstanceIdentifier(1), app: Stage.app, generation: 1,
            environmentKey: Stage.key, saved: saved, since: Instant(nanoseconds: 0))
    }

    func core(in state: ExecutionState) -> Lifecycle {
        var saved = RecordedState(state)
        if state.isRunning { saved.launchedAt = Instant(nanoseconds: 0) }
        var record = record(saved)
        record.byteCount = 7
        var core = Lifecycle(
            restoring: [record], apps: [AppRecord(app: Stage.app)],
            nextInstance: InstanceIdentifier(2), policy: Policy(), seed: 1,
            at: Instant(nanoseconds: 0))
        _ = core.handle(
            .appInstalled(.plain { $0.foregroundGroup = "seat" }), at: Instant(nanoseconds: 0))
        return core
    }
}
