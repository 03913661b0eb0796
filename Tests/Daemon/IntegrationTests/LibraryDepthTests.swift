import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Libraries that programs open after main, opened before the pause of later prewarms.
@Suite struct LibraryDepthTests {
    private static let app = "org.example.host"

    /// A daemon with a library, and an app that opens the library in its argument.
    private final class Bench {
        let folder: TemporaryDirectory
        let program: String
        let library: String
        let also: String
        let daemon: TestDaemon

        init(
            _ flags: String..., depth: String = "auto", prewarmLines: [String] = [],
            opensAlso: Bool = false
        ) throws {
            folder = try TemporaryDirectory()
            chmod(folder.path, 0o755)
            let built = try Self.compiled(flags)
            try folder.copy(built, to: "libopened.so")
            library = folder.path + "/libopened.so"
            // The flag lets libraries find the program's functions.
            program = try compileProbe(
                "opens-library.c", with: ProbeCompiler("clang", ["-rdynamic"]), output: "opens")
            also = folder.path + "/libalso.so"
            try folder.copy(try Self.compiled(["-DNUMBER=2"]), to: "libalso.so")
            var app = TestApp(
                LibraryDepthTests.app, exec: program, prewarm: 1,
                "Environment=PROBE_WAITS=yes", depth: depth, prewarmLines: prewarmLines)
            if opensAlso { app.lines.append("Environment=PROBE_ALSO=\(also)") }
            daemon = try TestDaemon([app])
        }

        static func compiled(_ flags: [String]) throws -> String {
            try compileProbe(
                "opens-library.c",
                with: ProbeCompiler("clang", ["-DLIBRARY", "-shared", "-fPIC"] + flags),
                output: "libopened.so")
        }

        /// Launches the app from the pool, and keeps it waiting with its library open until `fact`
        /// holds. A look at the launch that takes more than a second, on a busy machine, teaches the
        /// daemon nothing, but the next launch does.
        @discardableResult
        func teach<Fact>(
            pausedCount: Int = 1, environment: [Control.EnvironmentVariable] = [], _ what: String,
            _ fact: (TestClient) throws -> Fact?
        ) throws -> Fact {
            for _ in 1...2 {
                if let found = try? lesson(pausedCount, environment, what, fact) { return found }
            }
            return try lesson(pausedCount, environment, what, fact)
        }

        private func lesson<Fact>(
            _ pausedCount: Int, _ environment: [Control.EnvironmentVariable], _ what: String,
            _ fact: (TestClient) throws -> Fact?
        ) throws -> Fact {
            try daemon.awaitPaused(LibraryDepthTests.app, count: pausedCount)
            let client = try daemon.client()
            let (input, output) = (try Pipe(), try Pipe())
            let launched = try client.launch(
                LibraryDepthTests.app, [library], input: input.readEnd, output: output.writeEnd
            ) {
                $0.environment = environment
            }
            #expect(launched.kind == .prewarmed)
            let found = Result { try daemon.await(what, fact) }
            input.closeWriteEnd()
            #expect(try client.wait(launched.instance).status == 0)
            return try found.get()
        }

        /// Teaches the daemon, and returns the next paused instance, which has the library open.
        @discardableResult
        func awaitDeep() throws -> Control.InstanceStatus {
            try teach("a pause with the library open") { client in
                try client.paused(LibraryDepthTests.app).first { $0.depth == .known(.libraries) }
            }
        }

        func direct(_ words: [String], _ environment: [String] = []) throws -> String {
            let result = try run(
                ChildRequest(
                    program, arguments: [program] + words,
                    environment: ["PATH=/bin", "PROBE_WAITS=yes"] + environment))
            return String(decoding: result.output, as: UTF8.self)
        }
    }

