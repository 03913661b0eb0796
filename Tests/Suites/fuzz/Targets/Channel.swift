import GreenroomAppChannel

/// Messages of an app to the daemon.
func fuzzAppMessage(_ input: Input) {
    var input = input
    let descriptorCount = input.choice() % 3
    guard
        let message = try? AppMessage(decoding: input.rest, descriptorCount: descriptorCount)
    else { return }
    guard let again = try? AppMessage(decoding: message.encoded()) else {
        fatalError("not decoded again: \(message)")
    }
    expect(again, message, "a message encoded and decoded")
}

/// Messages of the daemon to an app. The end of the input is the content of the strings'
/// descriptor.
func fuzzDaemonMessage(_ input: Input) {
    var input = input
    let (descriptorCount, stringCount) = (input.choice() % 32, input.choice())
    let bytes = input.rest
    let message = try? bytes.withUnsafeBytes { buffer in
        try DaemonMessage(
            decoding: buffer.bytes, descriptorCount: descriptorCount,
            readStrings: { (_, byteCount) throws(WireError) in
                let strings = Array(bytes.suffix(stringCount))
                guard strings.count == byteCount else {
                    throw .wrongLength(announced: byteCount, received: strings.count)
                }
                return strings
            })
    }
    guard let message else { return }
    guard let encoded = try? message.encoded() else { fatalError("not encoded: \(message)") }
    guard encoded.descriptorStrings == nil, case .go(let go) = message else { return }
    let again = try? encoded.datagram.withUnsafeBytes {
        try DaemonMessage(decoding: $0.bytes, descriptorCount: go.roles.count)
    }
    expect(again, message, "a message encoded and decoded")
}
