/// A user who sent descriptors. The disposer closes them, and nobody waits for that.
public final class Stranger: Sendable {
    public let user: UInt32
    let disposer: Disposer

    init(user: UInt32, disposer: Disposer) {
        self.user = user
        self.disposer = disposer
    }

    /// Why nobody here may wait until the descriptor is closed.
    public enum Share: Sendable {
        /// The stranger sent the descriptor, so close(2) may wait for the server of its file.
        case sent
        /// Our end of a connection with the stranger (SOCK_STREAM), in which messages from the
        /// stranger may wait.
        case connection
        /// A socket that strangers can send to, and that others hold as well.
        case queue
        /// Ours, but the kernel takes milliseconds to close it.
        case slow
    }

    /// Whether too many descriptors of this user cannot be closed. Until they are closed, take no
    /// more from the user.
    public var isOverdrawn: Bool { disposer.isOverdrawn(user) }
}
