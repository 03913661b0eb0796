import GreenroomLifecycle
import Testing

/// Which end of an app makes the daemon start it again, and how often.
@Suite struct `Restarting` {
    private static let statuses: [GreenroomLifecycle.ExitStatus] = [
        .exited(0), .exited(7), .signaled(15, coreDumped: false), .signaled(11, coreDumped: true),
    ]

    private func stage(_ supervision: Supervision) -> Stage {
        var stage = Stage(.plain { $0.supervision = .some(supervision) })
        stage.send(.restored)
        return stage
    }

    private func due(_ stage: Stage) -> Instant? { stage.core.app(Stage.app)?.startAt }

    /// The table in systemd.service(5), at Restart=.
    @Test(
        arguments: [
            (RestartPolicy.never, [false, false, false, false]),
            (.onFailure, [false, true, false, true]),
            (.onAbnormal, [false, false, false, true]),
            (.always, [true, true, true, true]),
        ])
    func `depends on the policy and on how the app ended`(policy: RestartPolicy, expected: [Bool]) {
        for (status, isExpected) in zip(Self.statuses, expected) {
            var stage = stage(Supervision(restart: policy))
            let id = stage.run()
            stage.die(id, status)
            #expect((due(stage) != nil) == isExpected, "\(status)")
            let started = stage.wait(.seconds(1)).contains {
                if case .spawn(_, _, .launch(.daemon, _)) = $0 { true } else { false }
            }
            #expect(started == isExpected, "\(status)")
        }
    }

    @Test func `SuccessExitStatus= adds clean statuses`() {
        let clean = ExitStatusSet(statuses: [7], signals: [11])
        for status in Self.statuses {
            var stage = stage(Supervision(restart: .onFailure, success: clean))
            stage.die(stage.run(), status)
            #expect(due(stage) == nil)
        }
    }

    @Test(arguments: [Transition.terminate, .forceQuit])
    func `an end ordered by a client is final`(_ transition: Transition) {
        var stage = stage(Supervision(restart: .always))
        let id = stage.run()
        stage.ask(transition, id)
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(due(stage) == nil)
        #expect(stage.core.nextDeadline == nil)
    }

    @Test
    func `an end ordered by a client is final even if the app had crashed and left processes`() {
        var stage = stage(Supervision(restart: .always))
        let id = stage.run()
        stage.send(.exited(id, .signaled(11, coreDumped: true)))
        stage.ask(.terminate, id)
        stage.send(.emptied(id))
        #expect(due(stage) == nil)
    }

    @Test func `an end ordered by a client drops a scheduled restart`() {
        var stage = stage(Supervision(restart: .always))
        let id = stage.run()
        stage.die(id, .exited(1))
        #expect(due(stage) != nil)
        stage.send(.requested(stage.request(), .transition(.app(Stage.app), .terminate)))
        #expect(stage.answers == [.done(id, .notRunning)])
        #expect(due(stage) == nil)
        #expect(stage.wait(.seconds(60)).isEmpty)
    }

    @Test func `a status of RestartPreventExitStatus= prevents further restarts`() {
        var stage = stage(
            Supervision(restart: .always, preventing: ExitStatusSet(statuses: [77])))
        stage.die(stage.run(), .exited(77))
        #expect(stage.core.app(Stage.app)?.failure == .permanentStatus)
        #expect(due(stage) == nil)
        stage.launch(inBackground: true)
        #expect(stage.refusals == [.failed(Stage.app, .permanentStatus)])
        stage.launch()
        #expect(stage.core.app(Stage.app)?.failure == nil)
    }

    @Test func `the delay doubles up to its maximum and is reset by a long run`() {
        var stage = stage(
            Supervision(
                restart: .always, restartDelay: .seconds(1), maximumDelay: .seconds(5),
                startLimitBurst: 0))
        var id = stage.run()
        for delay in [1, 2, 4, 5, 5] {
            stage.die(id, .exited(1))
            #expect(due(stage) == stage.now.advanced(by: .seconds(delay)))
            id = stage.core.nextInstance
            stage.wait(.seconds(delay))
            stage.send(.spawned(id))
        }
        stage.wait(.seconds(20))
        stage.die(id, .exited(1))
        #expect(due(stage) == stage.now.advanced(by: .seconds(1)))
    }

    @Test func `an app that reaches the start limit has failed until it is reset`() {
        var stage = stage(Supervision(restart: .always, startLimitBurst: 3))
        var id = stage.run()
        for _ in 0..<3 {
            stage.die(id, .exited(1))
            id = stage.core.nextInstance
            stage.wait(.milliseconds(100))
            stage.send(.spawned(id))
        }
        #expect(stage.core.app(Stage.app)?.failure == .startLimit)
        #expect(stage.core.app(Stage.app)?.restartCount == 3)
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.answers == [.accepted])
        #expect(stage.core.app(Stage.app)?.failure == nil)
    }

    @Test func `a reclaimed app is restarted only with Restart=always, and later`() {
        for policy in [RestartPolicy.onFailure, .onAbnormal, .always] {
            var stage = stage(Supervision(restart: policy))
            let id = stage.run(inBackground: true)
            stage.send(.pressureChanged(.critical))
            stage.die(id, .exited(0))
            #expect((due(stage) != nil) == (policy == .always))
            // Memory is still short when it is due.
            stage.wait(.seconds(31))
            #expect(stage.core.liveCount == 0)
            stage.send(.pressureChanged(.none))
            stage.wait(.seconds(31))
            #expect(stage.core.liveCount == (policy == .always ? 1 : 0))
        }
    }

    @Test func `an app that ends during a shutdown is not restarted`() {
        var stage = stage(Supervision(restart: .always))
        let id = stage.run()
        stage.send(.shutdownRequested)
        stage.die(id)
        #expect(due(stage) == nil)
    }

    @Test func `an attached instance is not restarted`() {
        var stage = stage(Supervision(restart: .always))
        stage.die(stage.run(isAttached: true), .exited(1))
        #expect(due(stage) == nil)
    }

    @Test func `a scheduled restart outlives the supervisor`() {
        let description = AppDescription.plain {
            $0.supervision = .some(Supervision(restart: .always, restartDelay: .seconds(5)))
        }
        var stage = stage(Supervision(restart: .always, restartDelay: .seconds(5)))
        stage.die(stage.run(), .exited(1))
        let due = due(stage)
        stage.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: Policy(), seed: 2, at: stage.now)
        stage.send(.appInstalled(description))
        stage.send(.restored)
        #expect(stage.core.app(Stage.app)?.startAt == due)
        let id = stage.core.nextInstance
        let effects = stage.wait(.seconds(5))
        #expect(effects.contains(.spawn(id, Stage.app, .launch(.daemon, LaunchTerms()))))
    }

    @Test func `an app for boot starts once, and not again after a client ended it`() {
        let autostart = Autostart(atBoot: true, atLogin: false, loginGroup: "user-0")
        let description = AppDescription.plain { $0.autostart = .some(autostart) }
        var stage = Stage(description)
        #expect(stage.core.liveCount == 0)
        let id = stage.core.nextInstance
        stage.send(.restored)
        #expect(stage.has(.spawn(id, Stage.app, .launch(.daemon, LaunchTerms()))))
        stage.send(.spawned(id))
        stage.ask(.terminate, id)
        stage.die(id)
        stage.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: Policy(), seed: 2, at: stage.now)
        stage.send(.appInstalled(description))
        stage.send(.restored)
        #expect(stage.core.liveCount == 0)
    }
}
