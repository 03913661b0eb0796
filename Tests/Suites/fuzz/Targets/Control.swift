import GreenroomControl
import Varlink

private let controlInterface = Interface(trusted: Control.interfaceText)

/// A message with a call. What was decoded must be the same after it was encoded again, and must
/// match the description.
func fuzzControlCall(_ input: Input) {
    var input = input
    let descriptorCount = input.choice() % 8
    var connection = ServerConnection()
    connection.receive(input.rest + [0], descriptorCount: descriptorCount)
    guard let call = connection.nextCall(), let decoded = try? ControlCall(call) else { return }
    var writer = JSONWriter()
    writer.beginObject()
    decoded.encodeMembers(to: &writer)
    writer.endObject()
    guard case .object(let parameters)? = try? JSONValue(parsing: writer.text) else {
        fatalError("what was encoded is not an object")
    }
    let again = Call(
        method: decoded.method, parameters: parameters, wantsMore: call.wantsMore,
        descriptorCount: call.descriptorCount)
    guard let second = try? ControlCall(again) else { fatalError("not decoded again: \(again)") }
    expect(second, decoded, "a call encoded and decoded")
    let name = String(decoded.method.dropFirst(Control.interfaceName.utf8.count + 1))
    do {
        try controlInterface.check(input: parameters, of: name)
    } catch {
        fatalError("\(parameters) is not what is described: \(error)")
    }
}

/// A message with a reply, which is read as the reply to each call in turn.
func fuzzControlReply(_ input: Input) {
    var input = input
    let calls: [ControlCall] = [
        .describe, .list, .status(nil), .prewarm(app: "a.b", count: 1), .launch(.init(app: "a.b")),
        .wait(.instance(1)), .transition(.suspend, .instance(1)),
        .signal(instance: 1, signal: 1), .watch(), .watch(after: 1), .reload, .explain(app: "a.b"),
    ]
    let call = calls[input.choice() % calls.count]
    var connection = ClientConnection()
    connection.call(call.method, call, wantsMore: call.wantsMore)
    connection.receive((input.rest + [0]).span)
    guard let reply = connection.nextReply() else { return }
    if reply.error != nil {
        if let error = try? ControlError(reply) { _ = error.description }
        return
    }
    guard let decoded = try? ControlReply(reply.parameters, to: call) else { return }
    var writer = JSONWriter()
    writer.beginObject()
    decoded.encodeMembers(to: &writer)
    writer.endObject()
    guard case .object(let parameters)? = try? JSONValue(parsing: writer.text),
        let again = try? ControlReply(parameters, to: call)
    else { fatalError("not decoded again: \(writer.text)") }
    expect(again, decoded, "a reply encoded and decoded")
}
