import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Descriptors of strangers may take long to close: a socket with SO_LINGER and data that nobody
/// reads (socket(7)), a file whose server never answers (fuse(4)). This delays nobody else, and the
/// daemon can always be ended.
@Suite struct StrangersDescriptorTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"
    private static let ready = "org.example.ready"
    /// A call takes less than a millisecond; the strangers' descriptors take 20 s to close, or for
    /// ever.
    private static let promptly = min(Processes.deadline / 3, 15_000)

    private func daemon() throws -> TestDaemon {
        try TestDaemon([program(Self.app, "/bin/true"), program(Self.other, "/bin/true")])
    }

    /// A foreign client that has sent its descriptors and ends with the last reference.
    private final class Stranger {
        private let process: ChildProcess
        private let input: Pipe
        private let folder: TemporaryDirectory?

        /// - Parameter folder: the folder on which it mounts its file system.
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

    /// A foreign client that serves files itself.
    private func server(
        _ mode: String, _ daemon: TestDaemon, _ path: String? = nil
    ) throws -> Stranger {
        try requireOrSkip(
            geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
        return try Stranger(mode, path ?? daemon.socketPath, folder: TemporaryDirectory())
    }

    /// A client of another user, which is not affected by what root sends.
    private func client(of daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, 12_346, 12_346, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// Calls several times, because the daemon may handle the stranger's message in between.
    private func answersPromptly(_ client: TestClient, _ times: Int = 5) throws {
        for _ in 0..<times {
            try client.send(.list)
            _ = try client.reply(to: .list, milliseconds: Self.promptly)
        }
    }

    /// No event reports what the daemon reads from a stranger, or what is closed.
    private func awaitRefusal(_ daemon: TestDaemon) throws {
        try Processes.wait("the user's calls are not refused") {
            do { _ = try daemon.client().list() } catch is ControlError { return true }
            return false
        }
    }

    private func awaitService(_ daemon: TestDaemon) throws {
        try Processes.wait("the user is not served again") {
            (try? daemon.client().list()) != nil
        }
    }

    private func endsPromptly(_ pid: Int32, _ signal: Int32, _ stranger: Stranger) throws {
        let process = try ProcessDescriptor(pid: pid)
        kill(pid, signal)
        let ended = try process.descriptor.waitUntilReadable(milliseconds: Self.promptly)
        // Otherwise the process could never be ended.
        if !ended { try stranger.leave() }
        #expect(ended)
    }

    /// The socket for READY=1 of the test's own user.
    private func notifySocket(_ daemon: TestDaemon) throws -> String {
        try daemon.install(program(Self.ready, "/bin/true", ["ReadyOn=notify"]))
        _ = try daemon.client().call(.reload)
        let launched = try daemon.client().launch(Self.ready)
        _ = try daemon.client().wait(launched.instance)
        return "\(daemon.runtimeDirectory)/notify/\(getuid())"
    }

    @Test(arguments: ["control", "half", "notify"])
    func `a socket that takes long to close delays nobody`(mode: String) throws {
        let daemon = try daemon()
        let other = try daemon.client()
        _ = try other.list()
        let path = mode == "notify" ? try notifySocket(daemon) : daemon.socketPath
        let stranger = try Stranger(mode, path)
        try answersPromptly(other)
        try stranger.leave()
    }

    @Test(arguments: ["flush", "many"])
    func `a file whose FLUSH is never answered delays nobody`(mode: String) throws {
        let daemon = try daemon()
        let other = try client(of: daemon)
        let stranger = try server(mode, daemon)
        // Otherwise the daemon could not be ended.
        do { try answersPromptly(other) } catch {
            try stranger.leave()
            throw error
        }
        if mode == "many" {
            // The user has reached the limit on descriptors that are not closed yet.
            try awaitRefusal(daemon)
        }
        try stranger.leave()
        try answersPromptly(other)
        try awaitService(daemon)
    }

    /// The helper ends when the server answers, and leaves its other descriptors open.
    @Test func `descriptors that an ended helper process has not closed are closed by another`()
        throws
    {
        let daemon = try daemon()
        let other = try client(of: daemon)
        let stranger = try server("many", daemon)
        try answersPromptly(other)
        try awaitRefusal(daemon)
        let pid = try daemon.pid
        let closers = try ProcessTable.entries().map(\.pid).filter {
            ProcessTable.entry(of: $0)?.parent == pid
                && Processes.line("Name", of: $0) == "greenroom-close"
        }
        // One helper has the stranger's descriptors; there may be a second one.
        #expect(!closers.isEmpty)
        for closer in closers { kill(closer, SIGKILL) }
        try stranger.leave()
        try answersPromptly(other)
        try awaitService(daemon)
    }

    @Test func `each user has a socket for READY=1, and its descriptors are counted`() throws {
        let daemon = try daemon()
        let path = try notifySocket(daemon)
        let probe = try compileProbe("behave.c")
        try daemon.install(
            program(Self.app, probe, ["ReadyOn=notify", "User=12346", "WorkingDirectory=/"]))
        _ = try daemon.client().call(.reload)
        let pid = try daemon.pid
        let other = try client(of: daemon)
        let stranger = try server("notify-many", daemon, path)
        do {
            let launched = try other.launch(Self.app, ["notify", "wait-forever"])
            try Processes.wait("it does not become ready") {
                try other.instance(launched.instance).state == .active
            }
            #expect(try FolderContents.names(in: "/proc/\(pid)/fd").count < 1200)
            var status = stat()
            #expect(stat(daemon.runtimeDirectory + "/notify/12346", &status) == 0)
            #expect(status.st_uid == 12_346 && status.st_mode & 0o777 == 0o600)
        } catch {
            try stranger.leave()
            throw error
        }
        try stranger.leave()
    }

    /// Kernels from 6.16 on keep the descriptors out; with older ones, the app loses its channel.
    @Test func `an app that sends descriptors is refused or ended`() throws {
        let daemon = try TestDaemon(
            program(Self.app, "\(try compileProbe("stranger.c")) channel", ["Type=application-kit"])
        )
        let output = try Pipe()
        let launched = try daemon.client().launch(Self.app, output: output.writeEnd)
        output.closeWriteEnd()
        let before = try FolderContents.names(in: "/proc/\(daemon.pid)/fd").count
        if try readLine(output.readEnd) == "sent" {
            _ = try daemon.client().wait(launched.instance)
        }
        _ = try daemon.client().list()
        #expect(try FolderContents.names(in: "/proc/\(daemon.pid)/fd").count < before + 20)
    }

    @Test func `an app's output that is never flushed delays no launch of another app`() throws {
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
    func `the daemon can end while another user's FLUSH is not answered`(signal: Int32) throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let stranger = try server("flush", daemon)
        try? answersPromptly(other)
        let pid = try daemon.pid
        try endsPromptly(pid, signal, stranger)
        // The daemon's clients see the end of the connection at once.
        #expect(throws: Never.self) { try other.awaitClose() }
        if signal == SIGKILL {
            try daemon.kill()
            // The former daemon left nothing that blocks the new one.
            try daemon.start()
            try answersPromptly(daemon.client())
        }
        try stranger.leave()
    }
}
