import GreenroomLifecycle
import Testing

@Suite struct `A launch` {
    @Test func `of an unknown app is refused`() {
        var stage = Stage()
        stage.launch()
        #expect(stage.refusals == [.noSuchApp(Stage.app)])
    }

    @Test func `without a paused instance is cold and answered when spawned`() {
        var stage = Stage(.plain())
        let id = stage.core.nextInstance
        stage.launch()
        #expect(stage.answers.isEmpty)
        #expect(stage.has(.spawn(id, Stage.app, .launch(stage.origin, LaunchTerms()))))
        stage.send(.spawned(id))
        let outcome = LaunchOutcome(instance: id, kind: .cold, coldReason: .prewarmingDisabled)
        #expect(stage.outcomes == [outcome])
        #expect(stage.state(id) == .active)
    }

    @Test func `with paused instances tells the oldest to go and is answered when it has started`()
    {
        var stage = Stage(.prewarmed(count: 2))
        let (first, second) = (InstanceIdentifier(1), InstanceIdentifier(2))
        stage.send(.paused(second, byteCount: 1))
        stage.send(.paused(first, byteCount: 1))
        stage.launch()
        #expect(stage.effects.first == .save(stage.core.instance(second)!))
        #expect(stage.saved[second]?.phase == .toldToGo)
        #expect(stage.has(.go(second, stage.origin, LaunchTerms())))
        #expect(stage.answers.isEmpty)
        stage.send(.started(second))
        #expect(stage.outcomes == [LaunchOutcome(instance: second, kind: .prewarmed)])
        #expect(stage.prewarms == [InstanceIdentifier(3)], "refilled after the answer")
    }

