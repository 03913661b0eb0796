import GreenroomLifecycle
import Testing

/// Instances that were paused before the imports of their app were learned.
@Suite struct `A pool whose imports were just learned` {
    private static let (before, after) = (EnvironmentKey(4), EnvironmentKey(5))

    private static func app(
        list: Bool, count: Int = 1, bootGeneration: UInt64 = 1
    ) -> AppDescription {
        .prewarmed(count: count) {
            $0.depth = .runtime
            $0.isSingleInstance = false
            $0.generation = list ? 2 : 1
            $0.importBasis = 7
            $0.importsLearned = list
            $0.bootGeneration = list ? bootGeneration : nil
            $0.bootKey = list ? before : nil
            $0.environmentKey = list ? after : before
        }
    }

    /// An app with paused instances, of which imports are learned then.
    private func stage(
        _ count: Int = 1, policy: Policy = Policy(), bootGeneration: UInt64 = 1
    ) -> (Stage, [InstanceIdentifier]) {
        var stage = Stage(policy: policy, Self.app(list: false, count: count))
        stage.send(.restored)
        while let id = filling(stage) { stage.send(.paused(id, byteCount: 1 << 20)) }
        let booted = stage.core.instances(of: Stage.app).map(\.instance).sorted()
        stage.send(
            .appInstalled(Self.app(list: true, count: count, bootGeneration: bootGeneration)))
        return (stage, booted)
    }

    private func filling(_ stage: Stage) -> InstanceIdentifier? {
        stage.core.instances(of: Stage.app).first { $0.state == .prewarming }?.instance
    }

    private func launch(
        _ stage: inout Stage, _ key: EnvironmentKey = after, bootKey: EnvironmentKey? = before
    ) -> InstanceIdentifier? {
        let request = stage.request()
        var launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("\(request.rawValue)"),
            environmentKey: key, isAttached: true)
        launch.bootKey = bootKey
        stage.send(.requested(request, .launch(launch)))
        return stage.effects.lazy.compactMap {
            if case .go(let id, _, _) = $0 { id } else { nil }
        }.first
    }

    @Test func `serves launches until an instance with the imports is paused`() throws {
        var (stage, booted) = stage()
        #expect(stage.state(booted[0]) == .prewarmed)
        let learned = try #require(filling(stage))
        #expect(launch(&stage) == booted[0])
        stage.send(.started(booted[0]))
        #expect(stage.outcomes.map(\.kind) == [.prewarmed])
        stage.send(.paused(learned, byteCount: 1))
        #expect(launch(&stage) == learned)
    }

    @Test func `ends one of the former instances for each that is paused`() throws {
        var (stage, booted) = stage(2)
        for number in 1...2 {
            stage.send(.paused(try #require(filling(stage)), byteCount: 1))
            #expect(booted.count { stage.state($0) == .prewarmed } == 2 - number)
        }
        #expect(filling(stage) == nil)
    }

    @Test func `serves only launches with the environment that it has read`() {
        var (stage, _) = stage()
        #expect(launch(&stage, bootKey: EnvironmentKey(9)) == nil)
        #expect(launch(&stage, bootKey: nil) == nil)
    }

    @Test func `is stale if anything else has changed`() {
        let (stage, booted) = stage(bootGeneration: 9)
        #expect(stage.core.instance(booted[0])?.endReason == .stale)
    }

    @Test(arguments: [true, false])
    func `makes room where the budget or the share has none for both`(isBudget: Bool) throws {
        var policy = Policy()
        if isBudget { policy.prewarmByteBudget = 3 << 19 } else { policy.instanceLimit = 1 }
        policy.assumedPrewarmBytes = 1 << 20
        var (stage, booted) = stage(policy: policy)
        #expect(stage.core.instance(booted[0])?.endReason == .poolTrimmed)
        stage.die(booted[0], .signaled(9, coreDumped: false))
        #expect(filling(stage) != nil)
    }

    @Test func `serves under the next supervisor too`() {
        var (stage, booted) = stage()
        stage.restart(Self.app(list: true))
        #expect(stage.state(booted[0]) == .prewarmed)
        #expect(launch(&stage) == booted[0])
    }

    @Test func `is what the app has again when the list is given up`() {
        var (stage, booted) = stage()
        stage.send(.appInstalled(Self.app(list: false)))
        #expect(stage.state(booted[0]) == .prewarmed)
        #expect(launch(&stage, Self.before, bootKey: nil) == booted[0])
    }
}
