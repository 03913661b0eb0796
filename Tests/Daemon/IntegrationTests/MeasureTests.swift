import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing
import Varlink

/// `greenroomctl measure`: its own daemon starts a program in several ways.
@Suite struct MeasureTests {
    private static let app = "org.example.slow"
    private let folder: TemporaryDirectory
    init() throws { folder = try TemporaryDirectory() }

    private static func program() throws -> String {
        try compileWithLibrary(source: "\(packageRoot)/Tests/Probes/slow-library.c")
    }

    /// Includes every variable that a daemon gives its apps: others would make each launch cold.
    private var environment: [String] {
        ["PATH=/usr/bin:/bin", "TMPDIR=\(folder.path)", "HOME=/root", "LANG=C.UTF-8"]
    }

    private func measure(
        _ daemon: TestDaemon, _ words: [String], input: Int32? = nil
    ) throws -> (exit: ChildProcess.Exit, text: String) {
        let client = try Programs.client
        let call = [client, "measure", Self.app, "--socket", daemon.socketPath]
        var request = ChildRequest(client, arguments: call + words, environment: environment)
        if let input { request.descriptors[0] = input }
        let (exit, output) = try run(request, mergingErrors: true)
        return (exit, String(decoding: output, as: UTF8.self))
    }

    private var leftFolders: [String] {
        get throws { try FolderContents.names(in: folder.path) }
    }

    @Test func `the verdict for a program with slow libraries is to pause before main`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let (exit, text) = try measure(daemon, ["--rounds", "3", "--json", "--", "a", "b c"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(parsing: text)
        #expect(report["depth"] == .string("main"), "\(text)")
        #expect(report["rounds"] == .integer(3))
        guard case .array(let results) = report["results"] else {
            throw TestError("no results: \(text)")
        }
        #expect(
            results.prefix(3).map { $0["started"] }
                == [.string("direct"), .string("cold"), .string("main")])
        for result in results where result["objection"] == nil {
            for name in ["endUSec", "firstOutputUSec"] {
                guard case .array(let times) = result[name] else {
                    throw TestError("no \(name): \(text)")
                }
                #expect(times.count == 3)
            }
            #expect(result["missCount"] == .integer(0))
        }
        // The machine's own daemon was not asked to start anything, and the private one has ended.
        #expect(try daemon.client().instances().isEmpty)
        #expect(try leftFolders.isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a depth that pays is written into a drop-in, and takes effect`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let (exit, text) = try measure(daemon, ["--rounds", "3", "--apply", "--", "a"])
        try #require(exit == .status(0), "\(text)")
        #expect(text.contains("\nVerdict: Depth=main: main saves"), "\(text)")
        let path = "\(daemon.appDirectory)/\(Self.app).app.d/measured.conf"
        let written = String(decoding: try readFile(path), as: UTF8.self)
        #expect(written.contains("[Prewarm]\nDepth=main\n"), "\(written)")
        #expect(try daemon.client().explain(Self.app).isEligible)
    }

