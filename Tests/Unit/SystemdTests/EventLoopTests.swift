import Testing

@Suite struct EventLoopTests {
    @Test func `sources that are ready together run by priority`() {
        let (lines, errors, status) = Child(["order"]).finish()
        #expect(
            lines == ["started", "deferred -5", "deferred 5", "timer"])
        #expect(errors == [])
        #expect(status == 0)
    }

    @Test func `a timer fires once per deadline, never early, and not while disabled`() {
        let (lines, _, status) = Child(["rearm"]).finish()
        #expect(lines == ["early false", "enabled false", "past", "disabled true", "fired 2"])
        #expect(status == 0)
    }

    @Test func `a source dropped in its own callback is gone before its descriptor is closed`() {
        let (lines, _, status) = Child(["drop"]).finish()
        #expect(lines == ["first", "same number true", "second"])
        #expect(status == 0)
    }

    @Test func `a source dropped on another thread ends the process`() {
        let (lines, errors, status) = Child(["foreignDrop"]).finish()
        #expect(lines == [])
        #expect(errors.contains { $0.contains("not on the event loop's thread") })
        #expect(status != 0)
    }

    @Test func `the watched events can change, and a hang-up is seen`() {
        let (lines, _, status) = Child(["io"]).finish()
        #expect(lines == ["writable", "readable true hangUp true"])
        #expect(status == 0)
    }

    @Test func `signals arrive as events`() {
        let (lines, _, status) = Child(["signal"]).finish()
        #expect(lines == ["signal 10", "signal 15"])
        #expect(status == 0)
    }

    @Test func `a task on the loop ends the process`() {
        let (_, errors, status) = Child(["task"]).finish()
        #expect(errors.contains { $0.contains("the event loop runs no tasks") })
        #expect(status != 0)
    }

    @Test func `run returns the code given to exit`() {
        #expect(Child(["code"]).finish().status == 7)
    }
}
