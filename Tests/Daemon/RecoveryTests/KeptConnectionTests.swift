import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// A message may bring the client's own end of a connection. When the client is gone, only the
/// daemon has that end, and the connection would never end by itself.
@Suite struct KeptConnectionTests {
    private static let app = "org.example.app"
    /// More than the 30 s for which the daemon lets descriptors wait for the rest of their message.
    private static let patience = 2 * Processes.deadline
    private static let half = Array("{".utf8)

    /// What holds up the message that contains the connection's own end.
    enum Obstacle: CaseIterable {
        case missingRest
        /// The ends of two connections, each in an unfinished message on the other one.
        case exchangedEnds
        case earlierCall, unreadReplies, urgentData
    }

    private func daemon() throws -> TestDaemon {
        try TestDaemon([program(Self.app, try compileProbe("behave.c"))])
    }

    private func send(_ bytes: [UInt8], _ descriptors: [Int32], to client: TestClient) throws {
        let count = cts_send(
            client.descriptor, bytes, bytes.count, descriptors, Int32(descriptors.count))
        try #require(count == bytes.count)
    }

    /// Makes a call that is not answered before the test is over.
    @discardableResult
    private func wait(_ client: TestClient, _ daemon: TestDaemon) throws -> UInt64 {
        let instance = try daemon.client().launch(Self.app, ["wait-forever"]).instance
        try client.send(.wait(.instance(instance)))
        return instance
    }

    /// Sends the connection's own end, together with the pipe's writing end.
    private func leaveConnection(_ daemon: TestDaemon, _ obstacle: Obstacle, _ pipe: Pipe) throws {
        let (client, other) = (try daemon.client(), try daemon.client())
        _ = (try client.list(), try other.list())
        switch obstacle {
        case .missingRest: try send(Self.half, [client.descriptor, pipe.writeEnd], to: client)
        case .exchangedEnds:
            try send(Self.half, [other.descriptor, pipe.writeEnd], to: client)
            try send(Self.half, [client.descriptor, pipe.writeEnd], to: other)
        case .earlierCall:
            try wait(client, daemon)
            _ = try other.list()
            try send(Self.half, [client.descriptor, pipe.writeEnd], to: client)
        case .unreadReplies:
            let call = Array(
                (#"{"method":"org.varlink.service.GetInterfaceDescription","#
                    + #""parameters":{"interface":"io.greenroom.Control"}}"#).utf8)
            try client.send(bytes: Array(repeating: call + [0], count: 200).flatMap(\.self))
            // The client reads no replies, so they fill its socket, and the daemon reads no more
            // calls from it. The other client's calls give the daemon time to get there.
            for _ in 0..<200 { _ = try other.list() }
            try send(Self.half, [client.descriptor, pipe.writeEnd], to: client)
        case .urgentData:
            // Everything has arrived when the daemon reads. A read ends before the urgent byte.
            daemon.signal(SIGSTOP)
            defer { daemon.signal(SIGCONT) }
            let pid = try daemon.pid
            try Processes.wait("it is not stopped") { Processes.state(of: pid) == "T" }
            try client.send(bytes: Self.half)
            try #require(Glibc.send(client.descriptor, "{", 1, CInt(MSG_OOB)) == 1)
            try send(Self.half, [client.descriptor, pipe.writeEnd], to: client)
        }
    }

    /// A message that the daemon sends without a call.
    private func message(to client: TestClient) throws -> String {
        let file = FileDescriptor(owning: dup(client.descriptor))
        var buffer = [UInt8](repeating: 0, count: 4096)
        guard try file.waitUntilReadable(milliseconds: Self.patience) else { return "" }
        let count = recv(client.descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer[..<max(0, count - 1)], as: UTF8.self)
    }

    @Test(arguments: Obstacle.allCases)
    func `a connection whose other end is queued in a message ends after its client`(
        _ obstacle: Obstacle
    ) throws {
        let daemon = try daemon()
        let pipe = try Pipe()
        try leaveConnection(daemon, obstacle, pipe)
        pipe.closeWriteEnd()
        let end = FileDescriptor(owning: dup(pipe.readEnd))
        #expect(try end.waitUntilReadable(milliseconds: Self.patience))
        #expect(try daemon.client().list().count == 1)
    }

    @Test
    func `a message may wait without descriptors, and one with descriptors gets a time limit`()
        throws
    {
        let daemon = try daemon()
        let (typing, waiting, slow) = (
            try daemon.client(), try daemon.client(), try daemon.client()
        )
        try typing.send(bytes: Array(#"{"method":"io.greenroom.Control.List""#.utf8))
        let instance = try wait(waiting, daemon)
        try waiting.send(.list)
        let pipe = try Pipe()
        try send(Self.half, [pipe.writeEnd], to: slow)
        pipe.closeWriteEnd()
        let what =
            "seconds that a message with descriptors may take until it is complete and the "
            + "daemon handles it"
        #expect(
            try message(to: slow)
                == #"{"error":"io.greenroom.Control.LimitExceeded","parameters":{"what":"\#(what)","#
                + #""limit":30}}"#)
        try slow.awaitClose()
        // The clients that sent no descriptors are not cut off: both still get their replies.
        try typing.send(bytes: [UInt8(ascii: "}"), 0])
        #expect(try message(to: typing).contains(Self.app))
        try daemon.client().change(.kill, instance)
        _ = try waiting.reply(to: .wait(.instance(instance)))
        _ = try waiting.reply(to: .list)
    }
}
