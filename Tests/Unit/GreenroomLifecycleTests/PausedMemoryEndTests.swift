import GreenroomLifecycle
import Testing

/// Whether an out-of-memory kill of a running app counts as a crash.
@Suite struct MemoryEndTests {
    /// Whether two kills by the kernel within the window make a crash loop.
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
    func `a background app that the kernel kills to free memory for others has not crashed`(
        _ place: ExecutionState, _ isCertain: Bool
    ) {
        #expect(!loops(place, isCertain: isCertain))
    }

    @Test(arguments: [ExecutionState.background, .suspended, .active])
    func `an app that is killed at its own memory limit has crashed, whatever its state`(
        _ place: ExecutionState
    ) {
        #expect(loops(place, isOwnLimit: true))
    }

    @Test func `an app in front that the kernel kills for memory has crashed`() {
        #expect(loops(.active) && loops(.active, isCertain: false))
    }
}

/// Out-of-memory kills of paused instances.
@Suite struct PausedMemoryEndTests {
    private let id = InstanceIdentifier(1)

    /// The stage after a paused instance was killed.
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
    func `the kernel's kill is the recorded reason, not the lost channel`(_ losesChannel: Bool) {
        let stage = stage(losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .outOfMemory)
        let other = self.stage(isCertain: false, losesChannel: losesChannel)
        #expect(other.core.instance(id)?.endReason == .probablyOutOfMemory)
    }

    @Test(arguments: [true, false])
    func `a kill without the kernel's report is a failure of the prewarm`(_ losesChannel: Bool) {
        let stage = stage(isCertain: nil, losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
    }

    @Test(arguments: [true, false], [true, false])
    func `an instance killed for others has not failed; its app waits as after a reclaim`(
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

    @Test func `another instance that pauses afterwards does not turn the reclaim into a failure`()
    {
        var stage = Stage(.prewarmed(count: 2))
        stage.send(.outOfMemory(id, isCertain: true, isOwnLimit: false))
        stage.die(id, .signaled(9, coreDumped: false))
        stage.send(.paused(InstanceIdentifier(2), byteCount: 1))
        stage.launch()
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) == .reclaimed)
    }

    @Test(arguments: [true, false])
    func `a paused instance killed at its own limit counts as a failure`(_ losesChannel: Bool) {
        let stage = stage(isOwnLimit: true, losesChannel: losesChannel)
        #expect(stage.core.instance(id)?.endReason == .outOfMemory)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 1)
        #expect(stage.core.app(Stage.app)?.isReclaimed == false)
    }

    @Test
    func `a client that waits for a prewarm is told to wait if the kernel kills it for memory`() {
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
