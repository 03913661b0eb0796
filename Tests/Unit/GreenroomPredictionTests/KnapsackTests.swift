import Testing

@testable import GreenroomPrediction

@Suite struct `A knapsack` {
    private func things(_ pairs: [(bytes: UInt64, worth: Double)]) -> [Knapsack.Thing] {
        pairs.map { Knapsack.Thing(byteCount: $0.bytes, worth: $0.worth) }.sorted {
            $0.worth / Double($0.byteCount) > $1.worth / Double($1.byteCount)
        }
    }

    private func some(_ count: Int, bytes: Int, _ dice: inout Dice) -> [Knapsack.Thing] {
        things(
            (0..<count).map { _ in
                (bytes: UInt64(1 + dice.below(bytes)), worth: 0.01 + dice.unit() * 100)
            })
    }

    private func check(_ choice: Knapsack, _ things: [Knapsack.Thing], room: UInt64) {
        #expect(
            choice.taken == choice.taken.sorted() && Set(choice.taken).count == choice.taken.count)
        #expect(choice.byteCount == choice.taken.reduce(0) { $0 + things[$1].byteCount })
        #expect(abs(choice.worth - choice.taken.reduce(0) { $0 + things[$1].worth }) < 1e-6)
        #expect(choice.byteCount <= room)
    }

    @Test func `takes everything if there is room`() {
        var dice = Dice(state: 1)
        let things = some(20, bytes: 9, &dice)
        #expect(Knapsack(things, room: 200).taken == Array(0..<20))
        #expect(Knapsack([], room: 200).taken.isEmpty)
        #expect(Knapsack([.init(byteCount: 201, worth: 1)], room: 200).taken.isEmpty)
    }

    /// The first is worth most for each byte. It and the second do not fit together, nor do the
    /// second and the third, but the first is worth less than the two others would be alone.
    @Test func `leaves out the best per byte if the others then fit`() {
        let things = things([(6, 66), (5, 50), (5, 49)])
        let choice = Knapsack(things, room: 10)
        #expect(choice.taken == [1, 2])
        #expect(choice.byteCount == 10 && choice.worth == 99)
    }

    @Test func `keeps to the order between things that are alike`() {
        let things = things((0..<12).map { _ in (bytes: 4, worth: 10) })
        #expect(Knapsack(things, room: 19).taken == [0, 1, 2, 3])
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `is the best of all subsets`(seed: UInt64) {
        var dice = Dice(state: seed)
        let things = some(1 + dice.below(9), bytes: 1 + dice.below(12), &dice)
        let room = UInt64(dice.below(30))
        var best = 0.0
        for subset in 0..<(1 << things.count) {
            let chosen = things.indices.filter { subset & (1 << $0) != 0 }
            guard chosen.reduce(0, { $0 + things[$1].byteCount }) <= room else { continue }
            best = max(best, chosen.reduce(0) { $0 + things[$1].worth })
        }
        let choice = Knapsack(things, room: room)
        check(choice, things, room: room)
        #expect(abs(choice.worth - best) < 1e-6)
    }

    /// Things that are worth nearly as much for each byte, so that no bound cuts anything off.
    @Test func `looks at so many things and no more, and has half of what fits even then`() {
        var dice = Dice(state: 4)
        let alike = things(
            (0..<5000).map { _ in
                let bytes = UInt64(2 * (500_000 + dice.below(500_000)))
                return (bytes: bytes, worth: Double(bytes) * (1 + dice.unit() / 1e6))
            })
        let room: UInt64 = 100_000_001
        let choice = Knapsack(alike, room: room)
        #expect(choice.steps == Knapsack.stepLimit)
        check(choice, alike, room: room)
        #expect(choice.worth >= Double(room) / 2)
        #expect(Knapsack(alike, room: room).taken == choice.taken, "the same each time")
        // The first thing leaves no room for the one that is worth nearly everything.
        let one = things(
            [(1, 2), (1_000_000, 1_000_000)] + (0..<5000).map { _ in (bytes: 2, worth: 1) })
        #expect(Knapsack(one, room: 1_000_000).worth >= 999_998)
    }

    @Test func `is not confused by sizes and values at the ends of their ranges`() {
        let things = things([
            (1, 1), (1, .leastNonzeroMagnitude), (.max, 1e300), (.max - 1, 1e300), (2, 1e-300),
        ])
        for room in [0, 1, .max - 1, .max] as [UInt64] {
            check(Knapsack(things, room: room), things, room: room)
        }
        #expect(Knapsack(things, room: 2).taken.count == 2)
    }
}
