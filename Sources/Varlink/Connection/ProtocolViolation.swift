/// A violation by the other side that ends the connection without a reply.
public enum ProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
    case malformedMessage(JSONSyntaxError)
    case notAnObject
    case missingMember(String)
    case unexpectedMember(String)
    /// Flags that exclude each other, for example `oneway` with `more`, or `continues` with an
    /// error.
    case contradictoryFlags
    case messageTooLong(limit: Int)
    case tooManyValues(limit: Int)
    case tooManyNames(limit: Int)
    case tooManyDescriptors(limit: Int)
    /// Descriptors came in the middle of a message; they must come with its first byte.
    case strayDescriptors
    /// A reply that no call waits for, or a second reply to a call that accepts only one.
    case unexpectedReply
    /// The other side reads more slowly than events happen.
    case outputOverflow(limit: Int)

    public var description: String {
        switch self {
        case .malformedMessage(let error): "the message is not JSON: \(error)"
        case .notAnObject: "the message is not a JSON object"
        case .missingMember(let name): "the message has no \"\(name)\""
        case .unexpectedMember(let name): "the message has an unusable \"\(name)\""
        case .contradictoryFlags: "the message's flags contradict each other"
        case .messageTooLong(let limit): "the message exceeds \(limit) bytes"
        case .tooManyValues(let limit): "the message has more than \(limit) values"
        case .tooManyNames(let limit): "the message has more than \(limit) names"
        case .tooManyDescriptors(let limit): "more than \(limit) descriptors came"
        case .strayDescriptors: "descriptors came in the middle of a message"
        case .unexpectedReply: "a reply came that nobody waits for"
        case .outputOverflow(let limit): "more than \(limit) bytes wait to be read"
        }
    }

    static func object(
        _ bytes: Span<UInt8>, limits: Limits
    ) throws(ProtocolViolation) -> JSONObject {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes, limits: limits)
        } catch {
            switch error.code {
            case .tooManyValues: throw .tooManyValues(limit: limits.messageValueCount)
            case .tooManyNames: throw .tooManyNames(limit: limits.messageNameCount)
            case .unexpectedEnd, .unexpectedCharacter, .trailingCharacters, .tooDeep,
                .duplicateName, .malformedNumber, .numberOutOfRange, .malformedEscape,
                .loneSurrogate, .controlCharacter, .invalidUTF8, .numberTooLong:
                throw .malformedMessage(error)
            }
        }
        guard case .object(let object) = value else { throw .notAnObject }
        return object
    }
}
