import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// A program that `greenroomctl run` launches inherits the same state as in a direct call. A probe
/// prints all of it; the same shell calls it directly and by each kind of launch.
@Suite struct InheritedStateTests {
    /// The commands of a shell before it executes the program.
    struct Situation: CustomTestStringConvertible, Sendable {
        var name: String
        /// Lines of bash; `"$@"` at the end of them is the program.
        var shell: String
        /// Why a paused instance cannot serve the launch; nil if it can.
        var coldReason: Control.ColdReason?
        /// What of the caller's state is named then.
        var state: String?

        init(
            _ name: String, _ shell: String, cold reason: Control.ColdReason? = nil,
            differing state: String? = nil
        ) {
            self.name = name
            self.shell = shell
            coldReason = reason
            self.state = state
        }

        var testDescription: String { name }
    }

    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"

    /// Calls the program directly and by each kind of launch, with the same words and from the same
    /// shell, and expects the same output.
    private static func compare(_ situation: Situation) throws {
        let program = try compileProbe("inherited.c")
        let shell = try #require(findProgram("bash"))
        let daemon = try TestDaemon(
            TestApp(cold, exec: program), TestApp(warm, exec: program, prewarm: 1))
        try daemon.awaitPaused(warm)
        let environment = try environment(daemon)
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
        for client in RunClient.allCases {
            for app in [cold, warm] {
                try daemon.awaitPaused(warm)
                let launched = try call(
                    client.words + [app, "--socket", daemon.socketPath, "--"])
                #expect(launched == direct, "\(client)")
                let last = try daemon.client().explain(app).lastLaunch
                if app == warm {
                    #expect(last?.kind.known == (situation.coldReason == nil ? .prewarmed : .cold))
                    #expect(last?.coldReason?.known == situation.coldReason)
                    #expect(last?.differingState == situation.state.map { [$0] })
                }
            }
        }
    }

