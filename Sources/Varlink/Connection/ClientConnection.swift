/// The client's end of a connection. It turns calls into bytes, and bytes into replies, and
/// performs no I/O. A client may send calls before earlier ones are answered; replies come in the
/// order of the calls.
public struct ClientConnection: Sendable {
    private let limits: Limits
    private var input = InputBuffer()
    private var output = OutputQueue()
    /// For each unanswered call, oldest first, whether it accepts several replies.
    private var waiting: [Bool] = []

    /// Why the connection must be closed, if the other side broke the protocol.
    public private(set) var violation: ProtocolViolation?

    public init(limits: Limits = .standard) { self.limits = limits }

    /// Queues a call.
    public mutating func call(_ call: Call) {
        output.append(descriptorCount: call.descriptorCount) { call.encode(to: &$0) }
        if !call.isOneway { waiting.append(call.wantsMore) }
    }

    /// Queues a call with parameters that encode themselves.
    public mutating func call(
        _ method: String, _ parameters: some ParametersEncodable, wantsMore: Bool = false,
        descriptorCount: Int = 0
    ) {
        output.append(descriptorCount: descriptorCount) { writer in
            writer.beginObject()
            writer.member("method", method)
            writer.name("parameters")
            writer.beginObject()
            parameters.encodeMembers(to: &writer)
            writer.endObject()
            if wantsMore { writer.member("more", true) }
            writer.endObject()
        }
        waiting.append(wantsMore)
    }

    /// Whether a call waits for a reply.
    public var isWaiting: Bool { !waiting.isEmpty }

    /// See `ServerConnection.withOutput`.
    public func withOutput<T, Failure: Error>(
        _ body: (Span<UInt8>, _ descriptorCount: Int) throws(Failure) -> T
    ) throws(Failure) -> T? {
        try output.next(body)
    }

    /// See `ServerConnection.sent`.
    public mutating func sent(byteCount: Int) { output.consume(byteCount) }

    /// See `ServerConnection.receive`.
    public mutating func receive(_ bytes: Span<UInt8>, descriptorCount: Int = 0) {
        guard violation == nil else { return }
        do throws(ProtocolViolation) {
            try input.append(bytes, descriptorCount: descriptorCount, limits: limits)
        } catch {
            violation = error
        }
    }

    /// The next reply; nil if it has not arrived yet.
    public mutating func nextReply() -> Reply? {
        guard violation == nil else { return nil }
        do throws(ProtocolViolation) {
            let reply = try input.takeMessage(limits: limits) {
                (bytes, count) throws(ProtocolViolation) in
                try Reply(bytes, descriptorCount: count, limits: limits)
            }
            guard let reply else { return nil }
            guard let wantsMore = waiting.first, wantsMore || !reply.continues else {
                throw .unexpectedReply
            }
            if !reply.continues { waiting.removeFirst() }
            return reply
        } catch {
            violation = error
            return nil
        }
    }
}
