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

    /// The port that the kernel has chosen (getsockname(2)).
    private func port(of socket: FileDescriptor) -> UInt16 {
        // The port is at the same place in both families.
        var six = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        _ = withUnsafeMutablePointer(to: &six) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket.rawValue, $0, &size)
            }
        }
        return UInt16(bigEndian: six.sin6_port)
    }

    @Test(arguments: [
        SocketAddress.path(""), .abstract("greenroom-test-\(getpid())"),
        .internet([127, 0, 0, 1], port: 0), .port(0),
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
        let client =
            try address.isUnix
            ? connect(address, AF_UNIX) : connect(.port(port(of: listener)), AF_INET)
        #expect(!exist(listener), "it waits")
        #expect(try listener.waitUntilReadable(milliseconds: Patience.milliseconds))
        let number = accept(listener.rawValue, nil, nil)
        #expect(number >= 0)
        #expect(exist(listener) && exist(other, listener) && !exist(other))
        close(number)
        #expect(!exist(listener))
        withExtendedLifetime(client) {}
    }
}
