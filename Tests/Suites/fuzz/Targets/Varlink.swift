import Varlink

/// The limits are small, so that inputs reach them.
private let limits = {
    var limits = Limits.standard
    limits.messageByteCount = 4096
    limits.messageDescriptorCount = 8
    limits.pausingOutputByteCount = 2048
    limits.closingOutputByteCount = 8192
    return limits
}()

/// The calls must be the same however the bytes arrive, and every answer must be writable.
func fuzzServerConnection(_ input: Input) {
    var input = input
    let size = input.choice() + 1
    let descriptors = input.choice()
    let whole = serve(input.rest, size: input.rest.count, descriptorEvery: 0)
    let cut = serve(input.rest, size: size, descriptorEvery: 0)
    expect(whole.calls, cut.calls, "calls, whole and cut")
    expect(whole.violation == nil, cut.violation == nil, "violations, whole and cut")
    // Descriptors may come anywhere. That may be a violation, but must not trap.
    _ = serve(input.rest, size: size, descriptorEvery: descriptors)
}

private func serve(
    _ bytes: [UInt8], size: Int, descriptorEvery: Int
) -> (calls: [Call], violation: ProtocolViolation?) {
    var connection = ServerConnection(limits: limits)
    var calls: [Call] = []
    var (written, given, taken, chunk) = (0, 0, 0, 0)
    var start = 0
    while start < bytes.count, connection.violation == nil {
        chunk += 1
        let descriptorCount =
            descriptorEvery > 0 && chunk % descriptorEvery == 0 ? descriptorEvery % 11 : 0
        given += descriptorCount
        connection.receive(
            Array(bytes[start..<min(start + size, bytes.count)]), descriptorCount: descriptorCount)
        start += size
        while let call = connection.nextCall() {
            calls.append(call)
            taken += call.descriptorCount
            if taken > given { fatalError("more descriptors than came") }
            answer(call, on: &connection)
            while let count = connection.withOutput({ span, _ in min(span.count, 7) }) {
                connection.sent(byteCount: count)
                written += count
            }
        }
        if connection.waitingByteCount > size + limits.messageByteCount {
            // Complete messages are taken at once, and an incomplete message is limited.
            if connection.violation == nil { fatalError("too much is kept") }
        }
    }
    if connection.violation != nil { connection.failLast(ServiceError.permissionDenied) }
    return (calls, connection.violation)
}

private func answer(_ call: Call, on connection: inout ServerConnection) {
    if call.wantsMore { connection.update(call.parameters) }
    if call.parameters.isEmpty {
        connection.fail(ServiceError.methodNotFound(call.method))
    } else {
        connection.reply(call.parameters)
    }
    var writer = JSONWriter()
    call.encode(to: &writer)
    var other = ServerConnection()
    other.receive(writer.bytes + [0])
    guard var again = other.nextCall() else { fatalError("a call is not read again") }
    again.descriptorCount = call.descriptorCount
    expect(again, call, "a call written and read")
}

func fuzzClientConnection(_ input: Input) {
    var input = input
    let (size, calls) = (input.choice() + 1, input.choice())
    let replies = { (size: Int) -> ([Reply], Bool) in
        var connection = ClientConnection(limits: limits)
        for number in 0..<8 {
            connection.call(
                Call(
                    method: "a.b\(number)", wantsMore: calls >> number & 1 == 1,
                    isOneway: number == 3 && calls >> number & 1 == 0))
        }
        var replies: [Reply] = []
        var start = 0
        while start < input.rest.count {
            let chunk = Array(input.rest[start..<min(start + size, input.rest.count)])
            connection.receive(chunk.span)
            while let reply = connection.nextReply() { replies.append(reply) }
            start += size
        }
        return (replies, connection.violation == nil)
    }
    let (whole, cut) = (replies(max(1, input.rest.count)), replies(size))
    expect(whole.0, cut.0, "replies, whole and cut")
    expect(whole.1, cut.1, "violations, whole and cut")
    for reply in whole.0 { _ = ServiceError(reply) }
}

/// A text that was read can be written and read again, and must stay the same.
func fuzzJSON(_ input: Input) {
    let bytes = input.rest
    guard let value = try? JSONValue(parsing: bytes.span) else { return }
    var writer = JSONWriter()
    writer.value(value)
    guard let again = try? JSONValue(parsing: writer.bytes.span) else {
        fatalError("what was written is not read: \(writer.text)")
    }
    expect(again, value, "a value written and read")
    var second = JSONWriter()
    second.value(again)
    expect(second.bytes, writer.bytes, "the text written twice")
}

/// An interface that the portable dialect allows must be the same in the whole language, and every
/// value can be checked against its types.
func fuzzInterface(_ input: Input) {
    let text = input.text
    let portable = try? Interface(parsing: text)
    let whole = try? Interface(parsing: text, dialect: .whole)
    if let portable {
        expect(whole?.types, portable.types, "types")
        expect(whole?.methods, portable.methods, "methods")
    }
    guard let whole else { return }
    let value: JSONObject = ["a": 1, "b": ["a": [nil, "x"]], "c": [:], "app": "x"]
    for name in whole.methods.keys {
        try? whole.check(input: value, of: name)
        try? whole.check(output: value, of: name)
    }
    for name in whole.errors.keys { try? whole.check(error: value, of: name) }
}
