import GreenroomLifecycle
import Testing

/// Launch on first connection.
@Suite struct `Activating` {
    private func stage(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .plain {
                $0.hasSockets = true
                change(&$0)
            })
        stage.send(.restored)
        return stage
    }

    @Test func `its sockets are watched while nothing of it runs`() {
        var stage = stage()
        #expect(stage.has(.awaitConnection(Stage.app)))
        let id = InstanceIdentifier(1)
        stage.send(.connectionArrived(Stage.app))
        #expect(stage.has(.spawn(id, Stage.app, .launch(.automatic, LaunchTerms()))))
        stage.send(.spawned(id))
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.exited(id, .exited(0)))
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.emptied(id))
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `a client's launch takes over the watch`() {
        var stage = stage()
        stage.launch()
        #expect(stage.has(.ignoreConnections(Stage.app)))
    }

    @Test(arguments: [Supervision(), Supervision(startLimitBurst: 0)])
    func `one that never accepts is given up`(supervision: Supervision) {
        var stage = stage { $0.supervision = .some(supervision) }
        for number in 1...5 {
            let id = InstanceIdentifier(UInt64(number))
            stage.send(.connectionArrived(Stage.app))
            #expect(stage.has(.spawn(id, Stage.app, .launch(.automatic, LaunchTerms()))))
            stage.send(.spawned(id))
            stage.die(id)
        }
        stage.send(.connectionArrived(Stage.app))
        #expect(stage.core.app(Stage.app)?.failure == .startLimit)
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.has(.awaitConnection(Stage.app)))
    }
}
