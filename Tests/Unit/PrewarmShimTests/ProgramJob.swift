import TestSupport

/// One thing that one installed program does, in a folder of its own. `Tests/Tools/setup` installs
/// what Debian does not have anyway.
struct ProgramJob: Sendable, CustomStringConvertible {
    let program: String
    let arguments: [String]
    /// The job's standard input.
    var input = ""
    /// Variables that are added to a plain environment.
    var environment: [String] = []
    /// The text, by name, of the files that exist before the program starts.
    var files: [String: String] = [:]

    init(
        _ program: String, _ arguments: String..., input: String = "", environment: [String] = [],
        files: [String: String] = [:]
    ) {
        self.program = program
        self.arguments = arguments
        self.input = input
        self.environment = environment
        self.files = files
    }

    var description: String { ([program] + arguments).joined(separator: " ") }

    /// The test also compares the files that a program makes, so each job makes a file or prints
    /// what it was given.
    static let all =
        interpreters + shells + tools + [
            ProgramJob(
                "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                "testsrc=duration=0.2:size=64x64:rate=10", "-fflags", "+bitexact", "-flags",
                "+bitexact", "made.avi"),
            ProgramJob("inkscape", "--version"),
            ProgramJob(
                "vim.tiny", "-es", "-u", "NONE", "-i", "NONE", "-c", "normal ihello", "-c", "wq",
                "made"),
        ]

    private static let interpreters = [
        ProgramJob(
            "perl", "-e",
            #"print "$0 @ARGV $ENV{A}\n", <STDIN>; open F, ">made"; print F 1; warn "w\n"; exit 5"#,
            "a b", "c", input: "in\n"),
        ProgramJob(
            "python3", "-c",
            """
            import os, subprocess, sys, threading
            print(sys.argv, sys.executable, sorted(os.environ), os.getcwd(), sys.stdin.read())
            run = lambda: subprocess.check_call(["touch", "made"])
            threads = [threading.Thread(target=run) for _ in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            sys.exit(4)
            """, "x", input: "in\n"),
        ProgramJob(
            "lua5.4", "-e", "print(arg[0], os.getenv('A'), io.read('a')) os.exit(2)", input: "in\n"),
        ProgramJob("mawk", #"{ print ENVIRON["A"], $1; print NR > "made" }"#, input: "i j\nk\n"),
        ProgramJob("jq", "-c", ".a, env.A, $x", "--arg", "x", "y", input: #"{"a": [1, 2]}"#),
        ProgramJob(
            "sqlite3", "made",
            input: "create table t(a, b); insert into t values(1, 'x');\nselect * from t;\n"),
    ]

    private static let shells = [
        ProgramJob("sh", "-c", "echo $0 $A; cat; umask; pwd; echo x >made; exit 3", input: "in\n"),
        ProgramJob(
            "bash", "-c",
            #"echo "$0" "$@"; trap "echo got" USR1; kill -USR1 $$; sleep 0 & wait; exec -a me sh -c 'echo $0'"#,
            "name", "a b"),
        ProgramJob("bash", "-c", "kill -TERM $$"),
        ProgramJob("zsh", "-fc", "print -l $0 $@ $A $ZSH_VERSION; exit 3", "name", "a b"),
        ProgramJob("fish", "-N", "-c", "echo $argv $A; cat; exit 3", "a b", input: "in\n"),
        ProgramJob("env", environment: ["EMPTY=", "ODD"]),
    ]

    private static let tools = [
        ProgramJob("git", "-c", "init.defaultBranch=main", "init", "made"),
        // In Debian 12, Rust saves the arguments in a constructor, and groff saves these variables.
        ProgramJob(
            "rg", "-n", "--sort", "path", "word", ".", files: ["b": "no\nword\n", "a": "word\n"]),
        ProgramJob("groff", "-man", input: page, environment: ["GROFF_TYPESETTER=ascii"]),
        ProgramJob("mandoc", "-T", "ascii", input: page),
        // This program is written in Haskell.
        ProgramJob("shellcheck", "-", input: "#!/bin/sh\necho $1\n"),
        ProgramJob(
            "clang", "-O1", "-c", "source.c", "-o", "made",
            files: ["source.c": "#include <stdio.h>\nint main(void) { puts(__FILE__); }\n"]),
        ProgramJob(
            "make", "-s", "-j2",
            files: ["Makefile": "all: a b\na b:\n\techo $(MAKELEVEL) $(MAKE) >$@\n"]),
        ProgramJob(
            "tar", "cf", "made", "--mtime=@0", "--owner=0", "--group=0", "a", files: ["a": "x"]),
        ProgramJob(
            "find", ".", "-name", "*.c", "-exec", "cp", "{}", "made", ";", files: ["a.c": "x"]),
        ProgramJob("sort", "-o", "made", "-", input: "b\nA\na\nB\n"),
        ProgramJob("xargs", "-n1", "-P2", "touch", input: "made also"),
        ProgramJob("timeout", "0.01", "sleep", "100"),
        ProgramJob("dbus-daemon", "--session", "--introspect"),
    ]

    private static let page = ".TH X 1\n.SH NAME\nx \\- nothing\n"
}