    @Test func `that a launch has opened are open in the next instance, which does the same`()
        throws
    {
        let bench = try Bench()
        let client = try bench.daemon.client()
        let first = try #require(try bench.daemon.awaitPaused(Self.app).first)
        #expect(first.depth == .known(.main))
        let paused = try bench.awaitDeep()
        let maps = try readFile("/proc/\(try #require(paused.processId))/maps")
        #expect(String(decoding: maps, as: UTF8.self).contains(bench.library))

        let explanation = try client.explain(Self.app)
        #expect(explanation.depth == .known(.libraries))
        let reason = explanation.reasons.first { $0.code == "libraries" }
        #expect(reason?.text.hasPrefix("1 library that it opens") == true)
        #expect(try client.list().first?.depth == .known(.libraries))

        let (launched, text, _) = try client.run(Self.app, [bench.library])
        #expect(launched.kind == .prewarmed && launched.instance == paused.instance)
        #expect(try text == bench.direct([bench.library]))
        // The program can see the open library if it asks.
        try bench.daemon.awaitPaused(Self.app)
        #expect(try client.run(Self.app, ["asks", bench.library]).text.contains("before: 1"))
    }

    @Test func `are learned without keeping anything open of the instance that used them`() throws {
        let bench = try Bench()
        try bench.awaitDeep()
        try Processes.wait("a pidfd of an ended process stays") {
            KernelObjects.endedPidfdCount(of: try bench.daemon.pid) == 0
        }
    }

    @Test func `outlive the daemon, as long as they are the same files`() throws {
        let bench = try Bench()
        let paused = try bench.awaitDeep()
        try bench.daemon.kill()
        try bench.daemon.start()
        #expect(try bench.daemon.client().explain(Self.app).depth == .known(.libraries))
        #expect(try bench.daemon.client().paused(Self.app).map(\.instance) == [paused.instance])
        // The spawner ends too, and so do the records, as after a boot.
        try bench.daemon.terminate()
        try bench.daemon.start()
        let next = try #require(try bench.daemon.awaitPaused(Self.app).first)
        #expect(next.depth == .known(.libraries))
        let maps = try readFile("/proc/\(try #require(next.processId))/maps")
        #expect(String(decoding: maps, as: UTF8.self).contains(bench.library))
        // Another file at the same place is not opened before a launch has opened it.
        try bench.daemon.terminate()
        try bench.folder.copy(try Bench.compiled(["-DNUMBER=40"]), to: "libopened.so")
        try bench.daemon.start()
        try bench.daemon.awaitPaused(Self.app)
        let client = try bench.daemon.client()
        let (launched, text, _) = try client.run(Self.app, ["asks", bench.library])
        #expect(launched.kind == .prewarmed && text.contains("before: 0"))
    }

    @Test func `are not opened with the depth main`() throws {
        let bench = try Bench(depth: "main")
        let client = try bench.daemon.client()
        for _ in 0..<2 {
            try bench.daemon.awaitPaused(Self.app)
            let (launched, text, _) = try client.run(Self.app, ["asks", bench.library])
            #expect(launched.kind == .prewarmed && text.contains("before: 0"))
        }
    }

    @Test func `that are replaced in mid-pause are not used as they were`() throws {
        let bench = try Bench(depth: "libraries")
        let client = try bench.daemon.client()
        let paused = try bench.awaitDeep()
        try bench.folder.copy(try Bench.compiled(["-DNUMBER=40"]), to: "libopened.so")
        let (launched, text, _) = try client.run(Self.app, [bench.library])
        #expect(launched.instance != paused.instance)
        #expect(text.contains("opened: 40"))
        #expect(try client.wait(paused.instance).reason == .stale)
        // The new file is opened by its name.
        let next = try bench.daemon.await("a pause with the new library") { client in
            try client.paused(Self.app).first { $0.depth == .known(.libraries) }
        }
        let again = try client.run(Self.app, [bench.library])
        #expect(again.launched.instance == next.instance && again.text.contains("opened: 40"))
    }

