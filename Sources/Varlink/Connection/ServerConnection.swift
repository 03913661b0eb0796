/// The server's end of one connection: bytes in, calls out; replies in, bytes out. It performs no
/// I/O, so its owner decides when to read and write.
///
/// ```
///            receive            nextCall              reply, fail
///   (idle) ----------> (idle) ------------> (calling) -----------> (idle)
///                                              |  ^
///                                              +--+ update, with `more` only
///                                              |
///                                              | replyAndUpgrade, with `upgrade` only
///                                              v
///                                           (upgraded)
/// ```
/// Any state becomes *closed* when the other side breaks the protocol or does not read:
/// `violation` says how, and the owner closes the socket. Calls are handed out one at a time, in
/// order: the next one waits for the final reply to its predecessor.
public struct ServerConnection: Sendable {
    private enum State: Sendable {
        case idle
        case calling(isOneway: Bool, wantsMore: Bool, wantsUpgrade: Bool)
        case upgraded
        case closed(ProtocolViolation)
    }

    private let limits: Limits
    private var state = State.idle
    private var input = InputBuffer()
    private var output = OutputQueue()
    /// Bytes of the message that the latest call came in, without its terminator.
    public private(set) var callByteCount = 0

    public init(limits: Limits = .standard) { self.limits = limits }

    /// What this connection holds for its client: input without a call, and output that was not
    /// read.
    public var waitingByteCount: Int { input.byteCount + output.byteCount }

    // MARK: Input

    /// Of a message that has begun to come, and of calls whose turn has not come.
    public var incompleteByteCount: Int { input.byteCount }

    /// True while bytes wait that are no call yet, or one whose turn has not come.
    public var hasInput: Bool { input.byteCount > 0 }

    /// Bytes of the message that `nextCall` would read now; nil: it would read none.
    public mutating func nextCallByteCount() -> Int? {
        guard case .idle = state, output.byteCount < limits.pausingOutputByteCount else {
            return nil
        }
        return input.nextByteCount()
    }

    /// False while reading on would only pile up work: a call is being served, or the client does
    /// not read its replies. (A hang-up must be noticed all the same.)
    public var wantsInput: Bool {
        guard case .idle = state else { return false }
        return output.byteCount < limits.pausingOutputByteCount
    }

    /// Takes what was read in one go, with the number of descriptors that came with it. The owner
    /// keeps the descriptors in a queue, and takes `Call.descriptorCount` of them for each call.
    public mutating func receive(_ bytes: Span<UInt8>, descriptorCount: Int = 0) {
        switch state {
        case .closed: return
        case .idle, .calling, .upgraded: break
        }
        do throws(ProtocolViolation) {
            try input.append(bytes, descriptorCount: descriptorCount, limits: limits)
        } catch {
            state = .closed(error)
        }
    }

    /// Takes what was read in one go.
    public mutating func receive(_ bytes: [UInt8], descriptorCount: Int = 0) {
        receive(bytes.span, descriptorCount: descriptorCount)
    }

    /// The next call to be served, or nil if there is none yet or its turn has not come.
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
            state = .calling(
                isOneway: call.isOneway, wantsMore: call.wantsMore, wantsUpgrade: call.wantsUpgrade)
            return call
        } catch {
            state = .closed(error)
            return nil
        }
    }

    /// Set when the connection must be closed because of what the other side did.
    public var violation: ProtocolViolation? {
        if case .closed(let violation) = state { violation } else { nil }
    }

    /// True between a call and its final reply.
    public var isCalling: Bool {
        if case .calling = state { true } else { false }
    }

    // MARK: Replies

    /// The final reply to the current call.
    public mutating func reply(_ parameters: some ParametersEncodable, descriptorCount: Int = 0) {
        send(parameters, descriptorCount: descriptorCount)
        if case .calling = state { state = .idle }
    }

    /// The final reply to the current call, without parameters.
    public mutating func reply() { reply(JSONObject()) }

    /// One reply of several; a final one must follow. Only for a call that wants `more`.
    public mutating func update(_ parameters: some ParametersEncodable) {
        guard case .calling(_, let wantsMore, _) = state else { return expectClosed() }
        precondition(wantsMore, "the client takes a single reply")
        send(parameters, continues: true)
    }

    /// The current call failed.
    public mutating func fail(_ error: some CallError) {
        guard case .calling(let isOneway, _, _) = state else { return expectClosed() }
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

    /// Queues an error that no call waits for: why the connection is about to be closed. The owner
    /// writes what the socket takes and closes it.
    public mutating func failLast(_ error: some CallError) {
        guard !isOverflowing else { return }
        append(error)
    }

    /// The final reply, after which the connection speaks another protocol.
    /// - Returns: what the client sent behind its call already. Output goes first.
    public mutating func replyAndUpgrade(_ parameters: some ParametersEncodable) -> [UInt8] {
        guard case .calling(_, _, let wantsUpgrade) = state else {
            expectClosed()
            return []
        }
        precondition(wantsUpgrade, "the client did not ask for another protocol")
        send(parameters)
        state = .upgraded
        return input.takeRest()
    }

    /// A reply nobody waits for is our mistake, unless the connection failed meanwhile.
    private func expectClosed() {
        guard case .closed = state else { preconditionFailure("no call is waiting for a reply") }
    }

    private mutating func send(
        _ parameters: some ParametersEncodable, continues: Bool = false, descriptorCount: Int = 0
    ) {
        guard case .calling(let isOneway, _, _) = state else { return expectClosed() }
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

    /// True once the client has let too much wait: nothing more is written.
    public var isOverflowing: Bool {
        if case .closed(.outputOverflow) = state { true } else { false }
    }

    /// True while something waits to be written.
    public var hasOutput: Bool { output.byteCount > 0 }

    /// Hands out what may go in one write, with the number of descriptors that must go with it:
    /// the next ones in the order of `reply(_:descriptorCount:)`. Nil if there is nothing.
    /// After the write, call `sent`.
    public func withOutput<T>(
        _ body: (Span<UInt8>, _ descriptorCount: Int) throws -> T
    ) rethrows -> T? {
        try output.next(body)
    }

    /// That many bytes of the output were written. If there are any, so were the descriptors.
    public mutating func sent(byteCount: Int) { output.consume(byteCount) }
}
