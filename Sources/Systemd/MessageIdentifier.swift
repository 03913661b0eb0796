/// What kind of message one is, by 128 bits (sd-id128(3)) that nobody else uses: MESSAGE_ID= in the
/// journal, and the key of the message catalog.
public struct MessageIdentifier: Hashable, Sendable, ExpressibleByStringLiteral {
    /// 32 lower-case hexadecimal digits.
    public let hexadecimal: String

    public init(stringLiteral value: String) { hexadecimal = value }
}
