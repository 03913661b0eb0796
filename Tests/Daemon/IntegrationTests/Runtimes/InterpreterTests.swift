import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Unmodified programs of every interpreter, paused after the interpreter's boot although no key
/// asks for it.
@Suite struct InterpreterTests {
    @Test(arguments: Interpreter.all)
    func `a program is equal to a direct run`(_ interpreter: Interpreter) throws {
        let bench = try interpreter.bench()
        let look = interpreter.look
        try bench.compare(look + ["a b", "ü"], input: "one\ntwo\n")
        try bench.compare(look + ["x"], input: "", environment: ["LAUNCHED=yes", "EDITOR=ed"])
        try bench.compare(look, input: "one\n")
    }

    @Test(arguments: Interpreter.withScripts)
    func `a script is recognised by its first line`(_ interpreter: Interpreter) throws {
        let bench = try interpreter.bench(isScript: true)
        try bench.compare(["a b", "x"], input: "in\n")
        // The daemon notices the changed script only at a launch, which may be cold; the next pool
        // knows it.
        let path = bench.words[0]
        let text = String(decoding: try readFile(path), as: UTF8.self)
        let changed = text.replacing("error", with: "changed")
        _ = try bench.folder.write(changed, to: "changed", mode: 0o755)
        #expect(rename(bench.folder.path + "/changed", path) == 0)
        try bench.compare(["y"], input: "in\n", expecting: nil)
        try bench.compare(["y"], input: "in\n")
    }

    @Test(arguments: Interpreter.startingAnew)
    func `a launch that must start anew says why`(_ interpreter: Interpreter) throws {
        let bench = try interpreter.bench()
        try bench.compare(interpreter.anew, input: "in\n", expecting: .startedAnew)
        let explanation = try bench.daemon.client().explain(RuntimeBench.app)
        #expect(explanation.depth == .known(.runtime))
        #expect(explanation.startedAnewCount == 1)
        #expect(explanation.lastLaunch?.anewReason == .known(interpreter.reason))
        #expect(explanation.reasons.map(\.code).contains("started_anew"))
    }

    @Test(arguments: Interpreter.all)
    func `with another value of a variable that was read at the boot, the launch is cold`(
        _ interpreter: Interpreter
    ) throws {
        let bench = try interpreter.bench()
        try bench.compare(
            interpreter.look + ["x"], input: "in\n", environment: [interpreter.variable],
            expecting: .cold)
        let last = try bench.daemon.client().explain(RuntimeBench.app).lastLaunch
        #expect(last?.coldReason == .known(.environmentMismatch))
        let name = interpreter.variable.split(separator: "=")[0]
        #expect(last?.differingVariables == [String(name)])
    }

    @Test(arguments: Interpreter.all)
    func `no instance keeps a hook that was replaced`(_ interpreter: Interpreter) throws {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        let hooks = folder.path + "/runtimes"
        let built = try Programs.daemon.split(separator: "/").dropLast().joined(separator: "/")
        let copied = try run(
            ChildRequest("/bin/cp", arguments: ["cp", "-rL", "/\(built)/runtimes", hooks]))
        #expect(copied.exit == .status(0))
        var options = TestDaemon.Options()
        options.runtimes = hooks
        let bench = try interpreter.bench(options: options)
        let first = try #require(try bench.daemon.awaitPaused(RuntimeBench.app).first)
        let hook = "\(hooks)/\(interpreter.hook)"
        let again = try run(ChildRequest("/bin/cp", arguments: ["cp", hook, hook + ".new"]))
        #expect(again.exit == .status(0))
        #expect(rename(hook + ".new", hook) == 0)
        let second = try bench.daemon.await("an instance with the new file") { client in
            try client.paused(RuntimeBench.app).first { $0.instance != first.instance }
        }
        #expect(second.depth == .known(.runtime))
        try bench.compare(interpreter.look + ["x"], input: "in\n")
    }

    /// Instances of one interpreter for two users, one of whom tries to reach the other's.
    @Test(arguments: Interpreter.all)
    func `no instance of another user has what a user's launch brought`(
        _ interpreter: Interpreter
    ) throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        var options = TestDaemon.Options()
        // A paused instance that is killed is replaced at once.
        options.configuration = ["BackOffFirstSec=50ms", "BackOffCapSec=50ms"]
        let bench = try interpreter.bench(options: options)
        let daemon = bench.daemon
        let (theirs, user): (String, Int32) = ("org.example.theirs", 65_534)
        var app = TestApp(
            theirs, exec: bench.words.joined(separator: " "), prewarm: 1, depth: "auto")
        app.lines = ["User=\(user)"]
        try daemon.install(app)
        _ = try daemon.client().reload()
        let first = try #require(try daemon.awaitPaused(RuntimeBench.app).first)
        _ = try daemon.awaitPaused(theirs)
        let descriptor = cts_connect_as(daemon.socketPath, user, user, -1)
        try #require(descriptor >= 0)
        let client = TestClient(owning: descriptor)
        let launched = try client.launch(theirs, []) {
            $0.callerEnvironment = [.text(interpreter.variable)]
        }
        _ = try client.wait(launched.instance)
        #expect(launched.kind == .cold)
        // The user's pool follows its caller; the other one does not.
        let own = try daemon.await("the user's pool") { client in
            try client.paused(theirs).first {
                try Self.environment($0).contains(interpreter.variable)
            }
        }
        #expect(own.depth == .known(.runtime))
        kill(try #require(first.processId), SIGKILL)
        let refilled = try daemon.await("another instance") { client in
            try client.paused(RuntimeBench.app).first { $0.instance != first.instance }
        }
        #expect(refilled.depth == .known(.runtime))
        #expect(!(try Self.environment(refilled).contains(interpreter.variable)))
        try bench.compare(interpreter.look + ["x"], input: "in\n")
    }

    private static func environment(_ paused: Control.InstanceStatus) throws -> [String] {
        try readFile("/proc/\(try #require(paused.processId))/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test(arguments: [
        (["/usr/bin/emacs", "-batch", "-l", "FOLDER/look.el"], "runtime_command", "-Q"),
        (["/usr/bin/emacs", "-q", "-batch", "-l", "FOLDER/look.el"], "runtime_command", "-q"),
        (["/usr/bin/R", "--no-echo", "--file=FOLDER/look.R"], "runtime_front_end", "bin/R"),
        (["/usr/bin/perl", "-T", "FOLDER/look.pl"], "runtime_command", "-T"),
        (["/usr/bin/ruby", "-n", "FOLDER/look.rb"], "runtime_command", "-n"),
        (["/usr/bin/node", "--inspect", "FOLDER/look.js"], "runtime_command", "--inspect"),
    ])
    func `a program that cannot pause there pauses before main, and explain says why`(
        _ words: [String], _ code: String, _ part: String
    ) throws {
        try requireOrSkip(access(words[0], X_OK) == 0, "no \(words[0])")
        let bench = try RuntimeBench(
            words,
            files: ["look.el": "", "look.R": "", "look.pl": "", "look.rb": "", "look.js": ""]
        )
        let explanation = try bench.daemon.client().explain(RuntimeBench.app)
        #expect(explanation.depth == .known(.main))
        let reason = explanation.reasons.first { $0.code == code }
        #expect(reason?.text.contains(part) == true, "\(explanation.reasons)")
    }
}
