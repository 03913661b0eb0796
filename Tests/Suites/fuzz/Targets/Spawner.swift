import Glibc
import GreenroomLinux
@testable import GreenroomSpawner

/// One descriptor, which is duplicated for each input.
private let null = FileDescriptor(owning: open("/dev/null", O_RDWR | O_CLOEXEC))

/// A packet as it arrives: header, body, and a number of descriptors.
private func packet(_ input: Input) -> Packet? {
    var input = input
    let descriptorCount = input.choice() % 6
    let bytes = input.rest
    guard let (type, flags) = try? Packet.decodeHeader(bytes[...]), flags == 0 else { return nil }
    return Packet(
        type: type, body: Array(bytes.dropFirst(Packet.headerByteCount)),
        descriptors: Array(repeating: null, count: descriptorCount))
}

func fuzzSpawnerRequest(_ input: Input) {
    guard let packet = packet(input), let request = try? SpawnerRequest(packet) else { return }
    let encoded = request.packet()
    guard let again = try? SpawnerRequest(encoded) else { fatalError("not decoded: \(request)") }
    expect(again.packet().body, encoded.body, "a request encoded twice")
    expect(encoded.descriptors.count, packet.descriptors.count, "descriptors")
}

func fuzzSpawnerMessage(_ input: Input) {
    guard let packet = packet(input), let message = try? SpawnerMessage(packet) else { return }
    let encoded = message.packet()
    guard let again = try? SpawnerMessage(encoded) else { fatalError("not decoded: \(message)") }
    expect(again.packet().body, encoded.body, "a message encoded twice")
    expect(encoded.descriptors.count, packet.descriptors.count, "descriptors")
}
