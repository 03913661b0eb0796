// The choice of things that fit into a room and are together worth most: the knapsack problem, by
// branch and bound.
//
// Things come in the order of their worth for each byte. The search takes each one that fits, and
// comes back later to the same choice without it, the last choice first. It leaves a branch as soon
// as even parts of things, in this order, could not make it better than the best choice so far.
//
// The search begins with the choice that takes whatever fits in this order, or with the one thing
// that is worth more than that. One of the two is worth at least half of the optimum. So the result
// is that good even if the search does not come to its end.

struct Knapsack {
    struct Thing {
        /// At least 1.
        var byteCount: UInt64
        /// More than 0, and finite.
        var worth: Double
    }

    /// The search looks at no more things than this, however many there are and whatever they are
    /// worth.
    static let stepLimit = 4000
    /// A choice is better only if it is better by this part, so that rounding decides nothing.
    private static let leastGain = 1e-9

    /// The places of the things that were chosen, in their order.
    private(set) var taken: [Int] = []
    private(set) var byteCount: UInt64 = 0
    private(set) var worth = 0.0
    /// The number of things that the search has looked at.
    private(set) var steps = 0

    private let things: [Thing]
    /// The sums of the things before each place.
    private var bytesBefore: [Double] = [0]
    private var worthBefore: [Double] = [0]
    /// The least size of the things from each place on.
    private var leastFrom: [UInt64]

    /// - Parameter things: in the order of worth for each byte, the greatest first.
    init(_ things: [Thing], room: UInt64) {
        self.things = things
        leastFrom = things.map(\.byteCount)
        takeInOrder(room)
        guard taken.count < things.count else { return }
        takeOne(room)
        for thing in things {
            bytesBefore.append(bytesBefore.last! + Double(thing.byteCount))
            worthBefore.append(worthBefore.last! + thing.worth)
        }
        for place in things.indices.dropLast().reversed() {
            leastFrom[place] = min(leastFrom[place], leastFrom[place + 1])
        }
        search(room)
    }

    private mutating func takeInOrder(_ room: UInt64) {
        for (place, thing) in things.enumerated() where thing.byteCount <= room - byteCount {
            take(place)
        }
    }

    private mutating func takeOne(_ room: UInt64) {
        let fitting = things.indices.filter { things[$0].byteCount <= room }
        guard let one = fitting.max(by: { things[$0].worth < things[$1].worth }),
            things[one].worth > worth
        else { return }
        (taken, byteCount, worth) = ([], 0, 0)
        take(one)
    }

    private mutating func take(_ place: Int) {
        taken.append(place)
        byteCount += things[place].byteCount
        worth += things[place].worth
    }

    /// A choice between the things before a place, of which the first `count` of `taken` were
    /// taken.
    private struct Branch {
        var place = 0
        var count = 0
        var room: UInt64
        var worth = 0.0
    }

    private mutating func search(_ limit: UInt64) {
        var branches = [Branch(room: limit)]
        var current: [Int] = []
        while var branch = branches.popLast() {
            current.removeSubrange(branch.count...)
            while bound(branch) > worth * (1 + Self.leastGain) {
                guard branch.place < things.count, branch.room >= leastFrom[branch.place] else {
                    // Nothing more fits.
                    if branch.worth > worth * (1 + Self.leastGain) {
                        (taken, byteCount, worth) = (current, limit - branch.room, branch.worth)
                    }
                    break
                }
                guard steps < Self.stepLimit else { return }
                steps += 1
                let place = branch.place
                branch.place += 1
                guard things[place].byteCount <= branch.room else { continue }
                branches.append(branch)
                current.append(place)
                branch.count += 1
                branch.room -= things[place].byteCount
                branch.worth += things[place].worth
            }
        }
    }

    /// What the branch is worth if a part of the first thing that does not fit is taken, too.
    private func bound(_ branch: Branch) -> Double {
        let end = bytesBefore[branch.place] + Double(branch.room)
        // The last place before which everything fits.
        var (low, high) = (branch.place, things.count)
        while low < high {
            let middle = (low + high + 1) / 2
            if bytesBefore[middle] <= end { low = middle } else { high = middle - 1 }
        }
        let whole = branch.worth + worthBefore[low] - worthBefore[branch.place]
        guard low < things.count else { return whole }
        let rest = (end - bytesBefore[low]) / Double(things[low].byteCount)
        return whole + things[low].worth * rest
    }
}
