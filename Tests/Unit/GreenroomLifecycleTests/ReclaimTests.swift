import GreenroomLifecycle
import Testing

@Suite struct `Reclaiming memory` {
    /// A paused, a suspended, a background, an attached and an active instance.
    func stage() -> (Stage, [InstanceIdentifier]) {
        let other = AppIdentifier("org.example.other")
        var stage = Stage(.prewarmed(AppIdentifier("org.example.pool")), .plain(other), .plain())
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        let suspended = stage.run(other)
        stage.ask(.suspend, suspended)
        stage.send(.frozen(suspended))
        let background = stage.run(inBackground: true)
        let attached = stage.run(inBackground: true, isAttached: true)
        let active = stage.run()
        return (stage, [InstanceIdentifier(1), suspended, background, attached, active])
    }

    func reclaimed(_ effects: [Effect]) -> [InstanceIdentifier] {
        effects.compactMap {
            if case .report(.reclaimed(let id, _, _, _, _)) = $0 { id } else { nil }
        }
    }

    @Test func `ends prewarmed, then suspended instances at a warning`() {
        var (stage, ids) = stage()
        #expect(reclaimed(stage.send(.pressureChanged(.warning))) == [ids[0]])
        #expect(stage.has(.kill(ids[0])))
        #expect(reclaimed(stage.wait(.seconds(60))) == [ids[1]])
        #expect(stage.core.instance(ids[1])?.endReason == .reclaimed)
    }

    /// By their last launch and their sizes alone, the order would be the other one.
    @Test func `ends programs that are held at their windows before other prewarms`() {
        let (held, pool) = (AppIdentifier("org.example.held"), AppIdentifier("org.example.pool"))
        var stage = Stage(.prewarmed(held) { $0.depth = .window }, .prewarmed(pool))
        let ids = [1, 2, 3].map { InstanceIdentifier($0) }
        stage.send(.paused(ids[0], byteCount: 1))
        stage.send(.paused(ids[1], byteCount: 20 << 20))
        stage.wait(.seconds(1))
        stage.launch(held)
        stage.send(.started(ids[0]))
        stage.send(.paused(ids[2], byteCount: 10 << 20))
        #expect(stage.core.instance(ids[2])?.depth == .window)
        #expect(stage.core.instance(ids[1])?.depth == .main)
        #expect(reclaimed(stage.send(.pressureChanged(.warning))) == [ids[2], ids[1]])
    }

    @Test func `ends background instances at the critical level, never an instance in front`() {
        var (stage, ids) = stage()
        #expect(reclaimed(stage.send(.pressureChanged(.critical))) == [ids[0], ids[1]])
        #expect(reclaimed(stage.wait(.seconds(60))) == [ids[2]])
        #expect(stage.state(ids[3]) == .background, "attached")
        #expect(stage.state(ids[4]) == .active)
    }

    @Test func `ends the largest suspended instance first`() {
        var stage = Stage(.plain())
        let ids = [stage.run(), stage.run(), stage.run()]
        for (id, size) in zip(ids, [5, 9, 7] as [UInt64]) {
            stage.send(.memoryMeasured(id, byteCount: size))
            stage.ask(.suspend, id)
            stage.send(.frozen(id))
        }
        #expect(reclaimed(stage.send(.pressureChanged(.warning))) == [ids[1]])
        let measured = stage.send(.memoryMeasured(ids[0], byteCount: 6))
        #expect(reclaimed(measured) == [ids[2]], "checked again when measured")
    }

    @Test func `delays the next prewarm of the app`() {
        var (stage, _) = stage()
        stage.send(.pressureChanged(.warning))
        stage.send(.pressureChanged(.none))
        #expect(stage.prewarms.isEmpty)
        stage.wait(.seconds(30))
        #expect(stage.prewarms.count == 1)
    }

    /// Launches the pool's app and returns why the launch was cold.
    func coldReason(_ stage: inout Stage, _ app: AppIdentifier) -> ColdReason? {
        let id = stage.run(app)
        defer { stage.die(id) }
        return stage.core.instance(id)?.coldReason
    }

    @Test func `is the reason for cold launches until another instance is paused`() {
        let app = AppIdentifier("org.example.pool")
        var (stage, _) = stage()
        stage.send(.pressureChanged(.warning))
        #expect(coldReason(&stage, app) == .reclaimed)
        stage.send(.pressureChanged(.none))
        #expect(coldReason(&stage, app) == .reclaimed)
        stage.wait(.seconds(30))
        #expect(coldReason(&stage, app) == .reclaimed, "the next is on its way")
        let next = stage.core.instances(of: app).last { $0.state == .prewarming }!.instance
        stage.send(.paused(next, byteCount: 1))
        stage.launch(app)
        stage.send(.started(next))
        #expect(coldReason(&stage, app) == .noneReady)
    }

    @Test func `is no longer the reason for cold launches after a prewarm has failed`() {
        let app = AppIdentifier("org.example.pool")
        var (stage, _) = stage()
        stage.send(.pressureChanged(.warning))
        stage.send(.pressureChanged(.none))
        let pause = stage.now.advanced(by: .seconds(30))
        #expect(stage.core.isPausedByReclaim(app, until: pause))
        stage.wait(.seconds(30))
        stage.die(stage.core.instances(of: app).last { $0.state == .prewarming }!.instance)
        #expect(coldReason(&stage, app) == .backOff)
        let record = stage.core.app(app)!
        #expect(!stage.core.isPausedByReclaim(app, until: record.prewarmRetryAt!))
    }

