import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// The daemon reads everything that clients sent, in whatever pieces it finds it in the socket: the
/// kernel reports it only once.
@Suite struct LeavingClientTests {
    private static let app = "org.example.app"

    private func daemon() throws -> TestDaemon {
        try TestDaemon([program(Self.app, try compileProbe("behave.c"))])
    }

    /// Stops the daemon while `body` sends, so that everything has arrived when the daemon looks.
    private func whileStopped(_ daemon: TestDaemon, _ body: () throws -> Void) throws {
        let pid = try daemon.pid
        daemon.signal(SIGSTOP)
        defer { daemon.signal(SIGCONT) }
        try Processes.wait("it is not stopped") { Processes.state(of: pid) == "T" }
        try body()
    }

    /// A read ends after the descriptors of the first call.
    @Test func `calls with descriptors that arrive together are all served`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        var launch = Control.LaunchCall(app: Self.app)
        launch.arguments = ["exit", "0"]
        launch.standardOutput = 0
        try whileStopped(daemon) {
            for _ in 0..<10 { try client.send(.launch(launch), descriptors: [null]) }
        }
        for _ in 0..<10 {
            guard case .launched = try client.reply(to: .launch(launch)) else {
                throw TestError("another reply")
            }
        }
    }

    @Test func `a client that stops writing is answered and then closed`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        try whileStopped(daemon) {
            try client.send(.list)
            shutdown(client.descriptor, CInt(SHUT_WR))
        }
        guard case .listed(let apps) = try client.reply(to: .list) else {
            throw TestError("another reply")
        }
        #expect(apps.map(\.identifier) == [Self.app])
        try client.awaitClose()
    }

    /// A daemon with so many apps that a few lists of them do not fit into a socket's buffer.
    private func daemonWithLongList() throws -> TestDaemon {
        try TestDaemon((1...500).map { program("\(Self.app)\($0)", "/bin/true") })
    }

    /// `printf ... | socat - UNIX:...` does this.
    @Test func `a client that stops writing gets all its replies, however slowly it reads`()
        throws
    {
        let daemon = try daemonWithLongList()
        let (client, other) = (try daemon.client(), try daemon.client())
        let count = 6
        for _ in 0..<count { try client.send(.list) }
        shutdown(client.descriptor, CInt(SHUT_WR))
        // By then the daemon has seen that, and its replies wait.
        for _ in 0..<8 { _ = try other.list() }
        for _ in 0..<count {
            guard case .listed(let apps) = try client.reply(to: .list) else {
                throw TestError("another reply")
            }
            #expect(apps.count == 500)
        }
        try client.awaitClose()
    }

    /// The calls were delayed because too many replies waited. Then all replies are sent in one
    /// write.
    @Test func `delayed calls continue, however fast their client reads the replies`() throws {
        try requireOrSkip(geteuid() == 0, "only root enlarges another process's sockets")
        let daemon = try daemonWithLongList()
        let (client, other) = (try daemon.client(), try daemon.client())
        let count = 40
        for _ in 0..<count { try client.send(.list) }
        for _ in 0..<(2 * count) { _ = try other.list() }
        #expect(cts_enlarge_sockets(try daemon.pid, 32 << 20) == 0)
        for _ in 0..<count {
            guard case .listed = try client.reply(to: .list) else {
                throw TestError("another reply")
            }
        }
    }

    @Test func `a client that waits and stops writing is closed after its answer`() throws {
        let daemon = try daemon()
        let (client, other) = (try daemon.client(), try daemon.client())
        let launched = try other.launch(Self.app, ["wait-forever"])
        try whileStopped(daemon) {
            try client.send(.wait(.instance(launched.instance)))
            shutdown(client.descriptor, CInt(SHUT_WR))
        }
        _ = try other.list()
        kill(try #require(launched.processId), SIGKILL)
        guard case .exited = try client.reply(to: .wait(.instance(launched.instance))) else {
            throw TestError("another reply")
        }
        try client.awaitClose()
    }

    @Test func `a client that asks to wait and leaves at once is forgotten before the app ends`()
        throws
    {
        let daemon = try daemon()
        let other = try daemon.client()
        let launched = try other.launch(Self.app, ["wait-forever"])
        func descriptorCount() throws -> Int {
            _ = try other.list()
            return KernelObjects.descriptorCount(of: try daemon.pid)
        }
        // A launch leaves descriptors that the daemon closes a moment later.
        let before = try (0..<200).map { _ in try descriptorCount() }.min()
        try whileStopped(daemon) {
            let client = try daemon.client()
            try client.send(.wait(.instance(launched.instance)))
        }
        try Processes.wait("the client is not forgotten") { try descriptorCount() == before }
    }
}
