import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Tools with a profile, which vouches for modules that an inspection must refuse.
@Suite struct VouchingTests {
    private static let app = RuntimeBench.app

    /// `g_value` keeps what `g_ask.ask` returns, which a program prints. `runs` counts these programs.
    private static func askingBench(_ value: String = "ask('1')") throws -> RuntimeBench {
        try requireOrSkip(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3")
        var options = TestDaemon.Options()
        options.profiles = [
            "tool.conf": """
            [Profile]
            Program=tool.py
            Version=G-Tool 1.2
            Answer=g_ask ask sh ~/.g_ask $G_WORD

            """
        ]
        return try RuntimeBench(
            ["/usr/bin/python3", "FOLDER/tool.py"],
            files: [
                "tool.py": """
                import sys
                early = [name for name in ("g_ask", "g_value") if name in sys.modules]
                import g_ask
                import g_value
                asked = g_ask.ask("2") if sys.argv[1:] else None
                print(early, g_value.value, asked, g_ask.ask.__code__.co_name, g_ask.keeps() is g_ask.ask)

                """,
                "lib/site-packages/g_ask.py": """
                import subprocess
                def ask(number):
                    command = 'eval echo "$G_WORD$0"; echo >>FOLDER/runs'
                    words = ["sh", "-c", command, number]
                    return subprocess.run(words, stdout=subprocess.PIPE, text=True).stdout.strip()
                def keeps(): return ask

                """,
                "lib/site-packages/g_value.py":
                    "import os; from g_ask import ask; value = \(value)\n",
                "lib/site-packages/g_tool-1.2.dist-info/METADATA": "", "runs": "",
            ],
            lines: ["Environment=PYTHONPATH=FOLDER/lib/site-packages HOME=FOLDER"],
            prewarmLines: [], options)
    }

    /// `g_words` keeps the arguments, and `g_looks` whether there is a file.
    private static func bench(
        version: String = "1.2", path: String = "FOLDER/lib/site-packages",
        _ lines: [String] = [
            "Vouch=g_words arguments (is executed again)", "Vouch=g_looks directory (is absolute)",
            "AtLaunch=g_words value = sys.argv[1:]",
        ]
    ) throws -> RuntimeBench {
        try requireOrSkip(access("/usr/bin/python3", X_OK) == 0, "no /usr/bin/python3")
        var options = TestDaemon.Options()
        options.profiles = [
            "tool.conf": (["[Profile]", "Program=tool.py", "Version=G-Tool 1.1 1.2"] + lines)
                .joined(separator: "\n") + "\n"
        ]
        return try RuntimeBench(
            ["/usr/bin/python3", "FOLDER/tool.py"],
            files: [
                "tool.py": """
                import sys
                early = [name for name in ("g_words", "g_looks") if name in sys.modules]
                import g_words
                import g_looks
                print(early, g_words.value, g_looks.found)

                """,
                "lib/site-packages/g_words.py": "import sys; value = sys.argv[1:]\n",
                "lib/site-packages/g_looks.py":
                    "import os; os.getcwd(); found = os.path.exists('FOLDER/sign')\n",
                "lib/site-packages/g_tool-\(version).dist-info/METADATA": "",
                "other/site-packages/g_words.py": "import sys; value = sys.argv[1:]\n",
            ],
            lines: ["Environment=PYTHONPATH=\(path)"], prewarmLines: [], options)
    }

    private static func note(_ bench: RuntimeBench, _ code: String) throws -> String? {
        try bench.daemon.client().explain(app).reasons.first { $0.code == code }?.text
    }

    @Test func `modules that the profile vouches for are imported before the pause`() throws {
        let bench = try Self.bench()
        #expect(try bench.launch(["a"]).text == "[] ['a'] False\n")
        try bench.awaitList()
        let second = try bench.launch(["b"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "['g_words', 'g_looks'] ['b'] False\n")
        let note = try #require(try Self.note(bench, "profile"))
        #expect(note.contains("/tool.conf vouches for some of them (G-Tool 1.2)"), "\(note)")
    }

    @Test func `a profile of other versions is not used`() throws {
        let bench = try Self.bench(version: "1.3")
        try bench.launch(["a"])
        let list = try bench.awaitList()
        #expect(list.text.contains("g_words (reads the arguments)"), "\(list)")
        #expect(try bench.launch(["b"]).text == "[] ['b'] False\n")
        let note = try #require(try Self.note(bench, "profile_version"))
        #expect(note.contains("it knows G-Tool 1.1, 1.2, and 1.3 is installed"), "\(note)")
    }

    @Test func `a profile does not vouch for modules of another folder than its version's`() throws
    {
        let bench = try Self.bench(path: "FOLDER/other/site-packages:FOLDER/lib/site-packages")
        try bench.launch(["a"])
        try bench.awaitList()
        #expect(try bench.launch(["b"]).text == "[] ['b'] False\n")
        let note = try #require(try Self.note(bench, "profile_version"))
        #expect(note.contains("Python finds its modules in another folder"), "\(note)")
    }

    @Test func `before the pause, a function answers what it has returned in the inspection`()
        throws
    {
        let bench = try Self.askingBench()
        try bench.launch()
        try bench.awaitList()
        func runCount() throws -> Int { try readFile(bench.folder.path + "/runs").count }
        let before = try runCount()
        let launched = try bench.launch(["again"])
        #expect(launched.kind == .prewarmed)
        // The program runs at the launch, and did not run before the pause.
        #expect(launched.text == "['g_ask', 'g_value'] 1 2 ask True\n")
        #expect(try runCount() == before + 1)
    }

    @Test func `a launch is started anew if an input of an answer has changed`() throws {
        let bench = try Self.askingBench()
        try bench.launch()
        try bench.awaitList()
        // This file was missing.
        _ = try bench.folder.write("", to: ".g_ask")
        #expect(try bench.launch().kind == .startedAnew)
        // PATH finds another program. The module reads PATH, so no instance fits.
        mkdir(bench.folder.path + "/bin", 0o755)
        _ = try bench.folder.write("#!/bin/sh\necho other\n", to: "bin/sh", mode: 0o755)
        let path = "PATH=\(bench.folder.path)/bin:/usr/bin:/bin"
        let other = try bench.launch(environment: [path])
        #expect(other.kind == .cold)
        #expect(other.text == "[] other None ask True\n")
    }

    @Test func `a launch with another variable that an answer depends on finds no instance`()
        throws
    {
        let bench = try Self.askingBench()
        try bench.launch()
        try bench.awaitList()
        let launched = try bench.launch(environment: ["G_WORD=b"])
        #expect(launched.kind == .cold)
        #expect(launched.text == "[] b1 None ask True\n")
    }

    @Test func `a function that is called otherwise starts its program, which ends the prewarm`()
        throws
    {
        let bench = try Self.askingBench("ask(str(os.getpid()))")
        try bench.launch()
        let note = try bench.daemon.await("the list is given up") { client in
            try client.explain(Self.app).reasons.first { $0.code == "imports_abandoned" }
        }
        #expect(note.text.contains("starts other programs"), "\(note)")
    }

    @Test func `a function that returns something else when it is called again answers nothing`()
        throws
    {
        let call = "ask('$(wc -l <FOLDER/runs)')"
        let bench = try Self.askingBench("\(call) + \(call)")
        try bench.launch()
        let list = try bench.awaitList()
        #expect(list.text.contains("g_ask (starts programs)"), "\(list)")
        let launched = try bench.launch()
        #expect(launched.kind == .prewarmed)
        #expect(launched.text.hasPrefix("[] "), "\(launched)")
    }

    @Test func `a reason that the profile does not name keeps the module out`() throws {
        let bench = try Self.bench(["Vouch=g_words time (no)", "Vouch=g_looks directory (yes)"])
        try bench.launch(["a"])
        try bench.awaitList()
        #expect(try bench.launch(["b"]).text == "['g_looks'] ['b'] False\n")
    }

    @Test func `a file that a vouched module has looked for is compared at the launch`() throws {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        _ = try bench.folder.write("", to: "sign")
        let launched = try bench.launch(["b"])
        #expect(launched.kind == .startedAnew)
        #expect(launched.text == "[] ['b'] True\n")
    }

    @Test func `a statement that fails before the pause leaves its module to launches`() throws {
        let bench = try Self.bench([
            "Vouch=g_words arguments (is executed again)", "Vouch=g_looks directory (is absolute)",
            "AtPause=g_looks assert found", "AtLaunch=g_words value = sys.argv[1:]",
        ])
        try bench.launch(["a"])
        let list = try bench.awaitList()
        #expect(list.text.contains("g_looks (AtPause= of its profile fails)"), "\(list)")
        let launched = try bench.launch(["b"])
        #expect(launched.kind == .prewarmed)
        #expect(launched.text == "['g_words'] ['b'] False\n")
    }

    @Test func `a launch for which a statement fails is started anew`() throws {
        let bench = try Self.bench([
            "Vouch=g_words arguments (is checked)", "AtLaunch=g_words assert not sys.argv[1:]",
        ])
        try bench.launch()
        try bench.awaitList()
        let without = try bench.launch()
        #expect(without.kind == .prewarmed)
        #expect(without.text == "['g_words'] [] False\n")
        let with = try bench.launch(["b"])
        #expect(with.kind == .startedAnew)
        #expect(with.text == "[] ['b'] False\n")
    }

    @Test func `after an edit of a script that the manifest names, its list is learned anew`()
        throws
    {
        let bench = try Self.bench()
        try bench.launch()
        try bench.awaitList()
        _ = try bench.folder.write("import g_looks; print(g_looks.found)\n", to: ".new")
        #expect(rename(bench.folder.path + "/.new", bench.folder.path + "/tool.py") == 0)
        try bench.daemon.await("no list") { client in
            try client.explain(Self.app).reasons.contains { $0.code == "imports_unlearned" }
                ? true : nil
        }
        #expect(try bench.launch().text == "False\n")
        let list = try bench.awaitList()
        #expect(list.text.contains("1 module "), "\(list)")
    }
}
