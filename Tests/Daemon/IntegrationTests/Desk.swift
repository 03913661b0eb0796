import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A shell at a terminal, and a program that it runs as two apps: one cold, one prewarmed with the
/// shell's environment.
final class Desk {
    let daemon: TestDaemon
    let shell: TestTerminal
    private let warm: String

    /// - Parameter first: an argument with which the program ends by itself.
    init(
        cold: String, warm: String, exec: String, first: String, _ lines: [String] = [],
        _ options: TestDaemon.Options = .init(), sandbox: [String] = []
    ) throws {
        var apps = [TestApp(cold, exec: exec), TestApp(warm, exec: exec, prewarm: 1)]
        for index in apps.indices {
            apps[index].lines = ["Instances=multiple", "ForegroundGroup=none"] + lines
            apps[index].prewarmLines += sandbox
        }
        self.warm = warm
        daemon = try TestDaemon(apps, options)
        shell = try TestTerminal.shell(
            ["GREENROOM_SOCKET=\(daemon.socketPath)"], in: daemon.directory.path,
            client: try Programs.client)
        try daemon.awaitPaused(warm)
        // The first run teaches the pool the caller's environment.
        try shell.enter("greenroomctl run --pipe \(warm) -- \(first) </dev/null >/dev/null 2>&1")
        try daemon.awaitPaused(warm)
    }

    // TestDaemon would count the shell, which names its socket, among the processes left behind.
    deinit { shell.end() }

    var isDegraded: Bool {
        (try? daemon.client().describe().degraded.contains { $0.code.contains("cgroup") })
            ?? false
    }

    /// Waits until the client moves bytes between its app's terminal and the user's, which is raw
    /// then.
    func awaitFront() throws { try shell.await("the client's front") { shell.isRaw } }

    func instance(_ app: String) throws -> Control.InstanceStatus {
        try daemon.await("an instance of \(app)") {
            try $0.instances(of: app).first { $0.isAttached && $0.exit == nil }
        }
    }

    /// - Returns: the instance, once it may be suspended. Its program may print before that.
    func awaitRunning(_ app: String) throws -> UInt64 {
        try daemon.await("a running instance of \(app)") {
            try $0.instances(of: app).first {
                $0.isAttached && $0.exit == nil && $0.state != .launching
            }?.instance
        }
    }

    /// The program waits for a key. (less notices an earlier stop, and stops at the next key.)
    func awaitReading(_ app: String) throws {
        let pid = try daemon.await("its process") {
            try $0.instances(of: app).first { $0.isAttached && $0.exit == nil }?.processId
        }
        try shell.await("its read") { Processes.state(of: pid) == "S" }
    }

    func expectKind(of app: String) throws {
        let kind = try daemon.client().explain(app).lastLaunch?.kind
        #expect(kind == (app == warm ? .prewarmed : .cold))
    }

    /// Runs an app of this desk and suspends it by the stop key, in a line of the shell that goes
    /// on with `rest`.
    func stopped(_ app: String, beside rest: String = "") throws -> UInt64 {
        try shell.enter(
            "greenroomctl run \(app) -- -c 'echo up; exec sleep 1000'\(rest)", until: "up\r\n")
        let instance = try instance(app).instance
        shell.type("\u{1A}")
        #expect(try shell.await("ready> ").contains("Stopped"))
        #expect(try daemon.client().instance(instance).state == .suspended)
        return instance
    }
}
