import Glibc

/// Reproducible random numbers: the seed is printed, and `TEST_SEED=n` sets it.
/// SplitMix64, by Sebastiano Vigna.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init() {
        let given = getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        state = given ?? UInt64.random(in: .min ... .max)
        var line = "TEST_SEED=\(state)\n"
        line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
    }

    /// Creates a generator for numbers that must be the same each time.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
