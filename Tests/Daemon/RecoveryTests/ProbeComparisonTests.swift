import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Compares what a program sees of itself after a cold and a prewarmed launch, through the whole
/// product.
@Suite struct ProbeComparisonTests {
    private let cold = "org.example.cold"
    private let warm = "org.example.warm"

    private func daemon(
        _ exec: String, _ lines: [String], _ options: TestDaemon.Options
    ) throws -> TestDaemon {
        let lines = lines + ["UMask=0027", "WorkingDirectory=/tmp", "LimitNOFILE=512:600"]
        return try TestDaemon(
            [program(cold, exec, lines), program(warm, exec, prewarm: 1, lines)], options)
    }

    /// The two outputs differ only in the names of the app and the instance.
    private func normalized(_ output: [UInt8]) -> [String] {
        String(decoding: output, as: UTF8.self).split(separator: "\n").map { line in
            line.hasPrefix("cgroup") && line.contains("/app-org.example.")
                ? "cgroup of the instance" : String(line)
        }
    }

    private func expectEqual(_ warm: [String], _ cold: [String]) {
        #expect(cold.count > 60)
        for (one, other) in zip(warm, cold) where one != other {
            Issue.record("prewarmed: \(one)\ncold:      \(other)")
        }
        #expect(warm.count == cold.count)
    }

    private func launched(_ app: String, by daemon: TestDaemon) throws -> [String] {
        let pipe = try Pipe()
        let input = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let client = try daemon.client()
        let launched = try client.launch(
            app, ["first", "", "ünïcode"], input: input, output: pipe.writeEnd
        ) {
            $0.environment = [.init(name: "A", value: "1"), .init(name: "EMPTY", value: "")]
        }
        #expect(launched.kind == (app == warm ? .prewarmed : .cold))
        pipe.closeWriteEnd()
        let output = readToEnd(pipe.readEnd)
        #expect(try client.wait(launched.instance).status == 0)
        return normalized(output)
    }

    private func attached(_ app: String, to daemon: TestDaemon) throws -> [String] {
        let input = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let request = try clientProcess(
            daemon, ["run", app, "--", "first", "", "ünïcode"], user: daemon.options.user,
            environment: ["PATH=/usr/bin:/bin", "LANG=C", "A=1", "LD_BIND_NOW=1"]
        ) {
            $0.descriptors[0] = input
            $0.directory = "/usr"
            $0.umask = 0o002
        }
        let result = try run(request)
        #expect(result.exit == .status(0))
        return normalized(result.output)
    }

    /// Runs on a user's terminal: input and errors are the terminal, output goes to a file.
    private func onTerminal(_ app: String, of daemon: TestDaemon) throws -> [String] {
        let client = try Programs.client
        let output = daemon.directory.path + "/output-" + app
        let file = open(output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer { close(file) }
        var request = ChildRequest(client, arguments: [client, "run", app, "--", "first", ""])
        request.environment = [
            "PATH=/usr/bin:/bin", "LANG=C", "TERM=xterm", "GREENROOM_SOCKET=\(daemon.socketPath)",
        ]
        request.descriptors[1] = file
        request.directory = "/usr"
        let terminal = try TestTerminal(request)
        #expect(try terminal.child.waitForExit() == .status(0))
        #expect(!terminal.isRaw)
        let lines = normalized(try readFile(output)).map { line in
            // The number of the pty, and the name of the file.
            line.replacing(/\/dev\/pts\/[0-9]+/, with: "a terminal")
                .replacing("output-" + app, with: "output")
        }
        #expect(lines.contains { $0.hasSuffix("terminals 101, /dev/tty 1, foreground 1") })
        return lines
    }

    @Test func `a probe sees no difference on a terminal`() throws {
        let daemon = try daemon(try compileProbe("probe.c"), [], .init())
        _ = try onTerminal(warm, of: daemon)
        try daemon.awaitPaused(warm)
        let lines = try onTerminal(warm, of: daemon)
        #expect(try daemon.client().explain(warm).lastLaunch?.kind == .prewarmed)
        expectEqual(lines, try onTerminal(cold, of: daemon))
    }

    private func compare(
        _ exec: String? = nil, _ lines: [String] = [], _ options: TestDaemon.Options = .init()
    ) throws {
        let daemon = try daemon(try exec ?? compileProbe("probe.c"), lines, options)
        try daemon.awaitPaused(warm)
        expectEqual(try launched(warm, by: daemon), try launched(cold, by: daemon))
        // The first run teaches the pool the caller's environment. An instance may be paused with
        // the earlier environment, so only a launch tells when the pool has the new one.
        let lines = try daemon.await("a prewarmed run") { client in
            let lines = try attached(warm, to: daemon)
            return try client.explain(warm).lastLaunch?.kind == .prewarmed ? lines : nil
        }
        expectEqual(lines, try attached(cold, to: daemon))
    }

    @Test func `a probe sees no difference as root`() throws { try compare() }

    @Test func `a probe sees no difference as another user`() throws {
        try requireOrSkip(getuid() == 0, "only root can become another user")
        try compare(nil, ["User=nobody", "NoNewPrivileges=yes", "SupplementaryGroups=audio video"])
    }

    @Test func `a probe sees no difference without root and cgroups`() throws {
        try compare(nil, [], .asNobody)
    }

    @Test func `a probe sees no difference for a script and through env`() throws {
        let directory = try TemporaryDirectory()
        let probe = try compileProbe("probe.c")
        for (name, line) in [
            ("script", "#!\(probe) --wait=no"), ("chain", "#!/usr/bin/env \(probe)"),
        ] {
            let script = try directory.write("\(line)\n", to: name, mode: 0o755)
            try compare(script)
        }
    }
}
