import GreenroomAppChannel
import TestSupport
import Testing

@Suite struct CodecTests {
    static let appMessages: [AppMessage] = [
        .paused(.init(reason: .main, threadCount: 1, argumentCount: 1, instant: 123)),
        .paused(.init(reason: .call, threadCount: .max, argumentCount: 0, instant: .max)),
        .started(cookie: 0), .started(cookie: .max), .pong(cookie: 5),
        .startedAnew(cookie: 3, .options), .startedAnew(cookie: .max, .failed),
        .error(errno: 71, cookie: 9), .error(errno: -1, cookie: 0),
        .opening(0, .next), .opening(7, .failed), .opening(.max, .done),
        .wantsName("org.example.Named"), .wantsName(String(repeating: "a", count: 255)),
    ]

    static func launches() throws -> [GoMessage] {
        [
            GoMessage(arguments: try StringList(["a"]), environment: StringList()),
            GoMessage(
                arguments: try StringList(["name", "", "ü"]), environment: try StringList(["A=1"]),
                flags: [.newSession, .controllingTerminal, .directoryByName], umask: 0o777,
                roles: [.place(0), .place(.max), .workingDirectory], cookie: .max),
            GoMessage(
                arguments: try StringList(["a"]),
                environment: try StringList([String(repeating: "x", count: 200_000)]), umask: 0,
                roles: (0..<27).map { .place($0) }, cookie: 1),
        ]
    }

    private func decode(_ encoded: DaemonMessage.Encoded, descriptors: Int) throws -> DaemonMessage
    {
        try DaemonMessage(
            decoding: encoded.datagram.span.bytes, descriptorCount: descriptors,
            readStrings: { (index, count) throws(WireError) in
                guard let strings = encoded.descriptorStrings, index == descriptors - 1 else {
                    throw .malformedStrings
                }
                return Array(strings.prefix(count))
            })
    }

    @Test(arguments: appMessages)
    func `the daemon reads every message as an app wrote it`(message: AppMessage) throws {
        #expect(try AppMessage(decoding: message.encoded()) == message)
        var count = WireFormat.headerByteCount
        if case .wantsName(let name) = message { count += name.utf8.count + 1 }
        #expect(try message.encoded().count == count)
    }

    @Test func `an app reads every message as the daemon wrote it`() throws {
        for launch in try Self.launches() {
            let encoded = try DaemonMessage.go(launch).encoded()
            #expect((encoded.descriptorStrings != nil) == launch.needsStringDescriptor)
            #expect(encoded.datagram.count <= WireFormat.datagramLimit)
            let descriptors = launch.roles.count + (launch.needsStringDescriptor ? 1 : 0)
            #expect(try decode(encoded, descriptors: descriptors) == .go(launch))
        }
        for message in [DaemonMessage.ping(cookie: 7), .quit] {
            #expect(try decode(message.encoded(), descriptors: 0) == message)
        }
    }

    @Test func `a string list keeps empty strings and refuses NUL`() throws {
        let list = try StringList(["", "a", ""])
        #expect(list.strings == ["", "a", ""])
        #expect(list.count == 3)
        #expect(list.bytes == [0, 97, 0, 0])
        #expect(StringList().strings.isEmpty)
        #expect(throws: WireError.stringContainsNUL(index: 1)) { try StringList(["a", "b\0c"]) }
    }

