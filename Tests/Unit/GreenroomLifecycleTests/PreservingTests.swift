import GreenroomLifecycle
import Testing

@Suite struct `An archive of an app's state` {
    private static let app = Stage.app
    private static let own = SceneIdentifier.application
    private static let keep = StateWish.keep(byteCount: 100)

    /// A stage with one app, its kept archives and its open sessions.
    private static func stage(
        scenes: SceneSupport = .unsupported, kept: [SceneIdentifier: UInt64] = [:],
        _ change: (inout AppDescription) -> Void = { _ in }
    ) -> Stage {
        var stage = Stage(
            .application(app) {
                $0.scenes = scenes
                $0.user = 7
                $0.version = 1
                $0.stateVersion = 1
                change(&$0)
            })
        let open = kept.keys.filter { $0 != own }.sorted()
        stage.send(
            .stateFound(
                app,
                KeptState(
                    archives: kept,
                    sessions: SessionList(open: open, last: open.last?.rawValue ?? 0))))
        stage.send(.restored)
        return stage
    }

    /// Takes the app to the background, up to the step on which it may save.
    private static func leave(_ stage: inout Stage, _ id: InstanceIdentifier) {
        stage.ask(.background, id)
        while let pending = stage.pending(id), pending.step != .didEnterBackground {
            stage.acknowledge(id)
        }
    }

    private static func refusals(_ effects: [Effect]) -> [StateRefusal] {
        effects.compactMap {
            if case .refuseState(_, _, let refusal) = $0 { refusal } else { nil }
        }
    }

    private static func handedOver(_ effects: [Effect]) -> [Effect] {
        effects.filter { if case .handOverState = $0 { true } else { false } }
    }

    private static func deletions(_ effects: [Effect]) -> [SceneIdentifier] {
        effects.compactMap {
            if case .deleteState(_, let scene) = $0 { scene } else { nil }
        }
    }

    // MARK: Keeping

