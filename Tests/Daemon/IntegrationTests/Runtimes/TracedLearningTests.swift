import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Programs of Perl, Ruby, Node and Emacs whose imports the daemon learns from their launches, by the trace of
/// an inspection. `LearningTests` has the tests that are the same for every interpreter.
@Suite struct TracedLearningTests {
    private static let app = RuntimeBench.app

    /// An interpreter with three modules: one that reads a variable and loads the second, and one
    /// that keeps the arguments. The program prints their values.
    struct Language: Sendable, CustomTestStringConvertible {
        let name: String
        let interpreter: String
        /// The options before the program.
        var options: [String] = []
        /// The variable with the folder of the modules.
        let path: String
        /// The rest of the variable's value, after the folder.
        var rest = ""
        let program: String
        let heavy: String
        let inner: String
        let words: String
        let ending: String
        var folder = "lib"
        /// A program that also looks for modules in its own folder.
        let wandering: String
        /// The code that loads the module that does nothing.
        let plain: String
        /// Whether a list has the files of what the program loads, and not its names.
        var hasEndings = true
        static let all = [perl, ruby, node, emacs]
        var testDescription: String { name }

        static let perl = Language(
            name: "Perl", interpreter: "/usr/bin/perl", path: "PERL5LIB",
            program: """
                use Heavy; use Words;
                print "$Heavy::value|$Words::value\\n";

                """,
            heavy: "package Heavy; use Inner; our $value = $ENV{G_VALUE} // 'unset'; 1;\n",
            inner: "package Inner; our $value = 1;\n",
            words: "package Words; our $value = \"@ARGV\"; 1;\n", ending: "pm",
            wandering: "use lib 'own'; use Heavy; print \"$Heavy::value\\n\";\n",
            plain: "use Plain;\n")
        static let ruby = Language(
            name: "Ruby", interpreter: "/usr/bin/ruby", path: "RUBYLIB",
            program: """
                require "Heavy"
                require "Words"
                puts "#{Heavy}|#{Words}"

                """,
            heavy: "require 'Inner'\nHeavy = ENV['G_VALUE'] || 'unset'\n", inner: "Inner = 1\n",
            words: "Words = ARGV.join(' ')\n", ending: "rb",
            wandering: "$:.unshift 'own'; require 'Heavy'; puts Heavy\n",
            plain: "require 'Plain'\n")
        static let emacs = Language(
            name: "Emacs", interpreter: "/usr/bin/emacs", options: ["-Q", "-batch", "-l"],
            path: "EMACSLOADPATH", rest: ":",
            program: """
                (require 'Heavy)
                (require 'Words)
                (princ (format "%s|%s\\n" heavy words))
                (setq command-line-args-left nil)

                """,
            heavy: """
                (require 'Inner)
                (defvar heavy (or (getenv "G_VALUE") "unset"))
                (provide 'Heavy)

                """,
            inner: "(provide 'Inner)\n",
            words: """
                (defvar words (mapconcat #'identity command-line-args-left " "))
                (provide 'Words)

                """, ending: "el",
            wandering: """
                (push (expand-file-name "own") load-path)
                (require 'Heavy)
                (princ (concat heavy "\\n"))

                """, plain: "(require 'Plain)\n", hasEndings: false)
        static let node = Language(
            name: "Node", interpreter: "/usr/bin/node", path: "NODE_PATH",
            program: "console.log(require('Heavy').value + '|' + require('Words').value)\n",
            // A smaller module is not worth its comparison.
            heavy: "require('Inner'); exports.value = process.env.G_VALUE ?? 'unset'\n//"
                + String(repeating: "x", count: 40_000),
            inner: "exports.value = 1\n",
            words: "exports.value = process.argv.slice(2).join(' ')\n", ending: "js",
            folder: "bin/node_modules", wandering: "", plain: "require('Plain')\n")
    }

