import GreenroomLifecycle
import Testing

/// Every sequence of up to three events, sensible or not, for one app with a pool of one and
/// a budget for one.
@Suite struct `Every short sequence of events` {
    static let one = InstanceIdentifier(1)
    static let two = InstanceIdentifier(2)

    static let chapters: [@Sendable (inout Stage) -> Void] = [
        { $0.launch() },
        { $0.launch(key: EnvironmentKey(5), inBackground: true) },
        { $0.launch(name: "again") },
        { $0.send(.requested($0.request(), .prewarm(Stage.app, Stage.key))) },
        { $0.send(.spawned(two)) },
        { $0.send(.paused(one, byteCount: 2 << 20)) },
        { $0.send(.started(one)) },
        { $0.send(.channelLost(one)) },
        { $0.send(.exited(one, .exited(0))) },
        { $0.send(.exited(two, .signaled(11, coreDumped: false))) },
        { $0.send(.emptied(one)) },
        { $0.ask(.suspend, two) },
        { $0.ask(.terminate, two) },
        { $0.send(.becameStale(one)) },
        { $0.send(.pressureChanged(.critical)) },
        { $0.wait(.seconds(20)) },
        { $0.send(.shutdownRequested) },
    ]

    @Test func `keeps every invariant`() {
        var policy = Policy()
        policy.prewarmByteBudget = 16 << 20
        let stage = Stage(
            policy: policy,
            .prewarmed {
                $0.isSingleInstance = true
                $0.foregroundGroup = "seat"
                $0.suspendsInBackground = true
            })
        var count = 0
        tell(stage, answered: [], depth: 3, &count)
        let n = Self.chapters.count
        #expect(count == n + n * n + n * n * n)
    }

    private func tell(
        _ stage: Stage, answered: Set<RequestIdentifier>, depth: Int, _ count: inout Int
    ) {
        guard depth > 0 else { return }
        for chapter in Self.chapters {
            var next = stage
            chapter(&next)
            count += 1
            var told = answered
            let isKept = check(next, &told)
            if isKept { tell(next, answered: told, depth: depth - 1, &count) }
        }
    }

    /// Compares without `#expect`, which would take minutes for so many cases.
    private func check(_ stage: Stage, _ told: inout Set<RequestIdentifier>) -> Bool {
        for effect in stage.effects {
            guard case .answer(let request, _) = effect else { continue }
            guard told.insert(request).inserted else { return fail("answered twice", stage) }
        }
        let records = stage.core.instances
        let prewarms = records.filter { $0.state == .prewarmed || $0.state == .prewarming }
        let bytes = prewarms.map(\.byteCount).reduce(0, +)
        guard bytes == stage.core.prewarmedBytes, bytes <= 16 << 20 else {
            return fail("over budget", stage)
        }
        guard records.filter({ $0.state == .active }).count <= 1 else {
            return fail("two in front", stage)
        }
        guard records == stage.saved.values.sorted(by: { $0.instance < $1.instance }) else {
            return fail("not saved", stage)
        }
        return true
    }

    private func fail(_ words: String, _ stage: Stage) -> Bool {
        Issue.record("\(words): \(stage.testDescription)")
        return false
    }
}
