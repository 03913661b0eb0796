import GreenroomLifecycle
import Testing

/// The app in front is inactive while something covers it.
@Suite struct `An interruption` {
    private static let program = AppIdentifier("org.example.program")
    private static let user: UInt32 = 7

    private func stage() -> Stage {
        Stage(
            .application { $0.user = Self.user },
            .plain(Self.program) {
                $0.user = Self.user
                $0.readyCondition = .notify
            })
    }

    private func program(_ stage: inout Stage) -> InstanceIdentifier {
        let id = stage.run(Self.program)
        stage.send(.becameReady(id))
        return id
    }

    private func lock(_ stage: inout Stage, _ isLocked: Bool = true) {
        stage.send(.sessionLockChanged(user: Self.user, isLocked: isLocked))
    }

    @Test func `makes an app resign when a client says so, until a client says that it is over`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.interrupt, id)
        #expect(stage.told == [.willResignActive])
        #expect(stage.answers.isEmpty)
        stage.acknowledge(id)
        #expect(stage.answers == [.done(id, .inactive)])
        #expect(stage.told.isEmpty)
        stage.ask(.endInterruption, id)
        #expect(stage.told == [.didBecomeActive])
        stage.acknowledge(id)
        #expect(stage.answers == [.done(id, .active)])
    }

    @Test
    func `by a lock makes an app resign before its data goes, and ends after the data is back`()
        throws
    {
        var stage = stage()
        let id = stage.activate(Stage.app)
        lock(&stage)
        let resigns = try #require(
            stage.effects.firstIndex { if case .tell = $0 { true } else { false } })
        let data = try #require(
            stage.effects.firstIndex(of: .notify(id, .protectedDataWillBecomeUnavailable)))
        #expect(resigns < data)
        stage.acknowledge(id)
        #expect(stage.state(id) == .inactive)
        lock(&stage, false)
        #expect(stage.told == [.didBecomeActive])
        guard
            case .notify(id, .protectedDataDidBecomeAvailable)? = stage.effects.first(where: {
                if case .save = $0 { false } else { true }
            })
        else {
            Issue.record("\(stage.testDescription)")
            return
        }
        stage.acknowledge(id)
        #expect(stage.state(id) == .active)
    }

    @Test func `makes a program inactive at once`() {
        var stage = stage()
        let id = program(&stage)
        stage.ask(.interrupt, id)
        #expect(stage.answers == [.done(id, .inactive)])
        lock(&stage)
        stage.ask(.endInterruption, id)
        #expect(stage.answers == [.done(id, .inactive)])
        lock(&stage, false)
        #expect(stage.state(id) == .active)
        stage.ask(.endInterruption, id)
        #expect(stage.answers == [.done(id, .active)])
    }

    @Test func `by a lock of another user changes nothing`() {
        var stage = stage()
        let (id, program) = (stage.activate(Stage.app), program(&stage))
        stage.send(.sessionLockChanged(user: 8, isLocked: true))
        #expect(stage.told.isEmpty)
        #expect(stage.state(id) == .active)
        #expect(stage.state(program) == .active)
    }

    @Test func `keeps what is launched during a lock inactive in front, and answers the request`() {
        var stage = stage()
        lock(&stage)
        let id = stage.run()
        let request = stage.request()
        stage.send(.requested(request, .transition(.instance(id), .foreground)))
        stage.send(.becameReady(id))
        #expect(stage.told.isEmpty)
        #expect(stage.state(id) == .inactive)
        #expect(stage.answers == [.done(id, .inactive)])
        let program = program(&stage)
        #expect(stage.state(program) == .inactive)
        lock(&stage, false)
        stage.acknowledge(id)
        #expect(stage.state(id) == .active)
        #expect(stage.state(program) == .active)
    }

    @Test(arguments: [Transition.foreground, .background])
    func `ends when somebody wants the instance in front, and when it leaves the front`(
        transition: Transition
    ) {
        var stage = stage()
        for id in [stage.activate(Stage.app), program(&stage)] {
            stage.ask(.interrupt, id)
            stage.acknowledgeAll(id)
            #expect(stage.state(id) == .inactive)
            stage.ask(transition, id)
            stage.acknowledgeAll(id)
            stage.ask(.foreground, id)
            stage.acknowledgeAll(id)
            #expect(stage.state(id) == .active)
        }
    }

    @Test func `that begins while an app launches keeps it inactive`() {
        var stage = stage()
        let id = stage.run()
        stage.ask(.interrupt, id)
        stage.send(.becameReady(id))
        #expect(stage.told.isEmpty)
        #expect(stage.answers == [.done(id, .inactive)])
    }

    @Test(arguments: [false, true])
    func `of an instance that is not in front is refused, and its end is not`(isSuspended: Bool) {
        var stage = stage()
        for id in [stage.activate(Stage.app), program(&stage)] {
            stage.ask(isSuspended ? .suspend : .background, id)
            stage.acknowledgeAll(id)
            stage.send(.frozen(id))
            let state: ExecutionState = isSuspended ? .suspended : .background
            stage.ask(.interrupt, id)
            #expect(stage.refusals == [.illegalTransition(id, from: state, .interrupt)])
            stage.ask(.endInterruption, id)
            #expect(stage.answers == [.done(id, state)])
        }
    }

    @Test func `covers every scene in front`() {
        var stage = Stage(.application { $0.scenes = .multiple })
        let id = stage.activate(Stage.app)
        stage.send(.requested(stage.request(), .scene(Stage.app, .activate(nil))))
        stage.acknowledgeAll(id)
        stage.ask(.interrupt, id)
        stage.acknowledgeAll(id)
        let scenes = stage.core.instance(id)?.conversation?.scenes ?? []
        #expect(scenes.map(\.activation) == [.foregroundInactive, .foregroundInactive])
    }

    @Test func `lasts over a restart of the supervisor, and so does a lock`() {
        let app = AppDescription.application { $0.user = Self.user }
        let plain = AppDescription.plain(Self.program) { $0.user = Self.user }
        var stage = Stage(app, plain)
        let (id, program) = (stage.activate(Stage.app), stage.run(Self.program))
        for one in [id, program] {
            stage.ask(.interrupt, one)
            stage.acknowledgeAll(one)
        }
        stage.restart(app, plain)
        #expect(stage.told.isEmpty)
        #expect(stage.state(id) == .inactive)
        #expect(stage.state(program) == .inactive)
        for one in [id, program] {
            stage.ask(.endInterruption, one)
            stage.acknowledgeAll(one)
            #expect(stage.state(one) == .active)
        }
    }

    @Test func `by a lock is the first thing that a suspended app learns when it is thawed`() throws
    {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.suspend, id)
        stage.acknowledgeAll(id)
        stage.send(.frozen(id))
        lock(&stage)
        #expect(stage.notices.isEmpty)
        stage.ask(.foreground, id)
        #expect(stage.notices == [.protectedDataIsUnavailable])
        let notice = try #require(
            stage.effects.firstIndex(of: .notify(id, .protectedDataIsUnavailable)))
        let step = try #require(
            stage.effects.firstIndex { if case .tell = $0 { true } else { false } })
        #expect(notice < step)
    }
}
