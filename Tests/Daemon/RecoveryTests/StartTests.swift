import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Starts of a daemon when something is missing, left over or in the way.
@Suite struct StartTests {
    private let app = "org.example.a"

    /// Runs another greenroomd to its end.
    private func run(
        _ directory: String, _ extra: [String] = [], spawner: String? = nil
    ) throws -> (exit: ChildProcess.Exit, text: String) {
        let program = try Programs.daemon
        let request = ChildRequest(
            program,
            arguments: [
                program, "--runtime-directory", directory, "--apps", directory, "--shim",
                try prewarmShim(), "--spawner", try spawner ?? Programs.spawner,
            ] + extra)
        let result = try TestSupport.run(request, mergingErrors: true)
        return (result.exit, String(decoding: result.output, as: UTF8.self))
    }

    @Test func `a second daemon in the same directory is turned away and harms nothing`() throws {
        let daemon = try TestDaemon(program(app, try compileProbe("behave.c"), prewarm: 1))
        try daemon.awaitPaused(app)
        let second = try run(daemon.runtimeDirectory)
        #expect(second.exit == .status(1))
        #expect(second.text.contains("another greenroomd runs in \(daemon.runtimeDirectory)"))
        #expect(second.text.contains("--runtime-directory"))
        let launched = try daemon.client().launch(app, ["exit", "2"])
        #expect(launched.kind == .prewarmed)
        #expect(try daemon.client().wait(launched.instance).status == 2)
    }

