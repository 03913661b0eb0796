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
        #expect(stage.has(.spawn(id, Stage.app, .launch(.connection, LaunchTerms()))))
        stage.send(.spawned(id))
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.exited(id, .exited(0)))
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.emptied(id))
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `remains the reason of a launch that a paused instance fails`() {
        var stage = Stage(.prewarmed { $0.hasSockets = true })
        stage.send(.restored)
        let (paused, cold) = (InstanceIdentifier(1), InstanceIdentifier(2))
        stage.send(.paused(paused, byteCount: 1))
        stage.send(.connectionArrived(Stage.app))
        #expect(stage.has(.go(paused, .connection, LaunchTerms())))
        stage.send(.channelLost(paused))
        #expect(stage.has(.spawn(cold, Stage.app, .launch(.connection, LaunchTerms()))))
    }

    @Test func `is not the reason of a later restart`() {
        var stage = stage { $0.supervision = .some(Supervision(restart: .always)) }
        let (first, second) = (InstanceIdentifier(1), InstanceIdentifier(2))
        stage.send(.connectionArrived(Stage.app))
        stage.send(.spawned(first))
        stage.die(first)
        stage.wait(.seconds(1))
        #expect(stage.has(.spawn(second, Stage.app, .launch(.daemon, LaunchTerms()))))
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
            #expect(stage.has(.spawn(id, Stage.app, .launch(.connection, LaunchTerms()))))
            stage.send(.spawned(id))
            stage.die(id)
        }
        stage.send(.connectionArrived(Stage.app))
        #expect(stage.core.app(Stage.app)?.failure == .startLimit)
        #expect(!stage.has(.awaitConnection(Stage.app)))
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    // MARK: Suspended apps

    /// Two suspended instances of the app. The first was used last.
    private func sleepers() -> (Stage, InstanceIdentifier, InstanceIdentifier) {
        var stage = stage { $0.suspendsInBackground = true }
        let ids = (stage.run(inBackground: true), stage.run(inBackground: true))
        for id in [ids.1, ids.0] {
            #expect(!stage.has(.awaitConnection(Stage.app)))
            stage.wait(.milliseconds(1))
            stage.ask(.resume, id)
            stage.ask(.suspend, id)
        }
        return (stage, ids.0, ids.1)
    }

    @Test func `a connection thaws the suspended instance used last, and gives it its time`() {
        var (stage, used, other) = sleepers()
        #expect(stage.has(.awaitConnection(Stage.app)))
        stage.send(.connectionArrived(Stage.app))
        #expect(stage.has(.thaw(used)) && !stage.has(.awaitConnection(Stage.app)))
        #expect(stage.state(used) == .background && stage.state(other) == .suspended)
        #expect(stage.core.instance(used)?.deadline == stage.now.advanced(by: .seconds(10)))
        stage.ask(.suspend, used)
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `nobody watches while one of several instances can accept`() {
        var (stage, used, other) = sleepers()
        stage.ask(.resume, other)
        #expect(stage.has(.ignoreConnections(Stage.app)))
        #expect(!stage.send(.connectionArrived(Stage.app)).contains(.thaw(used)))
    }

    @Test func `a failed app that is suspended is woken all the same`() {
        var stage = stage { $0.supervision = .some(Supervision(startLimitBurst: 1)) }
        let id = stage.run(inBackground: true)
        stage.send(.connectionArrived(Stage.app))
        stage.ask(.suspend, id)
        #expect(stage.send(.connectionArrived(Stage.app)).contains(.thaw(id)))
    }

    @Test func `an instance with a connection is not suspended, and looked at again later`() {
        var stage = stage { $0.suspendsInBackground = true }
        let id = stage.run(inBackground: true)
        for _ in 0..<2 {
            #expect(stage.wait(.seconds(10)).contains(.inspectConnections(id)))
            #expect(
                stage.send(.connectionsInspected(id, isInUse: true)) == [.save(stage.saved[id]!)])
            #expect(stage.state(id) == .background)
        }
        stage.wait(.seconds(10))
        stage.send(.connectionsInspected(id, isInUse: false))
        #expect(stage.has(.freeze(id)) && stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `a client that was accepted while its app was being frozen thaws it`() {
        var stage = stage { $0.suspendsInBackground = true }
        let id = stage.run(inBackground: true)
        stage.wait(.seconds(10))
        stage.send(.connectionsInspected(id, isInUse: false))
        #expect(stage.send(.frozen(id)).contains(.inspectConnections(id)))
        #expect(stage.send(.connectionsInspected(id, isInUse: true)).contains(.thaw(id)))
    }

    @Test func `a client's request to suspend does not ask who is connected`() {
        var stage = stage()
        let id = stage.run()
        #expect(stage.ask(.suspend, id).contains(.freeze(id)))
        #expect(!stage.send(.frozen(id)).contains(.inspectConnections(id)))
    }

    @Test func `an app made with the SDK is told why it was thawed`() {
        var stage = Stage(
            .plain {
                $0.hasSockets = true; $0.acknowledges = true
            })
        stage.send(.restored)
        let id = stage.run(inBackground: true)
        stage.send(.becameReady(id))
        stage.acknowledge(id)
        stage.ask(.suspend, id)
        let effects = stage.send(.connectionArrived(Stage.app))
        #expect(effects.contains(.thaw(id)) && effects.contains(.notify(id, .connectionArrived)))
    }
}
