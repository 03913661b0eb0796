/// The instances whose end is not completely known yet.
struct AwaitedEnds {
    /// Instances whose first process has ended and whose others may not have.
    var dying: Set<UInt64> = []
    /// Adopted instances about whose last processes nothing informs us.
    var lingering: Set<UInt64> = []
    /// Adopted instances whose parent has not waited for them yet, and until when we wait for that.
    var unreaped: [UInt64: UInt64] = [:]

    /// Whether some instances must be looked at again and again.
    var needLooks: Bool { !unreaped.isEmpty || !lingering.isEmpty }

    /// Called when no process of the instance is left.
    mutating func forget(_ number: UInt64) {
        lingering.remove(number)
        dying.remove(number)
    }
}
