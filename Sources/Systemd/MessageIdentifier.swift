/// The kind of a message, as 128 unique bits (sd-id128(3)): MESSAGE_ID= in the
/// journal, and the key in the message catalog.
public struct MessageIdentifier: Hashable, Sendable, ExpressibleByStringLiteral {
    /// 32 lower-case hexadecimal digits.
    public let hexadecimal: String

    public init(stringLiteral value: String) { hexadecimal = value }
}
