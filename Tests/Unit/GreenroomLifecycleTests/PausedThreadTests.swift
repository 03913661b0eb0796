import GreenroomLifecycle
import Testing

@Suite struct `The threads of a paused instance` {
    let id = InstanceIdentifier(1)

    private func paused() -> Stage {
        var stage = Stage(.prewarmed())
        stage.send(.paused(id, byteCount: 1, hasOtherThreads: true))
        return stage
    }

    @Test func `are frozen after that was saved, and thawed before the launch`() throws {
        var stage = paused()
        #expect(stage.has(.freezePaused(id)))
        #expect(stage.core.instance(id)?.otherThreads == .frozen)
        stage.send(.frozen(id))
        #expect(stage.has(.report(.pausedWithThreads(id, Stage.app, areFrozen: true))))
        stage.launch()
        let thaw = try #require(stage.effects.firstIndex(of: .thaw(id)))
        let go = stage.effects.firstIndex { if case .go(id, _, _) = $0 { true } else { false } }
        #expect(try thaw < #require(go))
    }

    @Test func `are neither frozen nor thawed if there is only one`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(id, byteCount: 1))
        #expect(!stage.has(.freezePaused(id)))
        stage.launch()
        #expect(!stage.has(.thaw(id)))
    }

    @Test func `run on if they cannot be frozen, which is said`() {
        var stage = paused()
        stage.send(.freezeFailed(id))
        #expect(stage.has(.report(.pausedWithThreads(id, Stage.app, areFrozen: false))))
        #expect(stage.core.instance(id)?.otherThreads == .running)
        stage.launch()
        #expect(!stage.has(.thaw(id)))
    }
}
