import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Python programs whose imports the daemon learns from their launches.
@Suite struct LearningTests {
    private static let app = RuntimeBench.app

    /// Prints which modules were imported before it began.
    private static let program = """
        import sys
        early = [name for name in ("g_heavy", "g_inner", "g_words") if name in sys.modules]
        import g_heavy
        import g_words
        print(early, g_heavy.value, g_words.value)

        """

    private static func bench(
        _ files: [String: String] = [:], lines: [String] = [], prewarmLines: [String] = []
    ) throws -> RuntimeBench {
        try requireOrSkip(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3")
        return try RuntimeBench(
            ["/usr/bin/python3", "FOLDER/program.py"],
            files: [
                "program.py": program,
                "lib/site-packages/g_heavy.py":
                    "import os, g_inner; value = os.environ.get('G_VALUE', 'unset')\n",
                "lib/site-packages/g_inner.py": "x = 1\n",
                // If this module is imported before the pause, it keeps the arguments of another
                // launch.
                "lib/site-packages/g_words.py": "import sys; value = sys.argv[1:]\n",
            ].merging(files) { $1 },
            lines: ["Environment=PYTHONPATH=FOLDER/lib/site-packages"] + lines,
            prewarmLines: prewarmLines)
    }

    @Test func `the second launch finds imported what the first one has imported`() throws {
        let bench = try Self.bench()
        let first = try bench.launch(["a"])
        #expect(first.kind == .prewarmed)
        #expect(first.text == "[] unset ['a']\n")
        let note = try bench.awaitList()
        #expect(note.text.contains("g_words (reads the arguments)"), "\(note)")
        let second = try bench.launch(["b"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "['g_heavy', 'g_inner'] unset ['b']\n")
        #expect(try bench.daemon.client().explain(Self.app).startedAnewCount ?? 0 == 0)
    }

    @Test func `a variable that an import reads must be the same at a launch`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        let other = try bench.launch(environment: ["G_VALUE=1"])
        #expect(other.kind == .cold)
        #expect(other.text == "[] 1 []\n")
        let last = try bench.daemon.client().explain(Self.app).lastLaunch
        #expect(last?.differingVariables == ["G_VALUE"])
        let same = try bench.launch(environment: ["G_OTHER=1"])
        #expect(same.kind == .prewarmed)
    }

    @Test func `a package that is installed again while an instance waits is imported anew`()
        throws
    {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        // pip and dpkg also replace a file by renaming another one.
        let places = "lib/site-packages"
        let path = bench.folder.path + "/" + places
        _ = try bench.folder.write("import g_inner; value = 'new'\n", to: places + "/.new")
        #expect(rename(path + "/.new", path + "/g_heavy.py") == 0)
        let launched = try bench.launch()
        #expect(launched.kind == .startedAnew)
        #expect(launched.text == "[] new []\n")
        // The next instance would import what was not inspected, so that is inspected first.
        try bench.awaitList()
        let next = try bench.launch()
        #expect(next.kind == .prewarmed)
        #expect(next.text == "['g_heavy', 'g_inner'] new []\n")
    }

    @Test func `a module that can no longer be imported is left to launches`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        let path = bench.folder.path + "/lib/site-packages"
        // The new text has another length: Python takes bytecode for current if it is as old and
        // as long as its source.
        _ = try bench.folder.write("raise ZeroDivisionError\n", to: "lib/site-packages/.new")
        #expect(rename(path + "/.new", path + "/g_inner.py") == 0)
        #expect(try bench.launch().text == "")
        let note = try bench.daemon.await("another list") { client in
            try client.explain(Self.app).reasons.first {
                $0.code == "imports_learned" && $0.text.contains("cannot be imported alone")
            }
        }
        #expect(note.text.contains("g_inner"), "\(note)")
    }

    @Test func `a later launch adds to the list`() throws {
        let bench = try Self.bench([
            "program.py": """
            import sys
            print([name for name in ("g_heavy", "g_inner") if name in sys.modules])
            for name in sys.argv[1:]: __import__(name)

            """
        ])
        try bench.launch(["g_inner"])
        try bench.awaitList()
        #expect(try bench.launch(["g_heavy"]).text == "['g_inner']\n")
        let text = try bench.daemon.await("a longer list") { client in
            let note = try client.explain(Self.app).reasons.first { $0.code == "imports_learned" }
            return note.flatMap { $0.text.contains("2 modules") ? $0.text : nil }
        }
        #expect(text.contains("its instances import 2 modules"))
        #expect(try bench.launch().text == "['g_heavy', 'g_inner']\n")
    }

    @Test func `an excluded module is left to launches, with those that import it`() throws {
        let bench = try Self.bench(prewarmLines: ["ImportsExclude=g_inner"])
        try bench.launch()
        let note = try bench.awaitList()
        #expect(note.text.contains("g_inner (ImportsExclude=), like 1 that import it"), "\(note)")
        #expect(try bench.launch().text == "[] unset []\n")
    }

