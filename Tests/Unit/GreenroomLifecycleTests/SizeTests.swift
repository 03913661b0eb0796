import GreenroomLifecycle
import Testing

/// The memory that an app with default settings costs. Thousands of such apps may be known.
@Suite struct `Memory used for a known app` {
    /// Properties that only few apps have take one word in all others (`Boxed`).
    @Test func `a description and a record stay small`() {
        #expect(MemoryLayout<AppDescription>.stride <= 144)
        #expect(MemoryLayout<AppRecord>.stride <= 192)
    }

    /// A record in the runtime state would be most of the cost of such an app.
    @Test func `the record of an app that does not start by itself stays empty`() {
        var stage = Stage(.plain())
        stage.send(.restored)
        #expect(stage.core.app(Stage.app) == AppRecord(app: Stage.app))
    }

    @Test func `an app can have some deadlines of its own and not others`() {
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
