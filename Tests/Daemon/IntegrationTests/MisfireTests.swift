import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs with a library whose constructor starts another program before the pause. The start
/// never takes effect, and the prewarm is not tried again.
@Suite struct MisfireTests {
    private static let app = "org.example.app"
    /// The number of prewarms of each kind. Each has its own app, because one that misfired is not
    /// prewarmed again.
    private static let tries = 20

    enum Misfire: String, CaseIterable {
        case exec, fork, clone, system, spawn, threadFork = "thread-fork"
        case threadExec = "thread-exec", closeFork = "close-fork"
    }

    private static func program() throws -> String {
        try compileWithLibrary(
            source: packageRoot + "/Tests/Probes/misfire.c",
            with: ProbeCompiler("clang", ["-pthread"]))
    }

    private static func apps(
        _ program: String, _ misfire: String, _ count: Int, marks folder: TemporaryDirectory
    ) -> [TestApp] {
        (0..<count).map {
            TestApp(
                "\(app)\($0)", exec: program, prewarm: 1,
                "Environment=MISFIRE=\(misfire) MARK=\(folder.path)/mark\($0)",
                prewarmLines: ["When=demand"])
        }
    }

    @Test(arguments: Misfire.allCases, Runner.allCases)
    func `a program that a constructor starts is stopped before it runs`(
        _ misfire: Misfire, _ runner: Runner
    ) throws {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o777)
        let program = try Self.program()
        let apps = Self.apps(program, misfire.rawValue, Self.tries, marks: folder)
        let daemon = try TestDaemon(apps, runner.options)
        let client = try daemon.client()
        for app in apps {
            #expect(throws: (any Error).self) { try client.prewarm(app.identifier) }
            // No process is left when the end is reported.
            let ended = try daemon.await("the end of \(app.identifier)") { client in
                try client.instances(of: app.identifier).first { $0.exit != nil }
            }
            #expect(ended.kind == nil)
            let explanation = try client.explain(app.identifier)
            #expect(!explanation.isEligible)
            #expect(explanation.reasons.map(\.code).contains("starts_programs"))
        }
        #expect(try contents(of: folder.path).isEmpty)
        let (launched, text, _) = try client.run(apps[0].identifier)
        #expect(launched.kind == .cold && launched.coldReason == .ineligible)
        #expect(text == "ran\n")
    }

    @Test(arguments: Runner.allCases)
    func `threads of a constructor live on and are not traced`(_ runner: Runner) throws {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o777)
        let apps = Self.apps(try Self.program(), "threads", Self.tries, marks: folder)
        let daemon = try TestDaemon(apps, runner.options)
        let client = try daemon.client()
        for app in apps {
            _ = try client.prewarm(app.identifier)
            let paused = try #require(try client.paused(app.identifier).first)
            let pid = try #require(paused.processId)
            let threads = try contents(of: "/proc/\(pid)/task")
            #expect(threads.count == 4)
            for thread in threads {
                let status = String(
                    decoding: try readFile("/proc/\(pid)/task/\(thread)/status"), as: UTF8.self)
                #expect(status.contains("\nTracerPid:\t0\n"))
                // Neither stopped (T) nor held by a tracer (t).
                #expect(!status.lowercased().contains("\nstate:\tt"))
            }
            #expect(try contents(of: folder.path).isEmpty)
        }
        let (launched, text, exit) = try client.run(apps[0].identifier)
        #expect(launched.kind == .prewarmed)
        #expect(text == "ran\n" && exit.status == 0)
    }

    @Test func `an app that misfired is prewarmed again when its program is replaced`() throws {
        let folder = try TemporaryDirectory()
        let program = try folder.copy(try Self.program(), to: "program")
        let apps = Self.apps(program, "fork", 1, marks: folder)
        let daemon = try TestDaemon(apps)
        let client = try daemon.client()
        let app = apps[0].identifier
        #expect(throws: (any Error).self) { try client.prewarm(app) }
        #expect(try !client.explain(app).isEligible)
        let harmless = try folder.copy(try compileProbe("behave.c"), to: "harmless")
        rename(harmless, program)
        try daemon.await("another try") { client in
            try client.explain(app).isEligible ? true : nil
        }
        _ = try client.prewarm(app)
        #expect(try client.paused(app).count == 1)
    }

    @Test func `a misfire is remembered after the supervisor is killed`() throws {
        let folder = try TemporaryDirectory()
        let apps = Self.apps(try Self.program(), "system", 1, marks: folder)
        let daemon = try TestDaemon(apps)
        let app = apps[0].identifier
        #expect(throws: (any Error).self) { try daemon.client().prewarm(app) }
        try daemon.await("the end") { client in
            try client.instances(of: app).first { $0.exit != nil }
        }
        try daemon.kill()
        try daemon.start()
        let client = try daemon.client()
        #expect(
            try client.explain(app).reasons.map(\.code).contains("starts_programs"))
        #expect(throws: (any Error).self) { try client.prewarm(app) }
        #expect(try client.instances(of: app).count == 1)
        #expect(try contents(of: folder.path).isEmpty)
    }

    /// A Debian program whose library asks dmidecode for the machine's vendor.
    @Test func `a prewarm of parted does not run dmidecode`() throws {
        let parted = "/usr/sbin/parted"
        try requireOrSkip(access(parted, X_OK) == 0, "parted is not installed")
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: parted, prewarm: 1, prewarmLines: ["When=demand"]))
        let client = try daemon.client()
        #expect(throws: (any Error).self) { try client.prewarm(Self.app) }
        #expect(
            try client.explain(Self.app).reasons.map(\.code).contains("starts_programs"))
        let (launched, text, _) = try client.run(Self.app, ["--version"])
        #expect(launched.kind == .cold)
        #expect(text.contains("parted"))
    }
}

/// Names in a directory.
private func contents(of path: String) throws -> [String] {
    guard let directory = opendir(path) else { throw TestError("\(path) cannot be read") }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}
