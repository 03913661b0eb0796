import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// A read of /proc reads from the process's memory, or takes a lock that the process holds, and a
/// page of that memory may be in a file whose server never answers (fuse(4)). So a reader may wait
/// for ever. This delays nobody else.
@Suite struct WithheldMemoryTests {
    private static let app = "org.example.app"
    private static let other = "org.example.other"
    /// A call takes less than a millisecond, and what is withheld is withheld for ever.
    private static let promptly = Processes.deadline / 3

    /// The process that serves the file.
    private final class Server {
        let folder: TemporaryDirectory
        private let process: ChildProcess
        private let input: Pipe

        init() throws {
            try requireOrSkip(
                geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
            let program = try compileProbe("stranger.c")
            folder = try TemporaryDirectory()
            input = try Pipe()
            let output = try Pipe()
            var request = ChildRequest(program, arguments: [program, "serve", "-", folder.path])
            request.descriptors = [0: input.readEnd, 1: output.writeEnd, 2: 2]
            process = try ChildProcess(request)
            output.closeWriteEnd()
            guard try readLine(output.readEnd) == "sent" else { throw TestError("no server") }
        }

        /// Ends the server, so that waiting processes get an error.
        func leave() throws {
            input.closeWriteEnd()
            try process.waitForExit()
        }

        deinit {
            try? leave()
            umount2(folder.path, CInt(MNT_DETACH))
        }
    }

    private let server: Server

    init() throws { server = try Server() }

    /// Ends the server if no answer comes; otherwise the daemon could not be ended.
    private func whileServed<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch {
            try server.leave()
            throw error
        }
    }

    private func answersPromptly(_ client: TestClient, _ times: Int = 5) throws {
        for _ in 0..<times {
            try client.send(.list)
            _ = try client.reply(to: .list, milliseconds: Self.promptly)
        }
    }

    private static let compiler = ProbeCompiler("clang", ["-pthread"])

    private func app(_ mode: String, _ lines: [String] = []) throws -> TestApp {
        try RecoveryTests.program(
            Self.app, compileProbe("withhold.c", with: Self.compiler) + " " + mode,
            ["Environment=WITHHELD=\(server.folder.path)"] + lines)
    }

    private func daemon() throws -> TestDaemon {
        var options = TestDaemon.Options()
        options.configuration = ["BackOffFirstSec=1h", "BackOffCapSec=1h"]
        return try TestDaemon([RecoveryTests.program(Self.other, "/bin/true", prewarm: 1)], options)
    }

    /// A write to a pipe or a file holds its lock while the bytes are read from memory.
    @Test func `an app that prints withheld memory delays neither the daemon nor the next app`()
        throws
    {
        let daemon = try daemon()
        let (client, other) = (try daemon.client(), try daemon.client())
        let app = try app("prints", ["ReadyOn=first-output"]).manifest
        try daemon.directory.write(app, to: "apps/\(Self.app).app")
        _ = try client.reload()
        let launched = try client.launch(Self.app)
        try whileServed {
            try daemon.await("readiness") {
                try $0.instance(launched.instance).state == .active ? true : nil
            }
            try answersPromptly(other)
            try daemon.kill()
            try daemon.start()
            try answersPromptly(daemon.client())
        }
        try server.leave()
    }

    @Test func `an instance that cannot be inspected at its pause is ended`() throws {
        let daemon = try daemon()
        let (client, other) = (try daemon.client(), try daemon.client())
        let watcher = try daemon.watch()
        let app = try app("pause", ["Type=application-kit"]).manifest
            .replacing("Depth=none\nCount=0", with: "Count=1")
        try daemon.directory.write(app, to: "apps/\(Self.app).app")
        _ = try client.reload()
        try whileServed {
            try watcher.next {
                $0.kind == .stateChanged && $0.app == Self.app && $0.to == .terminating
            }
            try answersPromptly(other)
            #expect(try other.launch(Self.other).kind == .prewarmed)
            // The pools of other apps are filled as usual.
            try daemon.awaitPaused(Self.other)
        }
        #expect(daemon.log.contains("its process cannot be inspected"))
        #expect(try client.explain(Self.app).reasons.map(\.code) == ["back_off"])
        try server.leave()
    }

