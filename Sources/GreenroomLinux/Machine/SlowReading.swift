/// Something to read that may take long, of a driver that asks its hardware over a slow bus, and that
/// changes slowly: what was slow twice in a row is believed for a hundred times as long as it took. So a
/// slow driver has no more than a hundredth of a thread's time, and what is read quickly, or was held up
/// once by a busy machine, is always read anew.
public struct SlowReading<Value> {
    /// From here on a reading is slow, in nanoseconds. Others take a hundredth of it.
    public static var slowness: UInt64 { 10_000_000 }
    /// However long it took.
    public static var longestBelief: UInt64 { 5_000_000_000 }

    private var known: (value: Value, until: UInt64)?
    private var wasSlow = false

    public init() {}

    /// - Parameter clock: CLOCK_MONOTONIC in nanoseconds.
    public mutating func value(
        at clock: () -> UInt64 = { MonotonicClock.nanoseconds }, _ read: () -> Value
    ) -> Value {
        let start = clock()
        if let known, start < known.until { return known.value }
        let value = read()
        let end = clock()
        let isSlow = end - start >= Self.slowness
        defer { wasSlow = isSlow }
        guard isSlow, wasSlow else {
            known = nil
            return value
        }
        known = (value, end + min(Self.longestBelief, (end - start) * 100))
        return value
    }
}
