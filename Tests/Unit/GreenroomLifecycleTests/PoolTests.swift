import GreenroomLifecycle
import Testing

@Suite struct `The pool` {
    let first = InstanceIdentifier(1)
    let second = InstanceIdentifier(2)

    @Test func `is filled at installation when the occasion is boot`() {
        let stage = Stage(.prewarmed())
        #expect(stage.prewarms == [first])
        #expect(stage.state(first) == .prewarming)
    }

    @Test func `waits for a session when the occasion is login`() {
        var stage = Stage(
            .prewarmed {
                $0.prewarmOccasion = .login
                $0.foregroundGroup = "seat"
            })
        #expect(stage.prewarms.isEmpty)
        stage.send(.loggedIn(foregroundGroup: "seat"))
        #expect(stage.prewarms == [first])
    }

    private static func planned(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .prewarmed {
                $0.prewarmOccasion = .auto
                $0.foregroundGroup = "seat"
                change(&$0)
            })
        stage.send(.loggedIn(foregroundGroup: "seat"))
        return stage
    }

    @Test func `follows the plan when the occasion is auto`() {
        var stage = Self.planned()
        #expect(stage.prewarms.isEmpty)
        #expect(stage.core.plannable.map(\.app) == [Stage.app])
        stage.send(.planned([Stage.app]))
        #expect(stage.prewarms == [first])
        stage.send(.paused(first, byteCount: 1 << 20))
        #expect(stage.core.plannable.map(\.byteCount) == [1 << 20])
        #expect(stage.core.plannable.map(\.isWarm) == [true])
        #expect(stage.core.plannable.map(\.depth) == [.main])
        #expect(stage.core.plannable.map(\.tellsReadiness) == [false])
        stage.send(.planned([]))
        #expect(stage.state(first) == .terminating || stage.state(first) == .notRunning)
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
    }

    @Test func `of a plan is kept only while its user has a session`() {
        var stage = Stage(
            .prewarmed {
                $0.prewarmOccasion = .auto
                $0.foregroundGroup = "seat"
            })
        stage.send(.planned([Stage.app]))
        #expect(stage.prewarms.isEmpty && stage.core.plannable.isEmpty)
        stage.send(.loggedIn(foregroundGroup: "seat"))
        #expect(stage.prewarms == [first])
        stage.send(.paused(first, byteCount: 1))
        stage.send(.loggedOut(foregroundGroup: "seat"))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
    }

    @Test func `that a client asked for outlives the plan`() {
        var stage = Self.planned()
        stage.send(.planned([Stage.app]))
        stage.send(.paused(first, byteCount: 1))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.send(.planned([]))
        #expect(stage.state(first) == .prewarmed)
    }

    @Test(arguments: [PrewarmOccasion.boot, .login, .demand, .never])
    func `of an app with another occasion is not the plan's`(occasion: PrewarmOccasion) {
        var stage = Self.planned { $0.prewarmOccasion = occasion }
        let before = stage.core.instances
        #expect(stage.core.plannable.isEmpty)
        for plan: Set in [[Stage.app], []] {
            stage.send(.planned(plan))
            #expect(stage.core.instances == before)
        }
    }

    @Test func `waits for a client's request when the occasion is demand`() {
        var stage = Stage(.prewarmed { $0.prewarmOccasion = .demand })
        #expect(stage.prewarms.isEmpty)
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(stage.prewarms == [first])
        stage.send(.paused(first, byteCount: 1))
        #expect(stage.answers == [.prewarmed(first)])
    }

    @Test func `of an ineligible app stays empty, and a prewarm is refused with the reason`() {
        var stage = Stage(.prewarmed { $0.isEligible = false })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(stage.refusals == [.ineligible(Stage.app)])
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) == .ineligible)
    }

    @Test func `of an app that misfired stays empty until another version is installed`() {
        var stage = Stage(.prewarmed())
        let request = stage.request()
        stage.send(.requested(request, .prewarm(Stage.app, Stage.key)))
        stage.send(.misfired(first, .startsPrograms("/bin/sh")))
        #expect(stage.refusals == [.ineligible(Stage.app)])
        #expect(stage.state(first) == .terminating)
        stage.send(.exited(first, .signaled(9, coreDumped: false)))
        stage.send(.emptied(first))
        stage.wait(.seconds(3600))
        #expect(stage.prewarms.isEmpty)
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) == .ineligible)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
        // The same version is installed again, as after a reload or a restart.
        stage.send(.appInstalled(.prewarmed()))
        #expect(stage.prewarms.isEmpty)
        stage.send(.appInstalled(.prewarmed { $0.generation += 1 }))
        #expect(stage.prewarms == [second])
    }

    /// This happens if, for example, the channel is lost because the instance is killed.
    @Test
    func `of an app that misfired stays empty even if its end is reported before the misfire`() {
        var stage = Stage(.prewarmed())
        stage.send(.exited(first, .signaled(9, coreDumped: false)))
        stage.send(.emptied(first))
        stage.send(.misfired(first, .startsPrograms(nil)))
        stage.wait(.seconds(3600))
        #expect(stage.prewarms.isEmpty)
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.prewarms == [second])
    }

    @Test
    func `of an app whose libraries change its process stays empty until another version`() {
        var stage = Stage(.prewarmed())
        stage.send(.misfired(first, .changesProcess))
        stage.send(.exited(first, .exited(0)))
        stage.send(.emptied(first))
        stage.wait(.seconds(3600))
        #expect(stage.prewarms.isEmpty)
        #expect(stage.core.misfire(of: Stage.app) == .changesProcess)
        #expect(stage.savedApps[Stage.app]?.misfireKind == .changesProcess)
        stage.send(.appInstalled(.prewarmed { $0.generation += 1 }))
        #expect(stage.prewarms == [second])
        #expect(stage.core.misfire(of: Stage.app) == nil)
    }

    /// Such a library may be in the caller's LD_PRELOAD.
    @Test func `stays eligible when only a caller's libraries changed the process`() {
        var stage = Stage(.prewarmed { $0.prewarmOccasion = .demand })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, EnvironmentKey(7))))
        #expect(stage.prewarms == [first])
        stage.send(.misfired(first, .changesProcess))
        #expect(stage.core.misfire(of: Stage.app) == nil)
        stage.send(.channelLost(first))
        stage.send(.exited(first, .exited(0)))
        stage.send(.emptied(first))
        stage.wait(.seconds(3600))
        #expect(stage.core.coldReason(for: Stage.app, key: Stage.key) != .ineligible)
    }

    @Test func `is filled again when an instance of a user at the instance limit ends`() {
        var policy = Policy()
        policy.instancesPerUser = 2
        let (other, third) = (
            AppIdentifier("org.example.other"), AppIdentifier("org.example.third")
        )
        var stage = Stage(
            policy: policy, .plain { $0.user = 7 },
            .prewarmed(other) {
                $0.user = 7
                $0.prewarmOccasion = .demand
            })
        _ = stage.run()
        let running = stage.run()
        stage.send(.appInstalled(.plain(third) { $0.user = 8 }))
        let others = stage.run(third)
        stage.send(.requested(stage.request(), .prewarm(other, Stage.key)))
        #expect(stage.prewarms.isEmpty)
        #expect(stage.refusals == [.tooManyInstancesOfUser(limit: 2)])
        // An instance of another user does not count towards this user's limit.
        stage.send(.exited(others, .exited(0)))
        stage.send(.emptied(others))
        #expect(stage.prewarms.isEmpty)
        stage.send(.exited(running, .exited(0)))
        #expect(stage.prewarms.isEmpty)
        stage.send(.emptied(running))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `is filled with at most the allowed number of concurrent prewarms`() {
        var stage = Stage(.prewarmed(count: 5))
        #expect(stage.prewarms == [first, second])
        stage.send(.paused(first, byteCount: 1))
        #expect(stage.prewarms == [InstanceIdentifier(3)])
    }

    @Test func `never exceeds the byte budget`() {
        var policy = Policy()
        policy.prewarmByteBudget = 40 << 20
        var stage = Stage(policy: policy, .prewarmed(count: 9))
        stage.send(.paused(first, byteCount: 30 << 20))
        #expect(stage.core.prewarmedBytes <= policy.prewarmByteBudget)
        stage.send(.paused(second, byteCount: 30 << 20))
        #expect(stage.core.prewarmedBytes == 30 << 20)
        #expect(stage.prewarms.isEmpty, "nothing more fits")
    }

    @Test func `refuses a prewarm that does not fit`() {
        var policy = Policy()
        policy.prewarmByteBudget = 1
        var stage = Stage(policy: policy, .prewarmed { $0.prewarmOccasion = .demand })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(stage.refusals == [.overBudget(Stage.app)])
    }

    @Test func `expires after its time to live, within a tenth`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        stage.wait(.seconds(539))
        #expect(stage.state(first) == .prewarmed)
        stage.wait(.seconds(122))
        #expect(stage.core.instance(first)?.endReason == .prewarmExpired)
    }

    @Test func `is filled again after its instances have expired, if conditions allow`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        stage.send(.pressureChanged(.warning))
        stage.wait(.seconds(661))
        stage.die(first)
        #expect(stage.prewarms.isEmpty)
        stage.send(.pressureChanged(.none))
        #expect(stage.prewarms == [second])
    }

    @Test func `backs off after failing prewarms, doubling the wait up to a maximum`() {
        var stage = Stage(.prewarmed())
        var waits: [Duration] = []
        for _ in 0..<12 {
            stage.die(stage.core.instances(of: Stage.app).last!.instance, .exited(1))
            let retryAt = stage.core.app(Stage.app)!.prewarmRetryAt!
            waits.append(stage.now.duration(to: retryAt))
            stage.wait(stage.now.duration(to: retryAt))
        }
        #expect(waits.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(waits.last == .seconds(300))
    }

    @Test func `kills a prewarm that never pauses and refuses the request`() {
        var stage = Stage(.prewarmed { $0.prewarmOccasion = .demand })
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        stage.wait(.seconds(20))
        #expect(stage.has(.kill(first)))
        #expect(stage.refusals.count == 1)
    }

    @Test func `is discarded and filled anew for another environment`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        stage.launch(key: EnvironmentKey(9))
        #expect(stage.has(.kill(first)))
        stage.send(.spawned(second))
        #expect(stage.outcomes.map(\.coldReason) == [.environmentMismatch])
        #expect(stage.has(.spawn(InstanceIdentifier(3), Stage.app, .prewarm(EnvironmentKey(9)))))
        #expect(stage.core.app(Stage.app)?.poolKey == EnvironmentKey(9))
    }

    /// Launches the app and lets the pool be filled again.
    private func launch(
        _ key: EnvironmentKey, from paused: inout [EnvironmentKey: InstanceIdentifier],
        on stage: inout Stage
    ) throws {
        let id = paused[key] ?? stage.core.nextInstance
        stage.launch(key: key)
        stage.send(paused[key] == nil ? .spawned(id) : .started(id))
        let next = try #require(stage.prewarms.first)
        #expect(stage.has(.spawn(next, Stage.app, .prewarm(key))))
        stage.send(.paused(next, byteCount: 1))
        paused[key] = next
    }

    @Test func `keeps an instance for each of the last three environments that were used`() throws {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        var paused = [Stage.key: first]
        for number in 0...2 as ClosedRange<UInt64> {
            try launch(EnvironmentKey(number), from: &paused, on: &stage)
        }
        let kinds = {
            stage.core.instances(of: Stage.app).filter { $0.launchKind == .prewarmed }.count
        }
        #expect(kinds() == 1)
        // The environments take turns.
        for number in [0, 1, 2, 0, 1] as [UInt64] {
            try launch(EnvironmentKey(number), from: &paused, on: &stage)
        }
        #expect(kinds() == 6)
        // The fourth environment ends the instance that was not used for longest.
        let oldest = try #require(paused[EnvironmentKey(2)])
        try launch(EnvironmentKey(3), from: &paused, on: &stage)
        #expect(stage.core.instance(oldest)?.endReason == .poolTrimmed)
        #expect(
            stage.core.coldReason(for: Stage.app, key: EnvironmentKey(2)) == .environmentMismatch)
    }

    @Test func `ends instances of former environments for the latest where the budget is full`()
        throws
    {
        var policy = Policy()
        policy.prewarmByteBudget = 100
        policy.assumedPrewarmBytes = 10
        var stage = Stage(policy: policy, .prewarmed())
        stage.send(.paused(first, byteCount: 60))
        stage.launch()
        stage.send(.started(first))
        let spare = try #require(stage.prewarms.first)
        stage.send(.paused(spare, byteCount: 60))
        let cold = stage.core.nextInstance
        stage.launch(key: EnvironmentKey(9))
        #expect(stage.state(spare) == .prewarmed)
        #expect(stage.core.spareCount(of: Stage.app) == 1)
        stage.send(.spawned(cold))
        #expect(stage.has(.kill(spare)))
        #expect(stage.prewarms.count == 1)
    }

    @Test func `of an older generation is discarded and filled again`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        stage.send(.appInstalled(.prewarmed { $0.generation = 2 }))
        #expect(stage.core.instance(first)?.endReason == .stale)
        #expect(stage.prewarms == [second])
    }

    @Test func `that is stale never serves a launch`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        stage.send(.becameStale(first))
        #expect(stage.has(.kill(first)))
        stage.launch()
        stage.send(.spawned(second))
        #expect(stage.outcomes.map(\.coldReason) == [.stale])
    }

    @Test func `of an app in a crash loop refuses background launches, not launches to the front`()
    {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        for _ in 0..<2 {
            let id = stage.run(isAttached: true)
            stage.send(.started(first))
            let victim = stage.state(id) == .active ? id : first
            stage.die(victim, .signaled(11, coreDumped: false))
        }
        let until = stage.core.app(Stage.app)!.crashLoopUntil!
        #expect(stage.now.duration(to: until) == .seconds(120))
        stage.launch(inBackground: true)
        #expect(stage.refusals == [.crashLoop(Stage.app, until: until)])
        stage.launch()
        #expect(stage.refusals.isEmpty, "a user's wish is always tried")
    }

    @Test(arguments: [MemoryPressure.warning, .critical])
    func `is not filled under memory pressure`(level: MemoryPressure) {
        var stage = Stage()
        stage.send(.pressureChanged(level))
        stage.send(.appInstalled(.prewarmed()))
        #expect(stage.prewarms.isEmpty)
        stage.send(.pressureChanged(.none))
        #expect(stage.prewarms == [first])
    }

    @Test func `is ended when the manifest is removed, while running instances stay`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1))
        let running = stage.run(isAttached: true)
        _ = running
        stage.send(.appRemoved(Stage.app))
        #expect(stage.has(.eraseApp(Stage.app)))
        #expect(!stage.has(.kill(running)))
        stage.launch()
        #expect(stage.refusals == [.noSuchApp(Stage.app)])
    }
}
