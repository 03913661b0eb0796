import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Attacks of one user on others through a daemon that runs as root, by the facts from which the
/// daemon recognizes environments and users. Each of them once succeeded.
@Suite struct IdentityAttackTests {
    private let own = "org.example.own"
    private let root = "org.example.root"
    private static let user: Int32 = 64_101

    /// Two environments with the same digest (FNV-1a), which the daemon took for one when it
    /// compared digests.
    private static let good = ["LANG=-322UHyqeJd"]
    private static let evil = ["LD_PRELOAD=\(evilLibrary)"]
    private static let evilLibrary = "/tmp/greenroom-\(mark).so"
    private static let mark = "1j5x9loGc1o"
    /// The digest needs this exact name. The file must exist, because the dynamic linker's message
    /// about a missing file would prevent the pause.
    private static let linked: Result<Void, any Error> = Result {
        let built = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-DLIBRARY", "-shared", "-fPIC"]))
        unlink(evilLibrary)
        try #require(symlink(built, evilLibrary) == 0)
        atexit { unlink("/tmp/greenroom-1j5x9loGc1o.so") }
    }

    init() throws { try Self.linked.get() }

    private func daemon(_ apps: TestApp...) throws -> TestDaemon {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        var options = TestDaemon.Options()
        // With these keys, a paused instance that is killed is replaced at once.
        options.configuration = ["BackOffFirstSec=50ms", "BackOffCapSec=50ms"]
        return try TestDaemon(apps, options)
    }

    private func ownApp(_ prewarm: Int = 0, _ more: [String] = []) throws -> TestApp {
        program(own, try compileProbe("behave.c"), prewarm: prewarm, ["User=\(Self.user)"] + more)
    }

