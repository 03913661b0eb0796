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

/// A paused instance's channel closes as the kernel kills it, and is heard of first.
@Suite struct PausedMemoryEndTests {
    private func reason(isCertain: Bool?) -> ExitReason? {
        let id = InstanceIdentifier(1)
        var stage = Stage(.prewarmed())
        stage.send(.paused(id, byteCount: 1))
        stage.send(.channelLost(id))
        if let isCertain {
            stage.send(.outOfMemory(id, isCertain: isCertain, isOwnLimit: false))
        }
        stage.send(.exited(id, .signaled(9, coreDumped: false)))
        return stage.core.instance(id)?.endReason
    }

    @Test func `the kernel's kill is the reason, not the lost channel`() {
        #expect(reason(isCertain: true) == .outOfMemory)
    }

    @Test func `without the kernel's word it is our own kill that ended it`() {
        #expect(reason(isCertain: nil) == .prewarmFailed)
        #expect(reason(isCertain: false) == .prewarmFailed)
    }
}
