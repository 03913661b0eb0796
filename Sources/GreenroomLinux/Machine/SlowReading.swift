/// A value that changes slowly and may take long to read, because a driver asks its hardware over a
/// slow bus. After two slow readings in a row, the value is kept for a hundred times as long as the
/// reading took, but at most for ``longestBelief``. So a driver that needs up to 50 ms takes at
/// most a hundredth of a thread's time. A value that is read quickly, or was delayed only once by a
/// busy machine, is read again every time.
public struct SlowReading<Value> {
    /// A reading that takes at least this many nanoseconds is slow. A normal one takes a hundredth
    /// of that.
    static var slowness: UInt64 { 10_000_000 }
    /// A value is kept at most this long, in nanoseconds.
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