    @Test func `the inspection runs as the app's user`() throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let bench = try Self.bench(
            [
                "lib/site-packages/g_inner.py":
                    "import os\nif os.getuid() != 65534 or os.getgid() != 65534: raise ImportError\n"
            ], lines: ["User=65534", "Group=65534"])
        try bench.launch()
        try bench.awaitList()
        #expect(try bench.launch().text == "['g_heavy', 'g_inner'] unset []\n")
    }

    @Test func `a list outlives the daemon, and so do instances that are paused with it`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        let paused = try bench.daemon.client().paused(Self.app).map(\.instance)
        try bench.daemon.kill()
        try bench.daemon.start()
        let note = try bench.daemon.client().explain(Self.app).reasons.first {
            $0.code == "imports_learned"
        }
        #expect(note?.text.contains("its instances import 2 modules") == true, "\(note as Any)")
        #expect(try bench.daemon.client().paused(Self.app).map(\.instance) == paused)
        #expect(try bench.launch().text == "['g_heavy', 'g_inner'] unset []\n")
    }

    @Test func `a list outlives an error in the manifest, but not the manifest`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        let daemon = bench.daemon
        let manifest = "\(daemon.appDirectory)/\(Self.app).app"
        let text = String(decoding: try readFile(manifest), as: UTF8.self)
        let list = "\(daemon.directory.path)/state/learned/\(getuid())/\(Self.app).imports"
        let client = try daemon.client()
        try daemon.directory.write("[App]\nExce=x\n", to: "apps/\(Self.app).app")
        #expect(try client.reload().failed.count == 1)
        try daemon.directory.write(text, to: "apps/\(Self.app).app")
        #expect(try client.reload().failed.isEmpty)
        try bench.awaitList()
        #expect(try bench.launch().text == "['g_heavy', 'g_inner'] unset []\n")
        try daemon.directory.write("[App]\nExce=x\n", to: "apps/\(Self.app).app")
        _ = try client.reload()
        #expect(access(list, F_OK) == 0)
        unlink(manifest)
        _ = try client.reload()
        #expect(access(list, F_OK) != 0)
    }

    @Test func `a list that was cut is learned again`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        try bench.daemon.kill()
        let path = "\(bench.daemon.directory.path)/state/learned/\(getuid())/\(Self.app).imports"
        let bytes = try readFile(path)
        #expect(String(decoding: bytes.suffix(5), as: UTF8.self) == "\nend\n")
        #expect(truncate(path, off_t(bytes.count - 4)) == 0)
        try bench.daemon.start()
        #expect(try bench.launch().text == "[] unset []\n")
        try bench.awaitList()
    }

    @Test func `a list that saves nothing is dropped, and not learned again`() throws {
        // With its modules imported, the program takes a second longer, so that a slow first launch
        // does not count. (Runs of more than two seconds are not measured.)
        let bench = try Self.bench([
            "program.py": """
            import sys, time
            early = "g_inner" in sys.modules
            import g_inner
            print(early)
            if early: time.sleep(1)

            """
        ])
        #expect(try bench.launch().text == "False\n")
        for _ in 1...3 {
            try bench.awaitList()
            #expect(try bench.launch().text == "True\n")
        }
        // Runs that a busy machine makes too long do not count.
        func isAbandoned() throws -> Bool {
            try bench.daemon.client().explain(Self.app).reasons
                .contains { $0.code == "imports_abandoned" }
        }
        for _ in 1...5 where try !isAbandoned() {
            try bench.awaitList()
            try bench.launch()
        }
        func awaitAbandonment() throws {
            let note = try bench.daemon.await("the list is dropped") { client in
                try client.explain(Self.app).reasons.first { $0.code == "imports_abandoned" }
            }
            #expect(note.text.contains("done no sooner"), "\(note)")
        }
        try awaitAbandonment()
        for _ in 1...2 { #expect(try bench.launch().text == "False\n") }
        #expect(try bench.daemon.client().explain(Self.app).depth == .known(.runtime))
        // The next daemon also knows that.
        try bench.daemon.kill()
        try bench.daemon.start()
        try awaitAbandonment()
        #expect(try bench.launch().text == "False\n")
    }

    @Test func `a learned list can be forgotten`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        guard case .done = try bench.daemon.client().call(.forgetImports(app: Self.app)) else {
            throw TestError("another reply")
        }
        try bench.daemon.await("an instance without a list") { client in
            let codes = try client.explain(Self.app).reasons.map(\.code)
            return try !codes.contains("imports_learned") && client.paused(Self.app).count == 1
                ? true : nil
        }
        #expect(try bench.launch().text == "[] unset []\n")
        try bench.awaitList()
    }
}
