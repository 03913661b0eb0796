import GreenroomLifecycle
import Testing

/// What the kernel's choice says about an app.
@Suite struct MemoryEndTests {
    /// Two kills by the kernel within the window; true: that is a crash loop.
    private func loops(
        _ place: ExecutionState, isCertain: Bool = true, isOwnLimit: Bool = false
    ) -> Bool {
        var stage = Stage(.plain())
        for _ in 0..<2 {
            let id = stage.run(inBackground: place != .active)
            if place == .suspended {
                stage.ask(.suspend, id)
                stage.send(.frozen(id))
            }
            #expect(stage.state(id) == place)
            stage.send(.outOfMemory(id, isCertain: isCertain, isOwnLimit: isOwnLimit))
            stage.die(id, .signaled(9, coreDumped: false))
        }
        return stage.core.app(Stage.app)!.crashLoopUntil != nil
    }

    @Test(arguments: [ExecutionState.background, .suspended], [true, false])
    func `an app that is taken from the background for others' sake does not crash`(
        _ place: ExecutionState, _ isCertain: Bool
    ) {
        #expect(!loops(place, isCertain: isCertain))
    }

    @Test(arguments: [ExecutionState.background, .suspended, .active])
    func `one that reaches its own limit does, wherever it is`(_ place: ExecutionState) {
        #expect(loops(place, isOwnLimit: true))
    }

    @Test func `and so does one that is taken in front`() {
        #expect(loops(.active) && loops(.active, isCertain: false))
    }
}

/// The kernel's choice among the paused.
@Suite struct PausedMemoryEndTests {
    private let id = InstanceIdentifier(1)

    /// A paused instance is killed; what is left of it.
    private func stage(
        isCertain: Bool? = true, isOwnLimit: Bool = false, losesChannel: Bool
    ) -> Stage {
        var stage = Stage(.prewarmed())
        stage.send(.paused(id, byteCount: 1))
        if let isCertain {
            stage.send(.outOfMemory(id, isCertain: isCertain, isOwnLimit: isOwnLimit))
        }
        if losesChannel { stage.send(.channelLost(id)) }
        stage.die(id, .signaled(9, coreDumped: false))
        return stage
    }

    @Test(arguments: [true, false])
    func `the kernel's kill is the reason, not the lost channel`(_ losesChannel: Bool) {
        let stage = stage(losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .outOfMemory)
        let other = self.stage(isCertain: false, losesChannel: losesChannel)
        #expect(other.core.instance(id)?.endReason == .probablyOutOfMemory)
    }

    @Test(arguments: [true, false])
    func `without the kernel's word it is a failure`(_ losesChannel: Bool) {
        let stage = stage(isCertain: nil, losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
    }

    @Test(arguments: [true, false], [true, false])
    func `one that is taken for others' sake is no failure, but held back like a reclaimed one`(
        _ isCertain: Bool, _ losesChannel: Bool
    ) {
        var stage = stage(isCertain: isCertain, losesChannel: losesChannel)
        let app = stage.core.app(Stage.app)!
        #expect(app.prewarmFailures == 0)
        #expect(stage.core.isPausedByReclaim(Stage.app, until: app.prewarmRetryAt!))
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) == .reclaimed)
        let effects = stage.wait(stage.core.policy.reclaimPause)
        #expect(
            effects.contains { if case .spawn(_, Stage.app, .prewarm) = $0 { true } else { false } }
        )
    }

    @Test func `another that comes to its pause meanwhile does not make a failure of it`() {
        var stage = Stage(.prewarmed(count: 2))
        stage.send(.outOfMemory(id, isCertain: true, isOwnLimit: false))
        stage.die(id, .signaled(9, coreDumped: false))
        stage.send(.paused(InstanceIdentifier(2), byteCount: 1))
        stage.launch()
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) == .reclaimed)
    }

    @Test(arguments: [true, false])
    func `one that reaches its own limit has failed`(_ losesChannel: Bool) {
        let stage = stage(isOwnLimit: true, losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .outOfMemory)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
        #expect(stage.core.app(Stage.app)?.isReclaimed == false)
    }

    @Test func `whoever waits for one that is taken is told that its memory was wanted`() {
        var stage = Stage(.plain { $0.prewarmOccasion = .demand })
        let request = stage.request()
        stage.send(.requested(request, .prewarm(Stage.app, Stage.key)))
        stage.send(.outOfMemory(id, isCertain: true, isOwnLimit: false))
        stage.send(.channelLost(id))
        guard case .backOff(Stage.app, let until)? = stage.refusals.first else {
            Issue.record("\(stage.refusals)")
            return
        }
        #expect(stage.core.isPausedByReclaim(Stage.app, until: until))
    }
}
