/// The core's own random numbers (SplitMix64). They are part of the state, so a seed replays a run.
struct Jitter: Hashable, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `duration` ± 10 %, so that instances prewarmed together do not expire together.
    mutating func spread(_ duration: Duration) -> Duration {
        let permille = Int64(next() % 201) - 100
        return duration + duration / 1000 * permille
    }
}
