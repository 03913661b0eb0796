import Glibc
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSpawner

@Suite struct `The connection to the supervisor` {
    private let folder: TemporaryDirectory
    private let connection: SupervisorConnection

    init() throws {
        folder = try TemporaryDirectory()
        connection = SupervisorConnection(
            try UnixSocket.listen(at: folder.path + "/spawner", .seqpacket, mode: 0o600))
    }

    private func connect() throws -> SpawnerConnection {
        try SpawnerConnection.connect(to: folder.path + "/spawner")
    }

    /// A child of another test may have a copy of the spawner's end until its exec.
    private func awaitEnd(of supervisor: SpawnerConnection) throws {
        try Patience.wait("the connection does not end") {
            do throws(ConnectionError) {
                let messages = try supervisor.receive()
                #expect(messages.isEmpty)
                return false
            } catch { return true }
        }
    }

    @Test func `tells nothing before the supervisor has said hello`() throws {
        connection.accept { Issue.record("no supervisor has ended") }
        #expect(!connection.isOpen && connection.number == nil)
        let supervisor = try connect()
        connection.accept { Issue.record("no supervisor has ended") }
        #expect(connection.isOpen)
        connection.tell(.ending)
        #expect(try supervisor.receive().isEmpty)
        connection.greet()
        connection.tell(.ending)
        #expect(try supervisor.receive().count == 1)
        try supervisor.send(.reconciled)
        #expect(try connection.receive().map { try SpawnerRequest($0).isReconciled } == true)
        #expect(try connection.receive() == nil)
    }

    @Test func `stays with a live supervisor, whose last messages are read after its end`()
        throws
    {
        var heard: [Bool] = []
        func accept() {
            connection.accept {
                let packet = try? connection.receive()
                heard.append(packet.map { (try? SpawnerRequest($0))?.isReconciled == true } == true)
            }
        }
        let first = try connect()
        accept()
        // A supervisor that never said hello is replaced.
        let second = try connect()
        accept()
        try awaitEnd(of: first)
        connection.greet()
        let third = try connect()
        accept()
        try awaitEnd(of: third)
        connection.tell(.ending)
        #expect(try second.receive().count == 1 && heard == [])

        try second.send(.reconciled)
        shutdown(second.fileDescriptor, CInt(SHUT_RDWR))
        let fourth = try connect()
        accept()
        #expect(heard == [true])
        connection.greet()
        connection.tell(.ending)
        #expect(try fourth.receive().count == 1)

        let before = connection.aloneSince
        connection.disconnect()
        #expect(!connection.isOpen && connection.aloneSince > before)
    }
}

extension SpawnerRequest {
    fileprivate var isReconciled: Bool { if case .reconciled = self { true } else { false } }
}
