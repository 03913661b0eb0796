import Glibc
import GreenroomLinux
import Testing

@Suite struct `Listening sockets` {
    @Test(arguments: [
        ("/run/x", SocketAddress.path("/run/x")), ("@x", .abstract("x")), ("80", .port(80)),
        ("127.0.0.1:80", .internet([127, 0, 0, 1], port: 80)),
        (
            "[::1]:443",
            .internet([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], port: 443)
        ),
    ])
    func `addresses are systemd's`(text: String, address: SocketAddress) {
        #expect(SocketAddress(text) == address)
    }

    @Test(arguments: ["", "/", "@", "x", "0", "65536", "1.2.3:80", "::1:80", "[::1]", "[::1]:"])
    func `anything else is none`(text: String) { #expect(SocketAddress(text) == nil) }

    @Test func `a path gets its mode and its folders, and an abandoned one is replaced`() throws {
        let directory = "/tmp/greenroom-listening-test-\(getpid())"
        let path = directory + "/a/b"
        defer {
            unlink(path)
            rmdir(directory + "/a")
            rmdir(directory)
        }
        for kind in [ListeningSocket.Kind.stream, .datagram, .sequentialPacket] {
            let socket = try openAbandoned(kind, path)
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
            #expect(throws: SystemError.self) {
                try ListeningSocket.open(kind, at: .path(path), mode: 0o640)
            }
            withExtendedLifetime(socket) {}
        }
    }

    /// What another test starts this moment has every socket until its exec: so long it is not abandoned.
    private func openAbandoned(
        _ kind: ListeningSocket.Kind, _ path: String
    ) throws -> ListeningSocket {
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while true {
            do throws(SystemError) {
                return try ListeningSocket.open(kind, at: .path(path), mode: 0o640)
            } catch {
                guard error.code == EADDRINUSE, ContinuousClock.now < end else { throw error }
                sched_yield()
            }
        }
    }

    @Test func `a process that listens is told from one that does not`() throws {
        let name = "greenroom-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let socket = try ListeningSocket.open(.stream, at: .abstract(name), mode: 0)
        #expect(ListeningProcess.isAmong([getpid()]))
        #expect(!ListeningProcess.isAmong([]))
        withExtendedLifetime(socket) {}
    }
}
