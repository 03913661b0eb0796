import GreenroomLifecycle
import Testing

/// An app that its user force-quit is not launched again until the user does it.
@Suite struct `A force quit` {
    private static let other = AppIdentifier("org.example.other")
    private static let background = LaunchTerms(inBackground: true)

    /// An app that ran and was force-quit.
    private func stage(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(.plain(Stage.app, change))
        stage.send(.restored)
        let isStarted = stage.core.instance(InstanceIdentifier(1)) != nil
        if isStarted { stage.send(.spawned(InstanceIdentifier(1))) }
        quit(isStarted ? InstanceIdentifier(1) : stage.run(), &stage)
        return stage
    }

    private func quit(_ id: InstanceIdentifier, _ stage: inout Stage) {
        stage.ask(.forceQuit, id)
        stage.die(id, .signaled(9, coreDumped: false))
    }

    private func begins(_ effects: [Effect]) -> Bool {
        effects.contains {
            switch $0 {
            case .spawn(_, _, .launch), .go: true
            default: false
            }
        }
    }

    private func trigger(_ stage: inout Stage) -> [Effect] {
        let request = stage.request()
        let launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("\(request.rawValue)"),
            environmentKey: Stage.key, inBackground: true)
        return stage.send(
            .requested(
                request, .trigger(launch, TriggerLimit(burst: 5, interval: .seconds(10)))))
    }

    @Test func `keeps timers, pushes and other launches in the background from launching the app`()
    {
        var stage = stage()
        let isLaunched = begins(stage.launch(inBackground: true))
        #expect(!isLaunched)
        #expect(stage.refusals.count == 1)
    }

    @Test func `is noted while a launch waits whose client has left`() {
        var stage = Stage(.plain(Stage.app) { $0.isSingleInstance = true })
        let id = stage.run()
        stage.ask(.terminate, id)
        stage.launch()
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.refusals == [.cancelled(Stage.app)])
        stage.send(.requested(stage.request(), .transition(.instance(id), .forceQuit)))
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(stage.core.isForceQuit(Stage.app))
        #expect(stage.core.liveCount == 0)
    }

    @Test func `keeps paths from launching the app`() {
        var stage = stage()
        let isLaunched = begins(trigger(&stage))
        #expect(!isLaunched)
        stage.wait(.seconds(60))
        let isLaunchedLater = begins(trigger(&stage))
        #expect(!isLaunchedLater)
    }

    @Test func `keeps connections waiting until the user launches the app`() {
        var stage = stage { $0.hasSockets = true }
        #expect(!stage.has(.awaitConnection(Stage.app)))
        let isLaunched = begins(stage.send(.connectionArrived(Stage.app)))
        #expect(!isLaunched)
        let id = stage.run()
        stage.die(id)
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `holds scheduled work until the user launches the app`() {
        var stage = stage()
        let task = ScheduledTask(identifier: "sync", kind: .appRefresh)
        stage.send(.requested(stage.request(), .submitTask(Stage.app, task)))
        #expect(stage.has(.inspectTaskConditions))
        let isLaunched = begins(
            stage.send(.taskConditionsInspected(TaskConditions(wallClock: 1))))
        #expect(!isLaunched)
        #expect(stage.launch().contains(.inspectTaskConditions))
    }

    @Test func `is over after a launch by the user, also of a program that is attached`() {
        for isAttached in [false, true] {
            var stage = stage()
            let id = stage.core.nextInstance
            let isLaunched = begins(stage.launch(isAttached: isAttached))
            #expect(isLaunched)
            stage.send(.spawned(id))
            stage.die(id)
            let isLaunchedAgain = begins(stage.launch(inBackground: true))
            #expect(isLaunchedAgain)
        }
    }

    @Test func `survives a restart of the supervisor`() {
        var stage = stage { $0.hasSockets = true }
        stage.restart(.plain { $0.hasSockets = true })
        #expect(!stage.has(.awaitConnection(Stage.app)))
        let isLaunched = begins(stage.launch(inBackground: true))
        #expect(!isLaunched)
    }

    @Test func `outlives an error in the manifest, also with a restart, but not the manifest`() {
        let begin: (inout Stage) -> Bool = { stage in
            let isLaunched = self.begins(stage.launch(inBackground: true))
            return isLaunched
        }
        for (restarts, isGone) in [(false, false), (true, false), (false, true), (true, true)] {
            var stage = stage()
            stage.send(.appRemoved(Stage.app, isGone: false))
            #expect(stage.core.description(of: Stage.app) == nil)
            #expect(stage.core.isForceQuit(Stage.app))
            if restarts {
                stage.restart(faulty: [Stage.app])
                #expect(stage.core.isForceQuit(Stage.app))
            }
            if isGone { stage.send(.appRemoved(Stage.app)) }
            stage.send(.appInstalled(.plain()))
            #expect(begin(&stage) == isGone)
        }
    }

    @Test func `that does not last any more is not remembered when the app returns`() {
        var stage = stage()
        stage.send(.appRemoved(Stage.app, isGone: false))
        stage.send(.appInstalled(.plain { $0.forceQuitLasts = false }))
        let isLaunched = begins(stage.launch(inBackground: true))
        #expect(isLaunched)
    }

    @Test func `keeps the daemon from starting the app for another app, unless a user wants that`()
    {
        var stage = Stage(
            .plain(),
            .plain(Self.other) {
                $0.dependencies = .some(Dependencies(requires: [Stage.app]))
                $0.hasSockets = true
            })
        stage.send(.restored)
        quit(stage.run(), &stage)
        let isLaunched = begins(stage.send(.connectionArrived(Self.other)))
        #expect(!isLaunched)
        #expect(begins(stage.launch(Self.other)))
    }

    @Test func `of one of several instances is none, because the app is still used`() {
        var stage = Stage(.plain())
        let first = stage.run()
        let second = stage.run()
        quit(second, &stage)
        #expect(begins(stage.launch(inBackground: true)))
        _ = first
    }

    @Test func `of an app that is about to start is one`() {
        var stage = Stage(
            .plain {
                $0.supervision = .some(Supervision(restart: .onFailure, restartDelay: .seconds(5)))
                $0.hasSockets = true
                $0.forceQuitLasts = true
            })
        stage.send(.restored)
        stage.die(stage.run(), .exited(1))
        stage.send(.requested(stage.request(), .transition(.app(Stage.app), .forceQuit)))
        #expect(!stage.has(.awaitConnection(Stage.app)))
        #expect(!begins(stage.wait(.seconds(60))))
    }

    @Test func `does not last for services, unless their manifest says so`() {
        let always = Supervision(restart: .always)
        let atBoot = Autostart(atBoot: true, atLogin: false, loginGroup: "user-0")
        for isSupervised in [true, false] {
            var stage = stage {
                $0.hasSockets = true
                if isSupervised { $0.supervision = .some(always) }
                if !isSupervised { $0.autostart = .some(atBoot) }
            }
            #expect(stage.has(.awaitConnection(Stage.app)))
            #expect(begins(stage.send(.connectionArrived(Stage.app))))
            var other = self.stage {
                $0.hasSockets = true
                $0.forceQuitLasts = true
                if isSupervised { $0.supervision = .some(always) }
                if !isSupervised { $0.autostart = .some(atBoot) }
            }
            let isLaunched = begins(other.launch(inBackground: true))
            #expect(!isLaunched)
        }
    }

    @Test func `does not last where the administrator or the manifest says so`() {
        var policy = Policy()
        policy.forceQuitLasts = false
        var stage = Stage(policy: policy, .plain())
        quit(stage.run(), &stage)
        #expect(begins(stage.launch(inBackground: true)))
        var other = self.stage { $0.forceQuitLasts = false }
        #expect(begins(other.launch(inBackground: true)))
    }

    @Test func `is over for good once a manifest or a policy says that it does not last`() {
        var policy = Policy()
        for isManifest in [true, false] {
            var stage = stage()
            for lasts in [false, true] {
                if isManifest { stage.send(.appInstalled(.plain { $0.forceQuitLasts = lasts })) }
                policy.forceQuitLasts = lasts
                if !isManifest { stage.send(.policyChanged(policy)) }
            }
            #expect(begins(stage.launch(inBackground: true)))
        }
    }

    @Test func `is over after a login that starts the app, and after reset-failed`() {
        var stage = Stage(
            .plain {
                $0.autostart = .some(Autostart(atBoot: false, atLogin: true, loginGroup: "seat"))
            })
        stage.send(.restored)
        quit(stage.run(), &stage)
        #expect(begins(stage.send(.loggedIn(foregroundGroup: "seat"))))
        var other = self.stage()
        other.send(.requested(other.request(), .resetFailed(Stage.app)))
        #expect(begins(other.launch(inBackground: true)))
    }

    @Test func `is no end by SIGTERM or by the program itself`() {
        for isTerminated in [true, false] {
            var stage = Stage(.plain())
            let id = stage.run()
            if isTerminated { stage.ask(.terminate, id) }
            stage.die(id)
            #expect(begins(stage.launch(inBackground: true)))
        }
    }
}