    /// The session's environment, which the paused instance has. With another one, the launch would
    /// be cold.
    private static func environment(_ daemon: TestDaemon) throws -> [String] {
        guard let pid = (try? daemon.client().paused(warm))?.first?.processId else { return [] }
        return try readFile("/proc/\(pid)/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }.filter { !$0.hasPrefix("LD_PRELOAD=") && !$0.hasPrefix("GREENROOM_") }
    }

    @Test(arguments: RunClient.allCases)
    func `settings of the manifest also apply to run`(_ client: RunClient) throws {
        let program = try compileProbe("inherited.c")
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: program, "Environment=OWN=manifest OTHER=manifest"),
            TestApp(
                Self.warm, exec: program, prewarm: 1, "Environment=OWN=manifest OTHER=manifest"))
        try daemon.awaitPaused(Self.warm)
        for app in [Self.cold, Self.warm] {
            let words =
                try client.words + [app, "--socket", daemon.socketPath, "--env", "OTHER=launch"]
            let request = ChildRequest(
                words[0], arguments: words,
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
    func `an app inherits arguments and variables of any bytes`(_ situation: Situation) throws {
        try Self.compare(situation)
    }

    @Test(arguments: [
        Situation("files above 2", "exec 5<$0 9>/dev/null 63<&5; exec \"$@\" x"),
        Situation("two process substitutions", "\"$@\" <(echo a) <(echo b) | cat"),
        Situation(
            "more than a paused instance takes",
            "for i in {10..40}; do eval \"exec $i</dev/null\"; done; exec \"$@\" x",
            cold: .callerState, differing: "descriptors"),
        Situation("no input", "exec \"$@\" x <&-"),
        Situation("no errors", "exec \"$@\" x 2>&-"),
    ])
    func `an app inherits its caller's descriptors`(_ situation: Situation) throws {
        try Self.compare(situation)
    }

    @Test(arguments: [
        Situation("a soft limit", "ulimit -Sn 200; exec \"$@\" x"),
        Situation("hard limits", "ulimit -n 300; ulimit -f 5000; ulimit -c 0; exec \"$@\" x"),
        Situation(
            "another size of the stack", "ulimit -Ss 4096; exec \"$@\" x", cold: .callerState,
            differing: "limits"),
        Situation("nice", "exec nice -n 7 \"$@\" x"),
        Situation("a CPU", "exec taskset 1 \"$@\" x"),
        Situation("idle input and output", "exec ionice -c 3 \"$@\" x"),
        Situation("ignored signals", "trap '' PIPE USR1 HUP; exec \"$@\" x"),
        Situation("blocked signals", "exec env --block-signal=USR2,TERM \"$@\" x"),
        Situation("no new privileges", "exec setpriv --no-new-privs \"$@\" x"),
        Situation(
            "another personality", "exec setarch -R \"$@\" x", cold: .callerState,
            differing: "personality"),
        Situation(
            "all at once",
            "trap '' PIPE; ulimit -c 0; exec 7</dev/null; exec nice -n 3 setpriv --no-new-privs \"$@\" x"
        ),
    ])
    func `an app inherits limits, priorities, signals and privileges`(_ situation: Situation) throws
    {
        try Self.compare(situation)
    }

    @Test(arguments: [cold, warm])
    func `a caller's claims give an app no more than it may have`(_ app: String) throws {
        let program = try compileProbe("inherited.c")
        let limits = ["LimitNOFILE=100:200", "LimitCORE=0"]
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: program, limits[0], limits[1]),
            TestApp(Self.warm, exec: program, prewarm: 1, limits[0], limits[1]))
        try daemon.awaitPaused(Self.warm)
        let client = try daemon.client()
        let plain = try client.run(app).text
        try daemon.awaitPaused(Self.warm)
        let (launched, text, _) = try client.run(app) {
            var claims = Control.CallerState()
            claims.limits = Array(repeating: -1, count: Control.CallerState.limitCount)
            // A higher stack limit would need another process.
            claims.limits[6] = Int64(ResourceLimit.current(.stack).soft)
            claims.nice = -20
            claims.ioPriority = 1 << 13
            claims.affinity = Array(repeating: .max, count: 32)
            $0.callerState = claims
        }
        #expect(launched.kind == (app == Self.warm ? .prewarmed : .cold))
        // Unless the manifest sets limits, a process may raise its soft limits to the hard ones.
        // Descriptor 2 is the daemon's log, which has grown.
        func withoutSoft(_ text: String) -> [String] {
            text.split(separator: "\n").filter {
                !$0.hasPrefix("limit ") || $0.hasPrefix("limit 7:") || $0.hasPrefix("limit 4:")
            }.map { $0.hasPrefix("descriptor 2:") ? "descriptor 2" : String($0) }
        }
        #expect(withoutSoft(text) == withoutSoft(plain))
        #expect(text.contains("limit 7: 100 200\n") && text.contains("limit 4: 0 0\n"))
    }

    /// Runs an app whose main process leaves another process behind. That process writes a line when
    /// the test closes a pipe.
    private static func leave(
        _ app: String, _ lines: [String], _ options: TestDaemon.Options
    ) throws -> (daemon: TestDaemon, output: Output, gate: Pipe) {
        let daemon = try TestDaemon(
            [cold, warm].map {
                var made = TestApp($0, exec: "/bin/sh", prewarm: $0 == warm ? 1 : 0)
                made.lines = lines
                return made
            }, options)
        try daemon.awaitPaused(warm)
        let client = try Programs.client
        let (output, gate) = (try Output(), try Pipe())
        let script = "exec 4<&0; (read -r line <&4; echo late) & echo early; exit 5"
        var request = ChildRequest(
            client,
            arguments: [client, "run", app, "--socket", daemon.socketPath, "--", "-c", script],
            environment: try environment(daemon))
        request.descriptors = [0: gate.readEnd, 1: output.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        #expect(try output.line() == "early")
        #expect(try child.waitForExit() == .status(5))
        return (daemon, output, gate)
    }

    @Test(arguments: [cold, warm], Runner.allCases)
    func `a process that an app leaves behind lives on`(_ app: String, _ runner: Runner) throws {
        let (daemon, output, gate) = try Self.leave(app, [], runner.options)
        let left = try #require(
            try daemon.client().instances(of: app).first {
                $0.isAttached && $0.exit != nil && $0.state != .notRunning
            })
        #expect(left.exit?.status == 5)
        gate.closeWriteEnd()
        #expect(try output.line() == "late")
        try daemon.await("its end") { client in
            try client.instances(of: app).contains {
                $0.instance == left.instance && $0.state != .notRunning
            } ? nil : true
        }
    }

