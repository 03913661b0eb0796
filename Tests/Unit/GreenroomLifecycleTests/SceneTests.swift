import GreenroomLifecycle
import Testing

@Suite struct SceneTests {
    private func stage(_ scenes: SceneSupport = .multiple) -> Stage {
        Stage(.application { $0.scenes = scenes })
    }

    @discardableResult
    private func ask(_ stage: inout Stage, _ wish: SceneRequest) -> [Effect] {
        let request = stage.request()
        return stage.send(.requested(request, .scene(Stage.app, wish)))
    }

    private let first = SceneIdentifier(1)
    private let second = SceneIdentifier(2)

    @Test func `a launch connects a scene, then brings it to the front`() {
        var stage = stage()
        let id = stage.run()
        stage.send(.becameReady(id))
        #expect(stage.state(id) == .launching)
        stage.acknowledgeAll(id)
        #expect(stage.allTold == [.connect, .willEnterForeground, .didBecomeActive])
        #expect(stage.state(id) == .active)
    }

    @Test func `a launch in the background connects the scene and makes no foreground call`() {
        var stage = stage()
        let id = stage.run(inBackground: true)
        stage.send(.becameReady(id))
        stage.acknowledgeAll(id)
        #expect(stage.allTold == [.connectInBackground])
        #expect(stage.state(id) == .background)
    }

    @Test func `the app's state is the aggregate of its scenes' states`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        ask(&stage, .activate(nil))
        #expect(stage.state(id) == .active)
        stage.acknowledgeAll(id)
        ask(&stage, .background(first))
        stage.acknowledgeAll(id)
        #expect(stage.state(id) == .active)
        ask(&stage, .background(second))
        stage.acknowledge(id)
        #expect(stage.state(id) == .inactive)
        stage.acknowledge(id)
        #expect(stage.state(id) == .background)
    }

    @Test func `a scene session outlives its app and is connected at the next launch`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.die(id)
        let again = stage.activate(Stage.app)
        #expect(stage.core.instance(again)?.conversation?.scenes.map(\.scene) == [first])
    }

    @Test func `a discarded scene is disconnected, and the app is told`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        ask(&stage, .activate(nil))
        stage.acknowledgeAll(id)
        ask(&stage, .discard(second))
        #expect(stage.has(.notify(id, .discardedSessions([second]))))
        stage.acknowledgeAll(id)
        #expect(stage.allTold.suffix(3) == [.willResignActive, .didEnterBackground, .disconnect])
        #expect(stage.core.app(Stage.app)?.sessions == [first])
    }

    @Test func `an app learns at its next launch of a session discarded while it did not run`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.die(id)
        ask(&stage, .discard(first))
        #expect(stage.answers == [.discarded(Stage.app, first)])
        let next = stage.run()
        stage.send(.becameReady(next))
        #expect(stage.notices == [.discardedSessions([first])])
        stage.acknowledgeAll(next)
        #expect(stage.core.instance(next)?.conversation?.scenes.map(\.scene) == [second])
    }

    @Test func `an impossible scene request is refused with the reason`() {
        var none = stage(.unsupported)
        ask(&none, .activate(nil))
        #expect(none.refusals == [.noScenes(Stage.app)])
        var single = stage(.single)
        ask(&single, .activate(nil))
        #expect(single.refusals == [.notRunning(.app(Stage.app))])
        _ = single.activate(Stage.app)
        ask(&single, .activate(nil))
        #expect(single.refusals == [.singleScene(Stage.app)])
        ask(&single, .background(second))
        #expect(single.refusals == [.noSuchScene(Stage.app, second)])
    }

    @Test func `an app cannot have more scenes than the limit`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        for _ in 1..<AppRecord.sessionLimit {
            ask(&stage, .activate(nil))
            stage.acknowledgeAll(id)
            #expect(stage.refusals.isEmpty)
        }
        ask(&stage, .activate(nil))
        #expect(stage.refusals == [.tooManyScenes(Stage.app, limit: AppRecord.sessionLimit)])
    }

    @Test func `a scene that is wanted again while it disconnects comes back to the front`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        ask(&stage, .disconnect(first))
        stage.ask(.foreground, id)
        stage.acknowledgeAll(id)
        #expect(stage.state(id) == .active)
        #expect(stage.core.instance(id)?.conversation?.scenes.map(\.scene) == [first])
    }
}
