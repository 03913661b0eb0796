import GreenroomLifecycle
import Testing

@Suite struct `After a launch, refilling` {
    let other = AppIdentifier("org.example.other")
    let third = AppIdentifier("org.example.third")

    private func stage(
        processors: Int = 4, _ apps: AppDescription...
    ) -> Stage {
        var policy = Policy()
        policy.refillDelay = .seconds(1)
        policy.processorCount = processors
        var stage = Stage(policy: policy)
        for app in apps {
            stage.send(.appInstalled(app))
            pauseAll(&stage)
        }
        return stage
    }

    /// Pauses every instance that is on its way to the pause.
    private func pauseAll(_ stage: inout Stage) {
        while let id = stage.core.instances.first(where: { $0.state == .prewarming })?.instance {
            stage.send(.spawned(id))
            stage.send(.paused(id, byteCount: 1))
        }
    }

    @Test func `waits for a moment, and for a second launch anew`() {
        var stage = stage(.prewarmed(), .plain(other))
        stage.start()
        #expect(stage.prewarms.isEmpty)
        stage.wait(.milliseconds(500))
        stage.start(other)
        stage.wait(.milliseconds(999))
        #expect(stage.prewarms.isEmpty)
        stage.wait(.milliseconds(1))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `begins once every launched app has said that it is ready`() {
        var stage = stage(
            .prewarmed(Stage.app) { $0.readyCondition = .notify },
            .prewarmed(other) { $0.readyCondition = .notify })
        stage.start()
        let first = InstanceIdentifier(1)
        stage.start(other)
        stage.send(.becameReady(first))
        #expect(stage.prewarms.isEmpty)
        stage.die(InstanceIdentifier(2))
        #expect(stage.core.instances.count { $0.state == .prewarming } == 2)
    }

    @Test func `does not wait for readiness longer than for any app`() {
        var stage = stage(.prewarmed(Stage.app) { $0.readyCondition = .notify })
        stage.start()
        stage.wait(.milliseconds(999))
        #expect(stage.prewarms.isEmpty)
        stage.wait(.milliseconds(1))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `begins at once for a client that waits or is about to launch`() {
        var stage = stage(.prewarmed(), .prewarmed(other))
        stage.start()
        stage.start(other)
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(stage.prewarms.count == 1)
        stage.send(.requested(stage.request(), .prepare(other)))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `begins at once for an app whose launch found nothing paused, until it is quiet`() {
        var stage = stage(.prewarmed(), .plain(other))
        stage.start()
        stage.wait(.milliseconds(100))
        stage.start()
        #expect(stage.prewarms.count == 1)
        pauseAll(&stage)
        stage.wait(.milliseconds(100))
        stage.start()
        #expect(stage.prewarms.count == 1)
        pauseAll(&stage)
        stage.wait(.seconds(2))
        stage.start()
        #expect(stage.prewarms.isEmpty)
    }

    @Test func `waits for ten times as long if launches never stop`() {
        var stage = stage(.prewarmed(), .plain(other))
        stage.start()
        for _ in 1..<20 {
            stage.wait(.milliseconds(500))
            #expect(stage.prewarms.isEmpty)
            stage.start(other)
            #expect(stage.prewarms.isEmpty)
        }
        stage.wait(.milliseconds(500))
        #expect(stage.prewarms.count == 1)
        // All pools are full, so there is another lull.
        pauseAll(&stage)
        stage.start()
        stage.start(other)
        #expect(stage.prewarms.isEmpty)
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 2)])
    func `makes one instance at a time on two processors, until all is quiet`(
        processors: Int, count: Int
    ) {
        var stage = stage(processors: processors, .prewarmed(), .prewarmed(other), .plain(third))
        for app in [Stage.app, other, Stage.app, other] { stage.start(app) }
        #expect(stage.core.instances.count { $0.state == .prewarming } == count)
        // A client's prewarm does not wait for prewarms that nobody waits for.
        stage.send(.appInstalled(.prewarmed(third)))
        stage.send(.requested(stage.request(), .prewarm(third, Stage.key)))
        #expect(stage.core.instances.count { $0.state == .prewarming } == 2)
        pauseAll(&stage)
        #expect(stage.core.instances.count { $0.state == .prewarmed } == 3)
    }

    @Test func `waits anew although a former lull ended while memory was short`() {
        var stage = stage(.plain(other))
        stage.start(other)
        stage.send(.pressureChanged(.warning))
        stage.wait(.seconds(20))
        stage.send(.appInstalled(.prewarmed()))
        stage.start(other)
        stage.send(.pressureChanged(.none))
        #expect(stage.prewarms.isEmpty)
        stage.wait(.seconds(1))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `wakes nobody if there is nothing to refill`() {
        var stage = stage(.plain())
        stage.start()
        #expect(stage.core.nextDeadline == nil)
    }
}

extension Stage {
    /// Launches an app, up to the answer.
    fileprivate mutating func start(_ app: AppIdentifier = Stage.app) {
        launch(app)
        let id = core.instances(of: app).last { $0.state == .launching }!.instance
        send(core.instance(id)!.phase == .ordered ? .spawned(id) : .started(id))
    }
}

/// An instance that nobody waits for is held back until it is paused.
@Suite struct `The priority of a prewarm` {
    let id = InstanceIdentifier(1)

    private func priorities(_ effects: [Effect]) -> [Priority] {
        effects.compactMap {
            if case .applyPriority(id, let priority) = $0 { priority } else { nil }
        }
    }

    @Test func `is the least, and that of a paused instance after the pause`() {
        var stage = Stage(.prewarmed())
        #expect(priorities(stage.send(.spawned(id))) == [.preparing])
        #expect(priorities(stage.send(.paused(id, byteCount: 1))) == [.prewarmed])
        #expect(priorities(stage.launch()) == [.foreground])
    }

    @Test func `is raised by a client that waits for it`() {
        var stage = Stage(.prewarmed())
        stage.send(.spawned(id))
        let request = Request.prewarm(Stage.app, Stage.key)
        #expect(priorities(stage.send(.requested(stage.request(), request))) == [.prewarmed])
    }

    @Test func `is not raised by a hint, but by the launch after it`() {
        var stage = Stage(.prewarmed { $0.isSingleInstance = false })
        stage.wait(.milliseconds(100))
        stage.send(.paused(id, byteCount: 1))
        stage.launch()
        stage.send(.started(id))
        stage.wait(.milliseconds(20))
        let next = InstanceIdentifier(2)
        func priorities(_ effects: [Effect]) -> [Priority] {
            effects.compactMap {
                if case .applyPriority(next, let priority) = $0 { priority } else { nil }
            }
        }
        #expect(priorities(stage.send(.spawned(next))) == [.preparing])
        #expect(priorities(stage.send(.requested(stage.request(), .prepare(Stage.app)))) == [])
        stage.wait(.milliseconds(1))
        #expect(priorities(stage.launch()) == [.foreground])
    }

    @Test func `is not the least if a client waits from the beginning`() {
        var stage = Stage(.prewarmed(Stage.app) { $0.prewarmOccasion = .demand })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(priorities(stage.send(.spawned(id))) == [.prewarmed])
        #expect(priorities(stage.send(.paused(id, byteCount: 1))) == [])
    }

    @Test func `is not the least while it is ended`() {
        var stage = Stage(.prewarmed())
        stage.send(.spawned(id))
        #expect(priorities(stage.send(.appRemoved(Stage.app))) == [.prewarmed])
    }

    @Test func `is set again by the next supervisor`() {
        var stage = Stage(.prewarmed())
        stage.send(.spawned(id))
        stage.restart(.prewarmed())
        #expect(priorities(stage.effects) == [.preparing])
    }
}