    @Test func `a launch beyond a limit is not encoded`() throws {
        let one = try StringList(["a"])
        func expect(_ error: WireError, _ message: GoMessage) {
            #expect(throws: error) { try DaemonMessage.go(message).encoded() }
        }
        expect(.noArguments, GoMessage(arguments: StringList(), environment: one))
        expect(.invalidUmask(0o1000), GoMessage(arguments: one, environment: one, umask: 0o1000))
        expect(
            .tooManyDescriptors(29),
            GoMessage(
                arguments: one, environment: one, roles: (0..<29).map { .place(Int32($0)) }))
        expect(
            .duplicateRole(4),
            GoMessage(arguments: one, environment: one, roles: [.place(4), .place(4)]))
        expect(
            .unknownRole(-5), GoMessage(arguments: one, environment: one, roles: [.place(-5)]))
        expect(
            .unknownFlags(64),
            GoMessage(arguments: one, environment: one, flags: .init(rawValue: 64)))
        let huge = try StringList([String(repeating: "x", count: WireFormat.stringLimit)])
        expect(
            .tooManyStringBytes(WireFormat.stringLimit + 3),
            GoMessage(arguments: one, environment: huge))
    }

    @Test func `each mistake in a message has its own error`() throws {
        let good = try AppMessage.pong(cookie: 1).encoded()
        func expect(_ error: WireError, changing offset: Int, to byte: UInt8) {
            var bytes = good
            bytes[offset] = byte
            #expect(throws: error) { try AppMessage(decoding: bytes) }
        }
        expect(.wrongMagic(0x3143_5200), changing: 0, to: 0)
        expect(.unsupportedVersion(2), changing: 4, to: 2)
        expect(.unknownType(16), changing: 6, to: 16)
        expect(.unknownType(200), changing: 6, to: 200)
        expect(.unusedFieldSet(type: 3), changing: 8, to: 1)
        expect(.unusedFieldSet(type: 3), changing: 20, to: 1)
        expect(.wrongDescriptorCount(announced: 1, received: 0), changing: 28, to: 1)
        #expect(throws: WireError.truncated(byteCount: 0)) { try AppMessage(decoding: []) }
        #expect(throws: WireError.truncated(byteCount: 159)) {
            try AppMessage(decoding: Array(good.dropLast()))
        }
        #expect(throws: WireError.wrongLength(announced: 0, received: 1)) {
            try AppMessage(decoding: good + [0])
        }
        #expect(throws: WireError.wrongDescriptorCount(announced: 0, received: 2)) {
            try AppMessage(decoding: good, descriptorCount: 2)
        }
        var paused = try Self.appMessages[0].encoded()
        paused[40] = 9
        #expect(throws: WireError.unknownPauseReason(9)) { try AppMessage(decoding: paused) }
    }

    @Test func `a message read from random bytes always encodes to the same bytes`() throws {
        var generator = SeededGenerator()
        let seeds =
            try Self.launches().prefix(2).map { try DaemonMessage.go($0).encoded().datagram }
            + Self.appMessages.map { try $0.encoded() }
        var decoded = 0
        for round in 0..<30_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                bytes[.random(in: 0..<bytes.count)] = .random(in: .min ... .max, using: &generator)
            }
            if round % 7 == 0 { bytes.removeLast(.random(in: 0..<bytes.count, using: &generator)) }
            if round % 11 == 0 { bytes.append(0) }
            let descriptors = round % 2 == 0 ? Int(bytes.count > 28 ? bytes[28] : 0) : 0
            // (Events and reports ignore what they do not know: they have a test of their own.)
            if bytes.count > 6, bytes[6] >= 32 { continue }
            if let message = try? AppMessage(decoding: bytes, descriptorCount: descriptors) {
                // A reason that is not known counts as `failed`, because the process has started.
                let status = bytes[40..<44].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                if case .startedAnew(_, .failed) = message,
                    AnewStatus(rawValue: Int32(bitPattern: status)) == nil
                {
                    continue
                }
                #expect(try message.encoded().prefix(48) == bytes.prefix(48))
                decoded += 1
            }
            if let message = try? DaemonMessage(
                decoding: bytes.span.bytes, descriptorCount: descriptors)
            {
                let again = try message.encoded().datagram
                #expect(again.prefix(48) == bytes.prefix(48))
                #expect(again.dropFirst(160) == bytes.dropFirst(160))
                decoded += 1
            }
        }
        #expect(decoded > 1000, "the mutations are so wild that nothing was tested")
    }
}
