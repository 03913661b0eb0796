import GreenroomLifecycle
import Testing

/// What an app that asks for nothing special costs, thousands of which may be known.
@Suite struct `Sizes` {
    /// Whatever few apps have stands behind one word (`Boxed`).
    @Test func `a description and a record stay small`() {
        #expect(MemoryLayout<AppDescription>.stride <= 144)
        #expect(MemoryLayout<AppRecord>.stride <= 192)
    }

    /// A record in the runtime state is most of what such an app would cost.
    @Test func `nothing is remembered of an app that does not start by itself`() {
        var stage = Stage(.plain())
        stage.send(.restored)
        #expect(stage.core.app(Stage.app) == AppRecord(app: Stage.app))
    }

    @Test func `deadlines of an app's own are kept one by one`() {
        var description = AppDescription.plain()
        let plain = description
        description.terminateGrace = .seconds(3)
        #expect(description.terminateGrace == .seconds(3))
        #expect(description.launchDeadline == nil)
        #expect(description != plain)
        description.terminateGrace = nil
        #expect(description == plain)
    }
}