    private static func bench(
        _ language: Language, program: String? = nil, heavy: String? = nil,
        files: [(String, String)] = [], lines: [String] = [], prewarmLines: [String] = []
    ) throws -> RuntimeBench {
        let interpreter = language.interpreter
        try requireOrSkip(access(interpreter, X_OK) == 0, "no \(interpreter)")
        func file(_ module: String) -> String { "\(language.folder)/\(module).\(language.ending)" }
        return try RuntimeBench(
            [interpreter] + language.options + ["FOLDER/bin/program"],
            files: [
                "bin/program": program ?? language.program,
                file("Heavy"): heavy ?? language.heavy,
                file("Inner"): language.inner, file("Words"): language.words,
                file("Plain"): language.inner.replacing("Inner", with: "Plain"),
            ].merging(files) { $1 },
            lines: ["Environment=\(language.path)=FOLDER/lib\(language.rest)"] + lines,
            prewarmLines: prewarmLines)
    }

    @Test(arguments: Language.all)
    func `the second launch finds the first one's modules loaded`(
        _ language: Language
    ) throws {
        let bench = try Self.bench(language)
        let first = try bench.launch(["a"])
        #expect(first.kind == .prewarmed)
        #expect(first.text == "unset|a\n")
        let note = try bench.awaitList()
        let words = language.hasEndings ? "Words.\(language.ending)" : "Words"
        #expect(note.text.contains("\(words) (reads the arguments)"), "\(note)")
        #expect(note.text.contains("import 2 modules"), "\(note)")
        let second = try bench.launch(["b"])
        #expect(second.kind == .prewarmed)
        #expect(second.text == "unset|b\n")
        #expect(try bench.daemon.client().explain(Self.app).startedAnewCount ?? 0 == 0)
    }

    /// The program's first require loads a builtin module, so a list that begins with it serves only
    /// launches in which it would do the same.
    @Test func `a beginning that no launch can use is left out of the list`() throws {
        let bench = try Self.bench(
            .node, program: "const heavy = require('Heavy')\nconsole.log(heavy.value)\n",
            heavy: "require('tty').isatty(2); exports.value = require('http').STATUS_CODES[200]\n//"
                + String(repeating: "x", count: 40_000))
        try bench.launch()
        try bench.awaitList()
        #expect(try bench.launch().kind == .prewarmed)
        let terminal = try PseudoTerminal()
        defer { withExtendedLifetime(terminal) {} }
        func launchOnTerminal() throws -> Control.LaunchKind? {
            let launched = try bench.launch(input: terminal.terminal?.rawValue)
            #expect(launched.text == "OK\n")
            return launched.kind
        }
        for _ in 0..<3 {
            try bench.awaitList()
            #expect(try launchOnTerminal() == .startedAnew)
        }
        let note = try bench.awaitList()
        #expect(note.text.contains("Heavy.js"), "\(note)")
        #expect(try launchOnTerminal() == .prewarmed)
    }

    @Test(arguments: Language.all)
    func `a variable that a module reads must be the same at a launch`(
        _ language: Language
    ) throws {
        let bench = try Self.bench(language)
        try bench.launch()
        try bench.awaitList()
        let other = try bench.launch(environment: ["G_VALUE=1"])
        #expect(other.kind == .cold)
        #expect(other.text == "1|\n")
        let same = try bench.launch(environment: ["G_OTHER=1"])
        #expect(same.kind == .prewarmed)
    }

    @Test(arguments: Language.all)
    func `a module that is installed again while an instance waits is loaded anew`(
        _ language: Language
    ) throws {
        let bench = try Self.bench(language)
        try bench.launch()
        try bench.awaitList()
        let place = "\(bench.folder.path)/\(language.folder)/"
        _ = try bench.folder.write(
            language.heavy.replacing("unset", with: "new"), to: "\(language.folder)/.new")
        #expect(rename(place + ".new", place + "Heavy.\(language.ending)") == 0)
        let launched = try bench.launch()
        #expect(launched.kind == .startedAnew)
        #expect(launched.text == "new|\n")
        // The next instance would load what was not inspected, so that is inspected first.
        try bench.awaitList()
        let next = try bench.launch()
        #expect(next.kind == .prewarmed)
        #expect(next.text == "new|\n")
    }

    @Test(arguments: Language.all)
    func `an excluded module is left to launches, with those that load it`(
        _ language: Language
    ) throws {
        // Without anything to load, the instance would stay, and nothing would tell of the list.
        let bench = try Self.bench(
            language, program: language.plain + language.program,
            prewarmLines: ["ImportsExclude=Inner"])
        try bench.launch()
        let note = try bench.awaitList()
        #expect(note.text.contains("Inner.\(language.ending) (ImportsExclude=)"), "\(note)")
        #expect(try bench.launch().text == "unset|\n")
    }

