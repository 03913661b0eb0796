import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Connections that a process has accepted, as /proc shows them.
@Suite struct AcceptedConnectionTests {
    private func connect(_ address: SocketAddress, _ family: CInt) throws -> FileDescriptor {
        let client = FileDescriptor(owning: socket(family, CInt(SOCK_STREAM.rawValue), 0))
        var storage = sockaddr_storage()
        let size = withUnsafeMutableBytes(of: &storage) { bytes -> Int in
            switch address {
            case .path(let name), .abstract(let name):
                let isPath = address == .path(name)
                bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
                let first = isPath ? 2 : 3
                for (index, byte) in name.utf8.enumerated() { bytes[first + index] = byte }
                return first + name.utf8.count + (isPath ? 1 : 0)
            case .internet(_, let port), .port(let port):
                var four = sockaddr_in()
                four.sin_family = sa_family_t(AF_INET)
                four.sin_port = port.bigEndian
                four.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
                bytes.storeBytes(of: four, as: sockaddr_in.self)
                return MemoryLayout<sockaddr_in>.size
            case .virtual: return 0
            }
        }
        let result = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(client.rawValue, $0, socklen_t(size))
            }
        }
        guard result == 0 else { throw TestError("connecting: errno \(errno)") }
        return client
    }

    private static let port = UInt16(20_000 + Int(getpid()) % 20_000)

    @Test(arguments: [
        SocketAddress.path(""), .abstract("greenroom-test-\(getpid())"),
        .internet([127, 0, 0, 1], port: port), .port(port + 1),
    ])
    func `a connection counts from its acceptance to its end`(given: SocketAddress) throws {
        let folder = try TemporaryDirectory()
        let address = given == .path("") ? .path(folder.path + "/socket") : given
        let listener = try ListeningSocket.open(.stream, at: address, mode: 0o600).descriptor
        let other = try ListeningSocket.open(
            .stream, at: .path(folder.path + "/other"), mode: 0o600
        ).descriptor
        func exist(_ listeners: FileDescriptor...) -> Bool {
            AcceptedConnections.exist(in: [getpid()], acceptedOn: listeners)
        }
        #expect(!exist(listener))
        let client = try connect(address, address.isUnix ? AF_UNIX : AF_INET)
        #expect(!exist(listener), "it waits")
        #expect(try listener.waitUntilReadable(milliseconds: 0))
        let number = accept(listener.rawValue, nil, nil)
        #expect(number >= 0)
        #expect(exist(listener) && exist(other, listener) && !exist(other))
        close(number)
        #expect(!exist(listener))
        withExtendedLifetime(client) {}
    }
}
