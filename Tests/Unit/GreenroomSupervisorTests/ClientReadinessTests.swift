import Systemd
import Testing

@testable import GreenroomSupervisor

@Suite struct `A client's connection` {
    private typealias Line = ClientReadiness.Line
    /// No call is under way, so the next one may come.
    private let idle = Line(isCalling: false, wantsInput: true, hasInput: false, hasOutput: false)
    private let calling = Line(
        isCalling: true, wantsInput: false, hasInput: false, hasOutput: false)

    @Test func `is read when data arrives, but not while a call is served`() {
        var readiness = ClientReadiness()
        #expect(readiness.reaction(to: .readable, idle) == .read)
        #expect(readiness.reaction(to: .writable, idle) == .serve)
        #expect(readiness.reaction(to: .readable, calling) == .listen([]))
        #expect(readiness.served(idle, isSpent: false, wasHeldUp: false) == .listen(.readable))
    }

    @Test func `is closed when its client has left, unless it waits for its turn`() {
        let readiness = ClientReadiness()
        #expect(readiness.reaction(to: .hangUp, idle) == .close)
        #expect(readiness.reaction(to: .error, idle) == .close)
        // No message contains urgent data.
        #expect(readiness.reaction(to: [.readable, .priority], idle) == .close)
        #expect(readiness.reaction(to: [.readable, .hangUp], calling) == .close)
        // The calls that the client sent before it left are served first.
        #expect(readiness.reaction(to: [.readable, .hangUp], idle) == .read)
    }

    @Test
    func `stays armed for reading during a call, and asks for data that arrived during the call`() {
        var readiness = ClientReadiness()
        readiness.read(byteCount: 64, of: 64, descriptorCount: 0)
        #expect(readiness.served(calling, isSpent: false, wasHeldUp: false) == .listen(.readable))
        #expect(readiness.listen(for: .readable, isCalling: true) == nil)
        // The read filled its buffer, so more data may wait that is not reported again by itself.
        #expect(readiness.listen(for: .readable, isCalling: false) == readiness.watched)
        #expect(readiness.listen(for: .readable, isCalling: false) == nil)
    }

    @Test
    func `with more calls than a turn serves waits for another turn, and is not read before`() {
        var readiness = ClientReadiness()
        let full = Line(isCalling: false, wantsInput: true, hasInput: true, hasOutput: true)
        #expect(readiness.served(full, isSpent: true, wasHeldUp: false) == .awaitTurn(.writable))
        #expect(readiness.awaitsTurn)
        #expect(readiness.reaction(to: [.readable, .writable], full) == .flush(hasLeft: false))
        #expect(readiness.reaction(to: .hangUp, full) == .flush(hasLeft: true))
        readiness.turnCame()
        #expect(readiness.reaction(to: .readable, full) == .read)
    }

    @Test func `continues with delayed calls when its earlier replies have been read`() {
        var readiness = ClientReadiness()
        let waiting = Line(isCalling: false, wantsInput: false, hasInput: true, hasOutput: true)
        #expect(readiness.served(waiting, isSpent: false, wasHeldUp: true) == .listen(.writable))
        let read = Line(isCalling: false, wantsInput: true, hasInput: true, hasOutput: false)
        #expect(readiness.served(read, isSpent: false, wasHeldUp: true) == .awaitTurn([]))
    }

    @Test func `whose client has stopped writing is closed after the client has its replies`() {
        var readiness = ClientReadiness()
        readiness.read(byteCount: 0, of: 64, descriptorCount: 0)
        #expect(readiness.served(calling, isSpent: false, wasHeldUp: false) == .listen([]))
        let replying = Line(isCalling: false, wantsInput: true, hasInput: false, hasOutput: true)
        #expect(readiness.served(replying, isSpent: false, wasHeldUp: false) == .listen(.writable))
        #expect(readiness.served(idle, isSpent: false, wasHeldUp: false) == .close)
    }

    @Test func `gets a small portion of a large message at a time`() {
        #expect(ClientReadiness.room(incompleteByteCount: 0, of: 1 << 16) == 1 << 16)
        #expect(ClientReadiness.room(incompleteByteCount: 40_000, of: 1 << 16) == 8 << 10)
    }
}

@Suite struct `A turn to serve calls` {
    @Test func `serves four calls`() {
        var budget = CallBudget(isTurn: false)
        for _ in 0..<4 {
            #expect(!budget.isSpent && budget.admits(isLong: false))
            budget.count()
        }
        #expect(budget.isSpent && !budget.admits(isLong: false))
    }

    @Test func `serves a long message only as the first, and an event serves none`() {
        var own = CallBudget(isTurn: true)
        #expect(own.admits(isLong: true) == true)
        own.count()
        #expect(own.isSpent)

        var late = CallBudget(isTurn: true)
        late.count()
        #expect(!late.admits(isLong: true) && late.isSpent)

        var event = CallBudget(isTurn: false)
        #expect(!event.admits(isLong: true) && event.isSpent)
    }
}
