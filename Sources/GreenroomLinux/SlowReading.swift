/// Something to read that may take long, of a driver that asks its hardware over a slow bus, and that
/// changes slowly: what took time to read is believed for a hundred times as long. So no more than a
/// hundredth of a thread's time is spent on it, and what is read quickly is always read anew.
public struct SlowReading<Value> {
    /// However long it took.
    public static var longestBelief: UInt64 { 5_000_000_000 }

    private var known: (value: Value, until: UInt64)?

    public init() {}

    /// - Parameter clock: CLOCK_MONOTONIC in nanoseconds.
    public mutating func value(
        at clock: () -> UInt64 = { MonotonicClock.nanoseconds }, _ read: () -> Value
    ) -> Value {
        let start = clock()
        if let known, start < known.until { return known.value }
        let value = read()
        let end = clock()
        known = (value, end + min(Self.longestBelief, (end - start) * 100))
        return value
    }
}
