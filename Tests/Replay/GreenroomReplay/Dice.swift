import Glibc

/// SplitMix64: a small generator with a seed that gives the same numbers everywhere.
struct Dice: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, 1.
    mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53) }
    mutating func chance(_ probability: Double) -> Bool { unit() < probability }
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func exponential(mean: Double) -> Double { -mean * log(1 - unit()) }
    /// A number between the bounds. Each factor of two is equally probable.
    mutating func logUniform(_ low: Double, _ high: Double) -> Double {
        low * exp(unit() * log(high / low))
    }

    /// A number of the normal distribution with mean 0 and deviation 1.
    mutating func normal() -> Double {
        sqrt(-2 * log(1 - unit())) * cos(2 * Double.pi * unit())
    }

    /// An index with the probability of its weight; nil if all weights are 0.
    mutating func index(_ weights: [Double]) -> Int? {
        let sum = weights.reduce(0, +)
        guard sum > 0 else { return nil }
        var rest = unit() * sum
        for (index, weight) in weights.enumerated() {
            rest -= weight
            if rest < 0, weight > 0 { return index }
        }
        return weights.lastIndex { $0 > 0 }
    }
}
