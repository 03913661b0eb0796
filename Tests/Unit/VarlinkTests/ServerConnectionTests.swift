import TestSupport
import Testing
import Varlink

private func message(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

extension ServerConnection {
    /// All messages that wait to be written, each of them ended by `|`.
    fileprivate mutating func written() -> String {
        var bytes: [UInt8] = []
        while let count = withOutput({ span, _ in
            for index in span.indices { bytes.append(span[index]) }
            return span.count
        }) { sent(byteCount: count) }
        return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: "|") : $0 }, as: UTF8.self)
    }
}

@Suite struct `A server's connection` {
    @Test func `the connection splits messages at NULs, however the bytes arrive`() {
        let bytes =
            message(#"{"method":"a.B"}"#) + message(#"{"method":"a.C","parameters":{"x":1}}"#)
        for size in 1...bytes.count {
            var connection = ServerConnection()
            var calls: [Call] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                connection.receive(Array(bytes[start..<min(start + size, bytes.count)]))
                while let call = connection.nextCall() {
                    calls.append(call)
                    connection.reply()
                }
            }
            #expect(calls == [Call(method: "a.B"), Call(method: "a.C", parameters: ["x": 1])])
            #expect(connection.written() == #"{"parameters":{}}|{"parameters":{}}|"#)
        }
    }