    private func client(_ daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, Self.user, Self.user, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// Launches, and returns when the app has ended.
    @discardableResult
    private func run(
        _ app: String, _ environment: [String], _ client: TestClient
    ) throws -> Control.Launched {
        let launched = try client.launch(app, ["exit", "0"]) {
            $0.callerEnvironment = environment.map(ByteString.text)
        }
        _ = try client.wait(launched.instance)
        return launched
    }

    /// The environment of the one paused instance.
    private func pausedEnvironment(_ app: String, _ daemon: TestDaemon) throws -> [String] {
        let paused = try #require(try daemon.awaitPaused(app).first)
        let bytes = try readFile("/proc/\(try #require(paused.processId))/environ")
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The environment of the next paused instance, after this one has ended.
    private func refill(_ app: String, _ daemon: TestDaemon) throws -> [String] {
        let paused = try #require(try daemon.awaitPaused(app).first)
        kill(try #require(paused.processId), SIGKILL)
        _ = try daemon.client().wait(paused.instance)
        return try pausedEnvironment(app, daemon)
    }

    // MARK: Environments

    @Test func `an environment that a user made to look like root's stays the user's`() throws {
        let probe = try compileProbe("behave.c")
        let daemon = try daemon(program(root, probe, prewarm: 1), try ownApp())
        let (admin, user) = (try daemon.client(), try client(daemon))
        try run(root, Self.good, admin)
        #expect(try pausedEnvironment(root, daemon).contains(Self.good[0]))
        try run(own, Self.evil, user)
        let refilled = try refill(root, daemon)
        #expect(!refilled.contains { $0.contains(Self.mark) })
        #expect(refilled.contains(Self.good[0]))
        #expect(try run(root, Self.good, admin).kind == .prewarmed)
    }

    @Test func `two environments of one app are distinguished, whatever their digests`() throws {
        let daemon = try daemon(try ownApp(1))
        let user = try client(daemon)
        try run(own, Self.evil, user)
        #expect(try pausedEnvironment(own, daemon).contains { $0.contains(Self.mark) })
        let other = try run(own, Self.good, user)
        #expect(other.kind == .cold && other.coldReason == .known(.environmentMismatch))
    }

    /// The next supervisor has only the keys.
    @Test func `after a restart an environment is recognized, and no other is mistaken for it`()
        throws
    {
        let daemon = try daemon(try ownApp(1))
        for (first, second) in [(Self.good, Self.good), (Self.good, Self.evil)] {
            try run(own, first, try client(daemon))
            let paused = try #require(try daemon.awaitPaused(own).first)
            #expect(try pausedEnvironment(own, daemon).contains(first[0]))
            try daemon.restart()
            #expect(try daemon.awaitPaused(own).first?.processId == paused.processId)
            let launched = try run(own, second, try client(daemon))
            #expect(launched.kind == (first == second ? .prewarmed : .cold))
            #expect((launched.instance == paused.instance) == (first == second))
        }
    }

    @Test func `no user can make the daemon forget the pool environments of another user`() throws {
        let probe = try compileProbe("behave.c")
        let daemon = try daemon(program(root, probe, prewarm: 1), try ownApp())
        let (admin, user) = (try daemon.client(), try client(daemon))
        try run(root, Self.good, admin)
        try daemon.awaitPaused(root)
        for number in 0..<70 { try run(own, ["TZ=UTC+\(number)"], user) }
        #expect(try refill(root, daemon).contains(Self.good[0]))
    }

    // MARK: Rights that the user lacks

    private static let capability = [
        "[Sandbox]", "AmbientCapabilities=CAP_DAC_READ_SEARCH", "NoNewPrivileges=no",
    ]

    @Test func `a launch of an app with capabilities can bring only arguments`() throws {
        let daemon = try daemon(try ownApp(0, Self.capability))
        let user = try client(daemon)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let changes: [(inout Control.LaunchCall) -> Void] = [
            { $0.callerEnvironment = Self.evil.map(ByteString.text) },
            { $0.environment = [.init(name: "LD_PRELOAD", value: "/tmp/evil.so")] },
            { $0.standardOutput = 0 },
            { $0.workingDirectoryDescriptor = 0 },
            { $0.umask = 0 },
        ]
        for change in changes {
            var call = Control.LaunchCall(app: own)
            change(&call)
            let carries = call.standardOutput != nil || call.workingDirectoryDescriptor != nil
            let refusal = control { _ = try user.launch(call, descriptors: carries ? [null] : []) }
            guard case .permissionDenied(let needed)? = refusal else {
                Issue.record("it was launched: \(call), \(String(describing: refusal))")
                continue
            }
            #expect(needed.contains("rights of its own") && needed.contains("arguments only"))
        }
        let launched = try user.launch(own, ["exit", "6"])
        #expect(try user.wait(launched.instance).status == 6)
    }

    @Test func `an environment from before an app got capabilities is not used afterwards`() throws
    {
        let daemon = try daemon(try ownApp(1))
        try run(own, Self.evil, try client(daemon))
        #expect(try pausedEnvironment(own, daemon).contains { $0.contains(Self.mark) })
        var app = try ownApp(1)
        app.prewarmLines = Self.capability
        try daemon.install(app)
        #expect(try daemon.client().reload().failed.isEmpty)
        let paused = try daemon.await("one with its capabilities") { client in
            try client.paused(own).first { paused in
                paused.processId.flatMap { Processes.line("CapAmb", of: $0) }?.last == "4"
            }
        }
        let environment = try readFile("/proc/\(try #require(paused.processId))/environ")
        #expect(!String(decoding: environment, as: UTF8.self).contains(Self.mark))
    }

    /// The manual recommends these keys; with supplementary groups alone, the kernel lets the user
    /// trace the app.
    @Test(arguments: [["Group=64110"], ["Group=64110", "SupplementaryGroups=64111"]])
    func `an app with its own group cannot be traced by its user`(lines: [String]) throws {
        let daemon = try daemon(try ownApp(0, lines))
        let launched = try client(daemon).launch(own, ["wait-forever"])
        let path = "/proc/\(try #require(launched.processId))/environ"
        var request = ChildRequest("/bin/cat", arguments: ["cat", path], environment: [])
        request.user = Self.user
        // Reading this file needs the right to trace (proc_pid_environ(5)).
        #expect(try TestSupport.run(request).exit == .status(1))
        request.user = nil
        #expect(try TestSupport.run(request).exit == .status(0))
    }

    // MARK: Inherited rights

    /// systemd gives each service a session keyring, and a process with that keyring has its keys.
    @Test func `an app finds neither another user's keys nor the daemon's`() throws {
        let probe = try compileProbe("keyring.c")
        let folder = try TemporaryDirectory()
        let script = """
            #!/bin/sh
            exec "\(probe)" enter /bin/sh -c '
            "\(probe)" add of-daemon && exec "\(try Programs.spawner)" "$@"' sh "$@"
            """
        let spawner = try folder.write(script, to: "spawner", mode: 0o755)
        var options = TestDaemon.Options()
        options.spawner = spawner
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let other = "org.example.other"
        let daemon = try TestDaemon(
            [
                program(own, probe, ["User=\(Self.user)"]),
                program(other, probe, ["User=\(Self.user + 1)"]), program(root, probe),
            ], options)
        let admin = try daemon.client()
        func status(_ app: String, _ words: String...) throws -> UInt8? {
            try admin.wait(try admin.launch(app, words).instance).status
        }
        #expect(try status(root, "find", "of-daemon") == 0)
        #expect(try status(own, "find", "of-daemon") == 1)
        #expect(try status(own, "add", "of-user") == 0)
        #expect(try status(other, "find", "of-user") == 1)
        #expect(try status(root, "find", "of-user") == 1)
    }

    /// A process can open its controlling terminal for reading by /dev/tty.
    @Test(arguments: [0, 1])
    func `a terminal that a user may only write to does not become the app's`(
        prewarm: Int
    ) throws {
        let daemon = try daemon(try ownApp(prewarm))
        if prewarm > 0 { try daemon.awaitPaused(own) }
        var ends: (Int32, Int32) = (-1, -1)
        try requireOrSkip(cts_open_terminal(&ends.0, &ends.1) == 0, "no pseudo-terminals")
        defer { close(ends.0); close(ends.1) }
        let writable = open("/proc/self/fd/\(ends.1)", O_WRONLY | O_NOCTTY | O_CLOEXEC)
        defer { close(writable) }
        func refusal(_ terminal: Int32) throws -> ControlError? {
            let user = try client(daemon)
            return control {
                _ = try user.launch(own, ["exit", "0"], output: terminal) {
                    $0.takesTerminal = true
                }
            }
        }
        guard case .spawnFailed? = try refusal(writable) else {
            Issue.record("the app has the terminal")
            return
        }
        #expect(try refusal(ends.1) == nil)
    }

    // MARK: Reports to other users

    @Test func `other users cannot learn the daemon's environment`() throws {
        let daemon = try daemon(try ownApp())
        #expect(try client(daemon).describe().environment.isEmpty)
        #expect(try !daemon.client().describe().environment.isEmpty)
    }
}
