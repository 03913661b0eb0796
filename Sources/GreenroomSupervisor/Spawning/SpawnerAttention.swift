/// Whether the spawner does what it is told, by what can be seen of it once a second. One that was stopped, or
/// that waits in the kernel for what does not come, reads nothing and says nothing.
///
/// Looks are counted, not time: we may have been stopped with it.
struct SpawnerAttention {
    enum Finding {
        /// It has read all that it was sent, and answered every order.
        case owesNothing
        case mayStill
        case isSilent
    }

    static let interval: Duration = .seconds(1)
    /// One that gave no sign at so many looks is silent. By itself it reads nothing for at most 4 s, while it
    /// settles for an upgrade or a new supervisor, and says nothing for 11 s: it ends what takes 10 s to
    /// execute, and awaits that end. The rest is for a machine that is busy; launches are answered by
    /// their own deadline.
    static let patience = 20

    private var unreadByteCount = 0
    private var hasSpoken = false
    private var silentLooks = 0

    /// It has said something.
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
