import Glibc
import GreenroomAppChannel
import GreenroomLinux
import Varlink

@_silgen_name("greenroom_fuzz_shim")
private func shim(_ bytes: UnsafePointer<UInt8>?, _ count: Int)

/// The decoder of a paused process (shim.c).
func fuzzShim(_ input: Input) {
    input.rest.withUnsafeBufferPointer { shim($0.baseAddress, $0.count) }
}

/// The kinds of descriptors: a file, a folder, both ends of a pipe.
private let kinds: [FileDescriptor] = {
    var ends: [CInt] = [-1, -1]
    _ = pipe(&ends)
    return [
        open("/dev/null", O_RDWR | O_CLOEXEC), open("/", O_RDONLY | O_CLOEXEC), ends[0], ends[1],
    ]
    .map { FileDescriptor(owning: $0) }
}()

/// Sends messages with descriptors through a real socket into each connection that takes some. As
/// many must arrive as were sent, or the loss must be reported; and none may be left open.
func fuzzDescriptors(_ input: Input) {
    _ = kinds
    let lowest = lowestFree()
    exchange(input)
    expect(lowestFree(), lowest, "the lowest free descriptor")
}

private func lowestFree() -> CInt {
    let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
    close(number)
    return number
}

private func exchange(_ input: Input) {
    var input = input
    let isStream = input.choice() & 1 == 1
    guard let (ours, theirs) = try? UnixSocket.pair(isStream ? .stream : .seqpacket) else { return }
    var connection = ServerConnection()
    var buffer = [UInt8](repeating: 0, count: 512)
    var (sent, received) = (0, 0)
    while !input.bytes.isEmpty {
        let (length, count, room) = (input.choice(), input.choice() % 40, input.choice() * 2 + 1)
        let bytes = input.take(length)
        guard !bytes.isEmpty else { continue }
        let numbers = (0..<count).map { kinds[($0 + length) % kinds.count].rawValue }
        let isSent = (try? theirs.send(bytes, descriptors: numbers)) ?? nil != nil
        guard isSent else { return }
        sent += count
        while let message = receive(from: ours, into: &buffer, atMost: room) {
            guard message.byteCount > 0 else { return }
            received += message.descriptors.count
            let numbers = Set(message.descriptors.map(\.rawValue))
            guard received <= sent, numbers.count == message.descriptors.count else {
                fatalError("\(received) of \(sent) descriptors came")
            }
            if message.lostDescriptors { sent = received }
            let part = Array(buffer.prefix(message.byteCount))
            _ = try? AppMessage(decoding: part, descriptorCount: numbers.count)
            guard connection.violation == nil else { continue }
            connection.receive(part, descriptorCount: message.descriptors.count)
            while let call = connection.nextCall() {
                if call.descriptorCount > received { fatalError("a call has more than came") }
                connection.reply(call.parameters)
            }
        }
    }
}

private func receive(
    from socket: UnixSocket, into buffer: inout [UInt8], atMost room: Int
) -> ReceivedMessage? {
    buffer.withUnsafeMutableBytes { bytes in
        (try? socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<room]))) ?? nil
    }
}