    /// Variables that a constructor reads belong to the pool's environment.
    @Test func `that read the environment are opened with the launch's value`() throws {
        let bench = try Bench(prewarmLines: ["EnvironmentKeys=OPENED_AS"])
        let client = try bench.daemon.client()
        try bench.awaitDeep()
        let (launched, text, _) = try client.run(Self.app, [bench.library]) {
            $0.environment = [.init(name: "OPENED_AS", value: "7")]
        }
        #expect(launched.kind == .cold && launched.coldReason == .environmentMismatch)
        #expect(try text == bench.direct([bench.library], ["OPENED_AS=7"]))
        #expect(text.contains("opened: 7"))
    }

    /// The code that a library runs when it is opened, and why it is left out then.
    @Test(arguments: [
        ("-DCALLS_BACK", "changes the process"), ("-DOPENS_FILE", "changes the process"),
        ("-DSTARTS_THREAD", "starts threads"), ("-DSTARTS_PROGRAM", "starts other programs"),
        ("-DENDS", "the program ended"), ("-DUNBOUND", "cannot be opened"),
    ])
    func `that cannot be opened early are left to the program, and the others are opened`(
        flag: String, words: String
    ) throws {
        let bench = try Bench(flag, opensAlso: true)
        let client = try bench.daemon.client()
        let stays = [Control.EnvironmentVariable(name: "PROBE_STAYS", value: "yes")]
        let reason = try bench.teach(environment: stays, "the library that is left out") {
            try $0.explain(Self.app).reasons.first { $0.code == "library_left_out" }
        }
        #expect(reason.text.hasPrefix(bench.library + " "))
        #expect(reason.text.contains(words))
        let paused = try bench.daemon.await("a pause with the other library open") { client in
            try client.paused(Self.app).first { $0.depth == .known(.libraries) }
        }
        let maps = String(
            decoding: try readFile("/proc/\(try #require(paused.processId))/maps"),
            as: UTF8.self)
        #expect(maps.contains(bench.also) && !maps.contains(bench.library))
        let explanation = try client.explain(Self.app)
        #expect(explanation.reasons.contains { $0.text.hasPrefix("1 library that it opens") })
        #expect(!explanation.reasons.contains { $0.code.hasPrefix("depth_") })
        let (launched, text, _) = try client.run(Self.app, ["asks", bench.library]) {
            $0.environment = stays
        }
        #expect(launched.kind == .prewarmed && text.contains("before: 0"))
        // The next daemon leaves it out too.
        try bench.daemon.terminate()
        try bench.daemon.start()
        let other = try bench.daemon.client()
        #expect(try other.explain(Self.app).reasons.contains { $0.text == reason.text })
        // A reset gives it another chance.
        try other.call(.resetFailed(app: Self.app))
        #expect(try !other.explain(Self.app).reasons.contains { $0.code == reason.code })
    }

    /// The loader's variables are part of the pool's environment, so a launch finds the libraries
    /// opened under the variables that it brings itself.
    @Test(arguments: ["LD_BIND_NOW=1", "LD_BIND_NOT=1", "LD_DYNAMIC_WEAK=1"])
    func `are opened as the loader's variables of the launch say`(variable: String) throws {
        let bench = try Bench()
        let client = try bench.daemon.client()
        try bench.awaitDeep()
        let parts = variable.split(separator: "=").map { ByteString(String($0)) }
        let environment = [Control.EnvironmentVariable(name: parts[0], value: parts[1])]
        // The first launch with the variable is cold, and the next instance is paused with it.
        let first = try client.run(Self.app, [bench.library]) { $0.environment = environment }
        #expect(first.launched.coldReason == .environmentMismatch)
        try bench.daemon.await("a pause with the variable") { client in
            try client.paused(Self.app).first { $0.depth == .known(.main) }
        }
        // The instance for the former environment stays.
        try bench.teach(
            pausedCount: 2, environment: environment, "a second pause with the library open"
        ) { client in
            let deep = try client.paused(Self.app).filter { $0.depth == .known(.libraries) }
            return deep.count == 2 ? true : nil
        }
        let (launched, text, _) = try client.run(Self.app, [bench.library]) {
            $0.environment = environment
        }
        #expect(launched.kind == .prewarmed)
        #expect(try text == bench.direct([bench.library], [variable]))
        #expect(first.text == text)
    }
}
