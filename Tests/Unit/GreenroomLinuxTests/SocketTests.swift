import Glibc
import GreenroomLinux
import Testing

@Suite struct SocketTests {
    private func receive(
        _ socket: UnixSocket, _ byteCount: Int = 64
    ) throws -> (message: ReceivedMessage, bytes: [UInt8])? {
        var buffer = [UInt8](repeating: 0, count: byteCount)
        let message = try buffer.withUnsafeMutableBytes { try socket.receive(into: $0) }
        return message.map { ($0, Array(buffer.prefix($0.byteCount))) }
    }

    /// Ends a socket, even if a child of another test has a copy of it until its exec.
    private func close(_ socket: UnixSocket) {
        shutdown(socket.descriptor.rawValue, CInt(SHUT_RDWR))
        Glibc.close(socket.descriptor.release())
    }

    @Test func `descriptors and credentials arrive with their message`() throws {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        try b.setPassesCredentials(true)
        let (reading, writing) = try FileDescriptor.pipe()
        #expect(
            try a.send([1, 2, 3], descriptors: [reading.rawValue, writing.rawValue]) == 3)
        let (message, bytes) = try #require(try receive(b))
        #expect(bytes == [1, 2, 3])
        #expect(message.credentials == Credentials(pid: getpid(), user: getuid(), group: getgid()))
        #expect(message.descriptors.count == 2)
        #expect(try message.descriptors[0].identity() == reading.identity())
        #expect(fcntl(message.descriptors[1].rawValue, F_GETFD) == FD_CLOEXEC)
        #expect(try b.peerCredentials().pid == getpid())
    }

    /// Queued descriptors come after ordinary bytes, or after a byte sent with MSG_OOB, at which
    /// MSG_PEEK stops.
    @Test func `the count of queued bytes tells whether descriptors may be queued`() throws {
        func look(_ fill: (UnixSocket) throws -> Void) throws -> String {
            let (a, b) = try UnixSocket.pair(.stream)
            try fill(a)
            let (before, after) = (b.queue, b.queue)
            #expect("\(before)" == "\(after)")
            return "\(after)"
        }
        let long = [UInt8](repeating: 1, count: 100_000)
        #expect(try look { _ in } == "bytes(isLast: false)")
        #expect(try look { _ = try $0.send(long) } == "bytes(isLast: false)")
        #expect(
            try look {
                _ = try $0.send(long)
                shutdown($0.descriptor.rawValue, CInt(SHUT_WR))
            } == "bytes(isLast: true)")
        #expect(
            try look {
                _ = try $0.send(long)
                _ = try $0.send([2], descriptors: [0])
            } == "perhapsDescriptors")
        #expect(
            try look {
                _ = try $0.send([1])
                _ = send($0.descriptor.rawValue, "2", 1, CInt(MSG_OOB))
                _ = try $0.send([3], descriptors: [0])
            } == "perhapsDescriptors")
    }

    /// A look does not receive the descriptors, so nobody has to close them.
    @Test func `looking at a message tells whether there are descriptors`() throws {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        _ = try a.send([1, 2], descriptors: [0, 1])
        _ = try a.send([3])
        var buffer = [UInt8](repeating: 0, count: 64)
        func peek() throws -> String {
            let seen = try buffer.withUnsafeMutableBytes { try b.peek(into: $0) }
            return seen.map { "\($0.byteCount) \($0.hasDescriptors)" } ?? "-"
        }
        #expect(try peek() == "2 true")
        #expect(try peek() == "2 true")
        #expect(try receive(b)?.message.descriptors.count == 2)
        #expect(try peek() == "1 false")
        #expect(buffer[0] == 3)
        try b.discard()
        #expect(try peek() == "-")
        close(a)
        #expect(try peek() == "0 false")
    }

    @Test func `a socket that refuses descriptors gets none, if the kernel supports that`() throws {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        try b.refuseDescriptors()
        do throws(SystemError) {
            _ = try a.send([1], descriptors: [0])
        } catch {
            #expect(error.code == EPERM)
            #expect(try receive(b) == nil)
        }
        _ = try a.send([2])
        while let next = try receive(b), next.bytes != [2] {
            #expect(next.bytes == [1])
        }
    }

    @Test func `an empty socket would wait, a closed one has ended, and sending to it throws`()
        throws
    {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        #expect(try receive(b) == nil)
        close(a)
        #expect(try receive(b)?.message.byteCount == 0)
        do {
            _ = try b.send([1])
            Issue.record("sent into nothing")
        } catch { #expect(error.isDisconnection) }
    }

    @Test func `a process is known by its number only while its end of the socket is open`() throws
    {
        let (ours, theirs) = try UnixSocket.pair(.seqpacket)
        for process in [ours.otherProcess(), ours.processByNumber()] {
            let number = try #require(process).descriptor.rawValue
            let facts = try SmallFile.text(of: "/proc/self/fdinfo/\(number)")
            #expect(facts.contains("\nPid:\t\(getpid())\n"))
        }
        #expect(!ours.isEnded)
        close(theirs)
        #expect(ours.isEnded && ours.processByNumber() == nil)
    }

    @Test func `a packet that is longer than the buffer is reported as truncated`() throws {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        _ = try a.send([UInt8](repeating: 7, count: 100))
        let (message, bytes) = try #require(try receive(b, 10))
        #expect(message.isTruncated)
        #expect(bytes.count == 10)
    }

    @Test func `a full socket would wait`() throws {
        let (a, b) = try UnixSocket.pair(.seqpacket)
        while try a.send([UInt8](repeating: 0, count: 1000)) != nil {}
        _ = try receive(b, 1000)
    }

    @Test func `a socket file without a listener is replaced, and one with a listener is not`()
        throws
    {
        let path = "/tmp/greenroom-socket-test-\(getpid())"
        defer { unlink(path) }
        let first = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        do {
            _ = try UnixSocket.listen(at: path, .stream, mode: 0o600)
            Issue.record("took over a living socket")
        } catch { #expect(error.code == EADDRINUSE) }
        #expect(try first.accept() != nil)  // the probe of the second
        #expect(try first.accept() == nil)
        close(first)
        let second = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        let client = try UnixSocket.connect(to: path, .stream)
        #expect(try second.accept() != nil)
        withExtendedLifetime(client) {}
    }

    @Test func `the error for a path that is too long says what to do`() throws {
        do {
            _ = try UnixSocket.listen(
                at: "/tmp/" + String(repeating: "x", count: 108), .stream, mode: 0o600)
            Issue.record("bound")
        } catch { #expect(error.description.contains("107 bytes")) }
    }
}
