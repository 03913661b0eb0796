import Glibc
import GreenroomLinux
import TestSupport
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
    func `addresses are written as systemd writes them`(text: String, address: SocketAddress) {
        #expect(SocketAddress(text) == address)
    }

    @Test(arguments: ["", "/", "@", "x", "0", "65536", "1.2.3:80", "::1:80", "[::1]", "[::1]:"])
    func `another text is not an address`(text: String) { #expect(SocketAddress(text) == nil) }

    @Test func `a socket's path gets its mode and folders, and an abandoned socket is replaced`()
        throws
    {
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

    /// A child that another test is starting holds every socket until its exec.
    private func openAbandoned(
        _ kind: ListeningSocket.Kind, _ path: String
    ) throws -> ListeningSocket {
        let end = ContinuousClock.now.advanced(by: .milliseconds(Patience.milliseconds))
        while true {
            do throws(SystemError) {
                return try ListeningSocket.open(kind, at: .path(path), mode: 0o640)
            } catch {
                guard error.code == EADDRINUSE, ContinuousClock.now < end else { throw error }
                poll(nil, 0, 1)
            }
        }
    }

    @Test func `a process that listens is distinguished from one that does not`() throws {
        let name = "greenroom-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let socket = try ListeningSocket.open(.stream, at: .abstract(name), mode: 0)
        #expect(ListeningProcess.isAmong([getpid()]))
        #expect(!ListeningProcess.isAmong([]))
        withExtendedLifetime(socket) {}
    }

    @Test func `a search ends at the limit on descriptors of all processes together`() throws {
        let name = "greenroom-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        let socket = try ListeningSocket.open(.stream, at: .abstract(name), mode: 0)
        func waiting(_ input: Int32) throws -> ChildProcess {
            var request = ChildRequest("/bin/sleep", arguments: ["sleep", "1000"])
            request.descriptors[0] = input
            return try ChildProcess(request)
        }
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let (other, listening) = (try waiting(null), try waiting(socket.descriptor.rawValue))
        #expect(ListeningProcess.isAmong([listening.pid], descriptors: 3))
        #expect(ListeningProcess.isAmong([other.pid, listening.pid], descriptors: 6))
        #expect(!ListeningProcess.isAmong([other.pid, listening.pid], descriptors: 1))
    }
}

@Suite struct `File name patterns` {
    @Test func `are compared with a limited number of names in all folders together`() throws {
        let folder = try TemporaryDirectory()
        for name in 0..<8 {
            mkdir("\(folder.path)/\(name)", 0o755)
            try folder.write("", to: "\(name)/file")
        }
        let pattern = folder.path + "/*/*"
        // 10 names in the folder, with "." and "..", and 3 in each below.
        #expect(FolderContents.hasMatch(pattern, atMost: 34))
        #expect(FolderContents.hasMatch(folder.path + "/{x,3}/f*", atMost: 3))
        #expect(!FolderContents.hasMatch(pattern, atMost: 10))
        #expect(!FolderContents.hasMatch(folder.path + "/*/other", atMost: 34))
    }
}
