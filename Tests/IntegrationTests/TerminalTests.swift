import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `greenroomctl run` on a terminal, as its user has it: an app behaves as if the shell had run it.
@Suite struct TerminalTests {
    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"
    private static let all = [cold, warm]

    private final class Desk {
        let daemon: TestDaemon
        let shell: TestTerminal

        init(_ daemon: TestDaemon, _ shell: TestTerminal) {
            self.daemon = daemon
            self.shell = shell
        }

        // The daemon would count the shell, which names its socket, among what it left behind.
        deinit { shell.end() }

        /// The client has its app's terminal, and the user's is raw.
        func awaitFront() throws { try shell.await("the client's front") { shell.isRaw } }

        func instance(_ app: String) throws -> Control.InstanceStatus {
            try daemon.await("an instance of \(app)") {
                try $0.instances(of: app).first { $0.isAttached && $0.exit == nil }
            }
        }

        func expectKind(of app: String) throws {
            let kind = try daemon.client().explain(app).lastLaunch?.kind
            #expect(kind == (app == TerminalTests.warm ? .prewarmed : .cold))
        }
    }

    /// A shell at a terminal, and an app of the program cold and prewarmed. The paused instance has
    /// the shell's environment.
    private static func desk(
        _ exec: String, _ lines: [String] = [], _ options: TestDaemon.Options = .init()
    ) throws -> Desk {
        let lines = ["Instances=multiple", "ForegroundGroup=none"] + lines
        var apps = [TestApp(cold, exec: exec), TestApp(warm, exec: exec, prewarm: 1)]
        for index in apps.indices { apps[index].lines = lines }
        let daemon = try TestDaemon(apps, options)
        let client = try Programs.client
        let shell = try TestTerminal.shell(
            ["GREENROOM_SOCKET=\(daemon.socketPath)"], in: daemon.directory.path, client: client)
        try daemon.awaitPaused(warm)
        // The first run teaches the pool the caller's environment.
        try shell.enter("greenroomctl run --pipe \(warm) -- --version </dev/null >/dev/null 2>&1")
        try daemon.await("the shell's environment") { client in
            try client.paused(warm).isEmpty ? nil : true
        }
        return Desk(daemon, shell)
    }

    @Test(arguments: all)
    func `an app has a terminal of its own`(_ app: String) throws {
        let desk = try Self.desk("/bin/sh")
        let shown = try desk.shell.enter(
            "greenroomctl run \(app) -- -c 'test -t 0 && test -t 1 && test -t 2 && stty size && "
                + "echo to the terminal >/dev/tty; exit 7'; echo status $?",
            until: "status 7\r\n")
        #expect(shown.contains("24 80\r\nto the terminal\r\n"))
        try desk.expectKind(of: app)
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
    }

    @Test(arguments: all)
    func `keys, window size and the interrupt key are the app's`(_ app: String) throws {
        let desk = try Self.desk(try compileProbe("terminal.c"))
        try desk.shell.enter("greenroomctl run \(app)", until: "waiting\r\n")
        try desk.shell.enter("word", until: "got word\r\n")
        desk.shell.resize(rows: 30, columns: 100)
        try desk.shell.await("size 30 100\r\n")
        desk.shell.type("\u{3}")
        try desk.shell.await("ready> ")
        #expect(try desk.shell.enter("echo status $?").contains("status 130"))
        try desk.expectKind(of: app)
        #expect(!desk.shell.isRaw)
    }
}
