import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Paused instances: made at start and on demand, replaced when used up, never used when stale.
@Suite struct PoolTests {
    private static let app = "org.example.app"

    @Test(arguments: Runner.allCases)
    func `instances are prewarmed at start, and again after a launch`(_ runner: Runner) throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 2), options: runner.options)
        let paused = try daemon.awaitPaused(Self.app, count: 2)
        let client = try daemon.client()
        let launched = try client.launch(Self.app, ["exit", "3"])
        #expect(launched.kind == .prewarmed)
        #expect(launched.coldReason == nil)
        #expect(paused.map(\.instance).contains(launched.instance))
        #expect(paused.map(\.processId).contains(launched.processId))
        #expect(try client.wait(launched.instance).status == 3)
        let refilled = try daemon.awaitPaused(Self.app, count: 2)
        #expect(!refilled.map(\.instance).contains(launched.instance))
    }

    /// The daemon is stopped until both calls are there. It reads them one after another, and does not
    /// refill the pool by itself.
    @Test func `of two launches at once, one takes the paused instance and one starts cold`() throws
    {
        let program = try compileProbe("behave.c")
        var options = TestDaemon.Options()
        options.configuration = ["RefillDelaySec=1h"]
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1), options: options)
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let clients = try [daemon.client(), daemon.client()]
        let calls = ["3", "4"].map { status in
            var call = Control.LaunchCall(app: Self.app)
            call.arguments = [.text("exit"), .text(status)]
            return ControlCall.launch(call)
        }
        // The daemon knows both connections: it has answered a call on each.
        for client in clients { _ = try client.list() }
        daemon.signal(SIGSTOP)
        for (client, call) in zip(clients, calls) { try client.send(call) }
        daemon.signal(SIGCONT)
        let launches = try zip(clients, calls).map { client, call in
            guard case .launched(let launched) = try client.reply(to: call) else {
                throw TestError("another reply")
            }
            return launched
        }
        #expect(Set(launches.map(\.kind)) == [.known(.prewarmed), .known(.cold)])
        for launched in launches {
            let isFromPool = launched.kind == .prewarmed
            #expect((launched.instance == paused.instance) == isFromPool)
            #expect((launched.processId == paused.processId) == isFromPool)
            #expect(launched.coldReason == (isFromPool ? nil : .noneReady))
        }
        #expect(try launches.map { try clients[0].wait($0.instance).status } == [3, 4])
        // Neither launch has left anything.
        try clients[0].prewarm(Self.app)
        let refilled = try daemon.awaitPaused(Self.app)
        #expect(try daemon.client().instances().map(\.instance) == refilled.map(\.instance))
        #expect(!launches.map(\.instance).contains(refilled[0].instance))
    }

    @Test func `an app with the occasion demand is prewarmed on request, and from then on`() throws
    {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, prewarmLines: ["When=demand"]))
        let client = try daemon.client()
        #expect(try client.paused(Self.app).isEmpty)
        #expect(try client.explain(Self.app).reasons.map(\.code) == ["on_demand"])
        let instances = try client.prewarm(Self.app)
        #expect(try client.paused(Self.app).map(\.instance) == instances)
        let (launched, _, exit) = try client.run(Self.app, ["exit", "4"])
        #expect(launched.instance == instances.first)
        #expect(launched.kind == .prewarmed)
        #expect(exit.status == 4)
        try daemon.awaitPaused(Self.app)
    }

    @Test func `a paused instance that is killed is replaced, and launches go on`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1), options: Self.quickBackOff)
        let first = try #require(try daemon.awaitPaused(Self.app).first)
        let watcher = try daemon.watch()
        kill(try #require(first.processId), SIGKILL)
        try watcher.next { $0.kind == .exited && $0.instance == first.instance }
        let client = try daemon.client()
        #expect(try client.run(Self.app, ["print", "x"]).text == "x\n")
        let second = try #require(try daemon.awaitPaused(Self.app).first)
        #expect(second.instance != first.instance)
        #expect(try client.run(Self.app, ["print", "y"]).text == "y\n")
    }

    /// Sanitizers and just-in-time compilers map such files before main.
    @Test func `a nameless file that an instance maps does not make the instance stale`() throws {
        let folder = try TemporaryDirectory()
        let source = try folder.write(
            """
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/mman.h>
            #include <unistd.h>
            #ifdef LIBRARY
            __attribute__((constructor)) static void begin(void) {
                char name[] = "/tmp/greenroom-test-XXXXXX";
                int file = mkstemp(name);
                unlink(name);
                if (ftruncate(file, 4096) < 0) abort();
                mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
                close(file);
            }
            #else
            int main(void) { puts("ran"); return 0; }
            #endif
            """, to: "own.c")
        let program = try folder.copy(try compileWithLibrary(source: source), to: "own")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        let (launched, text, _) = try daemon.client().run(Self.app)
        #expect(launched.kind == .prewarmed && launched.instance == paused.instance)
        #expect(text == "ran\n")
    }

    /// The file is replaced in the way of installers: another one takes its name.
    @Test func `an app whose program is replaced runs the new one`() throws {
        let folder = try TemporaryDirectory()
        let program = try folder.script("old")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let client = try daemon.client()
        for generation in 0..<6 {
            let paused = try #require(try daemon.awaitPaused(Self.app).first)
            try folder.script("new\(generation)")
            let (launched, text, _) = try client.run(Self.app)
            #expect(text == "new\(generation)\n")
            #expect(launched.instance != paused.instance)
            // The pool is made again from the new program.
            try daemon.awaitPaused(Self.app)
            let (second, next, _) = try client.run(Self.app)
            #expect(next == "new\(generation)\n")
            #expect(second.kind == .prewarmed)
        }
    }

    @Test func `an app whose program is deleted and written again is missing only for a moment`()
        throws
    {
        let folder = try TemporaryDirectory()
        let program = try folder.script("old")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let client = try daemon.client()
        try daemon.awaitPaused(Self.app)
        let watcher = try daemon.watch()
        unlink(program)
        try watcher.next { $0.kind == .appsChanged }
        #expect(try client.list() == [])
        try folder.script("new")
        try watcher.next { $0.kind == .appsChanged }
        try daemon.awaitPaused(Self.app)
        #expect(try client.run(Self.app).text == "new\n")
    }

    @Test func `no paused instance is used after one of its libraries is replaced`() throws {
        let folder = try TemporaryDirectory()
        func library(_ text: String) throws -> String {
            let source = try folder.write(
                "const char *library_text(void) { return \"\(text)\"; }\n", to: "\(text).c")
            return try compile(
                source: source, with: ProbeCompiler("clang", ["-shared", "-fPIC"]),
                output: "libpart.so")
        }
        let main = try folder.write(
            """
            #include <stdio.h>
            const char *library_text(void);
            int main(void) { puts(library_text()); return 0; }
            """, to: "main.c")
        let installed = folder.path + "/libpart.so"
        try folder.copy(try library("old"), to: "libpart.so")
        let program = try compile(
            source: main,
            with: ProbeCompiler("clang", [installed, "-Wl,-rpath,\(folder.path)"]))
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let client = try daemon.client()
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        try folder.copy(try library("new"), to: "libpart.so")
        let (launched, text, _) = try client.run(Self.app)
        #expect(text == "new\n")
        #expect(launched.instance != paused.instance)
        #expect(try client.wait(paused.instance).reason == .stale)
    }

    @Test func `no paused instance is used after its manifest changes`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1, "UMask=022"))
        let client = try daemon.client()
        let paused = try #require(try daemon.awaitPaused(Self.app).first)
        try daemon.install(TestApp(Self.app, exec: program, prewarm: 1, "UMask=077"))
        let report = try client.reload()
        #expect(report.loaded == [Self.app])
        #expect(report.failed.isEmpty)
        let running = try client.start(Self.app)
        #expect(running.instance != paused.instance)
        #expect(Processes.line("Umask", of: running.pid) == "0077")
        #expect(try client.wait(paused.instance).reason == .stale)
    }

    static var quickBackOff: TestDaemon.Options {
        var options = TestDaemon.Options()
        options.configuration = ["BackOffFirstSec=50ms", "BackOffCapSec=50ms"]
        return options
    }
}

extension TemporaryDirectory {
    /// Compiles a program that prints the text: copies of one binary would differ only in their
    /// paths.
    @discardableResult
    func script(_ text: String) throws -> String {
        let source = try write(
            "#include <stdio.h>\nint main(void) { puts(\"\(text)\"); return 0; }\n",
            to: "\(text).c")
        return try copy(try compile(source: source, output: "program"), to: "program")
    }

    /// Replaces the file that has the name now by a copy of another (rename(2)).
    @discardableResult
    func copy(_ file: String, to name: String) throws -> String {
        let bytes = try readFile(file)
        let path = "\(self.path)/\(name)"
        let descriptor = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o755)
        guard descriptor >= 0, Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw TestError("\(path): errno \(errno)")
        }
        close(descriptor)
        awaitNoWriter(of: path + ".new")
        guard rename(path + ".new", path) == 0 else { throw TestError("rename: errno \(errno)") }
        return path
    }
}
