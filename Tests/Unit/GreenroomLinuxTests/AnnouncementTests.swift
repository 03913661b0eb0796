import Glibc
import GreenroomLinux
import Testing

/// The message of the process that waits for an exec, and the cases in which it sends none.
@Suite struct AnnouncementTests {
    private static let message = Array("runs: ....".utf8)
    private static let pidOffset = 6

    private let input: FileDescriptor
    /// The program runs as long as this is open.
    private let stay: FileDescriptor

    init() throws { (input, stay) = try FileDescriptor.pipe() }

    private func start(
        _ path: String, announcingTo socket: UnixSocket, channel: FileDescriptor? = nil,
        avoidsClone3: Bool = false
    ) throws -> (announced: SpawnUnderWay.Announced, end: SpawnUnderWay.End) {
        var request = SpawnRequest(path: path, arguments: ["cat"], environment: [])
        request.descriptors = [.init(input.rawValue, at: 0), .init(2, at: 1), .init(2, at: 2)]
        request.announcement = .init(
            to: socket, Self.message, pidAt: Self.pidOffset, channel: channel)
        request.avoidsClone3 = avoidsClone3
        let spawn = try request.begin()
        while waitpid(spawn.waiter, nil, 0) < 0, errno == EINTR {}
        #expect(spawn.isOver)
        return (spawn.announced, spawn.end())
    }

    private func kill(_ spawned: Spawned?) throws {
        let process = try #require(spawned).process
        try process.send(signal: SIGKILL)
        #expect(try process.wait() == .signaled(SIGKILL, coreDumped: false))
    }

    private func received(
        from socket: UnixSocket
    ) throws -> (bytes: [UInt8], descriptors: [FileDescriptor])? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let message = try buffer.withUnsafeMutableBytes { try socket.receive(into: $0) }
        return message.map { (Array(buffer.prefix($0.byteCount)), $0.descriptors) }
    }

    @Test(arguments: [false, true])
    func `it names the process, and brings its descriptor and the channel`(
        _ avoidsClone3: Bool
    ) throws {
        defer { withExtendedLifetime(stay) {} }
        let (ours, theirs) = try UnixSocket.pair(.seqpacket)
        let channel = try FileDescriptor.open("/dev/null", O_RDONLY)
        let (announced, end) = try start(
            "/bin/cat", announcingTo: ours, channel: channel, avoidsClone3: avoidsClone3)
        #expect(announced == .yes)
        let spawned = try end.get()
        let (bytes, descriptors) = try #require(try received(from: theirs))
        var expected = Self.message
        for index in 0..<4 {
            expected[Self.pidOffset + index] = UInt8(truncatingIfNeeded: spawned.pid >> (8 * index))
        }
        #expect(bytes == expected && descriptors.count == 2)
        #expect(try descriptors.last?.identity().inode == channel.identity().inode)
        let process = ProcessDescriptor(try #require(descriptors.first))
        try process.send(signal: SIGTERM)
        #expect(try spawned.process.wait() == .signaled(SIGTERM, coreDumped: false))
        #expect(try received(from: theirs) == nil)
    }

    @Test func `there is none of a program that cannot be executed`() throws {
        defer { withExtendedLifetime(stay) {} }
        let (ours, theirs) = try UnixSocket.pair(.seqpacket)
        let (announced, end) = try start("/nonexistent", announcingTo: ours)
        #expect(announced == .no && end.error?.stage == .execute)
        #expect(throws: SpawnError.self) { try end.get() }
        #expect(try received(from: theirs) == nil)
    }

    @Test func `nobody waits for a receiver that reads nothing or is gone`() throws {
        defer { withExtendedLifetime(stay) {} }
        let (ours, theirs) = try UnixSocket.pair(.seqpacket)
        while try ours.send([0]) != nil {}
        let (unread, first) = try start("/bin/cat", announcingTo: ours)
        #expect(unread == .no && first.error == nil)
        try kill(first.spawned)
        shutdown(theirs.descriptor.rawValue, CInt(SHUT_RDWR))
        let (unheard, second) = try start("/bin/cat", announcingTo: ours)
        #expect(unheard == .no && second.error == nil)
        try kill(second.spawned)
    }
}
