import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// `greenroomctl run` against the daemon: an app behaves as if its caller had executed it.
@Suite struct RunCommandTests {
    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"
    private static let all = [cold, warm]

    private static func daemon() throws -> TestDaemon {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(cold, exec: program), TestApp(warm, exec: program, prewarm: 1))
        try daemon.awaitPaused(warm)
        return daemon
    }

    private static func request(_ daemon: TestDaemon, _ words: [String]) throws -> ChildRequest {
        ChildRequest(
            words[0], arguments: words,
            environment: try environment(daemon) + ["GREENROOM_SOCKET=\(daemon.socketPath)"])
    }

    /// The session's environment, which the paused instance has. With another one, the launch would
    /// be cold.
    private static func environment(_ daemon: TestDaemon) throws -> [String] {
        guard let pid = (try? daemon.client().paused(warm))?.first?.processId else { return [] }
        return try readFile("/proc/\(pid)/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }.filter { !$0.hasPrefix("LD_PRELOAD=") && !$0.hasPrefix("GREENROOM_") }
    }

    private static func expectKind(_ daemon: TestDaemon, of app: String) throws {
        let kind = try daemon.client().explain(app).lastLaunch?.kind
        #expect(kind == (app == warm ? .prewarmed : .cold))
    }

    private static func run(
        _ daemon: TestDaemon, _ client: RunClient, _ words: String...
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        try result(daemon, client.words + words)
    }

    /// Runs any verb of greenroomctl.
    private static func call(
        _ daemon: TestDaemon, _ words: String...
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        try result(daemon, [Programs.client] + words)
    }

    private static func result(
        _ daemon: TestDaemon, _ words: [String]
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        let result = try TestSupport.run(request(daemon, words), mergingErrors: true)
        return (result.exit, String(decoding: result.output, as: UTF8.self))
    }

    @Test(arguments: Runner.allCases)
    func `status names the features that the daemon lacks`(_ runner: Runner) throws {
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: "/bin/sh"), options: runner.options)
        let result = try Self.call(daemon, "status")
        #expect(result.exit == .status(0))
        let isDegraded = try !daemon.client().describe().degraded.isEmpty
        #expect(result.output.contains("degraded: ") == isDegraded)
        if runner == .nobody { #expect(isDegraded) }
    }

    @Test(arguments: RunClient.allCases)
    func `run adds the manifest's variables to those of its caller`(_ client: RunClient) throws {
        var app = TestApp(Self.cold, exec: "/bin/sh -c 'echo $A $B $C'")
        app.lines = ["Environment=A=manifest B=manifest"]
        let daemon = try TestDaemon(app)
        var request = try Self.request(daemon, client.words + [Self.cold])
        request.environment += ["B=caller", "C=caller"]
        let result = try TestSupport.run(request)
        #expect(String(decoding: result.output, as: UTF8.self) == "manifest manifest caller\n")
    }

    @Test(arguments: all, RunClient.allCases)
    func `run has the output and the status of the app`(_ app: String, _ client: RunClient) throws {
        let daemon = try Self.daemon()
        let result = try Self.run(daemon, client, app, "--", "print", "hello", "exit", "23")
        #expect(result.exit == .status(23))
        #expect(result.output == "hello\n")
        try Self.expectKind(daemon, of: app)
    }

    @Test(arguments: all)
    func `greenroom-run ends with the app even while the daemon is held up`(_ app: String) throws {
        try requireOrSkip(Processes.tellExits, "Linux 6.15 is needed")
        let daemon = try Self.daemon()
        let input = try Pipe()
        var request = try Self.request(
            daemon, RunClient.greenroomRun.words + [app, "--", "wait-input", "exit", "23"])
        request.descriptors[0] = input.readEnd
        let client = try ChildProcess(request)
        // The client watches the app by a pidfd.
        try Processes.wait("the client does not watch the app") {
            KernelObjects.openFiles(of: client.pid).contains { $0.contains("pidfd") }
        }
        daemon.signal(SIGSTOP)
        input.closeWriteEnd()
        #expect(try client.waitForExit() == .status(23))
        daemon.signal(SIGCONT)
        try Self.expectKind(daemon, of: app)
        // The daemon has seen the end, too.
        let exit = try daemon.await("the end of \(app)") { client in
            try client.instances(of: app).first { $0.exit != nil }?.exit
        }
        #expect(exit.status == 23)
    }

    /// A process may be in a directory that it may not enter again, and so are those that it starts.
    @Test(arguments: RunClient.allCases)
    func `an app gets the caller's directory even if the caller can no longer enter it`(
        _ client: RunClient
    )
        throws
    {
        try requireOrSkip(getuid() == 0, "only root can run apps as another user")
        let folder = try TemporaryDirectory()
        let place = folder.path + "/locked"
        #expect(chmod(folder.path, 0o755) == 0 && mkdir(place, 0o755) == 0)
        #expect(chown(place, 65_534, 65_534) == 0)
        let daemon = try TestDaemon(
            TestApp(Self.warm, exec: "/bin/pwd", prewarm: 1, "User=65534", "Instances=multiple"))
        try daemon.awaitPaused(Self.warm)
        var request = try Self.request(daemon, client.words + [Self.warm])
        request.arguments =
            ["sh", "-c", "cd \"$0\" && chmod 0 . && exec \"$@\"", place] + request.arguments
        request.path = "/bin/sh"
        request.user = 65_534
        let result = try TestSupport.run(request, mergingErrors: true)
        #expect(String(decoding: result.output, as: UTF8.self) == place + "\n")
        #expect(result.exit == .status(0))
        #expect(try daemon.client().explain(Self.warm).lastLaunch?.kind == .cold)
    }

    @Test(arguments: all, RunClient.allCases)
    func `an app has the caller's input and directory`(_ app: String, _ client: RunClient) throws {
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: "/bin/sh"), TestApp(Self.warm, exec: "/bin/sh", prewarm: 1))
        try daemon.awaitPaused(Self.warm)
        let (input, output) = (try Pipe(), try Output())
        var request = try Self.request(
            daemon, client.words + [app, "--", "-c", "read x; echo $x; pwd; umask"])
        request.descriptors = [0: input.readEnd, 1: output.number]
        request.directory = "/usr"
        request.umask = 0o027
        let child = try ChildProcess(request)
        _ = write(input.writeEnd, "word\n", 5)
        #expect(try output.text() == "word\n/usr\n0027\n")
        #expect(try child.waitForExit() == .status(0))
        try Self.expectKind(daemon, of: app)
    }

    @Test(arguments: all, RunClient.allCases)
    func `run ends by the signal that ended the app`(_ app: String, _ client: RunClient) throws {
        let daemon = try Self.daemon()
        let result = try Self.run(daemon, client, app, "--", "signal", "\(SIGUSR2)")
        #expect(result.exit == .signal(SIGUSR2))
        try Self.expectKind(daemon, of: app)
    }

    @Test(arguments: RunClient.allCases, [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
    func `run forwards signals to the app`(_ client: RunClient, signal: Int32) throws {
        for app in Self.all { try Self.forward(signal, to: app, client) }
    }

    private static func forward(_ signal: Int32, to app: String, _ client: RunClient) throws {
        let daemon = try Self.daemon()
        let output = try Output()
        var request = try Self.request(
            daemon, client.words + [app, "--", "print", "here", "wait-forever"])
        request.descriptors = [1: output.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        #expect(try output.line() == "here")
        // The app may have written before the daemon heard of its process.
        let pid = try daemon.await("its process") {
            try $0.instances(of: app).first { $0.isAttached }?.processId
        }
        child.kill(signal)
        try Processes.awaitEnd(of: pid)
        #expect(try child.waitForExit() == .signal(signal))
        try Self.expectKind(daemon, of: app)
    }

    @Test(arguments: RunClient.allCases)
    func `run does not end an app that handles SIGTERM`(_ client: RunClient) throws {
        let daemon = try Self.daemon()
        let output = try Output()
        var request = try Self.request(daemon, client.words + [Self.cold, "--", "signals"])
        request.descriptors = [1: output.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        #expect(try output.line() == "waiting")
        for number in [SIGTERM, SIGINT] {
            child.kill(number)
            #expect(try output.line() == "\(number)")
        }
        let instance = try #require(
            try daemon.client().instances(of: Self.cold).first { $0.isAttached }?.instance)
        try daemon.client().change(.kill, instance)
        #expect(try child.waitForExit() == .signal(SIGKILL))
    }

    @Test(arguments: RunClient.allCases)
    func `a forwarded signal thaws an app that was suspended elsewhere`(_ client: RunClient) throws
    {
        let daemon = try Self.daemon()
        try requireOrSkip(
            try daemon.client().describe().degraded.allSatisfy { !$0.code.contains("cgroup") },
            "freezing needs cgroups")
        let output = try Output()
        var request = try Self.request(daemon, client.words + [Self.cold, "--", "signals"])
        request.descriptors = [1: output.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        #expect(try output.line() == "waiting")
        // The app's line may come before the daemon knows that the app has started.
        let instance = try daemon.await("the app is active") { client in
            try client.instances(of: Self.cold).first {
                $0.isAttached && $0.state == .known(.active)
            }?.instance
        }
        try daemon.client().change(.suspend, instance)
        child.kill(SIGINT)
        #expect(try output.line() == "\(SIGINT)")
        try daemon.client().change(.kill, instance)
        #expect(try child.waitForExit() == .signal(SIGKILL))
    }

    @Test(arguments: RunClient.allCases)
    func `a directory that the app's sandbox hides is named`(_ client: RunClient) throws {
        try requireOrSkip(getuid() == 0, "a sandbox of every kind needs root")
        let folder = try TemporaryDirectory()
        let daemon = try TestDaemon(
            TestApp(
                "org.example.private", exec: "/bin/true",
                prewarmLines: ["[Sandbox]", "PrivateTmp=yes"]))
        var request = try Self.request(daemon, client.words + ["org.example.private"])
        request.directory = folder.path
        let result = try TestSupport.run(request, mergingErrors: true)
        let text = String(decoding: result.output, as: UTF8.self)
        #expect(result.exit == .status(125), "\(text)")
        #expect(text.contains(folder.path) && text.contains("sandbox may hide it"), "\(text)")
    }

    /// Makes the daemon of an app's client hang from now on. Also returns the client's complaints.
    private static func hung(_ daemon: TestDaemon, _ client: RunClient) throws -> (
        child: ChildProcess, pid: Int32, complaints: Output
    ) {
        let (output, complaints) = (try Output(), try Output())
        var request = try request(
            daemon, client.words + [cold, "--", "print", "here", "wait-forever"])
        request.descriptors = [1: output.number, 2: complaints.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        complaints.closeWriting()
        _ = try output.line()
        let pid = try daemon.await("its process") {
            try $0.instances(of: cold).first { $0.isAttached }?.processId
        }
        Glibc.kill(try daemon.pid, SIGSTOP)
        return (child, pid, complaints)
    }

    @Test(arguments: RunClient.allCases)
    func `if the app has ended and the daemon hangs, a signal ends the client at once`(
        _ client: RunClient
    )
        throws
    {
        let daemon = try Self.daemon()
        let supervisor = try daemon.pid
        defer { Glibc.kill(supervisor, SIGCONT) }
        let (child, pid, complaints) = try Self.hung(daemon, client)
        kill(pid, SIGKILL)
        try Processes.awaitEnd(of: pid)
        child.kill(SIGINT)
        let exit = try child.waitForExit()
        // Since Linux 6.15 greenroom-run sees the end by itself, and may have ended alike.
        #expect(exit == .signal(SIGINT) || client == .greenroomRun && exit == .signal(SIGKILL))
        #expect(try !complaints.text().contains("has not answered"))
    }

    @Test(arguments: RunClient.allCases)
    func `if the daemon hangs, the first signal is kept for it and the second ends the client`(
        _ client: RunClient
    )
        throws
    {
        let daemon = try Self.daemon()
        let supervisor = try daemon.pid
        defer { Glibc.kill(supervisor, SIGCONT) }
        let (child, pid, complaints) = try Self.hung(daemon, client)
        child.kill(SIGTERM)
        while try !complaints.line().contains("greenroomd has not answered SIGTERM") {}
        #expect(Processes.isAlive(pid))
        child.kill(SIGINT)
        #expect(try child.waitForExit() == .signal(SIGINT))
        // The daemon acts on the first signal when it runs again.
        Glibc.kill(supervisor, SIGCONT)
        try Processes.awaitEnd(of: pid)
    }

    @Test(arguments: RunClient.allCases)
    func `each kind of failure has its own status`(_ client: RunClient) throws {
        let folder = try TemporaryDirectory()
        let text = try folder.write("no program\n", to: "text", mode: 0o755)
        let daemon = try TestDaemon(
            TestApp("org.example.text", exec: text),
            TestApp("org.example.limit", exec: "/bin/true", "LimitNOFILE=2000000000"))
        let unknown = try Self.run(daemon, client, "org.example.nothing")
        #expect(unknown.exit == .status(127))
        try daemon.install(TestApp("org.example.absent", exec: "/nowhere/at/all"))
        _ = try? daemon.client().reload()
        let absent = try Self.run(daemon, client, "org.example.absent")
        #expect(absent.exit == .status(127) && absent.output.contains("/nowhere/at/all"))
        let unexecutable = try Self.run(daemon, client, "org.example.text")
        #expect(unexecutable.exit == .status(126))
        let failed = try Self.run(daemon, client, "org.example.limit")
        #expect(failed.exit == .status(125))
        for result in [unknown, unexecutable, failed] {
            if ChildRequest.sanitizerOptions.isEmpty {
                #expect(result.output.hasPrefix("greenroomctl: "))
            } else {
                // This need not be the first line, because sanitizers also write to the standard
                // error.
                let lines = result.output.split(separator: "\n")
                #expect(lines.contains { $0.hasPrefix("greenroomctl: ") })
            }
        }
        try daemon.terminate()
        #expect(try Self.run(daemon, client, "org.example.text").exit == .status(125))
        let unreachable = try Self.call(daemon, "list")
        #expect(unreachable.exit == .status(69))
        #expect(unreachable.output.contains(daemon.socketPath))
    }

    @Test func `launch, list and terminate take effect`() throws {
        let daemon = try Self.daemon()
        #expect(try Self.call(daemon, "list").output.contains(Self.warm))
        let launched = try Self.call(
            daemon, "launch", Self.warm, "--background", "--", "wait-forever")
        #expect(launched.exit == .status(0))
        #expect(try Self.call(daemon, "suspend", Self.warm).exit == .status(0))
        let states = try daemon.client().instances(of: Self.warm).map(\.state)
        #expect(states.contains(.known(.suspended)))
        #expect(try Self.call(daemon, "terminate", Self.warm).exit == .status(0))
        #expect(try Self.call(daemon, "terminate", Self.warm).exit == .status(1))
        let waited = try Self.call(daemon, "launch", Self.cold, "--wait", "--", "exit", "11")
        #expect(waited.exit == .status(11))
    }
}
