import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Output of apps that no client takes does not go into the daemon's own terminal or log file,
/// unless the apps may write there anyway, and it does not fill the daemon's runtime directory.
@Suite struct PrintedOutputTests {
    private static let app = "org.example.app"
    private static let user: Int32 = 64_121

    /// The files of its standard output and error.
    private func streams(of pid: Int32) -> [String] {
        [1, 2].map { number in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = readlink("/proc/\(pid)/fd/\(number)", &buffer, buffer.count)
            return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        }
    }

    /// The files of an app's output, cold or after a pause.
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

    /// A process that has a terminal can read what is typed there.
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

    // MARK: First output

    private static let byteCount = 4 << 20

    private func launch(_ script: String, _ daemon: TestDaemon, input: Int32? = nil) throws
        -> UInt64
    {
        try daemon.install(program(Self.app, "/bin/sh", ["ReadyOn=first-output"]))
        _ = try daemon.client().reload()
        return try daemon.client().launch(Self.app, ["-c", script], input: input).instance
    }

    /// Prints this many bytes after its first line, as soon as its input ends.
    private func flood(_ daemon: TestDaemon, input: Int32? = nil) throws -> UInt64 {
        let script = """
            echo up; read go; head -c \(Self.byteCount) /dev/zero
            echo said >'\(daemon.directory.path)/said'; exec sleep infinity
            """
        return try launch(script, daemon, input: input)
    }

    private func awaitReady(_ instance: UInt64, _ daemon: TestDaemon) throws {
        try daemon.await("readiness") {
            try $0.instance(instance).state == .active ? true : nil
        }
    }

    private func awaitSaid(_ daemon: TestDaemon) throws {
        try daemon.await("the end of its output") { _ in
            access(daemon.directory.path + "/said", F_OK) == 0 ? true : nil
        }
    }

    /// The number of bytes in the file of its output.
    private func keptByteCount(_ instance: UInt64, _ daemon: TestDaemon) -> Int {
        var status = stat()
        guard stat("\(daemon.runtimeDirectory)/output/\(instance)", &status) == 0 else { return -1 }
        return Int(status.st_size)
    }

    @Test func `output of an app after its first output is not stored`() throws {
        let daemon = try TestDaemon()
        let instance = try flood(daemon)
        try awaitReady(instance, daemon)
        try awaitSaid(daemon)
        #expect((0...1 << 20).contains(keptByteCount(instance, daemon)))
    }

    @Test func `an app that prints while there is no daemon continues with the next one`() throws {
        let daemon = try TestDaemon()
        let input = try Pipe()
        let instance = try flood(daemon, input: input.readEnd)
        try awaitReady(instance, daemon)
        // The manifest may have changed by then.
        try daemon.install(program(Self.app, "/bin/sh"))
        try daemon.kill()
        input.closeWriteEnd()
        try daemon.start()
        try awaitSaid(daemon)
        #expect(try daemon.client().instance(instance).state == .active)
        #expect((0...1 << 20).contains(keptByteCount(instance, daemon)))
    }

    @Test func `all output of an app arrives in order, even output just before its end`()
        throws
    {
        let daemon = try TestDaemon()
        let count = 30_000
        let instance = try launch("seq 1 \(count)", daemon)
        _ = try daemon.client().wait(instance)
        try daemon.await("the last line") { _ in
            daemon.log.contains("\(count)\n") ? true : nil
        }
        // The daemon writes its own lines to the same file.
        let text = daemon.log.replacing(#/greenroom[-a-z]*: .*\n/#, with: "")
        let numbers = text.split(separator: "\n").compactMap { Int($0) }
        #expect(numbers == Array(1...count), "\(numbers.count) lines")
        #expect(access("\(daemon.runtimeDirectory)/output/\(instance)", F_OK) != 0)
    }
}
