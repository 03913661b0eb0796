/// SplitMix64: a small generator with a seed that gives the same numbers everywhere.
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Numbers for one thing in one world. They do not depend on other events, so leaving out other
    /// events of a failing run does not change them.
    init(seed: UInt64, thing: UInt64) {
        state = seed &+ thing &* 0xD134_2543_DE82_EF95
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func percent(_ chance: Int) -> Bool { below(100) < chance }
    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(range.lowerBound + below(range.count))
    }
}