    @Test func `a daemon that has ended leaves no socket open and no process behind`() throws {
        for _ in 0..<20 {
            let daemon = try TestDaemon(program(app, "/bin/true"))
            _ = try daemon.client().list()
            let pid = try daemon.pid
            let children = try ProcessTable.entries().map(\.pid).filter {
                ProcessTable.entry(of: $0)?.parent == pid
                    && Processes.line("Name", of: $0)?.hasPrefix("greenroom-") == true
            }
            #expect(try daemon.terminate() == .status(0))
            #expect(throws: SystemError.self) {
                try UnixSocket.connect(to: daemon.socketPath, .stream)
            }
            for child in children {
                let name = Processes.line("Name", of: child)
                #expect(name == nil || name == "greenroom-spawn")
            }
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a daemon that is told to end while it starts ends its spawner`(signal: Int32) throws {
        for _ in 0..<5 {
            let folder = try TemporaryDirectory()
            let program = try Programs.daemon
            let starting = try ChildProcess(
                ChildRequest(
                    program,
                    arguments: [
                        program, "--runtime-directory", folder.path + "/run", "--apps",
                        folder.path, "--shim", try prewarmShim(), "--spawner",
                        try Programs.spawner,
                    ]))
            func spawner() -> Int32? {
                Processes.mentioning(folder.path).first {
                    Processes.line("Name", of: $0)?.hasSuffix("greenroom-spawn") == true
                }
            }
            try Processes.wait("no spawner was started") { spawner() != nil }
            let begun = try #require(spawner())
            kill(starting.pid, signal)
            #expect(try starting.waitForExit() == .status(0))
            try Processes.awaitEnd(of: begun)
        }
    }

    @Test func `sockets left by dead processes are replaced`() throws {
        let daemon = try TestDaemon(program(app, try compileProbe("behave.c")))
        let spawner = try daemon.spawnerPid
        try daemon.kill()
        Glibc.kill(spawner, SIGKILL)
        try Processes.awaitEnd(of: spawner)
        for name in ["control", "spawner", "notify"] {
            #expect(access("\(daemon.runtimeDirectory)/\(name)", F_OK) == 0)
        }
        try daemon.start()
        let launched = try daemon.client().launch(app, ["exit", "2"])
        #expect(try daemon.client().wait(launched.instance).status == 2)
    }

    @Test func `a spawner that is killed while it starts is started again`() throws {
        let folder = try TemporaryDirectory()
        let script = """
            #!/bin/sh
            [ -e "\(folder.path)/killed" ] || { : >"\(folder.path)/killed"; kill -KILL $$; }
            exec "\(try Programs.spawner)" "$@"
            """
        let path = try folder.write(script, to: "spawner", mode: 0o755)
        var options = TestDaemon.Options()
        options.spawner = path
        let daemon = try TestDaemon([program(app, try compileProbe("behave.c"))], options)
        let launched = try daemon.client().launch(app, ["exit", "2"])
        #expect(try daemon.client().wait(launched.instance).status == 2)
        #expect(access(folder.path + "/killed", F_OK) == 0)
    }

    @Test func `a daemon names a missing or invalid file`() throws {
        let directory = try TemporaryDirectory()
        let noSpawner = try run(directory.path, spawner: "/nowhere/greenroom-spawner")
        #expect(noSpawner.exit == .status(1))
        #expect(noSpawner.text.contains("/nowhere/greenroom-spawner"))
        #expect(noSpawner.text.contains("No such file") || noSpawner.text.contains("no such file"))
        let noConfiguration = try run(directory.path, ["--config", "/nowhere/greenroom.conf"])
        #expect(noConfiguration.exit == .status(1))
        #expect(noConfiguration.text.contains("/nowhere/greenroom.conf"))
        let noDirectory = try run("/nowhere/at/all")
        #expect(noDirectory.exit == .status(1))
        #expect(noDirectory.text.contains("/nowhere/at/all"))
        // The daemon must not have left a spawner behind.
        #expect(Processes.mentioning(directory.path).isEmpty)
    }

    @Test func `a typing error in greenroom.conf does not stop a start`() throws {
        let daemon = try TestDaemon(program(app, try compileProbe("behave.c")))
        func notes() throws -> [String] {
            try daemon.client().describe().degraded.filter { $0.code == "bad_configuration" }
                .map(\.text)
        }
        #expect(try notes().isEmpty)
        try daemon.configure(["PrewarmBudget=much"])
        try daemon.kill()
        try daemon.start()
        let text = try #require(try notes().first)
        #expect(text.contains("those of the last good file apply"))
        #expect(text.contains("/greenroom.conf:") && text.contains("PrewarmBudget"), "\(text)")
        try daemon.kill()
        unlink(daemon.directory.path + "/state/greenroom.conf")
        try daemon.start()
        #expect(try notes().first?.contains("the defaults apply") == true)
        #expect(try daemon.client().launch(app, ["exit", "2"]).kind == .cold)
        try daemon.configure([])
        #expect(try daemon.client().reload().failed.isEmpty)
        #expect(try notes().isEmpty)
    }

    @Test func `relative paths start at the directory in which the daemon was started`() throws {
        let directory = try TemporaryDirectory()
        let program = try compileProbe("behave.c")
        try directory.write(
            TestApp(app, exec: program, prewarm: 1).manifest, to: "\(app).app")
        // The load of the machine must not prevent the prewarm.
        try directory.write("[Greenroom]\nPrewarmMaxLoad=0\n", to: "conf")
        symlink(try Programs.spawner, directory.path + "/spawner")
        symlink(try prewarmShim(), directory.path + "/shim.so")
        let daemon = try Programs.daemon
        var request = ChildRequest(
            daemon,
            arguments: [
                daemon, "--runtime-directory", "run", "--apps", ".", "--spawner", "spawner",
                "--shim", "shim.so", "--config", "conf",
            ])
        request.directory = directory.path
        let log = open(directory.path + "/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        request.descriptors[2] = log
        let address = directory.path + "/ready"
        request.environment += ["NOTIFY_SOCKET=\(address)"] + ChildRequest.sanitizerOptions
        let ready = try DatagramSocket(boundAt: address, mode: 0o600)
        let process = try ChildProcess(request)
        guard try ready.descriptor.waitUntilReadable(milliseconds: Processes.deadline) else {
            throw TestError("\((try? readFile(directory.path + "/log")) ?? [])")
        }
        let watcher = try EventWatcher(directory.path + "/run/control")
        let client = try TestClient(directory.path + "/run/control")
        while try client.paused(app).isEmpty {
            #expect(try watcher.next().kind != .prewarmFailed)
        }
        #expect(try client.launch(app, ["exit", "0"]).kind == .prewarmed)
        process.kill(SIGTERM)
        #expect(try process.waitForExit() == .status(0))
        // Without a named state directory, the daemon has one beside its sockets.
        #expect(access("\(directory.path)/run/persistent/metrics/\(getuid())/\(app)", R_OK) == 0)
    }

    @Test func `a daemon that cannot serve leaves no spawner behind`() throws {
        let folder = try TemporaryDirectory()
        mkdir(folder.path + "/control", 0o755)
        let result = try run(folder.path)
        #expect(result.exit == .status(1))
        #expect(result.text.contains("\(folder.path)/control"))
        let left = Processes.mentioning(folder.path)
        #expect(left.isEmpty, "\(left.map(Processes.description(of:)))")
        for pid in left { Glibc.kill(pid, SIGKILL) }
    }

    @Test func `every launch without the shim is cold, and explain says why`() throws {
        var options = TestDaemon.Options()
        options.shim = "/nowhere/shim.so"
        let daemon = try TestDaemon(
            program(app, try compileProbe("behave.c"), prewarm: 1), options: options)
        let launched = try daemon.client().launch(app, ["exit", "2"])
        #expect(launched.kind == .cold)
        #expect(try daemon.client().wait(launched.instance).status == 2)
        let explanation = try daemon.client().explain(app)
        #expect(explanation.reasons.contains { $0.text.contains("/nowhere/shim.so") })
    }

    @Test func `a damaged runtime state loses what it held and nothing else`() throws {
        let daemon = try TestDaemon(program(app, try compileProbe("behave.c"), prewarm: 1))
        let paused = try daemon.awaitPaused(app)
        let launched = try daemon.client().launch(app, ["wait-forever"])
        try daemon.awaitPaused(app)
        let spawner = try daemon.spawnerPid
        try daemon.kill()
        try overwriteState(of: spawner)
        try daemon.start()
        // The daemon does not know what these processes are, so it ends them.
        try Processes.awaitEnd(of: launched.processId!)
        #expect(launched.processId == paused[0].processId)
        try daemon.awaitPaused(app)
        let again = try daemon.client().launch(app, ["exit", "2"])
        #expect(try daemon.client().wait(again.instance).status == 2)
        // Identifiers go on where they were, or above those that the spawner knows.
        #expect(again.instance != launched.instance)
    }

    /// Writes garbage over the control words and the first records of the mapping that the spawner
    /// keeps.
    private func overwriteState(of spawner: Int32) throws {
        try requireOrSkip(getuid() == 0, "only root may open another's descriptors")
        let folder = "/proc/\(spawner)/fd"
        for number in 0..<64 {
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = bytes.withUnsafeMutableBytes { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    readlink("\(folder)/\(number)", $0.baseAddress!, 256)
                }
            }
            // The mapping is a file of the runtime directory, or memory if there can be no file.
            let name = count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
            guard name.contains("greenroom-state") || name.hasSuffix("/state") else { continue }
            let file = open("\(folder)/\(number)", O_RDWR | O_CLOEXEC)
            defer { close(file) }
            var generator = SeededGenerator()
            var garbage = [UInt8](repeating: 0, count: 256 << 10)
            for index in garbage.indices {
                garbage[index] = UInt8.random(in: 0...255, using: &generator)
            }
            guard pwrite(file, garbage, garbage.count, 4096) == garbage.count else {
                throw TestError("writing the state: errno \(errno)")
            }
            return
        }
        throw TestError("no state among the spawner's descriptors")
    }
}
