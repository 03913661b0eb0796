import GreenroomLifecycle
import Testing

@Suite struct `A trigger` {
    private let limit = TriggerLimit(burst: 2, interval: .seconds(10))

    private func trigger(_ stage: inout Stage) -> [Effect] {
        let request = stage.request()
        return stage.send(
            .requested(
                request,
                .trigger(
                    LaunchRequest(
                        app: Stage.app, launchIdentifier: LaunchIdentifier("\(request.rawValue)"),
                        environmentKey: Stage.key, inBackground: true), limit)))
    }

    private func refusal(_ stage: Stage) -> Effect {
        .answer(stage.last, .refused(.notTriggered(Stage.app)))
    }

    /// Triggers the app, and lets it run and end.
    private func runOnce(_ stage: inout Stage) -> Bool {
        let id = stage.core.nextInstance
        let isLaunched = trigger(&stage).contains(
            .spawn(id, Stage.app, .launch(stage.origin, LaunchTerms(inBackground: true))))
        stage.send(.spawned(id))
        stage.die(id)
        return isLaunched
    }

    @Test func `launches the app in the background, but not while it runs`() {
        var stage = Stage(.plain())
        let id = stage.core.nextInstance
        #expect(
            trigger(&stage).contains(
                .spawn(id, Stage.app, .launch(stage.origin, LaunchTerms(inBackground: true)))))
        stage.send(.spawned(id))
        #expect(stage.state(id) == .background)
        #expect(trigger(&stage) == [refusal(stage)])
    }

    @Test func `launches the app up to the limit, then not until a reload resets the limit`() {
        var stage = Stage(.plain())
        let first = runOnce(&stage)
        let second = runOnce(&stage)
        #expect(first && second)
        #expect(
            trigger(&stage) == [
                .report(.triggersLeftAlone(Stage.app, launchCount: 2)), refusal(stage),
            ])
        #expect(stage.core.areTriggersLeftAlone(of: Stage.app))
        stage.wait(.seconds(60))
        #expect(trigger(&stage) == [refusal(stage)], "said once, and not tried")
        stage.send(.triggersForgiven)
        let third = runOnce(&stage)
        #expect(third)
    }

    @Test func `launches the app any number of times if the launches are far enough apart`() {
        var stage = Stage(.plain())
        for _ in 0..<5 {
            let isLaunched = runOnce(&stage)
            #expect(isLaunched)
            stage.wait(.seconds(6))
        }
    }
}

@Suite struct `A stall of one app` {
    private func warned(_ effects: [Effect], _ id: InstanceIdentifier) -> [MemoryPressure] {
        effects.compactMap {
            if case .report(.instanceStalled(id, _, let level)) = $0 { level } else { nil }
        }
    }

    @Test func `warns the app once in a quiet period, then ends it if it is in the background`() {
        var stage = Stage(.plain())
        let id = stage.run(inBackground: true)
        #expect(warned(stage.send(.instanceStalled(id, .critical)), id) == [.critical])
        #expect(stage.send(.instanceStalled(id, .critical)).isEmpty, "what it was told can show")
        stage.wait(.seconds(2))
        #expect(stage.send(.instanceStalled(id, .warning)).isEmpty)
        stage.send(.instanceStalled(id, .critical))
        #expect(stage.core.instance(id)?.endReason == .reclaimed)
        #expect(stage.core.pressure == .none, "nobody else's business")
    }

    @Test func `never ends an app in front`() {
        var stage = Stage(.plain())
        let id = stage.run()
        for _ in 0..<30 {
            stage.send(.instanceStalled(id, .critical))
            stage.wait(.seconds(1))
        }
        #expect(stage.state(id) == .active)
        #expect(stage.send(.instanceStalled(InstanceIdentifier(99), .critical)).isEmpty)
    }
}

@Suite struct `Paging out an app` {
    @Test func `is ordered after the freeze, and recorded with the bytes it freed`() {
        var policy = Policy()
        policy.pagesOutSuspended = true
        var stage = Stage(policy: policy, .plain())
        let id = stage.run()
        #expect(!stage.ask(.suspend, id).contains(.pageOut(id)))
        #expect(stage.send(.frozen(id)).contains(.pageOut(id)))
        #expect(
            stage.send(.pagedOut(id, byteCount: 5)) == [
                .report(.pagedOut(id, Stage.app, byteCount: 5))
            ])
        #expect(stage.send(.pagedOut(id, byteCount: 0)).isEmpty)
    }

    @Test func `is not ordered for an app that is reclaimed at the same moment`() {
        var policy = Policy()
        policy.pagesOutSuspended = true
        var stage = Stage(policy: policy, .plain())
        let others = (0..<2).map { _ in stage.run() }
        let id = stage.run()
        for one in others + [id] { stage.ask(.suspend, one) }
        stage.wait(.milliseconds(500))
        stage.send(.pressureChanged(.warning))
        #expect(stage.has(.kill(others[0])))
        #expect(stage.wait(.milliseconds(1_200)).contains(.kill(others[1])))
        // The daemon was held up: everything is due at once.
        stage.now = stage.now.advanced(by: .seconds(60))
        stage.send(.deadlineReached)
        #expect(stage.has(.kill(id)) && !stage.has(.pageOut(id)))
    }

    @Test func `is not ordered unless the policy says so`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.ask(.suspend, id)
        #expect(!stage.send(.frozen(id)).contains(.pageOut(id)))
    }
}
