import GreenroomLifecycle
import Testing

/// When what a plan keeps is too old (`PoolTests` has the other pools).
@Suite struct `An instance that a plan keeps` {
    let first = InstanceIdentifier(1)

    private static func description(
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> AppDescription {
        .prewarmed {
            $0.prewarmOccasion = .auto
            $0.foregroundGroup = "seat"
            change(&$0)
        }
    }

    /// The first instance has paused.
    private static func paused(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(description(change))
        stage.send(.loggedIn(foregroundGroup: "seat"))
        stage.send(.planned([Stage.app]))
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1, hasOtherThreads: true))
        return stage
    }

    @Test(arguments: [PrewarmDepth.main, .libraries, .runtime])
    func `is not made again while nobody is there`(depth: PrewarmDepth) {
        var stage = Self.paused { $0.depth = depth }
        stage.wait(.seconds(661))
        #expect(stage.state(first) == .prewarmed)
        #expect(stage.core.nextDeadline == nil, "something wakes an idle machine")
        stage.wait(.seconds(86400))
        #expect(stage.state(first) == .prewarmed)
        stage.send(.planned([]))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
    }

    @Test func `has the age limit that its manifest sets`() {
        var stage = Self.paused { $0.prewarmTimeToLive = .seconds(60) }
        stage.wait(.seconds(67))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }

    @Test func `has a limit again when a client asks for it, too`() {
        var stage = Self.paused()
        stage.wait(.seconds(661))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.send(.planned([]))
        #expect(stage.state(first) == .prewarmed)
        stage.wait(.seconds(661))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }

    /// The client's request ends with the first limit, and the plan alone keeps it after that.
    @Test func `that a client asked for has no limit once the request is forgotten`() {
        var stage = Self.paused()
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.wait(.seconds(7200))
        #expect(stage.state(first) == .prewarmed)
        stage.send(.planned([]))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
    }

    @Test func `has a limit again when another environment is the latest`() {
        var stage = Self.paused()
        stage.launch(key: EnvironmentKey(8))
        stage.launch(key: Stage.key)
        let second = stage.core.nextInstance
        stage.die(first)
        stage.wait(.seconds(5))
        stage.send(.paused(second, byteCount: 1))
        stage.wait(.seconds(661))
        #expect(stage.state(second) == .prewarmed && stage.core.nextDeadline == nil)
        stage.launch(key: EnvironmentKey(8))
        #expect(stage.state(second) == .prewarmed)
        stage.wait(.seconds(661))
        #expect(stage.core.instance(second)?.endReason == .prewarmExpired)
    }

    /// Until the first plan of the next supervisor, nobody knows whether a plan keeps it.
    @Test func `has a limit again after a restart`() {
        var stage = Self.paused()
        stage.wait(.seconds(661))
        stage.restart(Self.description())
        #expect(stage.state(first) == .prewarmed)
        stage.wait(.seconds(661))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }

    @Test func `has a limit again when its manifest leaves the time to somebody else`() {
        var stage = Self.paused()
        stage.wait(.seconds(661))
        stage.send(.appInstalled(Self.description { $0.prewarmOccasion = .boot }))
        stage.wait(.seconds(661))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }

    /// What a held program has read by itself may have changed if somebody was at work.
    @Test func `is held again at its window only after the machine was used`() {
        var stage = Self.paused { $0.depth = .window }
        stage.send(.frozen(first))
        stage.wait(.seconds(3600))
        #expect(stage.state(first) == .prewarmed)
        let other = AppIdentifier("org.example.other")
        stage.send(.appInstalled(.plain(other)))
        _ = stage.run(other)
        stage.wait(.seconds(661))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }
}
