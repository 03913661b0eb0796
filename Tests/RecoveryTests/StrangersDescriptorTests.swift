import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// What strangers pass may take its time when it is closed: a socket with data that nobody reads and SO_LINGER
/// (socket(7)), a file whose server never answers (fuse(4)). That is nobody else's time, and the daemon can always be
/// ended.
@Suite struct StrangersDescriptorTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"
    /// A call takes less than a millisecond; what strangers pass takes 20 s to close, or for ever.
    private static let promptly: Int32 = 1_500

    private func daemon() throws -> TestDaemon {
        try TestDaemon([program(Self.app, "/bin/true"), program(Self.other, "/bin/true")])
    }

    /// A stranger who has sent what it has, and goes with the last reference.
    private final class Stranger {
        private let process: ChildProcess
        private let input: Pipe
        private let folder: TemporaryDirectory?

        /// - Parameter folder: where it mounts what it serves.
        init(_ mode: String, _ path: String, folder: TemporaryDirectory? = nil) throws {
            self.folder = folder
            let program = try compileProbe("stranger.c")
            input = try Pipe()
            let output = try Pipe()
            var request = ChildRequest(
                program, arguments: [program, mode, path] + (folder.map { [$0.path] } ?? []))
            request.descriptors = [0: input.readEnd, 1: output.writeEnd, 2: 2]
            process = try ChildProcess(request)
            output.closeWriteEnd()
            guard try readLine(output.readEnd) == "sent" else {
                throw TestError("\(mode) cannot be tried")
            }
        }

        func leave() throws {
            input.closeWriteEnd()
            try process.waitForExit()
        }

        deinit {
            try? leave()
            if let folder { umount2(folder.path, CInt(MNT_DETACH)) }
        }
    }

    /// One that serves files itself.
    private func server(_ mode: String, _ daemon: TestDaemon) throws -> Stranger {
        try requireOrSkip(
            geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
        return try Stranger(mode, daemon.socketPath, folder: TemporaryDirectory())
    }

    /// Another user's, whom what root sends does not concern.
    private func client(of daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, 12_346, 12_346, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// Several times: what the stranger sent may have its turn in between.
    private func answersPromptly(_ client: TestClient, _ times: Int = 5) throws {
        for _ in 0..<times {
            try client.send(.list)
            _ = try client.reply(to: .list, milliseconds: Self.promptly)
        }
    }

    private func endsPromptly(_ pid: Int32, _ signal: Int32, _ stranger: Stranger) throws {
        let process = try ProcessDescriptor(pid: pid)
        kill(pid, signal)
        let ended = try process.descriptor.waitUntilReadable(milliseconds: 3_000)
        // Else nobody could ever end it.
        if !ended { try stranger.leave() }
        #expect(ended)
    }

    @Test(arguments: ["control", "half", "notify"])
    func `a socket that lingers holds nobody up`(mode: String) throws {
        let daemon = try daemon()
        let other = try daemon.client()
        _ = try other.list()
        let path = mode == "notify" ? daemon.runtimeDirectory + "/notify" : daemon.socketPath
        let stranger = try Stranger(mode, path)
        try answersPromptly(other)
        try stranger.leave()
    }

    @Test(arguments: ["flush", "many"])
    func `a file whose FLUSH is never answered holds nobody up`(mode: String) throws {
        let daemon = try daemon()
        let other = try client(of: daemon)
        let stranger = try server(mode, daemon)
        // Else it could not even be ended.
        do { try answersPromptly(other) } catch {
            try stranger.leave()
            throw error
        }
        if mode == "many" {
            // The stranger's user has as much open as cannot be closed.
            var isRefused = false
            for _ in 0..<100 where !isRefused {
                do { _ = try daemon.client().list() } catch is ControlError { isRefused = true }
                if !isRefused { try awaitTimer(milliseconds: 20) }
            }
            #expect(isRefused)
        }
        try stranger.leave()
        try answersPromptly(other)
        var isServed = false
        for _ in 0..<200 where !isServed {
            isServed = (try? daemon.client().list()) != nil
            if !isServed { try awaitTimer(milliseconds: 20) }
        }
        #expect(isServed)
    }

    @Test func `an app's output that is never flushed holds up no launch of others`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let stranger = try server("stdout", daemon)
        do {
            try answersPromptly(other)
            try other.send(.launch(.init(app: Self.other)))
            _ = try other.reply(to: .launch(.init(app: Self.other)), milliseconds: Self.promptly)
        } catch {
            try stranger.leave()
            throw error
        }
        try stranger.leave()
    }

    @Test(arguments: [SIGTERM, SIGKILL])
    func `the daemon ends while a stranger's FLUSH is not answered`(signal: Int32) throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let stranger = try server("flush", daemon)
        try? answersPromptly(other)
        let pid = try daemon.pid
        try endsPromptly(pid, signal, stranger)
        // Its clients hear of it, whatever still waits there.
        #expect(throws: Never.self) { try other.awaitClose() }
        if signal == SIGKILL {
            try daemon.kill()
            // Nothing of the former one is in its way.
            try daemon.start()
            try answersPromptly(daemon.client())
        }
        try stranger.leave()
    }
}
