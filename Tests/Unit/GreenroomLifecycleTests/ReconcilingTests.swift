import GreenroomLifecycle
import Testing

/// Compares what was found of an instance with its record (the table in Reconciling.swift).
@Suite struct `An instance that` {
    private let id = InstanceIdentifier(1)

    private func prewarming() -> Stage {
        var stage = Stage(.prewarmed())
        stage.send(.restored)
        return stage
    }

    private func paused() -> Stage {
        var stage = prewarming()
        stage.send(.spawned(id))
        stage.send(.paused(id, byteCount: 1 << 20))
        return stage
    }

    private func toldToGo() -> Stage {
        var stage = paused()
        stage.launch(name: "once")
        return stage
    }

    private func ordered() -> Stage {
        var stage = Stage(.plain())
        stage.launch(name: "once")
        return stage
    }

    /// Whether the launch counts as run: a repeated launch gets the recorded outcome.
    private func ranOnce(_ stage: Stage) -> Bool {
        var stage = stage
        let next = stage.core.nextInstance
        let hasEnded = stage.core.instance(id)?.state == .notRunning
        stage.launch(name: "once")
        return hasEnded && stage.outcomes.map(\.instance) == [id]
            && stage.core.nextInstance == next
    }

    @Test(arguments: [ReconciledFinding.nothing, .remains])
    func `was being prewarmed and is gone is spawned again`(finding: ReconciledFinding) {
        var stage = prewarming()
        stage.send(.reconciled(id, found: finding))
        #expect(stage.effects == [.spawn(id, Stage.app, .prewarm(Stage.key))])
    }

    @Test func `was paused and is gone counts as a failed prewarm`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .nothing))
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.has(.release(id, Stage.app)))
    }

    @Test func `was ordered for a launch but never made counts as a failed spawn`() {
        var stage = ordered()
        stage.send(.reconciled(id, found: .nothing))
        #expect(stage.core.instance(id)?.endReason == .spawnFailed)
        stage.launch(name: "once")
        #expect(
            stage.has(
                .spawn(InstanceIdentifier(2), Stage.app, .launch(stage.origin, LaunchTerms()))))
    }

    @Test func `was made for a launch but never reported counts as having run`() {
        var stage = ordered()
        stage.send(.reconciled(id, found: .remains))
        #expect(stage.core.instance(id)?.exitStatus == .unknown)
        #expect(ranOnce(stage))
    }

    @Test(arguments: [ReconciledFinding.nothing, .remains])
    func `was told to go and is gone counts as having run`(finding: ReconciledFinding) {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: finding))
        #expect(ranOnce(stage))
    }

    @Test func `was told to go and has lost its channel is watched for its start`() {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: false)))
        #expect(stage.has(.awaitStart(id)))
        stage.send(.started(id))
        #expect(stage.outcomes.map(\.instance) == [id])
    }

    @Test(arguments: [true, false])
    func `was told to go and ends without a channel counts as having run`(hasEnded: Bool) {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: hasEnded)))
        #expect(stage.has(.awaitStart(id)) == !hasEnded)
        stage.die(id)
        #expect(stage.core.instance(id)?.endReason == .unknown)
        #expect(ranOnce(stage))
    }

    /// Its parent may reap it later than that.
    @Test func `was told to go and has neither a channel nor more time counts as having run`() {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: false)))
        stage.wait(stage.core.policy.startDeadline)
        stage.die(id)
        #expect(ranOnce(stage))
    }

    @Test func `was told to go and starts without a channel counts as ready`() {
        var stage = Stage(.prewarmed { $0.readyCondition = .notify })
        stage.send(.restored)
        stage.send(.spawned(id))
        stage.send(.paused(id, byteCount: 1 << 20))
        stage.launch()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: false)))
        stage.send(.reconciled(id, found: .unheard))
        stage.send(.started(id))
        #expect(stage.core.instance(id)?.state == .active)
    }

    @Test func `was paused and has lost its channel counts as a failed prewarm`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: false)))
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.has(.kill(id)))
    }

    @Test func `was paused and has ended without a channel is left until its exit is reported`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: true)))
        #expect(stage.effects.isEmpty)
    }

    @Test func `is unfit for its launch leaves the launch to a new instance`() {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .unfit))
        #expect(stage.core.instance(id)?.endReason == .goFailed)
        #expect(stage.core.instance(InstanceIdentifier(2))?.launchIdentifier?.rawValue == "once")
    }

    @Test func `was starting when nobody heard it counts as ready`() {
        var stage = Stage(.plain { $0.readyCondition = .notify })
        let id = stage.run()
        #expect(stage.state(id) == .launching)
        stage.restart(.plain { $0.readyCondition = .notify })
        stage.send(.reconciled(id, found: .unheard))
        #expect(stage.state(id) == .active)
    }

    @Test func `acknowledges its states is asked again whether it is ready`() {
        var stage = Stage(.application())
        let id = stage.run()
        stage.restart(.application())
        stage.send(.reconciled(id, found: .unheard))
        #expect(stage.state(id) == .launching && stage.effects.isEmpty)
    }

    @Test func `was told to go when nobody heard it is waited for`() {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .unheard))
        #expect(stage.core.instance(id)?.phase == .toldToGo)
    }

    @Test(arguments: [ReconciledFinding.noChannel(hasEnded: false), .unfit, .unheard])
    func `is running is left alone`(finding: ReconciledFinding) {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.send(.reconciled(id, found: finding))
        #expect(stage.effects.isEmpty)
    }
}
