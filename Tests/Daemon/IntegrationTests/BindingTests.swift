import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Everything that a launch brings reaches the program in every kind of launch.
@Suite struct BindingTests {
    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"

    private static func daemon(_ program: String, _ runner: Runner) throws -> TestDaemon {
        try TestDaemon(
            TestApp(cold, exec: program), TestApp(warm, exec: program, prewarm: 1),
            options: runner.options)
    }

    /// Everything that the probe sees of itself, except the names that must differ.
    private static func facts(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("cgroup(") }
    }

    @Test(arguments: Runner.allCases)
    func `a program sees the same state whether cold or prewarmed`(_ runner: Runner) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), runner)
        try daemon.awaitPaused(Self.warm)
        let client = try daemon.client()
        let bring: (inout Control.LaunchCall) -> Void = {
            $0.environment = [
                .init(name: "A", value: "b=c"), .init(name: "EMPTY", value: ""),
            ]
            $0.workingDirectory = "/usr"
            $0.umask = 0o037
        }
        let words = ["one", "", "two words", "é"]
        let cold = try client.run(Self.cold, words, bring)
        let warm = try client.run(Self.warm, words, bring)
        #expect(cold.launched.kind == .cold && warm.launched.kind == .prewarmed)
        let (first, second) = (Self.facts(cold.text), Self.facts(warm.text))
        #expect(first == second)
        for line in [
            "argc=5", "argv[2]=", "argv[3]=two words", "argv[4]=é", "cwd=/usr", "umask=037",
            "getenv PATH=/usr/local/bin:/usr/bin:/bin A=b=c",
        ] {
            #expect(first.contains(line))
        }
    }

    @Test(arguments: [cold, warm])
    func `the caller's whole environment replaces the session's`(_ app: String) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        try daemon.awaitPaused(Self.warm)
        let paused = try daemon.client().instances(of: Self.warm).first
        let environment = String(
            decoding: try readFile("/proc/\(paused?.processId ?? 0)/environ"), as: UTF8.self)
        // Variables that are read before main must be the same, or the launch would be cold.
        let relevant = environment.split(separator: "\0").map(String.init).filter { entry in
            ["PATH=", "HOME=", "LANG=", "ASAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS="]
                .contains { entry.hasPrefix($0) }
        }
        let whole = relevant + ["ONLY=this"]
        let (launched, text, _) = try daemon.client().run(app) {
            $0.callerEnvironment = whole.map(ByteString.text)
        }
        #expect(launched.kind == (app == Self.warm ? .prewarmed : .cold))
        let seen = text.split(separator: "\n").filter { $0.hasPrefix("environ[") }
            .map { String($0.split(separator: "=", maxSplits: 1)[1]) }
        #expect(seen.sorted() == whole.sorted())
    }

    @Test(arguments: [cold, warm])
    func `a working directory is passed as a descriptor`(_ app: String) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        try daemon.awaitPaused(Self.warm)
        let folder = try TemporaryDirectory()
        let directory = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        let output = try Output()
        var call = Control.LaunchCall(app: app)
        call.workingDirectoryDescriptor = 0
        call.standardOutput = 1
        _ = try daemon.client().launch(call, descriptors: [directory, output.number])
        let text = try output.text()
        #expect(text.contains("\ncwd=\(folder.path)\n"))
    }

    @Test(arguments: [cold, warm])
    func `input, output and errors go where the caller's go`(_ app: String) throws {
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: "/bin/sh"), TestApp(Self.warm, exec: "/bin/sh", prewarm: 1))
        try daemon.awaitPaused(Self.warm)
        let (input, output, errors) = (try Pipe(), try Output(), try Output())
        var call = Control.LaunchCall(app: app)
        call.arguments = ["-c", "read line; echo out $line; echo err $line >&2"]
        call.standardError = 0
        call.standardInput = 1
        call.standardOutput = 2
        let client = try daemon.client()
        let launched = try client.launch(
            call, descriptors: [errors.number, input.readEnd, output.number])
        #expect(launched.kind == (app == Self.warm ? .prewarmed : .cold))
        _ = write(input.writeEnd, "hello\n", 6)
        #expect(try output.text() == "out hello\n")
        #expect(try errors.text() == "err hello\n")
        #expect(try client.wait(launched.instance).status == 0)
    }

    @Test func `a missing directory is refused before anything runs`() throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        let client = try daemon.client()
        let error = #expect(throws: ControlError.self) {
            try client.launch(Self.cold) { $0.workingDirectory = "/nonexistent" }
        }
        guard case .refused(code: "working_directory", _) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [cold, warm])
    func `a descriptor that is not a directory is refused, and costs no paused instance`(
        _ app: String
    ) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        let paused = try daemon.awaitPaused(Self.warm).map(\.instance)
        let output = try Output()
        var call = Control.LaunchCall(app: app)
        call.workingDirectoryDescriptor = 0
        let client = try daemon.client()
        let error = #expect(throws: ControlError.self) {
            try client.launch(call, descriptors: [output.number])
        }
        guard case .refused(code: "working_directory", let reason)? = error else {
            throw TestError("another error: \(String(describing: error))")
        }
        #expect(reason.contains("O_DIRECTORY"))
        #expect(try client.paused(Self.warm).map(\.instance) == paused)
    }

    @Test(arguments: [cold, warm])
    func `a descriptor that is not a terminal is refused, and costs no paused instance`(
        _ app: String
    ) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        let paused = try daemon.awaitPaused(Self.warm).map(\.instance)
        let output = try Output()
        var call = Control.LaunchCall(app: app)
        call.takesTerminal = true
        let client = try daemon.client()
        for numbers in [[], [output.number]] {
            if !numbers.isEmpty { call.standardOutput = 0 }
            let error = #expect(throws: ControlError.self) {
                try client.launch(call, descriptors: numbers)
            }
            guard case .refused(code: "no_terminal", let reason)? = error else {
                throw TestError("another error: \(String(describing: error))")
            }
            #expect(reason.contains("the far end of a new pty"))
        }
        #expect(try client.paused(Self.warm).map(\.instance) == paused)
    }

    @Test(arguments: [cold, warm])
    func `a terminal of another session is refused with that reason`(_ app: String) throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        try daemon.awaitPaused(Self.warm)
        let terminal = try PseudoTerminal()
        let far = try #require(terminal.terminal)
        // The terminal belongs to another session now.
        var holder = ChildRequest("/bin/cat", arguments: ["cat"])
        holder.descriptors = [0: far.rawValue]
        holder.newSession = true
        holder.takesTerminal = true
        let process = try ChildProcess(holder)
        defer { withExtendedLifetime(process) {} }
        var call = Control.LaunchCall(app: app)
        call.takesTerminal = true
        call.standardInput = 0
        let client = try daemon.client()
        let error = #expect(throws: ControlError.self) {
            try client.launch(call, descriptors: [far.rawValue])
        }
        guard case .spawnFailed(stage: "starting a session", _, let reason)? = error else {
            throw TestError("another error: \(String(describing: error))")
        }
        #expect(reason.contains("is another session's"))
    }

    @Test func `a refusal names the number for which no descriptor was sent`() throws {
        let daemon = try Self.daemon(try compileProbe("probe.c"), .ownUser)
        let output = try Output()
        var call = Control.LaunchCall(app: Self.cold)
        call.standardOutput = 0
        call.standardError = 1
        let client = try daemon.client()
        #expect {
            try client.launch(call, descriptors: [output.number])
        } throws: { "\($0)".contains("standardErrorDescriptor") }
    }

    @Test func `the manifest's arguments come first, and its limits and environment apply`() throws
    {
        let program = try compileProbe("probe.c")
        let lines = ["Environment=A=manifest", "LimitNOFILE=77", "UMask=027", "WorkingDirectory=/"]
        var cold = TestApp(Self.cold, exec: "\(program) first")
        var warm = TestApp(Self.warm, exec: "\(program) first", prewarm: 1)
        cold.lines = lines
        warm.lines = lines
        let daemon = try TestDaemon(cold, warm)
        try daemon.awaitPaused(Self.warm)
        let client = try daemon.client()
        let texts = try [Self.cold, Self.warm].map { try client.run($0, ["second"]).text }
        let facts = texts.map(Self.facts)
        #expect(facts[0] == facts[1])
        for line in [
            "argv[1]=first", "argv[2]=second", "limit \(RLIMIT_NOFILE.rawValue): 77 77",
            "umask=027", "cwd=/", "getenv PATH=/usr/local/bin:/usr/bin:/bin A=manifest",
        ] {
            #expect(facts[0].contains(line))
        }
    }
}
