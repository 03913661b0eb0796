import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Unmodified Python programs, paused after the interpreter's boot.
@Suite struct PythonTests {
    private static let python = "/usr/bin/python3"

    /// Prints the facts by which a program can see how it was started.
    private static let look = """
        import os, sys
        print(sys.argv, sys.orig_argv, sys.path, sys.flags, sys.executable, sys.prefix, __name__)
        print(os.getcwd(), oct(os.umask(0)), sorted(os.environ.items()), globals().get("__file__"))
        print(open("/proc/self/comm").read(), open("/proc/self/cmdline").read().split("\\0"))
        print(sorted(os.listdir("/proc/self/fd")), sys.stdin.isatty(), sys.stdin.read())
        sys.stderr.write("error\\n")
        sys.exit(len(sys.argv))

        """

    private static func bench(
        _ words: [String] = [python], lines: [String] = [],
        prewarmLines: [String] = ["Imports=none"]
    ) throws -> RuntimeBench {
        try requireOrSkip(access(python, X_OK) == 0, "no \(python)")
        return try RuntimeBench(
            words,
            files: [
                "look.py": look, "*tool": "#!/usr/bin/python3\n" + look,
                "*by-env": "#!/usr/bin/env python3\n" + look,
                "*by-env-with": "#!/usr/bin/env -S python3 -O -X utf8\n" + look,
                "*isolated": "#!/usr/bin/python3 -I\n" + look,
                "fault.py": "def f():\n    return 1 / 0\n\nf()\n",
                "signal.py": "import os\nos.kill(os.getpid(), 15)\n",
                "module.py": "import sys; print(__name__, __spec__.name, sys.argv); sys.exit(4)\n",
            ], lines: lines, prewarmLines: prewarmLines)
    }

    @Test func `any program of the interpreter`() throws {
        let bench = try Self.bench()
        try bench.compare(["look.py", "a b", "", "ü"], input: "one\ntwo\n")
        try bench.compare(["./look.py"])
        try bench.compare([bench.folder.path + "/look.py"], input: "")
        try bench.compare(["-c", Self.look, "x"], input: "in")
        try bench.compare(["-m", "module", "x"])
        try bench.compare(["-m", "json.tool"], input: "{\"a\": 1}")
        try bench.compare(["-", "x"], input: "import sys; print(sys.argv)\n1/0\n")
        try bench.compare([], input: "print('from standard input')\n")
        try bench.compare(["fault.py"])
        try bench.compare(["signal.py"])
        try bench.compare(["missing.py"])
        // The instance was made without these options.
        try bench.compare(["-O", "look.py"], expecting: .startedAnew)
        let explanation = try bench.daemon.client().explain(RuntimeBench.app)
        #expect(explanation.depth == .known(.runtime))
        #expect(explanation.startedAnewCount == 1)
        #expect(explanation.lastLaunch?.anewReason == .known(.options))
        #expect(explanation.reasons.map(\.code).contains("started_anew"))
        guard case .history(let page) = try bench.daemon.client().call(.history(.init())) else {
            throw TestError("another reply")
        }
        let launch = try #require(page.records.first)
        #expect(launch.kind == .known(.startedAnew) && launch.anewReason == .known(.options))
        #expect(launch.exit?.reason == .known(.exitedSelf))
    }

    @Test(arguments: ["tool", "by-env", "by-env-with"])
    func `a script`(_ name: String) throws {
        let bench = try Self.bench(["FOLDER/\(name)", "first"])
        try bench.compare(["a b", "-x"], input: "in")
        try bench.compare()
    }

    @Test func `options and a program of the manifest`() throws {
        let bench = try Self.bench([Self.python, "-u", "-W", "error", "FOLDER/look.py"])
        try bench.compare(["x"], input: "in")
        let module = try Self.bench([Self.python, "-m", "json.tool"])
        try module.compare([], input: "[1]")
    }

    @Test func `a virtual environment`() throws {
        let folder = try TemporaryDirectory()
        let venv = folder.path + "/venv"
        let made = try run(
            ChildRequest(
                Self.python, arguments: [Self.python, "-m", "venv", "--without-pip", venv]))
        try requireOrSkip(made.exit == .status(0), "python3 -m venv does not work here")
        let bench = try Self.bench([venv + "/bin/python3"])
        try bench.compare(["look.py"])
    }

