import Testing

@testable import GreenroomSupervisor

@Suite struct `A first-in-first-out queue` {
    @Test func `returns elements in the order of arrival, however the calls are mixed`() {
        var queue = Fifo<Int>()
        var given: [Int] = []
        for number in 0..<1000 {
            queue.append(number)
            // Takes sometimes fewer elements than were added, sometimes more.
            for _ in 0..<(number % 3) { if let next = queue.popFirst() { given.append(next) } }
            #expect(queue.count == number + 1 - given.count)
        }
        while let next = queue.popFirst() { given.append(next) }
        #expect(given == Array(0..<1000))
        #expect(queue.isEmpty && queue.popFirst() == nil)
    }
}
