import Testing

@Suite struct EventLoopTests {
    @Test func `jobs run before the loop polls and sources by priority`() {
        let (lines, errors, status) = Child(["order"]).finish()
        #expect(
            lines == [
                "started", "task", "hop", "deferred -5", "task of a task", "post", "deferred 5",
                "task of an event", "timer",
            ])
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

    @Test func `a source dropped on another thread is removed on the loop`() {
        let (lines, _, status) = Child(["foreignDrop"]).finish()
        #expect(lines == ["released on loop true"])
        #expect(status == 0)
    }

    @Test func `watched events can change and a hang-up is seen`() {
        let (lines, _, status) = Child(["io"]).finish()
        #expect(lines == ["writable", "readable true hangUp true"])
        #expect(status == 0)
    }

    @Test func `signals arrive as events`() {
        let (lines, _, status) = Child(["signal"]).finish()
        #expect(lines == ["signal 10", "signal 15"])
        #expect(status == 0)
    }

    @Test func `tasks stay on the loop through a thousand continuations`() {
        let (lines, _, status) = Child(["tasks"]).finish()
        #expect(lines == ["on loop 1000", "threw true"])
        #expect(status == 0)
    }

    @Test func `run returns the code given to exit`() {
        #expect(Child(["code"]).finish().status == 7)
    }
}
