import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A program that `greenroomctl run` launches inherits what it would inherit if it had been called:
/// the same probe prints all of it, called by the same shell once directly and once by each kind of
/// launch.
@Suite struct InheritedStateTests {
    /// What a shell does before it executes the program.
    struct Situation: CustomTestStringConvertible, Sendable {
        var name: String
        /// Lines of bash; `"$@"` at the end of them is the program.
        var shell: String
        /// Why a launch cannot be served by a paused instance; nil where it can.
        var coldReason: Control.ColdReason?

        init(_ name: String, _ shell: String, cold reason: Control.ColdReason? = nil) {
            self.name = name
            self.shell = shell
            coldReason = reason
        }

        var testDescription: String { name }
    }

    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"

    /// The program is called by all of these with the same words and from the same shell.
    private static func compare(_ situation: Situation) throws {
        let program = try compileProbe("inherited.c")
        let shell = try #require(findProgram("bash"))
        let daemon = try TestDaemon(
            TestApp(cold, exec: program), TestApp(warm, exec: program, prewarm: 1))
        try daemon.awaitPaused(warm)
        let environment = try environment(daemon)
        let client = try Programs.client
        func call(_ words: [String]) throws -> String {
            var request = ChildRequest(
                shell, arguments: [shell, "-c", situation.shell, "shell"] + words,
                environment: environment + ["FOLDER=\(daemon.directory.path)"])
            request.directory = "/usr"
            let result = try run(request, mergingErrors: true)
            #expect(result.exit == .status(0))
            return String(decoding: result.output, as: UTF8.self)
        }
        let direct = try call([program])
        #expect(direct.contains("directory's inode="))
        for app in [cold, warm] {
            let launched = try call(
                [client, "run", app, "--socket", daemon.socketPath, "--"])
            #expect(launched == direct)
            let last = try daemon.client().explain(app).lastLaunch
            if app == warm {
                #expect(last?.kind.known == (situation.coldReason == nil ? .prewarmed : .cold))
                #expect(last?.coldReason?.known == situation.coldReason)
            }
        }
    }

    /// That of the session, which the paused instance has: with another the launch would be cold.
    private static func environment(_ daemon: TestDaemon) throws -> [String] {
        guard let pid = (try? daemon.client().paused(warm))?.first?.processId else { return [] }
        return try readFile("/proc/\(pid)/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }.filter { !$0.hasPrefix("LD_PRELOAD=") && !$0.hasPrefix("GREENROOM_") }
    }

    @Test func `what the manifest sets, it sets for run as well`() throws {
        let program = try compileProbe("inherited.c")
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: program, "Environment=OWN=manifest OTHER=manifest"),
            TestApp(
                Self.warm, exec: program, prewarm: 1, "Environment=OWN=manifest OTHER=manifest"))
        try daemon.awaitPaused(Self.warm)
        let client = try Programs.client
        for app in [Self.cold, Self.warm] {
            let words = [
                client, "run", app, "--socket", daemon.socketPath, "--env", "OTHER=launch",
            ]
            let request = ChildRequest(
                client, arguments: words,
                environment: try Self.environment(daemon) + ["OWN=caller", "CALLERS=caller"])
            let text = String(decoding: try run(request, mergingErrors: true).output, as: UTF8.self)
            let lines = text.split(separator: "\n")
            for variable in ["OWN=manifest", "OTHER=launch", "CALLERS=caller"] {
                #expect(lines.contains("variable=\(variable)"))
            }
            let kind = try daemon.client().explain(app).lastLaunch?.kind.known
            #expect(kind == (app == Self.warm ? .prewarmed : .cold))
        }
    }

    @Test(arguments: [
        Situation("nothing of its own", "exec \"$@\" one 'two words' ''"),
        Situation("arguments that are not UTF-8", "exec \"$@\" $'f\\xe9' ä $'\\xff\\xfe\\n'"),
        Situation(
            "variables that are not UTF-8",
            "export B=b NAME=$'caf\\xe9' C=c; export A=$'\\xc3'; exec \"$@\" x"),
        Situation(
            "a variable that libraries read early and that is not UTF-8",
            "export LC_NAME=$'\\xe9'; exec \"$@\" x", cold: .environmentMismatch),
    ])
    func `text and bytes`(_ situation: Situation) throws { try Self.compare(situation) }
}
