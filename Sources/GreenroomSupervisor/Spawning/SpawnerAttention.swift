/// Whether the spawner does what it is told, judged once a second by what can be seen of it. A
/// spawner that was stopped, or that waits in the kernel for something that does not come, reads
/// nothing and says nothing.
///
/// Looks are counted, not time, because the supervisor may have been stopped together with the
/// spawner.
struct SpawnerAttention {
    enum Finding {
        /// The spawner has read all that it was sent, and has answered every order.
        case owesNothing
        case mayStill
        case isSilent
    }

    static let interval: Duration = .seconds(1)
    /// A spawner that gave no sign at this many looks is silent. A sound spawner reads nothing for
    /// at most 4 s, while it settles for an upgrade or a new supervisor. It says nothing for at
    /// most 11 s: it ends a program that takes 10 s to execute, and awaits that end. The rest is in
    /// reserve for a busy machine; launches are answered by their own deadline.
    static let patience = 20

    private var unreadByteCount = 0
    private var hasSpoken = false
    private var silentLooks = 0

    /// The spawner has said something.
    mutating func heard() { hasSpoken = true }

    mutating func look(unreadByteCount: Int, hasOpenOrders: Bool) -> Finding {
        let isAlive = hasSpoken || unreadByteCount < self.unreadByteCount
        silentLooks = isAlive ? 0 : silentLooks + 1
        hasSpoken = false
        self.unreadByteCount = unreadByteCount
        if unreadByteCount == 0, !hasOpenOrders { return .owesNothing }
        return silentLooks < Self.patience ? .mayStill : .isSilent
    }
}
