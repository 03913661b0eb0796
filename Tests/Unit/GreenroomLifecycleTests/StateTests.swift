import GreenroomLifecycle
import Testing

@Suite struct `A running instance` {
    static let other = AppIdentifier("org.example.other")

    func grouped(_ app: AppIdentifier = Stage.app) -> AppDescription {
        .plain(app) {
            $0.foregroundGroup = "seat"
            $0.suspendsInBackground = true
        }
    }

    @Test func `that is activated sends the previous one of its group to the background`() {
        var stage = Stage(grouped(), grouped(Self.other))
        let (first, second) = (stage.run(), stage.run(Self.other))
        #expect(stage.state(first) == .background)
        #expect(stage.state(second) == .active)
        stage.ask(.foreground, first)
        #expect(stage.state(second) == .background)
        #expect(stage.answers == [.done(first, .active)])
        let moves = stage.effects.compactMap { effect -> ExecutionState? in
            if case .report(.stateChanged(second, _, _, let to, _)) = effect { to } else { nil }
        }
        #expect(moves == [.inactive, .background])
    }

    @Test func `without a group displaces no other instance`() {
        var stage = Stage(.plain(), .plain(Self.other))
        let (first, second) = (stage.run(), stage.run(Self.other))
        #expect(stage.state(first) == .active)
        #expect(stage.state(second) == .active)
    }

    @Test func `is suspended after its background grace, not before`() {
        var stage = Stage(grouped())
        let id = stage.run(inBackground: true)
        stage.wait(.milliseconds(9_999))
        #expect(stage.state(id) == .background)
        stage.wait(.milliseconds(1))
        #expect(stage.has(.freeze(id)))
        #expect(stage.state(id) == .suspended)
    }

    @Test func `that is attached or does not suspend stays in the background`() {
        var stage = Stage(grouped(), .plain(Self.other))
        let attached = stage.run(inBackground: true, isAttached: true)
        let plain = stage.run(Self.other, inBackground: true)
        stage.wait(.seconds(3600))
        #expect(stage.state(attached) == .background)
        #expect(stage.state(plain) == .background)
    }

    @Test func `is suspended at once on request and resumes to the background`() {
        var stage = Stage(grouped())
        let id = stage.run()
        stage.ask(.suspend, id)
        #expect(stage.has(.freeze(id)))
        #expect(stage.answers.isEmpty)
        stage.send(.frozen(id))
        #expect(stage.answers == [.done(id, .suspended)])
        stage.ask(.resume, id)
        #expect(stage.has(.thaw(id)))
        #expect(stage.answers == [.done(id, .background)])
    }

    @Test func `that cannot be frozen goes back to the background and the request is refused`() {
        var stage = Stage(grouped())
        let id = stage.run()
        stage.ask(.suspend, id)
        stage.send(.freezeFailed(id))
        #expect(stage.refusals == [.freezeFailed(id)])
        #expect(stage.state(id) == .background)
    }

    @Test func `counts as frozen if the freezer does not report in time`() {
        var stage = Stage(grouped())
        let id = stage.run()
        stage.ask(.suspend, id)
        stage.wait(.seconds(2))
        #expect(stage.answers == [.done(id, .suspended)])
    }

    @Test(arguments: [Transition.foreground, .background, .suspend, .resume])
    func `that is being ended refuses every other transition`(transition: Transition) {
        var stage = Stage(grouped())
        let id = stage.run()
        stage.ask(.terminate, id)
        stage.ask(transition, id)
        #expect(stage.refusals == [.illegalTransition(id, from: .terminating, transition)])
    }

    @Test(arguments: [Transition.foreground, .background, .suspend, .resume, .terminate])
    func `that has ended refuses every transition`(transition: Transition) {
        var stage = Stage(grouped())
        let id = stage.run()
        stage.die(id)
        stage.ask(transition, id)
        #expect(stage.refusals == [.notRunning(.instance(id))])
    }
}

