/// A user who sent descriptors, as far as their end goes: each of them goes to the disposer, which nobody waits for.
public final class Stranger: Sendable {
    public let user: UInt32
    let disposer: Disposer

    init(user: UInt32, disposer: Disposer) {
        self.user = user
        self.disposer = disposer
    }

    /// How a descriptor came to hold what is theirs.
    public enum Share: Sendable {
        /// They sent it: close(2) may ask whoever serves it.
        case sent
        /// Their end of a connection (SOCK_STREAM), in which messages of theirs may wait.
        case connection
        /// A socket to which they can send, and which others have as well.
        case queue
    }

    /// Too much of theirs cannot be closed: nothing more is to be taken from them until it is.
    public var isOverdrawn: Bool { disposer.isOverdrawn(user) }
}