    @Test func `the connection delivers the next call only after the final reply`() {
        var connection = ServerConnection()
        connection.receive(
            message(#"{"method":"a.B","more":true}"#) + message(#"{"method":"a.C"}"#))
        #expect(connection.nextCall()?.method == "a.B")
        #expect(connection.nextCall() == nil)
        #expect(!connection.wantsInput)
        connection.update(["n": 1] as JSONObject)
        #expect(connection.nextCall() == nil)
        connection.reply(["n": 2] as JSONObject)
        #expect(connection.nextCall()?.method == "a.C")
        connection.fail(ServiceError.methodNotFound("a.C"))
        #expect(
            connection.written()
                == #"{"parameters":{"n":1},"continues":true}|{"parameters":{"n":2}}|"#
                + #"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"a.C"}}|"#)
    }

    @Test func `the connection sends no reply to a oneway call, not even an error`() {
        var connection = ServerConnection()
        connection.receive(message(#"{"method":"a.B","oneway":true}"#))
        #expect(connection.nextCall()?.isOneway == true)
        connection.reply(["n": 1] as JSONObject)
        connection.receive(message(#"{"method":"a.B","oneway":true}"#))
        _ = connection.nextCall()
        connection.fail(ServiceError.permissionDenied)
        #expect(!connection.hasOutput)
        #expect(connection.wantsInput)
    }

    @Test func `a call that asks for another protocol is answered in this one`() {
        var connection = ServerConnection()
        connection.receive(message(#"{"method":"a.B","upgrade":true}"#))
        #expect(connection.nextCall()?.wantsUpgrade == true)
        connection.reply()
        #expect(connection.written() == #"{"parameters":{}}|"#)
        connection.receive(message(#"{"method":"a.B"}"#))
        #expect(connection.nextCall() != nil)
    }

    @Test(
        arguments: [
            ("", .malformedMessage(.init(parsing: ""))),
            ("garbage", .malformedMessage(.init(parsing: "garbage"))),
            (#"{"method":"a.B""#, .malformedMessage(.init(parsing: #"{"method":"a.B""#))),
            (#"["method"]"#, .notAnObject),
            ("{}", .missingMember("method")),
            (#"{"method":1}"#, .unexpectedMember("method")),
            (#"{"method":null}"#, .unexpectedMember("method")),
            (#"{"method":"a.B","parameters":[]}"#, .unexpectedMember("parameters")),
            (#"{"method":"a.B","more":1}"#, .unexpectedMember("more")),
            (#"{"method":"a.B","extra":1}"#, .unexpectedMember("extra")),
            (#"{"method":"a.B","more":true,"oneway":true}"#, .contradictoryFlags),
            (#"{"method":"a.B","more":true,"upgrade":true}"#, .contradictoryFlags),
            (#"{"method":"a.B","oneway":true,"upgrade":true}"#, .contradictoryFlags),
        ] as [(String, ProtocolViolation)])
    func `the connection ends at invalid input`(text: String, violation: ProtocolViolation) {
        var connection = ServerConnection()
        connection.receive(message(text))
        #expect(connection.nextCall() == nil)
        #expect(connection.violation == violation)
        #expect(!connection.wantsInput)
        connection.receive(message(#"{"method":"a.B"}"#))
        #expect(connection.nextCall() == nil)
    }

    @Test func `the connection ignores extensions with a reverse-DNS name, and nulls`() {
        var connection = ServerConnection()
        connection.receive(
            message(#"{"method":"a.B","org.x.y":[1],"parameters":null,"more":null}"#))
        #expect(connection.nextCall() == Call(method: "a.B"))
    }

    @Test func `the connection refuses a message above the limit before its end has come`() {
        var limits = Limits()
        limits.messageByteCount = 100
        var connection = ServerConnection(limits: limits)
        let exact = #"{"method":"a."# + String(repeating: "B", count: 84) + #""}"#
        connection.receive(message(exact))
        #expect(exact.utf8.count == 99)
        #expect(connection.nextCall() != nil)
        connection.reply()
        connection.receive(Array(exact.utf8) + [0x20])
        #expect(connection.nextCall() == nil)
        #expect(connection.violation == .messageTooLong(limit: 100))
    }

    @Test func `the connection waits for a slow reader, and gives up on one that never reads`() {
        var limits = Limits()
        limits.pausingOutputByteCount = 100
        limits.closingOutputByteCount = 300
        var connection = ServerConnection(limits: limits)
        let call = message(#"{"method":"a.B","more":true}"#)
        connection.receive(call + call)
        _ = connection.nextCall()
        connection.reply(["text": .string(String(repeating: "x", count: 100))] as JSONObject)
        #expect(!connection.wantsInput)
        #expect(connection.nextCall() == nil)
        _ = connection.written()
        #expect(connection.wantsInput)
        _ = connection.nextCall()
        var count = 0
        while connection.violation == nil, count < 100 {
            connection.update(["n": 1] as JSONObject)
            count += 1
        }
        #expect(connection.violation == .outputOverflow(limit: 300))
        #expect(count == 8)
        connection.update(["n": 1] as JSONObject)
        connection.reply()
    }

    @Test func `the connection gives descriptors to the call that they came with`() {
        var connection = ServerConnection()
        let call = message(#"{"method":"a.B"}"#)
        connection.receive(call + call.dropLast(), descriptorCount: 2)
        #expect(connection.nextCall()?.descriptorCount == 0)
        connection.reply()
        connection.receive([0] as [UInt8])
        #expect(connection.nextCall()?.descriptorCount == 2)
        connection.reply()
        connection.receive(call, descriptorCount: 1)
        connection.receive(call, descriptorCount: 3)
        #expect(connection.nextCall()?.descriptorCount == 1)
        connection.reply()
        #expect(connection.nextCall()?.descriptorCount == 3)
        #expect(connection.violation == nil)
    }

    @Test func `the connection refuses too many descriptors, and any in the middle of a message`() {
        let call = message(#"{"method":"a.B"}"#)
        var middle = ServerConnection()
        middle.receive(Array(call[..<5]))
        middle.receive(Array(call[5...]), descriptorCount: 1)
        #expect(middle.violation == .strayDescriptors)
        var many = ServerConnection()
        many.receive(call, descriptorCount: 254)
        #expect(many.violation == .tooManyDescriptors(limit: 253))
    }

    @Test func `the connection sends descriptors with the first byte of their reply`() {
        var connection = ServerConnection()
        let call = message(#"{"method":"a.B"}"#)
        connection.receive(call + call + call)
        for count in [0, 2, 1] {
            _ = connection.nextCall()
            connection.reply(["n": .integer(Int64(count))] as JSONObject, descriptorCount: count)
        }
        let length = 23
        var writes: [[Int]] = []
        while let write = connection.withOutput({ [$0.count, $1] }) {
            writes.append(write)
            // The kernel may take only a part; the rest goes without descriptors.
            connection.sent(byteCount: min(write[0], 10))
        }
        #expect(
            writes == [
                [length, 0], [length - 10, 0], [length - 20, 0],
                [length, 2], [length - 10, 0], [length - 20, 0],
                [length, 1], [length - 10, 0], [length - 20, 0],
            ])
    }

    @Test func `the connection survives 20,000 pieces of random garbage`() {
        var random = SeededGenerator()
        let pieces = [
            "{", "}", "[", "]", "\"", "method", ":", ",", "\\u", "d800", "1e9", "-", "null",
            "\"method\":\"a.B\"", "\u{0}", "true", "é",
        ]
        for _ in 0..<20_000 {
            var connection = ServerConnection()
            var text = ""
            for _ in 0..<random.next(upperBound: UInt(12)) {
                text += pieces.randomElement(using: &random)!
            }
            connection.receive(Array(text.utf8) + [UInt8.random(in: 0...255, using: &random), 0])
            while connection.nextCall() != nil { connection.reply() }
        }
    }
}

extension JSONSyntaxError {
    /// The error that the parser reports for this text.
    fileprivate init(parsing text: String) {
        do throws(JSONSyntaxError) {
            _ = try JSONValue(parsing: text)
            fatalError("\(text) is right")
        } catch {
            self = error
        }
    }
}
