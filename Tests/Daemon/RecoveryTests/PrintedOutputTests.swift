import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// What apps print when their clients do not take it does not go into the daemon's own terminal or
/// log file, unless they may write there anyway.
@Suite struct PrintedOutputTests {
    private static let app = "org.example.app"
    private static let user: Int32 = 64_121

    /// The files that its standard output and error are.
    private func streams(of pid: Int32) -> [String] {
        [1, 2].map { number in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = readlink("/proc/\(pid)/fd/\(number)", &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// Where an app's output goes, cold or after a pause.
    private func streams(
        _ lines: [String], prewarm: Int, _ daemon: TestDaemon
    ) throws -> [String] {
        try daemon.install(
            program(Self.app, try compileProbe("behave.c"), prewarm: prewarm, lines))
        _ = try daemon.client().reload()
        try daemon.awaitPaused(Self.app, count: prewarm)
        let launched = try daemon.client().launch(Self.app, ["print", "seen", "wait-forever"])
        #expect(launched.kind == (prewarm == 0 ? .cold : .prewarmed))
        return streams(of: try daemon.pid(of: launched.instance))
    }

    @Test(arguments: [0, 1])
    func `an app of another user does not get the daemon's output file`(prewarm: Int) throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let daemon = try TestDaemon()
        let log = daemon.directory.path + "/log"
        let streams = try streams(["User=\(Self.user)"], prewarm: prewarm, daemon)
        #expect(!streams.contains(log) && !streams.contains(""), "\(streams)")
        #expect(!daemon.log.split(separator: "\n").contains("seen"))
    }

    /// Whoever has a terminal reads what is typed there.
    @Test(arguments: [0, 1])
    func `an app has the daemon's terminal if it has the same user and is not confined`(
        prewarm: Int
    ) throws {
        var ends: (Int32, Int32) = (-1, -1)
        try requireOrSkip(cts_open_terminal(&ends.0, &ends.1) == 0, "no pseudo-terminals")
        defer { close(ends.0); close(ends.1) }
        let name = String(cString: ttyname(ends.1))
        let daemon = try TestDaemon()
        daemon.wrapper = ["/bin/sh", "-c", "exec \"$@\" 2>>\(name)", "sh"]
        try daemon.restart()
        #expect(try streams([], prewarm: prewarm, daemon) == [name, name])
        try daemon.client().change(
            .kill, try #require(try daemon.client().instances(of: Self.app).first).instance)
        let confined = try streams(
            ["[Sandbox]", "ReadOnlyPaths=/usr"], prewarm: prewarm, daemon)
        #expect(!confined.contains(name) && !confined.contains(""), "\(confined)")
    }
}
