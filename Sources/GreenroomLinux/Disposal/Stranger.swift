/// A user who sent descriptors. They are closed by the disposer, and nobody waits for that.
public final class Stranger: Sendable {
    public let user: UInt32
    let disposer: Disposer

    init(user: UInt32, disposer: Disposer) {
        self.user = user
        self.disposer = disposer
    }

    /// How a descriptor came to hold something of the stranger's.
    public enum Share: Sendable {
        /// The stranger sent it: close(2) may ask whoever serves its file.
        case sent
        /// The stranger's end of a connection (SOCK_STREAM), in which messages of the stranger's
        /// may wait.
        case connection
        /// A socket that strangers can send to, and that others hold as well.
        case queue
    }

    /// Whether too many descriptors of this user cannot be closed. Nothing more is to be taken from
    /// the user until they are.
    public var isOverdrawn: Bool { disposer.isOverdrawn(user) }
}
