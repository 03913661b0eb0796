import GreenroomLifecycle
import Testing

/// A launch while a prewarm of its app is under way.
@Suite struct `A launch during a prewarm` {
    /// An app whose prewarm takes 100 ms, with the next prewarm under way.
    private func stage(
        _ change: (inout AppDescription) -> Void = { _ in }
    ) throws -> (Stage, InstanceIdentifier) {
        var stage = Stage(.prewarmed(Stage.app, change))
        stage.send(.restored)
        let first = try #require(stage.core.instances(of: Stage.app).first).instance
        stage.send(.spawned(first))
        stage.wait(.milliseconds(100))
        stage.send(.paused(first, byteCount: 1))
        stage.launch()
        stage.send(.started(first))
        stage.die(first)
        let next = try #require(
            stage.core.instances(of: Stage.app).first { $0.state == .prewarming })
        stage.send(.spawned(next.instance))
        return (stage, next.instance)
    }

    private func spawned(_ effects: [Effect]) -> [InstanceIdentifier] {
        effects.compactMap { if case .spawn(let id, _, .launch) = $0 { id } else { nil } }
    }

    private func went(_ effects: [Effect]) -> [InstanceIdentifier] {
        effects.compactMap { if case .go(let id, _, _) = $0 { id } else { nil } }
    }

    @Test(arguments: [10, 50, 90, 140])
    func `uses the prewarm that has got so far, as soon as it is paused`(percent: Int) throws {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(percent))
        #expect(spawned(stage.launch()) == [])
        #expect(stage.has(.applyPriority(id, .foreground)))
        #expect(stage.answers.isEmpty)
        stage.wait(.milliseconds(5))
        #expect(went(stage.send(.paused(id, byteCount: 1))) == [id])
        stage.send(.started(id))
        #expect(stage.outcomes.map(\.kind) == [.prewarmed])
        #expect(stage.core.instances(of: Stage.app).filter { $0.state == .active }.count == 1)
    }

    @Test func `is cold if the prewarm has just begun or is overdue, and leaves it for the pool`()
        throws
    {
        for wait in [0, 160] {
            var (stage, id) = try stage()
            stage.wait(.milliseconds(wait))
            #expect(spawned(stage.launch()).count == 1)
            let effects = stage.send(.paused(id, byteCount: 1))
            #expect(went(effects).isEmpty && stage.prewarms.isEmpty)
            #expect(stage.state(id) == .prewarmed)
        }
    }

    @Test func `is cold if the app was never prewarmed before`() throws {
        var stage = Stage(.prewarmed())
        let id = try #require(stage.prewarms.first)
        stage.send(.spawned(id))
        stage.wait(.milliseconds(50))
        #expect(spawned(stage.launch()).count == 1)
    }

    @Test func `is cold when the prewarm takes too long, which goes on`() throws {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(50))
        stage.launch()
        #expect(spawned(stage.wait(.milliseconds(99))) == [])
        let effects = stage.wait(.milliseconds(1))
        #expect(spawned(effects).count == 1)
        #expect(effects.contains(.applyPriority(id, .preparing)))
        stage.send(.paused(id, byteCount: 1))
        #expect(stage.state(id) == .prewarmed)
        #expect(stage.prewarms.isEmpty)
    }

    @Test func `is cold when the prewarm ends before its pause`() throws {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(50))
        stage.launch()
        stage.send(.exited(id, .exited(1)))
        #expect(spawned(stage.effects).count == 1)
        #expect(stage.answers.isEmpty)
    }

    /// The pools are trimmed at the end of an event, so the launch begins after that, and not with
    /// the next event.
    @Test func `is cold in the same turn in which the prewarm is trimmed`() throws {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(50))
        stage.launch()
        // There is room for one instance, and one in another environment is wanted.
        var policy = stage.core.policy
        policy.prewarmByteBudget = 1
        stage.send(.policyChanged(policy))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, EnvironmentKey(8))))
        #expect(stage.core.instance(id)?.endReason == .poolTrimmed)
        #expect(spawned(stage.effects).count == 1)
    }

    @Test func `of an app that runs once is joined by others; of another app, the next is cold`()
        throws
    {
        for isSingle in [true, false] {
            var (stage, id) = try stage { $0.isSingleInstance = isSingle }
            stage.wait(.milliseconds(50))
            stage.launch(name: "one")
            #expect(spawned(stage.launch(name: "one")) == [], "the same launch")
            #expect(spawned(stage.launch(name: "two")).count == (isSingle ? 0 : 1))
            stage.send(.paused(id, byteCount: 1))
            stage.send(.started(id))
            #expect(stage.outcomes.map(\.instance) == Array(repeating: id, count: isSingle ? 3 : 2))
            #expect(stage.outcomes.filter(\.isRepeated).count == 1)
        }
    }

    @Test func `does what the daemon's own start was to do when both lose their prewarms`() throws {
        var app = AppDescription.prewarmed(count: 2) {
            $0.supervision = .some(
                Supervision(restart: .always, restartDelay: .milliseconds(10)))
        }
        var stage = Stage(app)
        stage.send(.restored)
        let first = stage.core.instances(of: Stage.app).map(\.instance)
        try #require(first.count == 2)
        for id in first { stage.send(.spawned(id)) }
        stage.wait(.milliseconds(100))
        for id in first { stage.send(.paused(id, byteCount: 1)) }
        for id in first {
            stage.launch()
            stage.send(.started(id))
        }
        for id in first { stage.die(id) }
        let next = stage.core.instances(of: Stage.app).filter { $0.state == .prewarming }
        try #require(next.count == 2)
        for each in next { stage.send(.spawned(each.instance)) }
        stage.wait(.milliseconds(50))
        #expect(spawned(stage.launch()).isEmpty)
        app.generation = 2
        #expect(spawned(stage.send(.appInstalled(app))).count == 1)
    }

    @Test func `is dropped with its client, and the instance stays paused`() throws {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(50))
        stage.launch()
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.refusals == [.cancelled(Stage.app)])
        #expect(stage.has(.applyPriority(id, .preparing)))
        #expect(went(stage.send(.paused(id, byteCount: 1))) == [])
        #expect(stage.state(id) == .prewarmed)
    }

    @Test func `goes on without its client if it does the work of a start of the daemon`() throws {
        let supervision = Supervision(restart: .always)
        var (stage, id) = try stage { $0.supervision = .some(supervision) }
        #expect(stage.core.app(Stage.app)?.startAt != nil)
        stage.wait(.milliseconds(50))
        stage.launch(isAttached: true)
        stage.wait(.milliseconds(60))
        let client = stage.last
        stage.send(.requestAbandoned(client))
        #expect(stage.refusals.isEmpty)
        #expect(went(stage.send(.paused(id, byteCount: 1))) == [id])
    }

    @Test func `is cancelled by a client that ends the app, and refused at a shutdown`() throws {
        for isShutdown in [true, false] {
            var (stage, id) = try stage()
            stage.wait(.milliseconds(50))
            stage.launch()
            let launch = stage.last
            if isShutdown {
                stage.send(.shutdownRequested)
                #expect(stage.has(.answer(launch, .refused(.shuttingDown))))
            } else {
                stage.send(.requested(stage.request(), .transition(.app(Stage.app), .terminate)))
                #expect(stage.has(.answer(launch, .refused(.cancelled(Stage.app)))))
                #expect(went(stage.send(.paused(id, byteCount: 1))) == [])
            }
        }
    }

    @Test func `waits no longer after a restart of the supervisor, and its client asks again`()
        throws
    {
        var (stage, id) = try stage()
        stage.wait(.milliseconds(50))
        stage.launch(name: "one")
        stage.restart(.prewarmed())
        #expect(spawned(stage.launch(name: "one")).count == 1, "no prewarm was measured yet")
        stage.send(.paused(id, byteCount: 1))
        #expect(stage.state(id) == .prewarmed)
    }
}