    @Test func `an instance that prevents inspection later is ended by the next supervisor`() throws
    {
        let daemon = try daemon()
        let go = daemon.directory.path + "/go"
        #expect(mkfifo(go, 0o600) == 0)
        try daemon.install(
            RecoveryTests.program(
                Self.app,
                try compileWithLibrary(
                    source: packageRoot + "/Tests/Probes/withhold.c", with: Self.compiler),
                prewarm: 1, ["Environment=WITHHELD=\(server.folder.path) GO=\(go)"]))
        _ = try daemon.client().reload()
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        try daemon.awaitPaused(Self.other)
        try thaw(try #require(paused.processId))
        close(open(go, O_WRONLY | O_CLOEXEC))
        try daemon.await("the order to be carried out") { _ in
            access(go, F_OK) != 0 ? true : nil
        }
        try daemon.kill()
        try daemon.start()
        try whileServed {
            try answersPromptly(daemon.client())
            let launched = try daemon.client().launch(Self.app)
            #expect(launched.kind == .cold)
            #expect(launched.instance != paused.instance)
            #expect(try daemon.client().launch(Self.other).kind == .prewarmed)
        }
        try server.leave()
        try Processes.awaitEnd(of: try #require(paused.processId))
    }

    /// Lets the threads of a paused instance run, as they do if it has no cgroup.
    private func thaw(_ pid: Int32) throws {
        guard let cgroup = Cgroups.appFolder(of: pid) else { return }
        try Processes.wait("it is not frozen") { Processes.isFrozen(pid) }
        let file = try FileDescriptor.open(cgroup + "/cgroup.freeze", O_WRONLY)
        #expect(write(file.rawValue, "0", 1) == 1)
    }

    @Test func `a lock on an app's mappings does not delay the measuring of its memory`() throws {
        let daemon = try daemon()
        try daemon.install(try app("memory"))
        let (client, other) = (try daemon.client(), try daemon.client())
        _ = try client.reload()
        let output = try Pipe()
        _ = try client.launch(Self.app, output: output.writeEnd) { $0.isBackground = true }
        #expect(try readLine(output.readEnd) == "here")
        try whileServed {
            try client.send(.debugPressure(.warning))
            try answersPromptly(other)
            _ = try client.reply(to: .debugPressure(.warning), milliseconds: Self.promptly)
        }
        try server.leave()
    }

    /// If the machine has many file locks, the daemon looks at an app's descriptors to find out
    /// whether it has one.
    @Test func `a lock on an app's epoll instance does not delay the search for file locks`()
        throws
    {
        let daemon = try daemon()
        try daemon.install(try app("polls"))
        let (client, other) = (try daemon.client(), try daemon.client())
        _ = try client.reload()
        let output = try Pipe()
        let app = try client.launch(Self.app, output: output.writeEnd) { $0.isBackground = true }
        #expect(try readLine(output.readEnd) == "here")
        let file = open(daemon.directory.path + "/locked", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        for offset in 0..<4000 {
            var lock = flock()
            lock.l_type = Int16(F_WRLCK)
            lock.l_start = off_t(offset * 2)
            lock.l_len = 1
            #expect(fcntl(file, F_SETLK, &lock) == 0)
        }
        try whileServed {
            try client.send(.transition(.suspend, .instance(app.instance)))
            try answersPromptly(other)
            // An app that prevents the inspection is treated like an app that holds a lock.
            let error = control {
                _ = try client.reply(
                    to: .transition(.suspend, .instance(app.instance)),
                    milliseconds: Processes.deadline)
            }
            #expect(error?.description.contains("lock") == true)
        }
        try server.leave()
    }
}