    @Test
    func `variables of the caller are the program's, and those read at the boot make it cold`()
        throws
    {
        let bench = try Self.bench()
        let environment = try bench.environment()
        try bench.compare(["look.py"], environment: ["LAUNCHED=yes"])
        let client = try bench.daemon.client()
        try bench.compare(
            ["look.py"], environment: ["PYTHONHASHSEED=1"], expecting: .cold)
        var last = try client.explain(RuntimeBench.app).lastLaunch
        #expect(last?.coldReason == .known(.environmentMismatch))
        #expect(last?.differingVariables == ["PYTHONHASHSEED"])
        // The pool follows its callers.
        try bench.daemon.await("an instance with that variable") { client in
            try client.paused(RuntimeBench.app).count == 2 ? true : nil
        }
        // A relative path means another one at the boot.
        let (launched, _, _) = try client.run(RuntimeBench.app, ["-c", "0"]) {
            $0.callerEnvironment = (environment + ["PYTHONPATH=lib"])
                .map(ByteString.text)
        }
        #expect(launched.kind == .cold && launched.coldReason == .environmentMismatch)
        last = try client.explain(RuntimeBench.app).lastLaunch
        #expect(last?.differingVariables == ["PYTHONPATH"])
    }

    @Test func `the instance is paused after the boot, and the launch is the same process`() throws
    {
        let bench = try Self.bench(prewarmLines: ["Imports=json argparse"])
        let paused = try #require(try bench.daemon.awaitPaused(RuntimeBench.app).first)
        let pid = try #require(paused.processId)
        let maps = String(decoding: try readFile("/proc/\(pid)/maps"), as: UTF8.self)
        #expect(maps.contains("libgreenroom-runtime.so"))
        let (launched, text, _) = try bench.daemon.client().run(
            RuntimeBench.app,
            [
                "-c",
                "import os, sys; print(os.getpid(), 'argparse' in sys.modules, "
                    + "'runtime' in open('/proc/self/maps').read())",
            ])
        #expect(launched.processId == pid)
        #expect(text == "\(pid) True True\n")
    }

    @Test func `a supervisor that was killed finds the paused instance and uses it`() throws {
        let bench = try Self.bench(["FOLDER/by-env"])
        let paused = try bench.daemon.awaitPaused(RuntimeBench.app)
        try bench.daemon.kill()
        try bench.daemon.start()
        #expect(
            try bench.daemon.awaitPaused(RuntimeBench.app).map(\.instance) == paused.map(\.instance)
        )
        try bench.compare(["x"], input: "in")
    }

    @Test func `an interpreter that skips the hook pauses before main, and says why`() throws {
        let bench = try Self.bench(["FOLDER/isolated"])
        let paused = try #require(try bench.daemon.awaitPaused(RuntimeBench.app).first)
        #expect(paused.depth == .known(.main))
        let explanation = try bench.daemon.client().explain(RuntimeBench.app)
        #expect(explanation.depth == .known(.main))
        let reason = explanation.reasons.first { $0.code == "runtime_command" }
        #expect(reason?.text.contains("-I") == true)
    }

    /// A module in the site packages ends the interpreter, so each deep prewarm would fail.
    @Test func `an interpreter that does not boot is prewarmed to main from then on`() throws {
        let folder = try TemporaryDirectory()
        chmod(folder.path, 0o755)
        _ = try folder.write("raise SystemExit(3)\n", to: "usercustomize.py")
        let bench = try Self.bench(
            ["FOLDER/tool"], lines: ["Environment=PYTHONHOME=\(folder.path)"])
        let paused = try #require(try bench.daemon.awaitPaused(RuntimeBench.app).first)
        #expect(paused.depth == .known(.main))
        let explanation = try bench.daemon.client().explain(RuntimeBench.app)
        #expect(explanation.reasons.map(\.code).contains("depth_ended"))
        // A restart does not change that.
        try bench.daemon.kill()
        try bench.daemon.start()
        #expect(try bench.daemon.client().explain(RuntimeBench.app).depth == .known(.main))
    }

    @Test func `three launches in a row that start anew end the depth`() throws {
        let bench = try Self.bench()
        for _ in 0..<3 { try bench.compare(["-O", "module.py"], expecting: .startedAnew) }
        let paused = try bench.daemon.await("a pause before main") { client in
            try client.paused(RuntimeBench.app).first { $0.depth == .known(.main) }
        }
        #expect(paused.state == .prewarmed)
        let reasons = try bench.daemon.client().explain(RuntimeBench.app).reasons.map(\.code)
        #expect(reasons.contains("depth_starts_anew"))
    }
}
