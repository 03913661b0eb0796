/// The server's end of a connection. It turns bytes into calls, and replies into bytes. It performs
/// no I/O: its owner decides when to read and write.
///
/// ```
///            receive            nextCall              reply, fail
///   (idle) ----------> (idle) ------------> (calling) -----------> (idle)
///                                              |  ^
///                                              +--+ update, with `more` only
/// ```
/// Any state becomes *closed* when the other side breaks the protocol or does not read. `violation`
/// then says why, and the owner closes the socket. Calls are returned one at a time, in order: each
/// waits for the final reply to the one before it.
public struct ServerConnection: Sendable {
    private enum State: Sendable {
        case idle
        case calling(isOneway: Bool, wantsMore: Bool)
        case closed(ProtocolViolation)
    }

    private let limits: Limits
    private var state = State.idle
    private var input = InputBuffer()
    private var output = OutputQueue()
    /// The number of bytes in the latest call's message, without its NUL.
    public private(set) var callByteCount = 0

    public init(limits: Limits = .standard) { self.limits = limits }

    /// How many bytes this connection holds for its client: input that is not yet a call, and
    /// output that the client has not read.
    public var waitingByteCount: Int { input.byteCount + output.byteCount }

    // MARK: Input

    /// The number of bytes in an incomplete message and in calls that wait for their turn.
    public var incompleteByteCount: Int { input.byteCount }

    /// Whether there is an incomplete message, or a call that waits for its turn.
    public var hasInput: Bool { input.byteCount > 0 }

    /// The number of bytes in the message that `nextCall` would read now; nil if it would read
    /// none.
    public mutating func nextCallByteCount() -> Int? {
        guard case .idle = state, output.byteCount < limits.pausingOutputByteCount else {
            return nil
        }
        return input.nextByteCount()
    }

    /// Whether to read more. False while a call is being served, or the client does not read its
    /// replies, because work would only accumulate. (The owner must still notice a hang-up.)
    public var wantsInput: Bool {
        guard case .idle = state else { return false }
        return output.byteCount < limits.pausingOutputByteCount
    }

    /// Takes the bytes that one read returned, and the number of descriptors that came with them.
    /// The owner keeps the descriptors in a queue, and takes `Call.descriptorCount` of them for
    /// each call.
    public mutating func receive(_ bytes: Span<UInt8>, descriptorCount: Int = 0) {
        switch state {
        case .closed: return
        case .idle, .calling: break
        }
        do throws(ProtocolViolation) {
            try input.append(bytes, descriptorCount: descriptorCount, limits: limits)
        } catch {
            state = .closed(error)
        }
    }

    /// The same, for bytes in an array.
    public mutating func receive(_ bytes: [UInt8], descriptorCount: Int = 0) {
        receive(bytes.span, descriptorCount: descriptorCount)
    }

    /// The next call to serve; nil if there is none, or if it must wait for its turn.
    public mutating func nextCall() -> Call? {
        guard case .idle = state, output.byteCount < limits.pausingOutputByteCount else {
            return nil
        }
        do throws(ProtocolViolation) {
            let call = try input.takeMessage(limits: limits) {
                (bytes, count) throws(ProtocolViolation) in
                callByteCount = bytes.count
                return try Call(bytes, descriptorCount: count, limits: limits)
            }
            guard let call else { return nil }
            state = .calling(isOneway: call.isOneway, wantsMore: call.wantsMore)
            return call
        } catch {
            state = .closed(error)
            return nil
        }
    }

    /// Why the connection must be closed, if the other side broke the protocol or does not read.
    public var violation: ProtocolViolation? {
        if case .closed(let violation) = state { violation } else { nil }
    }

    /// Whether a call waits for its final reply.
    public var isCalling: Bool {
        if case .calling = state { true } else { false }
    }

    /// Whether the client of the current call wants no reply, and so need not stay for one.
    public var isCallOneway: Bool {
        if case .calling(isOneway: true, _) = state { true } else { false }
    }

    // MARK: Replies

    /// Sends the final reply to the current call.
    public mutating func reply(_ parameters: some ParametersEncodable, descriptorCount: Int = 0) {
        send(parameters, descriptorCount: descriptorCount)
        if case .calling = state { state = .idle }
    }

    /// Sends the final reply to the current call, without parameters.
    public mutating func reply() { reply(JSONObject()) }

    /// Sends one of several replies. A final reply must follow. Only for a call with `more`.
    public mutating func update(_ parameters: some ParametersEncodable) {
        guard case .calling(_, let wantsMore) = state else { return expectClosed() }
        precondition(wantsMore, "the client takes a single reply")
        send(parameters, continues: true)
    }

    /// Sends an error as the final reply to the current call.
    public mutating func fail(_ error: some CallError) {
        guard case .calling(let isOneway, _) = state else { return expectClosed() }
        state = .idle
        if isOneway { return }
        append(error)
        checkOutput()
    }

    private mutating func append(_ error: some CallError) {
        output.append(descriptorCount: 0) { writer in
            writer.beginObject()
            writer.member("error", error.name)
            writer.name("parameters")
            writer.beginObject()
            error.encodeMembers(to: &writer)
            writer.endObject()
            writer.endObject()
        }
    }

    /// Queues an error that no call waits for, which says why the connection is about to be closed.
    /// The owner writes as much as the socket accepts, and closes it.
    public mutating func failLast(_ error: some CallError) {
        guard !isOverflowing else { return }
        append(error)
    }

    /// Traps on a reply that no call waits for, which is a bug of ours, unless the connection was
    /// closed in the meantime.
    private func expectClosed() {
        guard case .closed = state else { preconditionFailure("no call is waiting for a reply") }
    }

    private mutating func send(
        _ parameters: some ParametersEncodable, continues: Bool = false, descriptorCount: Int = 0
    ) {
        guard case .calling(let isOneway, _) = state else { return expectClosed() }
        if isOneway { return }
        output.append(descriptorCount: descriptorCount) { writer in
            writer.beginObject()
            writer.name("parameters")
            writer.beginObject()
            parameters.encodeMembers(to: &writer)
            writer.endObject()
            if continues { writer.member("continues", true) }
            writer.endObject()
        }
        checkOutput()
    }

    private mutating func checkOutput() {
        guard output.byteCount > limits.closingOutputByteCount else { return }
        state = .closed(.outputOverflow(limit: limits.closingOutputByteCount))
    }

    // MARK: Output

    /// Whether the client has left too much output unread, so that nothing more is written.
    public var isOverflowing: Bool {
        if case .closed(.outputOverflow) = state { true } else { false }
    }

    /// Whether output waits to be written.
    public var hasOutput: Bool { output.byteCount > 0 }

    /// Calls `body` with the bytes that one write may send, and the number of descriptors that must
    /// go with them: the next ones in the order of `reply(_:descriptorCount:)`. After the write,
    /// call `sent`.
    /// - Returns: nil if there is no output.
    public func withOutput<T, Failure: Error>(
        _ body: (Span<UInt8>, _ descriptorCount: Int) throws(Failure) -> T
    ) throws(Failure) -> T? {
        try output.next(body)
    }

    /// Records that this many bytes of the output were written, and, if there are any, the
    /// descriptors too.
    public mutating func sent(byteCount: Int) { output.consume(byteCount) }
}
