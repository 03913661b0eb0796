import TestSupport
import Testing

@testable import GreenroomLifecycle

@Suite struct `The deadline queue` {
    @Test func `agrees with a sorted list`() {
        var queue = DeadlineQueue()
        var model: [InstanceIdentifier: Instant] = [:]
        var generator = SeededGenerator()
        for _ in 0..<5_000 {
            let id = InstanceIdentifier(UInt64.random(in: 0..<40, using: &generator))
            let instant = Instant(nanoseconds: UInt64.random(in: 0..<1_000, using: &generator))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                queue.set(.instance(id), at: nil)
                model[id] = nil
            case 1:
                let due = model.values.min().map { $0 <= instant } ?? false
                let popped = queue.popDue(at: instant)
                #expect((popped != nil) == due)
                if case .instance(let id) = popped { model[id] = nil }
            default:
                queue.set(.instance(id), at: instant)
                model[id] = instant
            }
            #expect(queue.soonest == model.values.min())
            #expect(queue.count == model.count)
            #expect(queue[.instance(id)] == model[id])
        }
    }
}
