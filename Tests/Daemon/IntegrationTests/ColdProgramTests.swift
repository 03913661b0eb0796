import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Programs that would run more than the constructors of libraries during a prewarm, or whose
/// launch would differ from a direct call. None of these is prewarmed, and `explain` says why.
@Suite struct ColdProgramTests {
    private static let app = "org.example.app"
    private let folder: TemporaryDirectory
    init() throws { folder = try TemporaryDirectory() }

    private var output: String { folder.path + "/output" }
    private var hasRun: Bool { access(output, F_OK) == 0 }

    /// Expects that the app is not prewarmed for that reason, is launched cold, and prints the
    /// output of its program.
    private func expectCold(
        _ program: String, _ code: String, _ lines: [String] = [],
        searchPath: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var options = TestDaemon.Options()
        options.searchPath = searchPath ?? options.searchPath
        var app = TestApp(
            Self.app, exec: program, prewarm: 1, "Environment=PROBE_OUTPUT=\(output)")
        app.lines += lines
        let daemon = try TestDaemon([app], options)
        let client = try daemon.client()
        let explanation = try client.explain(Self.app)
        #expect(explanation.reasons.map(\.code) == [code], sourceLocation: sourceLocation)
        #expect(!explanation.isEligible, sourceLocation: sourceLocation)
        #expect(!hasRun, sourceLocation: sourceLocation)
        let words = ["one", "", "two words"]
        var direct = ChildRequest(program, arguments: [program] + words)
        direct.environment = ["PATH=\(options.searchPath)"]
        direct.directory = "/"
        let expected = try TestSupport.run(direct)
        let (launched, text, exit) = try client.run(Self.app, words)
        #expect(launched.kind == .cold, sourceLocation: sourceLocation)
        #expect(launched.coldReason == .ineligible, sourceLocation: sourceLocation)
        #expect(Array(text.utf8) == expected.output, sourceLocation: sourceLocation)
        #expect(expected.exit == .status(Int32(exit.status ?? 255)), sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        (["-DENTRY", "-Wl,-e,entry"], "unknown_entry"), (["-DPREINIT"], "preinit_functions"),
    ])
    func `code before the C library's start does not run`(flags: [String], code: String) throws {
        let program = try compileProbe("early-entry.c", with: ProbeCompiler("clang", flags))
        try expectCold(program, code)
        #expect(try readFile(output) == Array("ran\n".utf8))
    }

    @Test func `a program that keeps the arguments of its first stack sees those of its launch`()
        throws
    {
        #if arch(x86_64)
            let program = try compileProbe(
                "early-entry.c", with: ProbeCompiler("clang", ["-DPASCAL", "-nostartfiles"]))
            try expectCold(program, "unknown_entry")
        #else
            try requireOrSkip(false, "the probe is of x86-64")
        #endif
    }

    @Test func `an interpreter that is only named env is paused like any other`() throws {
        let source = try folder.write(
            """
            #include <fcntl.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <unistd.h>
            int main(int argc, char **argv) {
                int file = open(getenv("PROBE_OUTPUT"), O_WRONLY | O_CREAT | O_APPEND, 0666);
                if (file >= 0 && write(file, "ran\\n", 4) == 4) close(file);
                for (int i = 1; i < argc; i++) printf("%s\\n", argv[i]);
                return 0;
            }
            """, to: "tool.c")
        let program = try folder.copy(try compile(source: source), to: "env")
        let script = try folder.write("#!\(program) sh\n", to: "script", mode: 0o755)
        let daemon = try TestDaemon(
            TestApp(
                Self.app, exec: script, prewarm: 1, "Environment=PROBE_OUTPUT=\(output)"))
        try daemon.awaitPaused(Self.app)
        #expect(!hasRun)
        let (launched, text, _) = try daemon.client().run(Self.app, ["one"])
        #expect(launched.kind == .prewarmed)
        #expect(text == "sh\n\(script)\none\n")
        #expect(try readFile(output) == Array("ran\n".utf8))
    }

    @Test func `a variable that env sets reaches the script`() throws {
        let body = "\necho \"$GREETING $# $2\"\n"
        try expectCold(
            try folder.write(
                "#!/usr/bin/env -S GREETING=hello sh" + body, to: "sets", mode: 0o755),
            "wrapper_not_understood")
    }

    /// The kernel looks up the interpreter from the working directory, which comes with the launch.
    @Test(arguments: ["bin/sh", "/usr/bin/env bin/sh"])
    func `an interpreter without a full path is not chosen before the launch`(line: String) throws {
        try expectCold(
            try folder.write("#!\(line)\necho \"$# $1\"\n", to: "relative", mode: 0o755),
            "relative_path")
    }

    @Test func `an interpreter from a relative folder of PATH is not chosen before the launch`()
        throws
    {
        try expectCold(
            try folder.write("#!/usr/bin/env sh\necho \"$# $1\"\n", to: "looked-up", mode: 0o755),
            "relative_path", searchPath: "bin:/usr/bin")
    }

    /// Any program can be named as the dynamic linker.
    @Test func `a program that is not a dynamic linker is not started as one`() throws {
        let source = try folder.write(
            """
            #include <fcntl.h>
            #include <sys/syscall.h>
            static long call(long number, long a, long b, long c, long d) {
            #if defined(__x86_64__)
                register long r10 __asm__("r10") = d;
                __asm__ volatile("syscall" : "+a"(number)
                                 : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
                return number;
            #else
                register long x8 __asm__("x8") = number;
                register long x0 __asm__("x0") = a;
                register long x1 __asm__("x1") = b;
                register long x2 __asm__("x2") = c;
                register long x3 __asm__("x3") = d;
                __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
                return x0;
            #endif
            }
            void _start(void) {
                static const char path[] = "\(output)";
                int flags = O_WRONLY | O_CREAT | O_EXCL;
                long file = call(SYS_openat, AT_FDCWD, (long)path, flags, 0666);
                call(SYS_write, file, (long)"ran\\n", 4, 0);
                call(SYS_exit_group, 5, 0, 0, 0);
            }
            """, to: "linker.c")
        let linker = try compile(
            source: source,
            with: ProbeCompiler("clang", ["-static", "-nostdlib", "-fno-stack-protector"]),
            output: "linker")
        let program = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-Wl,-dynamic-linker,\(linker)"]))
        try expectCold(program, "unknown_loader")
    }

    @Test func `a program is not prewarmed if one of its libraries starts programs`() throws {
        let library = try compileProbe(
            "constructor.c",
            with: ProbeCompiler(
                "clang", ["-DLIBRARY", "-shared", "-fPIC", "-Wl,-soname,libparted.so.2"]),
            output: "libparted.so.2")
        let program = try compileProbe(
            "uses-library.c",
            with: ProbeCompiler("clang", [library, "-Wl,-rpath,\(library.dropLast(15))"]))
        try expectCold(program, "starts_programs")
    }

    @Test func `a program is not prewarmed if the manifest preloads a sanitizer`()
        throws
    {
        let library = try compileProbe(
            "behave.c", with: ProbeCompiler("clang", ["-DLIBRARY", "-shared", "-fPIC"]),
            output: "libasan.so.8")
        try expectCold(
            try compileProbe("behave.c"), "preload_refused", ["Environment=LD_PRELOAD=\(library)"])
    }

    /// Only the first prewarm can find this out; later launches are like direct runs.
    @Test(arguments: ["chdir(\"/usr\")", "umask(0)", "unsetenv(\"HOME\")", "write(1, \"x\\n\", 2)"])
    func `a change that a library makes to its process when it is loaded is kept`(statement: String)
        throws
    {
        let source = try folder.write(
            """
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/stat.h>
            #include <unistd.h>
            #ifdef LIBRARY
            __attribute__((constructor)) static void change(void) { \(statement); }
            #else
            int main(void) {
                char directory[4096];
                unsigned mask = umask(0);
                printf("%s %o %d\\n", getcwd(directory, 4096), mask, getenv("HOME") != NULL);
                return 0;
            }
            #endif
            """, to: "changes.c")
        let program = try compileWithLibrary(source: source, with: ProbeCompiler("clang", ["-w"]))
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        let reasons = try daemon.await("the finding") {
            let reasons = try $0.explain(Self.app).reasons.map(\.code)
            return reasons.isEmpty ? nil : reasons
        }
        #expect(reasons == ["changes_process"])
        var direct = ChildRequest(program, environment: ["HOME=/x"])
        direct.directory = "/"
        direct.umask = 0o022
        let (launched, text, _) = try daemon.client().run(Self.app) { $0.umask = 0o022 }
        #expect(launched.kind == .cold && launched.coldReason == .ineligible)
        #expect(Array(text.utf8) == (try TestSupport.run(direct).output))
    }

    /// The linker prints before any library is loaded that could notice it.
    @Test func `the output of the dynamic linker is printed by each launch`() throws {
        var app = TestApp(Self.app, exec: try compileProbe("behave.c"), prewarm: 1)
        app.lines = ["Environment=LD_PRELOAD=libgreenroom-nowhere.so"]
        let daemon = try TestDaemon(app)
        let reasons = try daemon.await("the finding") {
            let reasons = try $0.explain(Self.app).reasons.map(\.code)
            return reasons.isEmpty ? nil : reasons
        }
        #expect(reasons == ["changes_process"])
        let errors = try Output()
        let client = try daemon.client()
        var call = Control.LaunchCall(app: Self.app)
        call.standardError = 0
        _ = try client.launch(call, descriptors: [errors.number])
        #expect(try errors.text().contains("cannot be preloaded"))
    }

    @Test func `a program that defines no symbol is prewarmed`() throws {
        let program = try compileProbe(
            "first-instruction.c", with: ProbeCompiler("gcc", ["-no-pie", "-fno-pie"]))
        let daemon = try TestDaemon(TestApp(Self.app, exec: program, prewarm: 1))
        try daemon.awaitPaused(Self.app)
        let (launched, text, _) = try daemon.client().run(Self.app)
        #expect(launched.kind == .prewarmed)
        #expect(text == "x")
    }
}