    @Test(arguments: Language.all)
    func `where the manifest says so, launches teach nothing`(_ language: Language) throws {
        let bench = try Self.bench(language, prewarmLines: ["Imports=none"])
        for _ in 0..<2 { #expect(try bench.launch().text == "unset|\n") }
        let codes = try bench.daemon.client().explain(Self.app).reasons.map(\.code)
        #expect(!codes.contains { $0.hasPrefix("imports_") })
    }

    @Test func `a library that Emacs loads by its name is learned`() throws {
        try requireOrSkip(access("/usr/bin/emacs", X_OK) == 0, "no /usr/bin/emacs")
        let bench = try RuntimeBench(
            ["/usr/bin/emacs", "-Q", "-batch"],
            files: [
                "lib/g-count.el": "(defvar g-count 0)\n(setq g-count (1+ g-count))\n",
                "bin/program": "(princ g-count)\n",
            ], lines: ["Environment=EMACSLOADPATH=FOLDER/lib:"], prewarmLines: [])
        let words = ["-l", "g-count", "-l", bench.folder.path + "/bin/program"]
        #expect(try bench.launch(words).text == "1")
        let note = try bench.awaitList()
        #expect(note.text.contains("import 1 module "), "\(note)")
        let second = try bench.launch(words)
        #expect(second.kind == .prewarmed && second.text == "1", "\(second)")
        let other = try bench.launch(["--eval", "(princ (boundp 'g-count))"])
        #expect(other.kind == .startedAnew && other.text == "nil", "\(other)")
    }

    /// The trace of their inspection has about 1 MB. Activesupport and nokogiri, 447 files, have 550 kB.
    @Test func `hundreds of files that load each other are learned`() throws {
        var ruby = Language.ruby
        let place = String(repeating: "d", count: 170)
        ruby.folder = "lib/" + place
        let bench = try Self.bench(
            ruby, program: "require '\(place)/Heavy'\nputs Heavy\n",
            heavy: "300.times { |n| require \"\(place)/f#{n}\" }\nHeavy = 1\n",
            files: (0..<300).map { number in
                let others = (max(0, number - 12)..<number).map { "require '\(place)/f\($0)'\n" }
                return ("lib/\(place)/f\(number).rb", others.joined())
            })
        #expect(try bench.launch().text == "1\n")
        let note = try bench.awaitList()
        #expect(note.text.contains("import 301 modules"), "\(note)")
        let second = try bench.launch()
        #expect(second.kind == .prewarmed && second.text == "1\n")
    }

    /// The next launch may find a module there that hides an installed one.
    @Test(arguments: [Language.perl, .ruby, .emacs])
    func `a program that also looks in other folders for modules teaches nothing`(
        _ language: Language
    ) throws {
        let bench = try Self.bench(language, program: language.wandering)
        for _ in 0..<3 {
            let launched = try bench.launch()
            #expect(launched.kind == .prewarmed && launched.text == "unset\n")
        }
        let codes = try bench.daemon.client().explain(Self.app).reasons.map(\.code)
        #expect(!codes.contains("imports_learned"))
    }

    @Test(arguments: Language.all)
    func `the inspection runs as the app's user, and its list can be forgotten`(
        _ language: Language
    ) throws {
        try requireOrSkip(getuid() == 0, "only root can run as another user")
        let bench = try Self.bench(language, lines: ["User=65534", "Group=65534"])
        try bench.launch()
        try bench.awaitList()
        #expect(try bench.launch().text == "unset|\n")
        guard case .done = try bench.daemon.client().call(.forgetImports(app: Self.app)) else {
            throw TestError("another reply")
        }
        try bench.daemon.await("an instance without a list") { client in
            let codes = try client.explain(Self.app).reasons.map(\.code)
            return try !codes.contains("imports_learned") && client.paused(Self.app).count == 1
                ? true : nil
        }
        #expect(try bench.launch().text == "unset|\n")
    }
}
