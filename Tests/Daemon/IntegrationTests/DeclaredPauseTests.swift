import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs that pause by a call, in several languages: the samples in `Sources/Samples/Pause`.
@Suite struct DeclaredPauseTests {
    private static let app = "org.example.primes"
    private let folder: TemporaryDirectory
    init() throws { folder = try TemporaryDirectory() }

    private func compiled(_ language: String) throws -> String {
        let source = "\(packageRoot)/Sources/Samples/Pause/primes.\(language)"
        switch language {
        case "c", "cc":
            let include = ["-I", "\(packageRoot)/Sources/CPrewarm/include", "-O2"]
            return try compile(
                source: source.replacing(".cc", with: ".c"),
                with: ProbeCompiler(
                    language == "c" ? "clang" : "clang++",
                    language == "c" ? include : ["-x", "c++"] + include))
        case "rs": return try compile(source: source, with: ProbeCompiler("rustc", ["-O"]))
        case "go":
            let go = findProgram("go")
            try requireOrSkip(go != nil, "no Go compiler")
            var build = ChildRequest(
                go!, arguments: [go!, "build", "-o", folder.path + "/primes", source])
            build.environment = [
                "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "CGO_ENABLED=1",
            ]
            let result = try run(build, mergingErrors: true)
            let text = String(decoding: result.output, as: UTF8.self)
            try #require(result.exit == .status(0), "\(text)")
            return folder.path + "/primes"
        case "cjs":
            try requireOrSkip(access("/usr/bin/node", X_OK) == 0, "/usr/bin/node is missing")
            let addon = try compile(
                source: "\(packageRoot)/Sources/Samples/Pause/primes-pause.c",
                with: ProbeCompiler(
                    "clang", ["-I", "\(packageRoot)/Sources/CPrewarm/include", "-shared", "-fPIC"]),
                output: "primes-pause.node")
            #expect(symlink(addon, folder.path + "/primes-pause.node") == 0)
            return try folder.write(
                String(decoding: try readFile(source), as: UTF8.self), to: "primes.cjs",
                mode: 0o755)
        default:
            try requireOrSkip(
                access("/usr/bin/python3", X_OK) == 0, "/usr/bin/python3 is missing")
            return source
        }
    }

    @Test(arguments: ["c", "cc", "py", "cjs", "rs", "go"])
    func `a program that pauses by a call goes on as the launch`(
        language: String
    ) throws {
        let program = try compiled(language)
        let daemon = try TestDaemon(
            TestApp(Self.app, exec: program, prewarm: 1, prewarmLines: ["Depth=declared"]))
        try daemon.awaitPaused(Self.app)
        // The launch brings the environment of the paused instance. With another one, it would be
        // cold.
        let pid = try #require(try daemon.client().paused(Self.app).first?.processId)
        let variables =
            try readFile("/proc/\(pid)/environ").split(separator: 0).map {
                String(decoding: $0, as: UTF8.self)
            }.filter { !$0.hasPrefix("LD_PRELOAD=") && !$0.hasPrefix("GREENROOM_") }
            + ["PRIME=of the launch"]
        func call(_ words: [String]) throws -> (ChildProcess.Exit, String) {
            let request = ChildRequest(words[0], arguments: words, environment: variables)
            let (exit, output) = try run(request, mergingErrors: true)
            return (exit, String(decoding: output, as: UTF8.self))
        }
        for words in [["97", "98", "0"], [], ["-1"]] {
            try daemon.awaitPaused(Self.app)
            let direct = try call([program] + words)
            let launched = try call(
                [
                    try Programs.client, "run", Self.app, "--socket", daemon.socketPath, "--",
                ] + words)
            #expect(launched == direct)
            #expect(words != ["97", "98", "0"] || direct.1.contains("97: of the launch"))
            let last = try daemon.client().explain(Self.app).lastLaunch
            #expect(last?.kind.known == .prewarmed, "\(last?.coldReason as Any)")
            #expect(try daemon.client().explain(Self.app).depth?.known == .declared)
        }
    }
}
