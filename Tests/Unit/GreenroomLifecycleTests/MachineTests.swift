import GreenroomLifecycle
import Testing

@Suite struct `Logins, sleep and shutdown` {
    let first = InstanceIdentifier(1)

    private static let ofSession = AppDescription.prewarmed {
        $0.prewarmOccasion = .login
        $0.foregroundGroup = nil
        $0.userLoginGroup = "user-1"
    }

    @Test func `a login prewarms an app of the session that has no foreground group`() {
        var stage = Stage(Self.ofSession)
        #expect(stage.prewarms.isEmpty)
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        #expect(stage.prewarms == [first])
    }

    @Test func `a logout ends the instances that were paused for the session`() {
        var stage = Stage(Self.ofSession)
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        stage.send(.paused(first, byteCount: 1))
        stage.send(.loggedOut(foregroundGroup: "user-2"))
        #expect(stage.state(first) == .prewarmed)
        stage.send(.loggedOut(foregroundGroup: "user-1"))
        #expect(stage.core.instance(first)?.endReason == .poolTrimmed)
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(stage.prewarms.isEmpty)
    }

    @Test func `each login starts the apps for login, even after a logout that no supervisor saw`()
    {
        let app = AppDescription.plain {
            $0.autostart = .some(Autostart(atBoot: false, atLogin: true, loginGroup: "user-1"))
        }
        var stage = Stage(app)
        stage.send(.restored)
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        #expect(stage.core.instances.count == 1)
        stage.send(.spawned(first))
        stage.die(first, .exited(0))
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        #expect(stage.core.instances.count == 1, "the same login counts once")

        stage.restart(app)
        stage.send(.loggedIn(foregroundGroup: "user-1"))
        #expect(stage.core.instances.count == 2)
    }

    @Test func `a prewarm that is requested during sleep waits until the machine wakes`() {
        var stage = Stage(.prewarmed { $0.prewarmOccasion = .demand })
        stage.send(.sleepChanged(isAsleep: true))
        stage.send(.requested(stage.request(), .prewarm(Stage.app, Stage.key)))
        #expect(stage.prewarms.isEmpty)
        #expect(stage.answers.isEmpty, "the client waits")
        stage.send(.sleepChanged(isAsleep: false))
        #expect(stage.prewarms == [first])
    }

    @Test func `after a cancelled shutdown the apps for boot start, and launches are served`() {
        var stage = Stage(
            .plain {
                $0.autostart = .some(Autostart(atBoot: true, atLogin: false, loginGroup: "user-1"))
            })
        stage.send(.restored)
        stage.send(.spawned(first))
        stage.send(.shutdownRequested)
        stage.die(first, .signaled(15, coreDumped: false))
        #expect(stage.core.liveCount == 0)
        stage.send(.shutdownCancelled)
        #expect(stage.core.liveCount == 1)
        _ = stage.launch()
        #expect(stage.refusals.isEmpty)
    }

    @Test func `a cancelled shutdown drops restarts that were due, and starts the apps for boot`() {
        let app = AppDescription.plain {
            $0.supervision = .some(Supervision(restart: .always, restartDelay: .seconds(5)))
            $0.autostart = .some(Autostart(atBoot: true, atLogin: false, loginGroup: "user-1"))
        }
        var stage = Stage(app)
        stage.send(.restored)
        stage.send(.spawned(first))
        stage.die(first, .exited(1))
        stage.send(.shutdownRequested)
        stage.wait(.seconds(60))
        #expect(stage.core.instances.filter { $0.state != .notRunning }.isEmpty)
        stage.send(.shutdownCancelled)
        #expect(stage.core.instances.count { $0.state != .notRunning } == 1)
    }
}