    @Test(
        arguments: [
            { $0.acknowledges = false }, { $0.scenes = .single },
        ] as [@Sendable (inout AppDescription) -> Void])
    func `is not replaced by an app that was launched as another type`(
        other: @Sendable (inout AppDescription) -> Void
    ) {
        var stage = Self.stage(kept: [Self.own: 1], other)
        let id = stage.run()
        stage.send(
            .appInstalled(
                .application(Self.app) {
                    $0.generation = 2
                    $0.user = 7
                    $0.version = 1
                    $0.stateVersion = 1
                }))
        stage.send(.becameReady(id))
        stage.acknowledgeAll(id)
        Self.leave(&stage, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(Self.refusals(stage.effects) == [.withheld])
    }

    @Test func `is saved once, on the way from the foreground into the background`() {
        var stage = Self.stage()
        let id = stage.activate(Self.app)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(Self.refusals(stage.effects) == [.notNow])
        Self.leave(&stage, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(stage.has(.keepState(id, Self.app, Self.own)))
        #expect(stage.has(.report(.stateKept(id, Self.app, Self.own))))
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(Self.refusals(stage.effects) == [.notNow])
        stage.acknowledgeAll(id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(Self.refusals(stage.effects) == [.notNow])
        stage.ask(.foreground, id)
        stage.acknowledgeAll(id)
        Self.leave(&stage, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(stage.has(.keepState(id, Self.app, Self.own)))
    }

    @Test func `is not saved by an app that was never in the foreground`() {
        var stage = Self.stage()
        let id = stage.run(Self.app, inBackground: true)
        stage.send(.becameReady(id))
        #expect(stage.pending(id)?.step == .didEnterBackground)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(Self.refusals(stage.effects) == [.notNow])
    }

    @Test func `is saved by an app that is told to end in the foreground`() {
        var stage = Self.stage()
        let id = stage.activate(Self.app)
        stage.ask(.terminate, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(stage.has(.keepState(id, Self.app, Self.own)))
    }

    @Test func `has a size limit, and the old archive stays if the new one is refused`() {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.activate(Self.app)
        Self.leave(&stage, id)
        let limit = Policy().stateByteLimit
        stage.send(.stateReported(id, Self.own, .keep(byteCount: limit + 1)))
        #expect(Self.refusals(stage.effects) == [.tooLarge(byteCount: limit + 1)])
        #expect(
            stage.has(
                .report(
                    .stateRefused(id, Self.app, Self.own, .tooLarge(byteCount: limit + 1)))))
        #expect(stage.core.keptStates(of: Self.app) == [Self.own: 1])
        stage.send(.stateReported(id, Self.own, .tooLarge(byteCount: 1 << 30)))
        #expect(Self.refusals(stage.effects) == [.tooLarge(byteCount: 1 << 30)])
        stage.send(.stateReported(id, Self.own, .keep(byteCount: limit)))
        #expect(stage.has(.keepState(id, Self.app, Self.own)))
    }

    @Test func `is deleted when the app has nothing to restore`() {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.activate(Self.app)
        Self.leave(&stage, id)
        stage.send(.stateReported(id, Self.own, .forget))
        #expect(Self.deletions(stage.effects) == [Self.own])
        #expect(
            stage.has(.report(.stateDeleted(Self.app, Self.own, .nothingToKeep))))
    }

    @Test func `belongs to a session if the app has scenes`() {
        var stage = Self.stage(scenes: .multiple)
        let id = stage.activate(Self.app)
        Self.leave(&stage, id)
        for scene in [Self.own, SceneIdentifier(9)] {
            stage.send(.stateReported(id, scene, Self.keep))
            #expect(Self.refusals(stage.effects) == [.noSuchSession])
        }
        let scene = SceneIdentifier(1)
        stage.send(.stateReported(id, scene, Self.keep))
        #expect(stage.has(.keepState(id, Self.app, scene)))
    }

    // MARK: Handing over

    @Test func `is announced with the launch and handed over after the launch is answered`() {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.core.nextInstance
        stage.launch(Self.app)
        #expect(stage.core.announcesState(to: id))
        stage.send(.spawned(id))
        let answer = stage.effects.firstIndex {
            if case .answer = $0 { true } else { false }
        }
        let state = stage.effects.firstIndex(of: .handOverState(id, Self.own, isThere: true))
        #expect(answer != nil && state != nil && answer! < state!)
    }

    @Test func `of another version is not handed over and stays until it is replaced`() {
        var stage = Self.stage(kept: [Self.own: 2])
        let id = stage.activate(Self.app)
        #expect(stage.core.keptStates(of: Self.app) == [Self.own: 2])
        #expect(!stage.core.isHandedOver(Self.own, to: id))
        Self.leave(&stage, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(stage.core.keptStates(of: Self.app) == [Self.own: 1])
    }

    @Test func `is handed over when its scene connects`() {
        let scene = SceneIdentifier(3)
        var stage = Self.stage(scenes: .multiple, kept: [scene: 1])
        let id = stage.run(Self.app)
        stage.send(.becameReady(id))
        #expect(stage.pending(id)?.scene == scene)
        #expect(stage.core.isHandedOver(scene, to: id))
    }

    @Test(arguments: [SceneSupport.unsupported, .single])
    func `is withheld and not replaced while the session is locked, and handed over afterwards`(
        scenes: SceneSupport
    ) {
        let scene = scenes == .unsupported ? Self.own : SceneIdentifier(1)
        var stage = Self.stage(scenes: scenes, kept: [scene: 1])
        stage.send(.sessionLockChanged(user: 7, isLocked: true))
        let id = stage.run(Self.app)
        #expect(Self.handedOver(stage.effects).isEmpty)
        #expect(!stage.core.announcesState(to: id))
        stage.send(.becameReady(id))
        #expect(!stage.core.isHandedOver(scene, to: id))
        stage.acknowledgeAll(id)
        Self.leave(&stage, id)
        stage.send(.stateReported(id, scene, Self.keep))
        #expect(Self.refusals(stage.effects) == [.withheld])
        stage.acknowledgeAll(id)
        stage.send(.sessionLockChanged(user: 7, isLocked: false))
        #expect(Self.handedOver(stage.effects) == [.handOverState(id, scene, isThere: true)])
        let notice = stage.effects.firstIndex(of: .notify(id, .protectedDataDidBecomeAvailable))
        let state = stage.effects.firstIndex(of: .handOverState(id, scene, isThere: true))
        #expect(notice! < state!)
        stage.ask(.foreground, id)
        stage.acknowledgeAll(id)
        Self.leave(&stage, id)
        stage.send(.stateReported(id, scene, Self.keep))
        #expect(stage.has(.keepState(id, Self.app, scene)))
    }

    @Test func `that was announced is called off if the session is locked before the handover`() {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.core.nextInstance
        stage.launch(Self.app)
        stage.send(.sessionLockChanged(user: 7, isLocked: true))
        stage.send(.spawned(id))
        #expect(Self.handedOver(stage.effects) == [.handOverState(id, Self.own, isThere: false)])
    }

    @Test func `is handed over to a suspended app when it runs again`() {
        var stage = Self.stage(kept: [Self.own: 1])
        stage.send(.sessionLockChanged(user: 7, isLocked: true))
        let id = stage.activate(Self.app)
        stage.ask(.suspend, id)
        stage.acknowledgeAll(id)
        stage.send(.frozen(id))
        stage.send(.sessionLockChanged(user: 7, isLocked: false))
        #expect(Self.handedOver(stage.effects).isEmpty)
        stage.ask(.resume, id)
        #expect(Self.handedOver(stage.effects) == [.handOverState(id, Self.own, isThere: true)])
    }

    // MARK: Deleting

    @Test func `is deleted when the user force-quits the app, not when the app is terminated`() {
        for transition in [Transition.terminate, .forceQuit] {
            var stage = Self.stage(kept: [Self.own: 1])
            let id = stage.activate(Self.app)
            stage.ask(transition, id)
            #expect(Self.deletions(stage.effects) == (transition == .forceQuit ? [Self.own] : []))
            stage.acknowledgeAll(id)
            stage.die(id)
            #expect(stage.core.keptStates(of: Self.app).isEmpty == (transition == .forceQuit))
        }
    }

    @Test func `is not saved by the app that is being force-quit`() {
        var stage = Self.stage()
        let id = stage.activate(Self.app)
        Self.leave(&stage, id)
        stage.ask(.forceQuit, id)
        stage.send(.stateReported(id, Self.own, Self.keep))
        #expect(stage.core.keptStates(of: Self.app).isEmpty)
        #expect(Self.refusals(stage.effects) == [.notNow])
    }

    @Test(
        arguments: [
            (GreenroomLifecycle.ExitStatus.signaled(11, coreDumped: true), true),
            (.exited(1), true), (.exited(0), false),
            (.unknown, false),
        ])
    func `is deleted when the app fails while restoring it`(
        status: GreenroomLifecycle.ExitStatus, isFailure: Bool
    ) {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.run(Self.app)
        stage.die(id, status)
        #expect(stage.core.keptStates(of: Self.app).isEmpty == isFailure)
        var other = Self.stage(scenes: .single, kept: [SceneIdentifier(1): 1])
        let next = other.run(Self.app)
        other.send(.becameReady(next))
        other.acknowledge(next)
        other.die(next, status)
        #expect(other.core.keptStates(of: Self.app).isEmpty == isFailure)
    }

    @Test func `is deleted when the watchdog ends the launch`() {
        var stage = Self.stage(kept: [Self.own: 1]) { $0.launchDeadline = .seconds(1) }
        let id = stage.run(Self.app)
        stage.wait(.seconds(1))
        stage.send(.tracerInspected(id, isTraced: false))
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(stage.core.keptStates(of: Self.app).isEmpty)
    }

    @Test func `stays when the app fails later`() {
        var stage = Self.stage(kept: [Self.own: 1])
        let id = stage.activate(Self.app)
        stage.die(id, .signaled(11, coreDumped: false))
        #expect(!stage.core.keptStates(of: Self.app).isEmpty)
    }

    @Test func `is deleted with its session`() {
        let scene = SceneIdentifier(2)
        var stage = Self.stage(scenes: .multiple, kept: [scene: 1])
        stage.send(.requested(stage.request(), .scene(Self.app, .discard(scene))))
        #expect(Self.deletions(stage.effects) == [scene])
        let list = SessionList(open: [], discarded: [scene], last: 2)
        #expect(stage.has(.keepSessions(Self.app, list)))
    }

    // MARK: Long restorations

    @Test func `is on trial until a long restoration is complete, and is not replaced`() {
        for isComplete in [false, true] {
            var stage = Self.stage(kept: [Self.own: 1])
            let id = stage.run(Self.app)
            stage.send(.stateReported(id, Self.own, .extend))
            stage.send(.becameReady(id))
            stage.acknowledgeAll(id)
            if isComplete { stage.send(.stateReported(id, Self.own, .complete)) }
            Self.leave(&stage, id)
            stage.send(.stateReported(id, Self.own, Self.keep))
            #expect(Self.refusals(stage.effects) == (isComplete ? [] : [.restoring]))
            stage.die(id, .signaled(6, coreDumped: false))
            #expect(stage.core.keptStates(of: Self.app).isEmpty == !isComplete)
        }
    }

    @Test func `is not on trial if an app that was given nothing asks for more time`() {
        var stage = Self.stage(kept: [Self.own: 2])
        let id = stage.activate(Self.app)
        stage.send(.stateReported(id, Self.own, .extend))
        stage.die(id, .signaled(6, coreDumped: false))
        #expect(stage.core.keptStates(of: Self.app) == [Self.own: 2])
    }

    // MARK: Coming back

    @Test func `is handed over by the next supervisor, or called off if the app's version differs`()
    {
        for version in [UInt64(1), 2] {
            var stage = Self.stage(kept: [Self.own: version])
            let id = stage.run(Self.app)
            let description = stage.core.description(of: Self.app)!
            stage.restart()
            stage.send(.appInstalled(description))
            stage.core = Lifecycle(
                restoring: Array(stage.saved.values), apps: [], nextInstance: id, policy: Policy(),
                seed: 1, at: stage.now)
            stage.send(.appInstalled(description))
            stage.send(.stateFound(Self.app, KeptState(archives: [Self.own: version])))
            stage.send(.restored)
            #expect(
                Self.handedOver(stage.effects)
                    == [.handOverState(id, Self.own, isThere: version == 1)])
        }
    }

    @Test func `of an unknown session is deleted, and sessions survive a reboot`() {
        var stage = Stage(.application(Self.app) { $0.scenes = .multiple })
        let (known, unknown) = (SceneIdentifier(4), SceneIdentifier(5))
        stage.send(
            .stateFound(
                Self.app,
                KeptState(
                    archives: [known: 0, unknown: 0],
                    sessions: SessionList(open: [known], discarded: [SceneIdentifier(3)], last: 5)))
        )
        #expect(Self.deletions(stage.effects) == [unknown])
        let record = stage.core.app(Self.app)
        #expect(record?.sessions == [known])
        #expect(record?.discarded == [SceneIdentifier(3)])
        let id = stage.run(Self.app)
        stage.send(.becameReady(id))
        #expect(stage.notices == [.discardedSessions([SceneIdentifier(3)])])
        #expect(stage.pending(id)?.scene == known)
    }
}

@Suite struct `One-time setup` {
    private static let app = Stage.app

    @Test func `is due until a launch of the app, or of its new version, succeeds`() {
        var stage = Stage(.application { $0.version = 1 })
        stage.send(.stateFound(Self.app, KeptState()))
        var first = stage.core.isFirstLaunch(of: Self.app)
        #expect(first.ever && first.ofVersion)
        let failed = stage.run()
        stage.die(failed, .signaled(6, coreDumped: false))
        first = stage.core.isFirstLaunch(of: Self.app)
        #expect(first.ever && first.ofVersion)
        let id = stage.run()
        stage.send(.becameReady(id))
        #expect(stage.has(.noteVersion(Self.app)))
        first = stage.core.isFirstLaunch(of: Self.app)
        #expect(!first.ever && !first.ofVersion)
        stage.send(.appInstalled(.application { $0.version = 2 }))
        first = stage.core.isFirstLaunch(of: Self.app)
        #expect(!first.ever && first.ofVersion)
    }

    @Test func `is not due after a return to a version that was launched before`() {
        var stage = Stage(.application { $0.version = 1 })
        stage.send(.stateFound(Self.app, KeptState()))
        stage.acknowledgeAll(stage.activate(Self.app))
        stage.send(.appInstalled(.application { $0.version = 2 }))
        let second = stage.run(name: "second")
        stage.send(.becameReady(second))
        #expect(stage.has(.noteVersion(Self.app)))
        stage.send(.appInstalled(.application { $0.version = 1 }))
        let first = stage.core.isFirstLaunch(of: Self.app)
        #expect(!first.ever && !first.ofVersion)
    }

    @Test func `is never repeated once the shell has noted it`() {
        var stage = Stage(.application { $0.version = 1 })
        stage.send(.stateFound(Self.app, KeptState(launchedVersions: [1])))
        let first = stage.core.isFirstLaunch(of: Self.app)
        #expect(!first.ever && !first.ofVersion)
        let id = stage.activate(Self.app)
        #expect(stage.state(id) == .active)
    }
}