@Suite struct `An end` {
    @Test func `is asked for with SIGTERM and enforced after the grace`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.ask(.terminate, id)
        #expect(stage.has(.terminate(id)))
        #expect(!stage.has(.kill(id)))
        stage.wait(.seconds(5))
        #expect(stage.has(.kill(id)))
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(stage.core.instance(id)?.endReason == .terminateTimeout)
        #expect(stage.answers == [.done(id, .notRunning)])
    }

    @Test func `of a suspended instance begins with thawing it`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.ask(.suspend, id)
        let effects = stage.ask(.terminate, id)
        #expect(effects.firstIndex(of: .thaw(id))! < effects.firstIndex(of: .terminate(id))!)
    }

    @Test func `by force sends SIGKILL at once, even during the grace`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.ask(.terminate, id)
        stage.ask(.forceQuit, id)
        #expect(stage.has(.kill(id)))
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(stage.core.instance(id)?.endReason == .forceQuit)
        #expect(stage.core.app(Stage.app)?.crashes == [])
    }

    @Test func `that does not happen is enforced again, a limited number of times`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.ask(.forceQuit, id)
        let kills = stage.wait(.seconds(3600)).filter { $0 == .kill(id) }
        #expect((30...70).contains(kills.count))
        #expect(stage.core.nextDeadline == nil)
    }

    @Test func `includes the children and is final when none of them is left`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.send(.requested(stage.request(), .awaitExit(.instance(id))))
        stage.send(.exited(id, .exited(3)))
        #expect(stage.has(.kill(id)))
        #expect(stage.answers.isEmpty)
        stage.send(.emptied(id))
        #expect(stage.answers == [.exited(stage.core.instance(id)!)])
        #expect(stage.has(.release(id, Stage.app)))
        #expect(stage.core.instance(id)?.exitStatus == .exited(3))
        #expect(stage.core.instance(id)?.lastState == .active)
    }

    @Test func `is final only when the exit status is known and no process is left`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.send(.emptied(id))
        #expect(!stage.has(.release(id, Stage.app)))
        stage.send(.exited(id, .exited(0)))
        #expect(stage.has(.release(id, Stage.app)))
    }

    @Test func `by a signal that no client sent is a crash`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.die(id, .signaled(11, coreDumped: true))
        #expect(stage.core.instance(id)?.endReason == .crashed)
    }

    @Test(arguments: [1, 2, 13, 15] as [UInt8])
    func `by SIGHUP, SIGINT, SIGPIPE or SIGTERM counts as an exit, not as a crash`(signal: UInt8) {
        var stage = Stage(.plain())
        for _ in 0..<3 {
            let id = stage.run()
            stage.die(id, .signaled(signal, coreDumped: false))
            #expect(stage.core.instance(id)?.endReason == .exitedSelf)
        }
        #expect(stage.savedApps[Stage.app]?.crashLoopUntil == nil)
    }

    @Test func `by a signal that a client sent counts as an exit, not as a crash`() {
        var stage = Stage(.plain())
        let id = stage.run()
        stage.send(.signalSent(id, signal: 10))
        stage.die(id, .signaled(10, coreDumped: false))
        #expect(stage.core.instance(id)?.endReason == .exitedSelf)
        let other = stage.run()
        stage.send(.signalSent(other, signal: 10))
        stage.die(other, .signaled(11, coreDumped: true))
        #expect(stage.core.instance(other)?.endReason == .crashed)
    }

    @Test func `is found by the name of the launch, in each app that used that name`() {
        let other = AppIdentifier("org.example.other")
        var stage = Stage(.plain(), .plain(other))
        let first = stage.run(name: "mine")
        let second = stage.run(other, name: "mine")
        stage.die(first)
        let named = stage.core.instances(of: LaunchIdentifier("mine"))
        #expect(named.map(\.instance) == [first, second])
        #expect(stage.core.instances(of: LaunchIdentifier("other")).isEmpty)
    }

    @Test func `is remembered up to the limit`() {
        var policy = Policy()
        policy.rememberedExits = 2
        var stage = Stage(policy: policy, .plain())
        for _ in 0..<4 { stage.die(stage.run()) }
        #expect(stage.core.instances.map(\.instance) == [3, 4].map { InstanceIdentifier($0) })
        #expect(stage.has(.erase(InstanceIdentifier(2))))
        #expect(stage.saved.count == 2)
    }

    /// If the name of a launch were forgotten, a launch that is repeated under it would run twice.
    @Test func `is remembered however many instances of another user end`() {
        var policy = Policy()
        policy.rememberedExits = 8
        let other = AppIdentifier("org.example.other")
        let apps = [AppDescription.plain { $0.user = 1000 }, .plain(other) { $0.user = 1001 }]
        var stage = Stage(policy: policy, apps[0], apps[1])
        let kept = stage.run(name: "mine")
        stage.die(kept)
        for _ in 0..<20 { stage.die(stage.run(other)) }
        #expect(stage.core.instance(kept)?.state == .notRunning)
        #expect(stage.core.instances(of: LaunchIdentifier("mine")).map(\.instance) == [kept])
        #expect(stage.core.instances.count == 8)
        stage.restart(apps[0], apps[1])
        for _ in 0..<20 { stage.die(stage.run(other)) }
        #expect(stage.core.instances(of: LaunchIdentifier("mine")).map(\.instance) == [kept])
    }

    @Test func `of every instance begins at shutdown, and launches are refused`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(InstanceIdentifier(1), byteCount: 1))
        let id = stage.run(isAttached: true)
        stage.send(.started(InstanceIdentifier(1)))
        stage.send(.shutdownRequested)
        let running = stage.core.instances.filter { $0.state == .terminating }
        #expect(running.count == stage.core.liveCount)
        #expect(stage.has(.terminate(id)) || stage.has(.kill(id)))
        stage.launch()
        #expect(stage.refusals == [.shuttingDown])
    }
}