    @Test(arguments: [cold, warm], Runner.allCases)
    func `a process that an app has left behind can be killed`(_ app: String, _ runner: Runner)
        throws
    {
        let (daemon, output, gate) = try Self.leave(app, [], runner.options)
        let left = try #require(
            try daemon.client().instances(of: app).first {
                $0.isAttached && $0.exit != nil && $0.state != .notRunning
            })
        try daemon.client().change(.kill, left.instance)
        #expect(try output.text() == "")
        gate.closeWriteEnd()
    }

    @Test(arguments: [cold, warm])
    func `a process that an app leaves behind ends with the app if the manifest says so`(
        _ app: String
    ) throws {
        let (_, output, gate) = try Self.leave(
            app, ["KillMode=control-group"], TestDaemon.Options())
        #expect(try output.text() == "")
        gate.closeWriteEnd()
    }

    /// The process that each launch leaves behind holds a lock that the next one needs, and has so
    /// much memory that its end takes a while.
    @Test(arguments: RunClient.allCases)
    func `a client ends only after all processes of the app, if the manifest says that they end`(
        _ client: RunClient
    ) throws {
        var app = TestApp(Self.cold, exec: "/bin/bash")
        app.lines = ["KillMode=control-group"]
        let daemon = try TestDaemon(app)
        let rest = "import time; kept = b'x' * (200 << 20); print(flush=True); time.sleep(1000)"
        let script = """
            exec 9>\(daemon.directory.path)/lock; flock -n 9 || exit 9
            read < <(exec python3 -c "\(rest)"); exit 3
            """
        let request = ChildRequest(
            try client.program,
            arguments: try client.words + [
                Self.cold, "--socket", daemon.socketPath, "--", "-c", script,
            ],
            environment: try Self.environment(daemon))
        for _ in 0..<6 { #expect(try run(request).exit == .status(3)) }
    }

    @Test(arguments: [cold, warm], RunClient.allCases)
    func `an app without a terminal gets the signal of a changed window`(
        _ app: String, _ client: RunClient
    ) throws {
        let daemon = try TestDaemon(
            TestApp(Self.cold, exec: "/bin/bash"), TestApp(Self.warm, exec: "/bin/bash", prewarm: 1)
        )
        try daemon.awaitPaused(Self.warm)
        let script =
            "trap 'echo changed; kill $!; exit 3' WINCH; tail -f /dev/null & echo here; wait"
        let output = try Output()
        var request = ChildRequest(
            try client.program,
            arguments: try client.words + [
                app, "--socket", daemon.socketPath, "--", "-c", script,
            ],
            environment: try Self.environment(daemon))
        request.descriptors = [1: output.number]
        let child = try ChildProcess(request)
        output.closeWriting()
        #expect(try output.line() == "here")
        // The app may have written before the client heard of its process.
        try daemon.await("its process") {
            try $0.instances(of: app).first { $0.isAttached }?.processId
        }
        while try !output.hasInput(milliseconds: 50) { child.kill(SIGWINCH) }
        #expect(try output.line() == "changed")
        #expect(try child.waitForExit() == .status(3))
    }
}
