/// What one connection may cost. The first three are those of sd-varlink, so that whatever its
/// clients may send is accepted.
public struct Limits: Hashable, Sendable {
    /// One message with its terminator, in bytes.
    public var messageByteCount = 16 << 20
    /// Descriptors with one message; the kernel's own limit (SCM_MAX_FD, unix(7)).
    public var messageDescriptorCount = 253
    /// Arrays and objects within each other. No interface of ours needs 10; the parser recurses.
    public var depth = 64
    /// Values in one message, and names in one of its objects. What a message costs grows with their
    /// number rather than with its bytes, most of all with names: each is held against the others.
    /// Unlimited unless the owner of a connection knows how many its calls need.
    public var messageValueCount = Int.max
    public var objectNameCount = Int.max
    /// Above this many unsent bytes no further call is read: a slow reader waits for itself.
    public var pausingOutputByteCount = 1 << 20
    /// Above this many unsent bytes the connection is closed. A stream of events cannot be paused;
    /// one maximal reply on top of a paused queue must fit.
    public var closingOutputByteCount = 32 << 20

    public init() {}
    public static let standard = Limits()
}