    @Test func `is the reason for a cold launch, not an earlier failed prewarm`() {
        var stage = Stage(.prewarmed())
        stage.die(InstanceIdentifier(1))
        stage.wait(.seconds(1))
        stage.send(.paused(InstanceIdentifier(2), byteCount: 1))
        stage.send(.pressureChanged(.warning))
        let pause = stage.now.advanced(by: .seconds(30))
        #expect(stage.core.isPausedByReclaim(Stage.app, until: pause))
        #expect(coldReason(&stage, Stage.app) == .reclaimed)
    }

    @Test
    func `delays the next prewarm even if another instance of the pool starts`() {
        var stage = Stage(.prewarmed(count: 2))
        stage.die(InstanceIdentifier(1))
        stage.wait(.seconds(1))
        for id in stage.core.instances(of: Stage.app) where id.state == .prewarming {
            stage.send(.paused(id.instance, byteCount: 1))
        }
        let paused = stage.core.instances(of: Stage.app).filter { $0.state == .prewarmed }
        #expect(paused.count == 2 && stage.core.app(Stage.app)?.prewarmFailures == 1)
        stage.launch()
        stage.send(.pressureChanged(.warning))
        stage.send(.pressureChanged(.none))
        stage.send(.started(paused[0].instance))
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
        let pause = stage.now.advanced(by: .seconds(30))
        #expect(stage.core.isPausedByReclaim(Stage.app, until: pause))
    }

    @Test func `ends the paused instance of the least used app when the budget is exceeded`() {
        let (idle, used) = (AppIdentifier("org.example.idle"), AppIdentifier("org.example.used"))
        var policy = Policy()
        policy.prewarmByteBudget = 100 << 20
        var stage = Stage(policy: policy, .prewarmed(used), .prewarmed(idle))
        stage.send(.paused(InstanceIdentifier(1), byteCount: 30 << 20))
        stage.send(.paused(InstanceIdentifier(2), byteCount: 30 << 20))
        stage.launch(used)
        stage.send(.started(InstanceIdentifier(1)))
        stage.send(.paused(InstanceIdentifier(3), byteCount: 80 << 20))
        #expect(stage.core.instance(InstanceIdentifier(2))?.endReason == .poolTrimmed)
        #expect(stage.state(InstanceIdentifier(3)) == .prewarmed)
    }
}

@Suite struct `A new supervisor` {
    func restored(_ stage: Stage) -> Stage {
        var copy = stage
        copy.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: Policy(), seed: 2, at: stage.now)
        return copy
    }

    @Test func `has the same instances, apps and deadlines`() {
        var stage = Stage(.prewarmed(count: 2))
        stage.send(.paused(InstanceIdentifier(1), byteCount: 5))
        let id = stage.run(isAttached: true)
        stage.ask(.terminate, id)
        let new = restored(stage)
        #expect(new.core.instances == stage.core.instances)
        #expect(new.core.apps == stage.core.apps)
        #expect(new.core.nextDeadline == stage.core.nextDeadline)
        #expect(new.core.prewarmedBytes == stage.core.prewarmedBytes)
    }

    @Test func `remembers launches by name`() {
        var stage = Stage(.plain())
        let id = stage.run(name: "mine")
        var new = restored(stage)
        new.send(.appInstalled(.plain()))
        new.launch(name: "mine")
        #expect(new.outcomes.map(\.instance) == [id])
    }

    @Test func `repeats effects that may not have been performed`() {
        var stage = Stage(.plain())
        let (frozen, ending) = (stage.run(), stage.run())
        stage.ask(.suspend, frozen)
        stage.ask(.terminate, ending)
        var new = restored(stage)
        new.send(.appInstalled(.plain()))
        new.send(.restored)
        #expect(new.has(.freeze(frozen)))
        #expect(new.has(.terminate(ending)))
    }

    @Test func `reclaims no memory before all instances are restored`() {
        let app = AppDescription.application { $0.suspendsInBackground = false }
        var stage = Stage(app)
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        stage.acknowledgeAll(id)
        stage.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: stage.core.policy, seed: 2,
            at: stage.now)
        stage.send(.appInstalled(app))
        #expect(stage.send(.pressureChanged(.critical)).isEmpty)
        stage.send(.restored)
        let thaw = stage.effects.firstIndex(of: .thaw(id))
        #expect(stage.told == [.willTerminate])
        #expect(thaw != nil)
    }

    @Test func `forgets apps whose manifest is gone, but not their instances`() {
        var stage = Stage(.plain())
        let id = stage.run()
        var new = restored(stage)
        new.send(.restored)
        #expect(new.has(.eraseApp(Stage.app)))
        #expect(new.state(id) == .active)
    }

    @Test func `ends a paused instance that never received its launch`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        stage.launch()
        var new = restored(stage)
        new.send(.appInstalled(.prewarmed()))
        new.send(.paused(InstanceIdentifier(1), byteCount: 1))
        #expect(new.has(.kill(InstanceIdentifier(1))))
    }
}
