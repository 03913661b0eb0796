import Testing
import Varlink

@Suite struct `A client's connection` {
    private func receive(_ text: String, _ connection: inout ClientConnection) {
        let bytes = Array(text.utf8) + [0]
        connection.receive(bytes.span)
    }

    @Test func `a client's connection speaks with a server's connection`() {
        var client = ClientConnection()
        var server = ServerConnection()
        client.call(Call(method: "a.B", parameters: ["x": "ü\n"], wantsMore: true))
        client.call(Call(method: "a.C", isOneway: true))
        client.call("a.D", ["y": 1.5] as JSONObject)
        var received: [Call] = []
        while let bytes = client.withOutput({ span, _ in span.indices.map { span[$0] } }) {
            server.receive(bytes)
            client.sent(byteCount: bytes.count)
        }
        while let call = server.nextCall() {
            received.append(call)
            if call.wantsMore { server.update(["n": 1] as JSONObject) }
            server.reply(["last": true] as JSONObject)
        }
        #expect(
            received == [
                Call(method: "a.B", parameters: ["x": "ü\n"], wantsMore: true),
                Call(method: "a.C", isOneway: true),
                Call(method: "a.D", parameters: ["y": 1.5]),
            ])
        while let bytes = server.withOutput({ span, _ in span.indices.map { span[$0] } }) {
            client.receive(bytes.span)
            server.sent(byteCount: bytes.count)
        }
        var replies: [Reply] = []
        while let reply = client.nextReply() { replies.append(reply) }
        #expect(
            replies == [
                Reply(parameters: ["n": 1], continues: true), Reply(parameters: ["last": true]),
                Reply(parameters: ["last": true]),
            ])
        #expect(!client.isWaiting)
    }

    @Test(
        arguments: [
            (#"{"parameters":{},"continues":true}"#, .unexpectedReply),
            (#"{"error":"a.E","continues":true}"#, .contradictoryFlags),
            (#"{"extra":1}"#, .unexpectedMember("extra")),
            (#"{"error":1}"#, .unexpectedMember("error")),
            ("[]", .notAnObject),
        ] as [(String, ProtocolViolation)])
    func `a client's connection ends at an invalid reply`(
        text: String, violation: ProtocolViolation
    ) {
        var connection = ClientConnection()
        connection.call(Call(method: "a.B"))
        receive(text, &connection)
        #expect(connection.nextReply() == nil)
        #expect(connection.violation == violation)
    }

    @Test func `a client's connection ends at a reply without a call`() {
        var connection = ClientConnection()
        receive("{}", &connection)
        #expect(connection.nextReply() == nil)
        #expect(connection.violation == .unexpectedReply)
    }
}
