/// The instances whose end is not fully known yet.
struct AwaitedEnds {
    /// Instances whose first process has ended while others may not have.
    var dying: Set<UInt64> = []
    /// Adopted instances whose last process may end without our being told.
    var lingering: Set<UInt64> = []
    /// Adopted instances whose parent has not reaped them yet, and until when we wait for it to do
    /// so.
    var unreaped: [UInt64: UInt64] = [:]

    /// Whether some instances must be checked repeatedly.
    var needLooks: Bool { !unreaped.isEmpty || !lingering.isEmpty }

    /// Called when no process of the instance is left.
    mutating func forget(_ number: UInt64) {
        lingering.remove(number)
        dying.remove(number)
    }
}
