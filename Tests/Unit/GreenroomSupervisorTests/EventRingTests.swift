import TestSupport
import Testing

@testable import GreenroomSupervisor

/// The ring on plain memory: a second one over the same bytes is the next supervisor's.
struct EventRingTests {
    let memory = UnsafeMutableRawPointer.allocate(
        byteCount: EventRing.byteCount, alignment: 4096)

    init() { memory.initializeMemory(as: UInt8.self, repeating: 0, count: EventRing.byteCount) }

    private func open(first: UInt64 = 100) -> EventRing {
        EventRing(mapping: memory, first: first)
    }

    private func event(_ number: Int, size: Int = 200) -> [UInt8] {
        Array("\(number) ".utf8) + [UInt8](repeating: 7, count: size)
    }

    private func all(
        _ ring: EventRing, _ audience: EventRing.Audience = .all
    ) -> [(number: UInt64, bytes: [UInt8])] {
        var events: [(UInt64, [UInt8])] = []
        var position = ring.beginning
        while let entry = ring.event(at: position, for: audience) {
            if let number = entry.number { events.append((number, entry.bytes)) }
            position = entry.next
        }
        return events
    }

    @Test func `the next supervisor finds the kept events, with their numbers`() {
        defer { memory.deallocate() }
        let ring = open()
        for number in 1...5 {
            #expect(
                ring.append(event(number), owner: number % 2 == 0 ? 7 : nil).all
                    == UInt64(100 + number))
        }
        let next = open(first: 5000)
        #expect(next.latest(for: .all) == 105)
        #expect(all(next).map(\.bytes) == (1...5).map { event($0) })
        #expect(next.append(event(6), owner: nil).all == 106)
    }

    @Test func `each user's events are numbered without gaps`() {
        defer { memory.deallocate() }
        let ring = open()
        let first = ring.latest(for: .user(7))
        for number in 1...9 { _ = ring.append(event(number), owner: number % 3 == 0 ? 7 : 8) }
        #expect(all(ring, .user(7)).map(\.number) == [first + 1, first + 2, first + 3])
        #expect(all(ring, .user(7)).map(\.bytes) == [event(3), event(6), event(9)])
        #expect(ring.latest(for: .user(7)) == first + 3)
    }

    @Test func `the latest events stay, whatever the number and the sizes of the events`() {
        defer { memory.deallocate() }
        let ring = open()
        let count = 10_000
        for number in 1...count { _ = ring.append(event(number, size: number % 700), owner: nil) }
        let kept = all(ring)
        #expect(kept.count > 400)
        #expect(
            kept.map(\.number) == Array(UInt64(100 + count + 1 - kept.count)...UInt64(100 + count)))
        for (number, bytes) in kept.suffix(50) {
            let own = Int(number) - 100
            #expect(bytes == event(own, size: own % 700))
        }
        #expect(all(open()).count == kept.count)
    }

    @Test func `a turn that was left open skips one number, once, for every audience`() {
        defer { memory.deallocate() }
        let ring = open()
        let first = ring.latest(for: .user(7))
        _ = ring.append(event(1), owner: 7)
        ring.isTurnOpen = true
        let next = open()
        #expect(next.latest(for: .all) == 102)
        #expect(next.latest(for: .user(7)) == first + 2)
        #expect(!next.isTurnOpen)
        #expect(open().latest(for: .all) == 102)
        #expect(next.append(event(2), owner: 7).all == 103)
    }

    @Test func `a damaged ring is not trusted and never crashes the reader`() {
        defer { memory.deallocate() }
        var dice = SeededGenerator()
        for _ in 0..<300 {
            let ring = open()
            for number in 1...20 { _ = ring.append(event(number), owner: 7) }
            for _ in 0..<8 {
                let offset = Int.random(in: 8..<(4096 + 6000), using: &dice)
                memory.storeBytes(
                    of: UInt8.random(in: 0...255, using: &dice), toByteOffset: offset,
                    as: UInt8.self)
            }
            let next = open()
            _ = all(next)
            _ = all(next, .user(7))
            for number in 1...2000 { _ = next.append(event(number), owner: 9) }
            #expect(all(next).last?.bytes == event(2000))
        }
    }
}
