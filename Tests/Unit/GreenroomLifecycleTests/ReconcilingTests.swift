import GreenroomLifecycle
import Testing

/// What was found of an instance, against its record (the table in Reconciling.swift).
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

    /// The launch counts as run: asked for again, it gets the outcome that is on record.
    private func ranOnce(_ stage: Stage) -> Bool {
        var stage = stage
        let next = stage.core.nextInstance
        let hasEnded = stage.core.instance(id)?.state == .notRunning
        stage.launch(name: "once")
        return hasEnded && stage.outcomes.map(\.instance) == [id]
            && stage.core.nextInstance == next
    }

    @Test(arguments: [Finding.nothing, .remains])
    func `was to be prewarmed and is gone is ordered again`(finding: Finding) {
        var stage = prewarming()
        stage.send(.reconciled(id, found: finding))
        #expect(stage.effects == [.spawn(id, Stage.app, .prewarm(Stage.key))])
    }

    @Test func `stood paused and is gone has failed`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .nothing))
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.has(.release(id, Stage.app)))
    }

    @Test func `was ordered for a launch and never made could not be spawned`() {
        var stage = ordered()
        stage.send(.reconciled(id, found: .nothing))
        #expect(stage.core.instance(id)?.endReason == .spawnFailed)
        stage.launch(name: "once")
        #expect(
            stage.has(.spawn(InstanceIdentifier(2), Stage.app, .launch(stage.last, LaunchTerms()))))
    }

    @Test func `was made for a launch unheard may have run`() {
        var stage = ordered()
        stage.send(.reconciled(id, found: .remains))
        #expect(stage.core.instance(id)?.exitStatus == .unknown)
        #expect(ranOnce(stage))
    }

    @Test(arguments: [Finding.nothing, .remains])
    func `was told to go and is gone may have run`(finding: Finding) {
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
    func `was told to go and ends without a channel may have run`(hasEnded: Bool) {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: hasEnded)))
        #expect(stage.has(.awaitStart(id)) == !hasEnded)
        stage.die(id)
        #expect(stage.core.instance(id)?.endReason == .unknown)
        #expect(ranOnce(stage))
    }

    @Test func `stood paused and has lost its channel has failed`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: false)))
        #expect(stage.core.instance(id)?.endReason == .prewarmFailed)
        #expect(stage.has(.kill(id)))
    }

    @Test func `stood paused and ended without a channel is judged by its end`() {
        var stage = paused()
        stage.send(.reconciled(id, found: .noChannel(hasEnded: true)))
        #expect(stage.effects.isEmpty)
    }

    @Test func `cannot take over its launch leaves it to another`() {
        var stage = toldToGo()
        stage.send(.reconciled(id, found: .unfit))
        #expect(stage.core.instance(id)?.endReason == .goFailed)
        #expect(stage.core.instance(InstanceIdentifier(2))?.launchIdentifier?.rawValue == "once")
    }

    @Test(arguments: [Finding.noChannel(hasEnded: false), .unfit])
    func `runs is left alone`(finding: Finding) {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.send(.reconciled(id, found: finding))
        #expect(stage.effects.isEmpty)
    }
}