    @Test func `is answered before the pool is refilled`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        stage.launch()
        #expect(stage.prewarms.isEmpty)
        let effects = stage.send(.started(InstanceIdentifier(1)))
        let answer = effects.firstIndex { if case .answer = $0 { true } else { false } }
        let refill = effects.firstIndex { if case .spawn = $0 { true } else { false } }
        #expect(answer! < refill!)
    }

    @Test func `falls back once to the next paused instance, then to a cold launch`() {
        var stage = Stage(.prewarmed(count: 3))
        for id in 1...3 { stage.send(.paused(InstanceIdentifier(UInt64(id)), byteCount: 1)) }
        stage.launch()
        stage.send(.channelLost(InstanceIdentifier(1)))
        #expect(stage.has(.kill(InstanceIdentifier(1))))
        #expect(stage.has(.go(InstanceIdentifier(2), stage.origin, LaunchTerms())))
        stage.wait(.seconds(2))
        // The pool was refilled in between with instances 4 and 5.
        let cold = InstanceIdentifier(6)
        #expect(stage.has(.kill(InstanceIdentifier(2))))
        #expect(stage.has(.spawn(cold, Stage.app, .launch(stage.origin, LaunchTerms()))))
        stage.send(.spawned(cold))
        #expect(stage.outcomes.map(\.coldReason) == [.goFailed])
        stage.die(InstanceIdentifier(1), .signaled(9, coreDumped: false))
        #expect(stage.core.instance(InstanceIdentifier(1))?.endReason == .goFailed)
    }

    /// A launch of the app, perhaps with a terminal.
    private func launch(in stage: inout Stage, onTerminal: Bool) {
        let request = stage.request()
        var launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("launch-\(request.rawValue)"),
            environmentKey: Stage.key, isAttached: true)
        launch.takesTerminal = onTerminal
        stage.send(.requested(request, .launch(launch)))
    }

    @Test(arguments: [true, false])
    func `that takes a terminal leaves a paused instance that could not take it to others`(
        isColdOnTerminal: Bool
    ) {
        var stage = Stage(.prewarmed { $0.isColdOnTerminal = isColdOnTerminal })
        let paused = InstanceIdentifier(1)
        stage.send(.paused(paused, byteCount: 1))
        launch(in: &stage, onTerminal: true)
        guard isColdOnTerminal else {
            #expect(stage.state(paused) == .launching)
            return
        }
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.coldReason) == [.goFailed])
        #expect(stage.state(paused) == .prewarmed)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
        launch(in: &stage, onTerminal: false)
        #expect(stage.has(.go(paused, stage.origin, LaunchTerms())))
    }

    @Test func `that takes a terminal is cold for its own reason if no instance is paused`() {
        var stage = Stage(.prewarmed { $0.isColdOnTerminal = true })
        launch(in: &stage, onTerminal: true)
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.coldReason) == [.noneReady])
        #expect(stage.state(InstanceIdentifier(1)) == .prewarming)
    }

    @Test func `falls back to a cold launch when the paused instance exits instead of starting`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        stage.launch()
        stage.send(.exited(InstanceIdentifier(1), .exited(1)))
        #expect(
            stage.has(
                .spawn(InstanceIdentifier(2), Stage.app, .launch(stage.origin, LaunchTerms()))))
    }

    @Test func `repeated under its name gets the recorded outcome`() {
        var stage = Stage(.plain())
        let id = stage.run(name: "once")
        stage.launch(name: "once")
        #expect(stage.outcomes.map(\.instance) == [id])
        #expect(stage.outcomes.map(\.isRepeated) == [true])
        stage.die(id)
        stage.launch(name: "once")
        #expect(stage.outcomes.map(\.instance) == [id])
    }

    @Test func `repeated before it is answered is answered together with the first`() {
        var stage = Stage(.plain())
        let id = stage.core.nextInstance
        stage.launch(name: "once")
        stage.launch(name: "once")
        #expect(stage.answers.isEmpty)
        stage.send(.spawned(id))
        #expect(stage.outcomes.map(\.isRepeated) == [false, true])
    }

    @Test func `of another app under the same name is a separate launch`() {
        let other = AppIdentifier("org.example.other")
        var stage = Stage(.plain(), .plain(other))
        let first = stage.run(name: "same")
        let second = stage.run(other, name: "same")
        stage.launch(name: "same")
        #expect(first != second)
        #expect(stage.outcomes.map(\.instance) == [first])
    }

    @Test func `of a running single-instance app brings it to the front`() {
        var stage = Stage(.plain { $0.isSingleInstance = true })
        let id = stage.run(inBackground: true)
        stage.launch()
        #expect(stage.outcomes == [LaunchOutcome(instance: id, kind: .foreground)])
        #expect(stage.state(id) == .active)
    }

    @Test func `that joins another launch is known by its own name from then on`() {
        var stage = Stage(.plain { $0.isSingleInstance = true })
        stage.launch(name: "first")
        stage.launch(name: "second")
        let joined = stage.last
        stage.launch(name: "second", isAttached: true)
        #expect(stage.core.liveCount == 1)
        stage.send(.spawned(InstanceIdentifier(1)))
        let outcome = LaunchOutcome(instance: InstanceIdentifier(1), kind: .foreground)
        #expect(stage.has(.answer(joined, .launched(outcome))))
        var repeated = outcome
        repeated.isRepeated = true
        #expect(stage.has(.answer(stage.last, .launched(repeated))))
    }

    @Test func `that joined a failed launch may be repeated under its name`() {
        var stage = Stage(.plain { $0.isSingleInstance = true })
        stage.launch(name: "first")
        stage.launch(name: "second")
        stage.send(.spawnFailed(InstanceIdentifier(1), SpawnFailure(stage: "executing", errno: 2)))
        #expect(stage.refusals.count == 2)
        stage.launch(name: "second")
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.isRepeated) == [false])
    }

    @Test func `that joined another launch follows it to the next instance`() {
        var stage = Stage(.prewarmed { $0.isSingleInstance = true })
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        stage.launch(name: "first")
        stage.launch(name: "second")
        stage.send(.channelLost(InstanceIdentifier(1)))
        stage.launch(name: "second", isAttached: true)
        let cold = stage.core.instances.last { $0.launchKind == .cold }!.instance
        stage.send(.spawned(cold))
        #expect(stage.outcomes.map(\.instance) == [cold, cold, cold])
        #expect(stage.core.instances(of: LaunchIdentifier("second")).map(\.instance) == [cold])
    }

    @Test func `of a suspended single-instance app thaws it`() {
        var stage = Stage(.plain { $0.isSingleInstance = true })
        let id = stage.run()
        stage.ask(.suspend, id)
        stage.launch()
        #expect(stage.has(.thaw(id)))
        #expect(stage.outcomes == [LaunchOutcome(instance: id, kind: .resume)])
        #expect(stage.state(id) == .active)
    }

    @Test func `that is attached always makes a new instance`() {
        var stage = Stage(.plain { $0.isSingleInstance = true })
        let id = stage.run()
        #expect(stage.run(isAttached: true) != id)
        #expect(stage.state(id) == .active, "displaces nobody")
    }

    @Test func `that cannot be spawned is refused, and then only background launches back off`() {
        var stage = Stage(.plain())
        let failure = SpawnFailure(stage: "executing", errno: 2)
        stage.launch()
        stage.send(.spawnFailed(InstanceIdentifier(1), failure))
        #expect(stage.refusals == [.spawnFailed(Stage.app, failure)])
        let retryAt = stage.now.advanced(by: .seconds(1))
        stage.launch(inBackground: true)
        #expect(stage.refusals == [.backOff(Stage.app, until: retryAt)])
        stage.launch()
        #expect(stage.refusals.isEmpty)
    }

    @Test func `whose process ends before the answer is refused`() {
        var stage = Stage(.plain())
        stage.launch()
        stage.send(.exited(InstanceIdentifier(1), .exited(1)))
        #expect(stage.refusals == [.ended(InstanceIdentifier(1), .exitedSelf)])
    }

    @Test func `goes on when its client is gone`() {
        var stage = Stage(.plain())
        stage.launch()
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.answers.isEmpty)
        stage.send(.spawned(InstanceIdentifier(1)))
        // The shell keeps what the launch brought until the answer.
        #expect(stage.outcomes.count == 1)
        #expect(stage.state(InstanceIdentifier(1)) == .active)
    }

    @Test func `waits for its ready condition and is ended at the deadline`() {
        var stage = Stage(.plain { $0.readyCondition = .notify })
        let id = stage.run()
        #expect(stage.outcomes.count == 1)
        #expect(stage.state(id) == .launching)
        stage.wait(.seconds(20))
        #expect(stage.has(.kill(id)))
        #expect(stage.core.instance(id)?.endReason == .launchWatchdog)
    }

    @Test func `makes the app active or background when it is ready`() {
        var stage = Stage(.plain { $0.readyCondition = .firstOutput })
        let (first, second) = (stage.run(), stage.run(inBackground: true))
        stage.send(.becameReady(first))
        stage.send(.becameReady(second))
        #expect(stage.state(first) == .active)
        #expect(stage.state(second) == .background)
    }

    @Test func `whose client gets the output that it is ready on is ready once it runs`() {
        var stage = Stage(.plain { $0.readyCondition = .firstOutput })
        stage.launch(takesOutput: true)
        stage.send(.spawned(InstanceIdentifier(1)))
        #expect(stage.outcomes.count == 1)
        #expect(stage.state(InstanceIdentifier(1)) == .active)
    }

    @Test func `beyond the instance limit is refused`() {
        var policy = Policy()
        policy.instanceLimit = 1
        var stage = Stage(policy: policy, .plain())
        _ = stage.run()
        stage.launch()
        #expect(stage.refusals == [.tooManyInstances(limit: 1)])
    }

    /// A policy with two places, and an app of which one instance is paused.
    private static func crowded(
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> (Stage, InstanceIdentifier) {
        var policy = Policy()
        policy.instanceLimit = 2
        var stage = Stage(policy: policy, .plain(), .prewarmed(AppIdentifier("a.pool"), change))
        stage.send(.restored)
        let paused = stage.core.instances(of: AppIdentifier("a.pool"))[0].instance
        stage.send(.paused(paused, byteCount: 1))
        _ = stage.run()
        return (stage, paused)
    }

    @Test(arguments: [true, false])
    func `at the instance limit takes the place of a paused instance`(isInTime: Bool) {
        var (stage, paused) = Self.crowded()
        stage.launch()
        #expect(stage.refusals.isEmpty && stage.has(.kill(paused)))
        #expect(stage.core.liveCount == 2)
        let launch = stage.last
        if !isInTime {
            // Another launch does not take that place.
            stage.launch(AppIdentifier("a.pool"))
            #expect(stage.refusals == [.tooManyInstances(limit: 2)])
        }
        stage.die(paused, .signaled(9, coreDumped: false))
        let id = stage.core.nextInstance.rawValue - 1
        #expect(
            stage.has(
                .spawn(InstanceIdentifier(id), Stage.app, .launch(.request(launch), LaunchTerms())))
        )
        stage.send(.spawned(InstanceIdentifier(id)))
        #expect(stage.outcomes.count == 1 && stage.core.liveCount == 2)
    }

    @Test func `in another environment takes the place of its app's own paused instance`() {
        var (stage, paused) = Self.crowded()
        stage.launch(AppIdentifier("a.pool"), key: EnvironmentKey(7))
        #expect(stage.refusals.isEmpty && stage.has(.kill(paused)))
        stage.die(paused, .signaled(9, coreDumped: false))
        #expect(
            stage.core.instances(of: AppIdentifier("a.pool")).contains { $0.state == .launching })
    }

    @Test func `of the daemon itself that takes a place is kept across a restart`() {
        var (stage, paused) = Self.crowded()
        let kept = AppDescription.plain { $0.supervision = .some(Supervision(restart: .always)) }
        stage.send(.appInstalled(kept))
        stage.die(InstanceIdentifier(2), .exited(1))
        let filler = AppIdentifier("org.example.filler")
        stage.send(.appInstalled(.plain(filler)))
        _ = stage.run(filler)
        let starts: (Effect) -> Bool = {
            if case .spawn(_, Stage.app, .launch(.daemon, _)) = $0 { true } else { false }
        }
        #expect(!stage.wait(.seconds(1)).contains(where: starts))
        #expect(stage.state(paused) != .prewarmed)
        let before = stage
        stage.die(paused, .signaled(9, coreDumped: false))
        #expect(stage.core.app(Stage.app)?.startAt == nil && stage.core.liveCount == 2)
        stage = before
        stage.restart(kept, .plain(filler), .prewarmed(AppIdentifier("a.pool")))
        stage.die(paused, .signaled(9, coreDumped: false))
        stage.wait(.seconds(1))
        // The pool was filled first, and gives the place back.
        stage.die(InstanceIdentifier(stage.core.nextInstance.rawValue - 1))
        #expect(stage.core.instances(of: Stage.app).contains { $0.state == .launching })
    }

    @Test func `does not take the place of another user's paused instance`() {
        var (stage, paused) = Self.crowded { $0.user = 7 }
        stage.launch()
        #expect(stage.refusals == [.tooManyInstances(limit: 2)])
        #expect(stage.state(paused) == .prewarmed)
    }

    @Test func `that took a place and was cancelled starts nothing`() {
        var (stage, paused) = Self.crowded()
        stage.launch()
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.refusals == [.cancelled(Stage.app)])
        stage.die(paused, .signaled(9, coreDumped: false))
        #expect(stage.core.instances(of: Stage.app).count == 1)
    }

    @Test
    func `leaves an eighth of all instances to the administrator and lets no user take the rest`() {
        var policy = Policy()
        policy.instanceLimit = 16
        let apps = (0..<6).map { user in
            AppDescription.plain(AppIdentifier("org.example.user\(user)")) {
                $0.user = UInt32(user)
            }
        }
        var stage = Stage(policy: policy, apps[0])
        for app in apps.dropFirst() { stage.send(.appInstalled(app)) }
        /// Launches until a launch is refused. Returns how many succeeded, and the refusal.
        func exhaust(_ user: Int) -> (count: Int, refusal: Refusal?) {
            let before = stage.core.liveCount
            repeat { stage.launch(apps[user].identifier) } while stage.refusals.isEmpty
            return (stage.core.liveCount - before, stage.refusals.last)
        }
        #expect(exhaust(1) == (7, .tooManyInstancesOfUser(limit: 7)))
        #expect(exhaust(2) == (4, .tooManyInstancesOfUser(limit: 4)))
        #expect(exhaust(3) == (2, .tooManyInstancesOfUser(limit: 2)))
        #expect(exhaust(4) == (1, .tooManyInstances(limit: 14)))
        #expect(exhaust(5) == (0, .tooManyInstances(limit: 14)))
        #expect(exhaust(0) == (2, .tooManyInstances(limit: 16)))
    }
}
