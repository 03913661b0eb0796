import GreenroomLifecycle
import Testing

/// Launch on first connection.
@Suite struct `Socket activation` {
    private func stage(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .plain {
                $0.hasSockets = true
                change(&$0)
            })
        stage.send(.restored)
        return stage
    }

    @Test func `watches an app's sockets while none of its processes runs`() {
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

    @Test func `stops watching the sockets when a client launches the app`() {
        var stage = stage()
        stage.launch()
        #expect(stage.has(.ignoreConnections(Stage.app)))
    }

    @Test(arguments: [Supervision(), Supervision(startLimitBurst: 0)])
    func `gives up on an app that never accepts a connection`(supervision: Supervision) {
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
