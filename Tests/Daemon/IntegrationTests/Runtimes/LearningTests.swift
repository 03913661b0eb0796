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
                // What it keeps is another launch's, if it is imported before the pause.
                "lib/site-packages/g_words.py": "import sys; value = sys.argv[1:]\n",
            ].merging(files) { $1 },
            lines: ["Environment=PYTHONPATH=FOLDER/lib/site-packages"] + lines,
            prewarmLines: prewarmLines)
    }

    /// Runs the program and returns what it printed.
    @discardableResult
    private static func launch(
        _ bench: RuntimeBench, _ arguments: [String] = [], environment: [String] = []
    ) throws -> (kind: Control.LaunchKind?, text: String) {
        try bench.daemon.awaitPaused(app)
        let (launched, text, _) = try bench.daemon.client().run(
            app, arguments
        ) { call in
            call.environment = environment.compactMap { .init(assignment: .text($0)) }
        }
        return (launched.kind.known, text)
    }

    /// Waits until the app has a list, and instances that have imported it.
    @discardableResult
    private static func awaitList(_ bench: RuntimeBench) throws -> Control.Note {
        let note = try bench.daemon.await("a list of imports") { client in
            try client.explain(app).reasons.first { $0.code == "imports_learned" }
        }
        try bench.daemon.awaitPaused(app)
        return note
    }

    @Test func `the second launch finds imported what the first one has imported`() throws {
        let bench = try Self.bench()
        let first = try Self.launch(bench, ["a"])
        #expect(first.kind == .prewarmed)
        #expect(first.text == "[] unset ['a']\n")
        let note = try Self.awaitList(bench)
        #expect(note.text.contains("g_words (reads the arguments)"), "\(note)")
        let second = try Self.launch(bench, ["b"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "['g_heavy', 'g_inner'] unset ['b']\n")
        #expect(try bench.daemon.client().explain(Self.app).startedAnewCount ?? 0 == 0)
    }
}
