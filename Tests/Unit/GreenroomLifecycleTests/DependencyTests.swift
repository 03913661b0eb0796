import GreenroomLifecycle
import Testing

/// Launches that other apps block.
@Suite struct `Dependencies between apps` {
    private let main = AppIdentifier("org.example.main")
    private let other = AppIdentifier("org.example.other")

    private func stage(
        _ dependencies: Dependencies, _ change: (inout AppDescription) -> Void = { _ in }
    ) -> Stage {
        var stage = Stage(
            .plain(main) { $0.dependencies = .some(dependencies) }, .plain(other, change))
        stage.send(.restored)
        return stage
    }

    @Test func `an app is launched only when the app that it requires is ready`() {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.launch(main)
        let first = InstanceIdentifier(1)
        #expect(stage.has(.spawn(first, other, .launch(.daemon, LaunchTerms()))))
        stage.send(.spawned(first))
        #expect(stage.core.nextInstance == InstanceIdentifier(2))
        stage.send(.becameReady(first))
        #expect(
            stage.has(.spawn(InstanceIdentifier(2), main, .launch(stage.origin, LaunchTerms()))))
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.instance) == [InstanceIdentifier(2)])
    }

    @Test func `a refusal names the required app that failed, and the reason`() {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.launch(main)
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.exited(InstanceIdentifier(1), .exited(1)))
        #expect(
            stage.refusals == [
                .dependencyFailed(main, on: other, .requiredEnded(other, .exitedSelf))
            ])
        stage.send(.emptied(InstanceIdentifier(1)))
        #expect(stage.core.liveCount == 0)
    }

    @Test func `a refusal names a required app that is not installed`() {
        var stage = stage(Dependencies(requires: [AppIdentifier("a.b")]))
        stage.launch(main)
        let missing = AppIdentifier("a.b")
        #expect(stage.refusals == [.dependencyFailed(main, on: missing, .noSuchApp(missing))])
    }

    @Test(arguments: [true, false])
    func `a required app that finds no room is tried again only if it was to run anyway`(
        isWanted: Bool
    ) {
        var policy = Policy()
        policy.instanceLimit = 1
        let filler = AppIdentifier("org.example.filler")
        var stage = Stage(
            policy: policy, .plain(filler),
            .plain(main) { $0.dependencies = .some(Dependencies(requires: [other])) },
            .plain(other) {
                $0.supervision = .some(Supervision(restart: .always))
                guard isWanted else { return }
                $0.autostart = .some(Autostart(atBoot: true, atLogin: false, loginGroup: ""))
            })
        _ = stage.run(filler)
        stage.send(.restored)
        stage.launch(main)
        #expect(!stage.refusals.isEmpty)
        #expect((stage.core.app(other)?.startAt != nil) == isWanted)
    }

    @Test func `After= waits only for apps that are being started`() {
        var stage = stage(Dependencies(after: [other])) { $0.readyCondition = .notify }
        let alone = stage.run(main)
        stage.ask(.forceQuit, alone)
        stage.die(alone)
        let first = stage.run(other)
        stage.launch(main)
        #expect(stage.core.liveCount == 1)
        stage.send(.becameReady(first))
        #expect(stage.core.liveCount == 2)
    }

    @Test(arguments: [true, false])
    func `a conflicting app is ended first, whichever of the two names the conflict`(
        isNamedByIt: Bool
    ) {
        var stage = stage(Dependencies(conflicts: [other]))
        let (old, new) = isNamedByIt ? (other, main) : (main, other)
        let first = stage.run(old)
        stage.launch(new)
        #expect(stage.has(.terminate(first)))
        #expect(stage.core.liveCount == 1)
        stage.die(first)
        #expect(stage.core.instance(first)?.endReason == .conflict)
        #expect(stage.has(.spawn(InstanceIdentifier(2), new, .launch(stage.origin, LaunchTerms()))))
    }

    @Test func `when a client ends an app, the apps that require it end too`() {
        var stage = stage(Dependencies(requires: [other]))
        let required = stage.run(other)
        let dependent = stage.run(main)
        stage.ask(.terminate, required)
        #expect(stage.has(.terminate(dependent)))
        #expect(stage.core.instance(dependent)?.endReason == .dependencyEnded)
    }

    @Test func `an SDK app counts as ready when it has finished launching`() {
        var stage = Stage(
            .plain(main) { $0.dependencies = .some(Dependencies(requires: [other])) },
            .application(other))
        stage.send(.restored)
        stage.launch(main)
        let first = InstanceIdentifier(1)
        stage.send(.spawned(first))
        stage.send(.becameReady(first))
        #expect(
            stage.has(.spawn(InstanceIdentifier(2), main, .launch(stage.origin, LaunchTerms()))))
    }

    @Test func `when a client ends an app, the apps that require it indirectly end too`() {
        let last = AppIdentifier("org.example.last")
        var stage = stage(Dependencies(requires: [other]))
        stage.send(
            .appInstalled(.plain(last) { $0.dependencies = .some(Dependencies(requires: [main])) }))
        let ids = [other, main, last].map { stage.run($0) }
        // The app between them has ended by itself; the last app must end all the same.
        stage.die(ids[1])
        stage.ask(.terminate, ids[0])
        #expect(stage.has(.terminate(ids[2])))
        #expect(stage.core.instance(ids[2])?.endReason == .dependencyEnded)
    }

    @Test(arguments: [Transition.terminate, .forceQuit])
    func `ending an app drops its blocked launches`(transition: Transition) {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.launch(main)
        let launch = stage.last
        stage.send(.requested(stage.request(), .transition(.app(main), transition)))
        #expect(stage.has(.answer(launch, .refused(.cancelled(main)))))
        #expect(stage.answers.count == 2)
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.becameReady(InstanceIdentifier(1)))
        #expect(stage.core.liveCount == 1)
    }

    @Test func `a repeated launch name joins a launch that waits for a conflicting app to end`() {
        var stage = stage(Dependencies(conflicts: [other]))
        stage.send(
            .appInstalled(
                .plain(main) {
                    $0.isSingleInstance = true
                    $0.dependencies = .some(Dependencies(conflicts: [other]))
                }))
        let rival = stage.run(other, isAttached: true)
        stage.launch(main, name: "same", isAttached: true)
        stage.launch(main, name: "same")
        #expect(stage.answers.isEmpty)
        stage.die(rival)
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.instance) == [2, 2].map { InstanceIdentifier($0) })
        #expect(stage.core.liveCount == 1)
    }

    @Test func `a repeated launch name joins a waiting launch whose first client has left`() {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.launch(main, name: "same")
        stage.launch(main, name: "same")
        let second = stage.last
        stage.send(.requestAbandoned(RequestIdentifier(1)))
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.becameReady(InstanceIdentifier(1)))
        stage.send(.spawned(InstanceIdentifier(2)))
        #expect(stage.outcomes.map(\.instance) == [2, 2].map { InstanceIdentifier($0) })
        #expect(stage.core.liveCount == 2)
        #expect(stage.has(.answer(second, .launched(stage.outcomes[1]))))
    }

    @Test func `a launch is withdrawn when its client leaves while it waits`() {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.launch(main)
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.refusals == [.cancelled(main)])
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.becameReady(InstanceIdentifier(1)))
        #expect(stage.core.liveCount == 1)
    }

    @Test func `a launch whose client has left goes on if another app waits for it`() {
        let last = AppIdentifier("org.example.last")
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.send(
            .appInstalled(.plain(last) { $0.dependencies = .some(Dependencies(requires: [main])) }))
        stage.launch(main)
        let first = stage.last
        stage.launch(last)
        stage.send(.requestAbandoned(first))
        #expect(stage.answers.isEmpty)
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.becameReady(InstanceIdentifier(1)))
        stage.send(.spawned(InstanceIdentifier(2)))
        stage.send(.spawned(InstanceIdentifier(3)))
        #expect(stage.core.liveCount == 3)
    }

    @Test func `a launch whose client has left is tried again if another app waits for it`() throws
    {
        var stage = Stage(
            .prewarmed(other), .plain(main) { $0.dependencies = .some(.init(requires: [other])) })
        stage.send(.restored)
        let paused = try #require(stage.core.instances(of: other).first).instance
        stage.send(.paused(paused, byteCount: 1))
        stage.launch(other)
        let first = stage.last
        stage.launch(main)
        stage.send(.requestAbandoned(first))
        stage.send(.reconciled(paused, found: .unfit))
        #expect(
            stage.effects.contains {
                if case .spawn(_, other, .launch) = $0 { true } else { false }
            })
        #expect(stage.refusals.isEmpty)
    }

    @Test func `launches that go on together wait together for a place`() throws {
        var policy = Policy()
        policy.instanceLimit = 2
        var stage = Stage(
            policy: policy, .prewarmed(AppIdentifier("a.pool")),
            .plain(other) { $0.readyCondition = .notify },
            .plain(main) { $0.dependencies = .some(.init(requires: [other])) })
        stage.send(.restored)
        let paused = try #require(
            stage.core.instances(of: AppIdentifier("a.pool")).first
        ).instance
        stage.send(.paused(paused, byteCount: 1))
        let required = stage.core.nextInstance
        for _ in 0..<2 { stage.launch(main) }
        stage.send(.spawned(required))
        stage.send(.becameReady(required))
        #expect(stage.has(.kill(paused)) && stage.refusals.isEmpty)
        stage.send(.exited(paused, .signaled(9, coreDumped: false)))
        stage.send(.emptied(paused))
        #expect(stage.refusals == [.tooManyInstances(limit: 2)])
        #expect(stage.core.instances(of: main).count == 1)
    }

    @Test func `a launch that has replaced the daemon's own goes on without its client`() {
        var stage = stage(Dependencies(requires: [other])) { $0.readyCondition = .notify }
        stage.send(
            .appInstalled(
                .plain(main) {
                    $0.supervision = .some(Supervision(restart: .always))
                    $0.dependencies = .some(Dependencies(requires: [other]))
                }))
        let required = stage.run(other)
        stage.send(.becameReady(required))
        let first = stage.run(main)
        stage.die(first, .exited(1))
        #expect(stage.core.app(main)?.startAt != nil)
        stage.die(required)
        stage.launch(main)
        stage.send(.requestAbandoned(stage.last))
        #expect(stage.answers.isEmpty)
        let again = InstanceIdentifier(stage.core.nextInstance.rawValue - 1)
        stage.send(.spawned(again))
        stage.send(.becameReady(again))
        #expect(stage.core.liveCount == 2)
    }

    @Test func `a background launch starts in the foreground if a foreground launch joins it`() {
        var stage = Stage(
            .plain(main) {
                $0.dependencies = .some(Dependencies(requires: [other]))
                $0.isSingleInstance = true
            }, .plain(other) { $0.readyCondition = .notify })
        stage.send(.restored)
        stage.launch(main, name: "behind", inBackground: true)
        let first = stage.last
        stage.launch(main, name: "in front")
        stage.send(.spawned(InstanceIdentifier(1)))
        stage.send(.becameReady(InstanceIdentifier(1)))
        #expect(
            stage.has(.spawn(InstanceIdentifier(2), main, .launch(.request(first), LaunchTerms()))))
    }
}