    @Test func `a drop-in that is not from a measurement stays as it is`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let folder = "\(daemon.appDirectory)/\(Self.app).app.d"
        let path = folder + "/measured.conf"
        let text = "# Measured by hand.\n[Prewarm]\nCount=2\n"
        mkdir(folder, 0o755)
        try SmallFile.replace(path, with: text)
        let (exit, output) = try measure(daemon, ["--rounds", "3", "--apply", "--", "a"])
        try #require(exit == .status(0), "\(output)")
        #expect(output.contains("nothing is written, because \(path) is not from"), "\(output)")
        #expect(String(decoding: try readFile(path), as: UTF8.self) == text)
    }

    @Test func `without a terminal, a program is not run unless the caller says how`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        let (exit, text) = try measure(daemon, [], input: null)
        #expect(exit == .status(1))
        #expect(text.contains("give its arguments after \"--\", or --yes"), "\(text)")
        #expect(try leftFolders.isEmpty)
    }

    @Test func `a program that cannot be paused is measured cold, with the reason`() throws {
        let program = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-static"]), output: "static")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program))
        let (exit, text) = try measure(daemon, ["--rounds", "3", "--", "exit", "3"])
        #expect(exit == .status(0))
        #expect(text.contains("statically linked"), "\(text)")
        #expect(text.contains("\nVerdict: it need not be prewarmed"), "\(text)")
    }

    @Test func `an interpreter is measured after its boot, and with learned imports`() throws {
        try requireOrSkip(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3")
        let program = try folder.write(
            "import decimal, email.message, http.client, json\nprint(1)\n", to: "program.py")
        defer { unlink(program) }
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/usr/bin/python3 \(program)"))
        let (exit, text) = try measure(daemon, ["--rounds", "3", "--json", "--yes"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(parsing: text)
        guard case .array(let results) = report["results"] else {
            throw TestError("no results: \(text)")
        }
        let names: [JSONValue?] = [
            .string("direct"), .string("cold"), .string("main"), .string("libraries"),
            .string("runtime"), .string("learned"),
        ]
        #expect(results.map { $0["started"] } == names)
        let ways = results.suffix(2)
        for way in ways {
            #expect(way["objection"] == nil && way["missCount"] == .integer(0), "\(text)")
        }
        // The instance keeps the imported modules while it waits.
        guard case .integer(let booted)? = ways.first?["byteCount"],
            case .integer(let learned)? = ways.last?["byteCount"]
        else { throw TestError("no memory: \(text)") }
        #expect(learned > booted)
    }

    /// A server of Python that prints something, closes its output, and listens in a process of its
    /// own.
    private func server() throws -> String {
        try folder.write(
            """
            import decimal, json, os, signal, socket
            print("starting", flush=True)
            os.close(1)
            if not os.fork():
                listener = socket.create_server(("127.0.0.1", 0))
                signal.pause()
            os.wait()
            """, to: "server.py")
    }

    @Test func `a server is measured until it listens, and is then ended`() throws {
        try requireOrSkip(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3")
        let program = try server()
        defer { unlink(program) }
        let daemon = try TestDaemon(TestApp(Self.app, exec: "/usr/bin/python3 \(program)"))
        let (exit, text) = try measure(
            daemon, ["--listening", "--rounds", "3", "--json", "--yes"])
        try #require(exit == .status(0), "\(text)")
        let report = try JSONValue(parsing: text)
        guard case .array(let results) = report["results"],
            let runtime = results.first(where: { $0["started"] == .string("runtime") }),
            case .array(let times) = runtime["listeningUSec"],
            case .array(let outputs) = runtime["firstOutputUSec"]
        else { throw TestError("no times: \(text)") }
        #expect(runtime["missCount"] == .integer(0) && runtime["endUSec"] == nil, "\(text)")
        for case (.integer(let output), .integer(let time)) in zip(outputs, times) {
            #expect(output <= time, "it listens only after it has printed")
        }
        #expect(times.count == 3 && outputs.count == 3)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    @Test func `a program that ends before it listens is no server`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let (exit, text) = try measure(daemon, ["--listening", "--rounds", "3", "--", "a"])
        #expect(exit == .status(1))
        #expect(text.contains("ended before it listened on a socket"), "\(text)")
        #expect(try leftFolders.isEmpty)
    }

    @Test func `an interrupted measurement leaves nothing behind`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try Self.program()))
        let client = try Programs.client
        let changes = try Inotify()
        _ = try changes.watch(folder.path, for: UInt32(IN_CREATE))
        let process = try ChildProcess(
            ChildRequest(
                client,
                arguments: [
                    client, "measure", Self.app, "--socket", daemon.socketPath, "--rounds", "1000",
                    "--", "a",
                ], environment: environment))
        #expect(try changes.descriptor.waitUntilReadable(milliseconds: Processes.deadline))
        process.kill(SIGINT)
        #expect(try process.waitForExit() == .signal(SIGINT))
        #expect(try leftFolders.isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }

    /// The second one closes its output long before it ends.
    @Test(arguments: ["sleep 1000", "sh -c 'exec >&-; exec sleep 1000'"])
    func `a measurement that a signal ends has ended the program that it started`(
        command: String
    ) throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: command))
        let client = try Programs.client
        let process = try ChildProcess(
            ChildRequest(
                client,
                arguments: [client, "measure", Self.app, "--socket", daemon.socketPath, "--yes"],
                environment: environment))
        try Processes.wait("the program is not started") {
            Processes.mentioning(folder.path).contains {
                Processes.line("Name", of: $0) == "sleep"
            }
        }
        try Processes.awaitSleep(of: process.pid)
        process.kill(SIGTERM)
        #expect(try process.waitForExit() == .signal(SIGTERM))
        #expect(try leftFolders.isEmpty)
        for process in Processes.mentioning(folder.path) { try Processes.awaitEnd(of: process) }
    }
}
