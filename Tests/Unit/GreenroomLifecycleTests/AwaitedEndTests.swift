import GreenroomLifecycle
import Testing

/// A launch of an app that runs only once while its former instance is ending.
@Suite struct `A launch while a single instance is ending` {
    private func single(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .plain {
                $0.isSingleInstance = true
                change(&$0)
            })
        stage.send(.restored)
        return stage
    }

    private func spawned(_ effects: [Effect]) -> [InstanceIdentifier] {
        effects.compactMap { if case .spawn(let id, _, .launch) = $0 { id } else { nil } }
    }

    @Test func `waits for the end, then launches`() {
        var stage = single()
        let first = stage.run()
        stage.ask(.terminate, first)
        #expect(spawned(stage.launch()) == [])
        #expect(stage.answers.isEmpty)
        stage.send(.exited(first, .exited(0)))
        #expect(spawned(stage.effects) == [], "its processes have not ended")
        stage.send(.emptied(first))
        #expect(spawned(stage.effects).count == 1)
    }

    @Test func `waits no longer than the grace`() {
        var stage = single { $0.terminateGrace = .seconds(3) }
        let first = stage.run()
        stage.ask(.terminate, first)
        stage.launch()
        let effects = stage.wait(.seconds(3))
        #expect(effects.contains(.kill(first)))
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(spawned(stage.effects).count == 1)
    }

    @Test func `waits together with others, and the later ones join the first`() throws {
        var stage = single()
        let first = stage.run()
        stage.ask(.terminate, first)
        stage.launch(name: "one")
        stage.launch(name: "two")
        stage.launch(name: "one")
        stage.die(first)
        #expect(spawned(stage.effects).count == 1)
        let second = try #require(spawned(stage.effects).first)
        stage.send(.spawned(second))
        #expect(stage.outcomes.map(\.instance) == [second, second, second])
        #expect(stage.outcomes.filter(\.isRepeated).count == 1)
    }

    @Test func `also waits if the app acknowledges its end, or begins one itself`() throws {
        var stage = Stage(.application { $0.isSingleInstance = true })
        let first = stage.activate(Stage.app)
        stage.ask(.terminate, first)
        #expect(stage.told == [.willTerminate])
        #expect(spawned(stage.launch()) == [])
        stage.die(first)
        let second = try #require(spawned(stage.effects).first)
        stage.send(.spawned(second))
        stage.send(.exited(second, .exited(0)))
        #expect(spawned(stage.launch()) == [])
        stage.send(.emptied(second))
        #expect(spawned(stage.effects).count == 1)
    }

    @Test func `by a connection, a restart or a path also waits`() {
        var stage = single { $0.hasSockets = true }
        let first = stage.run()
        stage.ask(.terminate, first)
        #expect(spawned(stage.send(.connectionArrived(Stage.app))) == [])
        stage.die(first)
        #expect(stage.has(.awaitConnection(Stage.app)))
    }

    @Test func `is dropped if a client force-quits the app, and waits on for an instance's end`() {
        var stage = single()
        let first = stage.run()
        stage.ask(.terminate, first)
        stage.launch()
        let launch = stage.last
        stage.ask(.forceQuit, first)
        #expect(!stage.has(.answer(launch, .refused(.cancelled(Stage.app)))))
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(spawned(stage.effects).count == 1)
    }

    @Test func `that attaches it does not wait, because an attached one is always another`() {
        var stage = single()
        let first = stage.run()
        stage.ask(.terminate, first)
        #expect(spawned(stage.launch(isAttached: true)).count == 1)
    }

    @Test func `starts at once if the app may run more than once, or a paused instance ends`() {
        var stage = Stage(.plain())
        let first = stage.run()
        stage.ask(.terminate, first)
        #expect(spawned(stage.launch()).count == 1)
        var other = Stage(.prewarmed { $0.isSingleInstance = true })
        let paused = other.prewarms[0]
        other.send(.spawned(paused))
        other.send(.paused(paused, byteCount: 1))
        other.send(.becameStale(paused))
        #expect(other.state(paused) == .terminating)
        #expect(spawned(other.launch()).count == 1)
    }
}
