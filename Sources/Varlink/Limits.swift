/// Limits on the cost of one connection. The first three are those of sd-varlink, so that
/// everything that its clients may send is accepted.
public struct Limits: Hashable, Sendable {
    /// The longest message in bytes, including its NUL.
    public var messageByteCount = 16 << 20
    /// How many descriptors a message may have: the kernel's own limit (SCM_MAX_FD, unix(7)).
    public var messageDescriptorCount = 253
    /// How deeply arrays and objects may be nested, because the parser recurses. No interface of
    /// ours needs 10 levels.
    public var depth = 64
    /// How many values and names a message may have. The cost of a message depends on their number
    /// more than on its bytes, most of all on the number of names, because each is compared with
    /// the others in its object. A number that is not an integer counts as 64 values. Unlimited
    /// unless the owner of a connection knows how many its calls need.
    public var messageValueCount = Int.max
    public var messageNameCount = Int.max
    /// While more than this many bytes are unsent, no further call is read, so that a slow reader
    /// makes only itself wait.
    public var pausingOutputByteCount = 1 << 20
    /// If more than this many bytes are unsent, the connection is closed, because a stream of
    /// events cannot be paused. One maximal reply after a paused queue must fit.
    public var closingOutputByteCount = 32 << 20

    public init() {}
    public static let standard = Limits()
}
