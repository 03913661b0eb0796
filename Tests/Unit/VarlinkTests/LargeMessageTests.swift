import Testing
import Varlink

@Suite struct `A long message` {
    private func bytes(_ pad: Int) -> [UInt8] {
        Array(#"{"method":"#.utf8) + Array(repeating: UInt8(ascii: " "), count: pad)
            + Array(#""a.B"}"#.utf8) + [0]
    }

    @Test func `a message ends at its NUL, at any offset`() {
        for pad in 0..<64 {
            var connection = ServerConnection()
            connection.receive(bytes(pad) + bytes(63 - pad))
            for _ in 0..<2 {
                #expect(connection.nextCall() == Call(method: "a.B"))
                connection.reply()
            }
            #expect(!connection.hasInput)
        }
    }

    @Test func `a message may arrive in portions, and bytes above 127 do not end it`() {
        let text = String(repeating: "é\u{80}\u{7f}\u{1}", count: 100_000)
        var message = Array(#"{"method":"a.B","parameters":{"x":""#.utf8)
        message += Array(text.utf8.filter { $0 >= 0x20 }) + Array(#""}}"#.utf8) + [0]
        var connection = ServerConnection()
        for start in stride(from: 0, to: message.count, by: 8 << 10) {
            #expect(connection.incompleteByteCount == start)
            connection.receive(Array(message[start..<min(start + (8 << 10), message.count)]))
            if start + (8 << 10) < message.count { #expect(connection.nextCall() == nil) }
        }
        let call = connection.nextCall()
        #expect(call?.method == "a.B")
        #expect(connection.callByteCount == message.count - 1)
        #expect(!connection.hasInput)
    }

    @Test func `a message without an end is refused at the limit`() {
        var limits = Limits.standard
        limits.messageByteCount = 1 << 20
        var connection = ServerConnection(limits: limits)
        let portion = Array(repeating: UInt8(ascii: " "), count: 8 << 10)
        for _ in 0..<127 {
            connection.receive(portion)
            #expect(connection.nextCall() == nil)
            #expect(connection.violation == nil)
        }
        connection.receive(portion)
        #expect(connection.nextCall() == nil)
        #expect(connection.violation == .messageTooLong(limit: 1 << 20))
    }
}
