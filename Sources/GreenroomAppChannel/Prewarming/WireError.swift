/// Why a datagram is not a message, or a message cannot become a datagram.
///
/// A peer that sends such a datagram is broken or hostile. No part of the datagram was applied. The
/// daemon treats the instance as failed; the shim answers ERROR(EPROTO) and goes on waiting.
public enum WireError: Error, Equatable, Sendable {
    /// The datagram is shorter than a header.
    case truncated(byteCount: Int)
    case wrongMagic(UInt32)
    case unsupportedVersion(UInt16)
    /// There is no such type, or this side may not receive it.
    case unknownType(UInt16)
    case unknownFlags(UInt32)
    /// A field that this type of message does not use is not zero.
    case unusedFieldSet(type: UInt16)
    /// The header's count of string bytes does not match the datagram's length.
    case wrongLength(announced: Int, received: Int)
    /// The header's count of descriptors does not match those that were received.
    case wrongDescriptorCount(announced: Int, received: Int)
    case tooManyDescriptors(Int)
    /// The number is neither a place (0 or above) nor a known role.
    case unknownRole(Int32)
    /// Two descriptors have the same role or place.
    case duplicateRole(Int32)
    /// The bytes are not as many NUL-terminated strings as announced.
    case malformedStrings
    case tooManyStringBytes(Int)
    /// A launch without arguments: it must have at least the program's name.
    case noArguments
    case invalidUmask(UInt32)
    case unknownPauseReason(Int32)
    /// The status of an SDK message is no event, step or reason that this side knows.
    case unknownValue(Int32, type: UInt16)
    /// A string contains a NUL.
    case stringContainsNUL(index: Int)
}

extension WireError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .truncated(let count):
            "message of \(count) bytes is shorter than the header; the peer speaks another protocol"
        case .wrongMagic(let magic):
            "message begins with 0x\(String(magic, radix: 16)); the peer speaks another protocol"
        case .unsupportedVersion(let version):
            "protocol version \(version) is not supported; reinstall so that daemon and shim match"
        case .unknownType(let type): "message type \(type) is unknown or not for this side"
        case .unknownFlags(let flags): "flags 0x\(String(flags, radix: 16)) are unknown"
        case .unusedFieldSet(let type): "message type \(type) sets a field that it does not have"
        case .wrongLength(let announced, let received):
            "message announces \(announced) bytes of strings and carries \(received)"
        case .wrongDescriptorCount(let announced, let received):
            "message announces \(announced) descriptors and carries \(received)"
        case .tooManyDescriptors(let count):
            "\(count) descriptors do not fit; pass at most \(WireFormat.descriptorLimit)"
        case .unknownRole(let role): "descriptor role \(role) is unknown"
        case .duplicateRole(let role): "descriptor role \(role) is given twice"
        case .malformedStrings: "the strings do not match their announced number"
        case .tooManyStringBytes(let count):
            "arguments and environment take \(count) bytes; shorten them to \(WireFormat.stringLimit)"
        case .noArguments: "no arguments; pass at least the program's name"
        case .invalidUmask(let mask): "umask 0\(String(mask, radix: 8)) is beyond 0777"
        case .unknownPauseReason(let reason): "pause reason \(reason) is unknown"
        case .unknownValue(let value, let type):
            "value \(value) of message type \(type) is unknown; the peer is newer than this side"
        case .stringContainsNUL(let index):
            "string \(index) contains a NUL byte; the kernel could not pass it on either"
        }
    }
}
