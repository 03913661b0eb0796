import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// What a launch brings along: descriptors, large strings, sessions, users.
@Suite struct LaunchTests {
    @Test func `descriptors arrive at their places, whatever numbers they had before`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        var files: [Int32] = []
        defer { for file in files { close(file) } }
        for index in 0..<26 {
            let path = try directory.write("", to: "file\(index)")
            files.append(open(path, O_RDWR | O_CLOEXEC))
        }
        let pipe = try Pipe()
        let process = try PrewarmedProcess(ChildRequest(try compileProbe("probe.c")))
        try process.awaitPause()
        // Received descriptors get the numbers 3, 4, 5 and so on; the launch wants them in reverse.
        var request = ChildRequest(
            try compileProbe("probe.c"), arguments: ["probe"], environment: ["PATH=/bin"])
        for (index, file) in files.enumerated() { request.descriptors[Int32(28 - index)] = file }
        request.descriptors[1] = pipe.writeEnd
        try process.launch(as: request)
        pipe.closeWriteEnd()
        let seen = lines(readToEnd(pipe.readEnd)).filter { $0.hasPrefix("fd ") }
        #expect(seen.count == 29)
        for index in 0..<26 {
            #expect(
                seen.contains {
                    $0.hasPrefix("fd \(28 - index):") && $0.hasSuffix("/file\(index)")
                        && $0.contains("close-on-exec 0")
                })
        }
    }

    @Test func `a directory that is entered by name is the one that has the name at the launch`()
        throws
    {
        for (flags, expected) in [
            (GoMessage.Flags.setCommandLine, "cwd=?"),
            ([.setCommandLine, .directoryByName], "cwd=%/d (deleted)"),
        ] {
            let removed = try RemovedDirectory()
            try #require(mkdir(removed.newPath, 0o755) == 0)
            let pipe = try Pipe()
            let process = try PrewarmedProcess(ChildRequest(try compileProbe("probe.c")))
            try process.awaitPause()
            try process.send(
                .go(removed.message(flags, [.place(1), .workingDirectory])),
                descriptors: [pipe.writeEnd, removed.descriptor])
            #expect(try process.receive() == .started(cookie: 0))
            pipe.closeWriteEnd()
            let base = removed.directory.path
            let seen = lines(readToEnd(pipe.readEnd)).filter { $0.hasPrefix("cwd=") }
            #expect(seen.map { $0.replacing(base, with: "%") } == [expected])
        }
    }

    /// The directory's name leads to a place where the daemon may go and the app may not.
    @Test func `a directory is entered with only the app's rights`() throws {
        try requireOrSkip(getuid() == 0, "another user's process needs root")
        let removed = try RemovedDirectory()
        let secret = removed.directory.path + "/secret"
        try #require(mkdir(secret, 0o700) == 0 && symlink(secret, removed.newPath) == 0)
        try #require(chmod(removed.directory.path, 0o755) == 0)
        var request = ChildRequest(try compileProbe("probe.c"))
        request.user = 54_321
        let process = try PrewarmedProcess(request)
        try process.awaitPause()
        try process.send(
            .go(removed.message([.directoryByName], [.workingDirectory])),
            descriptors: [removed.descriptor])
        #expect(try process.receive() == .error(errno: EACCES, cookie: 0))
    }

    @Test func `a descriptor never takes the place of one that a library opened`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let source = try directory.write(
            """
            #include <fcntl.h>
            int probe_library(void) { return 0; }
            __attribute__((constructor)) static void keep_one(void) { open("/dev/null", O_RDWR); }
            """, to: "keeps.c")
        let library = try compile(
            source: source, with: ProbeCompiler("clang", ["-shared", "-fPIC"]),
            output: "libkeeps.so")
        let program = try compileProbe(
            "uses-library.c", with: ProbeCompiler("clang", [library]))
        let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        for (place, isFree) in [(Int32(3), false), (4, true)] {
            let process = try PrewarmedProcess(ChildRequest(program))
            try process.awaitPause()
            var request = ChildRequest(program)
            request.descriptors[place] = file
            try process.sendLaunch(as: request)
            #expect(
                try process.receive()
                    == (isFree ? .started(cookie: 1) : .error(errno: EEXIST, cookie: 1)))
            #expect(try process.child.waitForExit() == .status(0))
        }
    }

    /// A library whose constructor has these statements, and a program with it that prints its environment.
    private func program(
        whoseLibraryExecutes statements: String, in directory: TemporaryDirectory
    ) throws -> String {
        let source = try directory.write(
            """
            #include <stdlib.h>
            #include <string.h>
            int probe_library(void) { return 0; }
            __attribute__((constructor)) static void do_it(void) { \(statements) }
            """, to: "sets.c")
        let library = try compile(
            source: source, with: ProbeCompiler("clang", ["-shared", "-fPIC"]),
            output: "libsets.so")
        let main = try directory.write(
            """
            #include <stdio.h>
            #include <stdlib.h>
            #include <string.h>
            extern char **environ;
            int probe_library(void);
            int main(int argc, char **argv, char **envp) {
                if (envp != environ || !getenv("LAST")) return 1;
                for (int i = 0; environ[i]; i++) puts(environ[i]);
                setenv("LATER", "1", 1);
                return probe_library() + (strcmp(getenv("LATER"), "1") != 0);
            }
            """, to: "shows.c")
        return try compile(source: main, with: ProbeCompiler("clang", [library]), output: "shows")
    }

    @Test func `variables that a library has set stay, and follow those of the launch`()
        throws
    {
        let directory = try TemporaryDirectory()
        let program = try program(
            whoseLibraryExecutes: """
                setenv("OWN", "library", 1); putenv("PUT=library"); setenv("GIVEN", "library", 0);
                setenv("NAMED", "library", 1); setenv("OWN_", "longer", 1);
                """, in: directory)
        var request = ChildRequest(
            program, environment: ["GIVEN=prewarm", "ONLY=prewarm", "PATH=/bin"])
        let process = try PrewarmedProcess(request)
        try process.awaitPause()
        let pipe = try Pipe()
        request.environment = ["NAMED=launch", "PATH=/usr/bin", "LAST="]
        request.descriptors[1] = pipe.writeEnd
        try process.launch(as: request)
        pipe.closeWriteEnd()
        #expect(
            lines(readToEnd(pipe.readEnd)) == request.environment + [
                "OWN=library", "PUT=library", "OWN_=longer",
            ])
        #expect(try process.child.waitForExit() == .status(0))
    }

    /// The launch would undo the change, or output would go to another place than the program's.
    @Test(arguments: [
        "chdir(\"/usr\")", "umask(077)", "umask(022)", "close(0)", "dup2(1, 0)",
        "write(2, \"x\", 1)", "printf(\"x\")", "unsetenv(\"GIVEN\")", "setenv(\"GIVEN\", \"2\", 1)",
        "clearenv()", "write(open(\"/dev/null\", 1), \"x\", 1)",
    ])
    func `a process that a library has changed does not pause`(statement: String) throws {
        let process = try processWhoseLibraryExecutes(statement)
        #expect(try process.receive() == .error(errno: ENOTRECOVERABLE, cookie: 0))
        #expect(try process.receive() == nil)
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test(arguments: [
        "", "setenv(\"GIVEN\", \"1\", 1)", "setenv(\"NEW\", \"1\", 1)", "chdir(\"/\")",
        "close(open(\"/dev/null\", 0))", "setvbuf(stdout, NULL, _IOLBF, 0)",
    ])
    func `a process that a library has not changed pauses`(statement: String) throws {
        try processWhoseLibraryExecutes(statement).awaitPause()
    }

    private func processWhoseLibraryExecutes(_ statement: String) throws -> PrewarmedProcess {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let source = try directory.write(
            """
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <sys/stat.h>
            #include <unistd.h>
            int probe_library(void) { return 0; }
            __attribute__((constructor)) static void change(void) { \(statement); }
            """, to: "changes.c")
        let library = try compile(
            source: source, with: ProbeCompiler("clang", ["-shared", "-fPIC", "-w"]),
            output: "libchanges.so")
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        let zero = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        defer { for file in [null, zero] { close(file) } }
        var request = ChildRequest(
            try compileProbe("uses-library.c", with: ProbeCompiler("clang", [library])),
            environment: ["GIVEN=1", "PATH=/bin"])
        request.directory = "/"
        request.umask = 0o027
        request.descriptors = [0: zero, 1: null, 2: null]
        return try PrewarmedProcess(request)
    }

    /// As setproctitle(3bsd) does, the library moves the environment and writes a title in its place.
    @Test func `strings of the prewarm are removed from where a library has moved them`() throws {
        let directory = try TemporaryDirectory()
        let program = try program(
            whoseLibraryExecutes: """
                extern char **environ;
                char **given = environ;
                char *first = given[0];
                size_t count = 0, size = 0;
                for (; given[count]; count++) size = given[count] + strlen(given[count]) + 1 - first;
                char **moved = calloc(count + 1, sizeof *moved);
                for (size_t i = 0; i < count; i++) moved[i] = strdup(given[i]);
                environ = moved;
                memset(first, 't', size);
                setenv("OWN", "library", 1);
                """, in: directory)
        var request = ChildRequest(program, environment: ["GIVEN=prewarm", "ONLY=prewarm"])
        let process = try PrewarmedProcess(request)
        try process.awaitPause()
        let pipe = try Pipe()
        request.environment = ["LAST="]
        request.descriptors[1] = pipe.writeEnd
        try process.launch(as: request)
        pipe.closeWriteEnd()
        #expect(lines(readToEnd(pipe.readEnd)) == ["LAST=", "OWN=library"])
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test(arguments: [0, 31, 32, 40])
    func `every variable that a library is known to set is kept`(count: Int) throws {
        let directory = try TemporaryDirectory()
        let program = try program(
            whoseLibraryExecutes: """
                static char text[32][4096];
                for (int i = 0; i < \(count); i++) {
                    char name[] = { 'V', 'A' + i / 10, '0' + i % 10, 0 };
                    for (int j = 0; j < 4095; j++) text[i % 32][j] = 'x';
                    setenv(name, text[i % 32], 1);
                }
                """, in: directory)
        let result = try runPrewarmed(ChildRequest(program, environment: ["LAST="]))
        #expect(result.exit == .status(0))
        let seen = lines(result.output)
        #expect(seen.count == 1 + min(count, 32))
        #expect(seen.dropFirst().allSatisfy { $0.utf8.count == 4 + 4095 })
    }

    @Test(arguments: [65_000, 65_536, 65_537, 200_000, 5_000_000])
    func `strings of any total size arrive`(byteCount: Int) throws {
        let probe = try compileProbe("probe.c")
        // The kernel limits one string to 128 KiB; the shim does not.
        var rest = byteCount - "probe".utf8.count - 1
        var environment: [String] = []
        while rest > 0 {
            let size = min(rest, 1000)
            environment.append(String(repeating: "x", count: size - 1))
            rest -= size
        }
        let result = try runPrewarmed(
            ChildRequest(probe, arguments: ["probe"], environment: environment))
        #expect(result.exit == .status(0))
        let seen = lines(result.output)
        #expect(seen.contains("strings in one row: 1"))
        #expect(seen.count { $0.hasPrefix("environ[") } == environment.count)
        #expect(!seen.contains { $0.contains("memfd") })
        if byteCount < 1_000_000 {
            #expect(seen.contains { $0.hasPrefix("environ(\(byteCount - 6))=") })
        }
    }

    @Test func `a memory file that is shorter than announced is refused`() throws {
        let process = try PrewarmedProcess(
            ChildRequest(try compileProbe("behave.c"), arguments: ["behave"]))
        try process.awaitPause()
        let go = GoMessage(
            arguments: try StringList(["behave"]),
            environment: try StringList([String(repeating: "x", count: 70_000)]), cookie: 3)
        let encoded = try DaemonMessage.go(go).encoded()
        let memory = cts_sealed_memory(encoded.descriptorStrings!, 100)
        defer { close(memory) }
        try process.send(bytes: encoded.datagram, descriptors: [memory])
        #expect(try process.receive() == .error(errno: EPROTO, cookie: 3))
        let pipe = try Pipe()
        try process.send(bytes: encoded.datagram, descriptors: [pipe.readEnd])
        #expect(try process.receive() == .error(errno: EPROTO, cookie: 3))
        try process.send(.go(go))
        #expect(try process.receive() == .started(cookie: 3))
    }

    @Test func `a launch can have a session and a terminal of its own`() throws {
        var controller: Int32 = -1
        var terminal: Int32 = -1
        try requireOrSkip(cts_open_terminal(&controller, &terminal) == 0, "no pseudo-terminals")
        defer { close(controller) }
        let probe = try compileProbe("probe.c")
        let process = try PrewarmedProcess(ChildRequest(probe))
        try process.awaitPause()
        let pipe = try Pipe()
        var request = ChildRequest(probe)
        request.descriptors = [0: terminal, 1: pipe.writeEnd, 2: terminal]
        try process.launch(
            as: request, flags: [.setCommandLine, .newSession, .controllingTerminal])
        pipe.closeWriteEnd()
        close(terminal)
        let seen = lines(readToEnd(pipe.readEnd))
        #expect(
            seen.contains(
                "session leader 1, group leader 1, terminals 101, /dev/tty 1, foreground 1"))
    }

    @Test func `a launch fails if its terminal cannot be taken`() throws {
        let process = try PrewarmedProcess(
            ChildRequest(try compileProbe("behave.c"), arguments: ["b", "exit", "9"]))
        try process.awaitPause()
        try process.sendLaunch(
            as: ChildRequest("b"), flags: [.newSession, .controllingTerminal], cookie: 4)
        #expect(try process.receive() == .error(errno: ENOTTY, cookie: 4))
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test func `a process may pause by a call instead of before main`() throws {
        let program = try compileProbe("pause-by-call.c")
        let before = try Pipe()
        var prewarm = ChildRequest(program, environment: ["GREENROOM_PAUSE=call"])
        prewarm.descriptors[1] = before.writeEnd
        let process = try PrewarmedProcess(prewarm)
        before.closeWriteEnd()
        #expect(try process.awaitPause().reason == .call)
        let after = try Pipe()
        var request = ChildRequest(program, arguments: ["p", "last"], environment: ["A=1"])
        request.descriptors[1] = after.writeEnd
        try process.launch(as: request)
        after.closeWriteEnd()
        #expect(lines(readToEnd(before.readEnd)) == ["before"])
        #expect(lines(readToEnd(after.readEnd)) == ["paused 1 argc 2 last last A=1 again 0"])
        #expect(
            lines(try run(ChildRequest(program, environment: ["A=0"])).output)
                == ["before", "paused 0 argc 1 last \(program) A=0 again 0"])
    }

    /// Prewarms a program that waits in two steps, and launches it with this last argument.
    private func launchByHook(
        _ last: String, ignoring signal: Int32? = nil, answer: AppMessage
    ) throws -> (exit: ChildProcess.Exit, lines: [String]) {
        let program = try compileProbe("wait-by-hook.c")
        let process = try PrewarmedProcess(
            ChildRequest(
                program,
                environment: [
                    "GREENROOM_PAUSE=call", "GREENROOM_IMPORTS=one\ntwo", "GREENROOM_RECORD=/r",
                    "GREENROOM_OTHER=1",
                ]))
        #expect(try process.awaitPause().reason == .call)
        if let signal {
            // `ignored` of struct gr_inherited.
            var state = [UInt8](repeating: 0, count: InheritMessage.byteCount)
            state[24 + Int(signal - 1) / 8] = 1 << UInt8((signal - 1) % 8)
            try process.send(bytes: InheritMessage.encoded(state))
        }
        let after = try Pipe()
        var request = ChildRequest(program, arguments: ["h", last], environment: ["A=1"])
        request.descriptors[1] = after.writeEnd
        try process.sendLaunch(as: request, cookie: 8)
        #expect(try process.receive() == answer)
        #expect(try process.receive() == nil)
        after.closeWriteEnd()
        let printed = lines(readToEnd(after.readEnd))
        return (try process.child.waitForExit(), printed)
    }

    @Test func `a hook reads its variables, and says when the process goes on`() throws {
        let (exit, lines) = try launchByHook("on", answer: .started(cookie: 8))
        #expect(lines == ["waited 1 IMPORTS=one,two RECORD=/r OTHER=", "on A=1 OWN=1"])
        #expect(exit == .status(0))
    }

    @Test func `a hook that starts anew passes on what the launch brings, and nothing else`() throws
    {
        let (exit, lines) = try launchByHook("anew", answer: .startedAnew(cookie: 8, .changed))
        #expect(
            lines == [
                "waited 1 IMPORTS=one,two RECORD=/r OTHER=", "anew A=1 OWN= PIPE=0 blocked=0",
            ])
        #expect(exit == .status(0))
    }

    @Test func `a hook is told that the launch ignores a signal which the process handles`() throws
    {
        let (exit, lines) = try launchByHook(
            "on", ignoring: SIGUSR1, answer: .startedAnew(cookie: 8, .signals))
        #expect(lines.first?.hasPrefix("waited 2 ") == true)
        #expect(exit == .status(0))
    }

    @Test func `a hook that ends before it says anything leaves no answer`() throws {
        let program = try compileProbe("wait-by-hook.c")
        let process = try PrewarmedProcess(
            ChildRequest(program, environment: ["GREENROOM_PAUSE=call"]))
        try process.awaitPause()
        try process.sendLaunch(as: ChildRequest(program, arguments: ["h", "end"]))
        #expect(try process.receive() == nil)
        #expect(try process.child.waitForExit() == .status(3))
    }

    @Test func `the channel fits below a small limit of open files`() throws {
        var prewarm = ChildRequest(try compileProbe("behave.c"), arguments: ["behave"])
        prewarm.openFileLimit = 64
        let process = try PrewarmedProcess(
            prewarm, descriptor: PrewarmEnvironment.channelDescriptor(softLimit: 64))
        try process.awaitPause()
        try process.launch(as: ChildRequest("x", arguments: ["behave", "exit", "4"]))
        #expect(try process.child.waitForExit() == .status(4))
    }

    @Test func `a set-user-ID program run by another user ignores the shim`() throws {
        try requireOrSkip(geteuid() == 0, "only root can become another user")
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = "\(directory.path)/setuid"
        let copy = ChildRequest(
            "/bin/cp", arguments: ["cp", try compileProbe("behave.c"), program])
        #expect(try run(copy).exit == .status(0))
        chmod(program, 0o4755)
        var request = ChildRequest(program, arguments: ["behave", "exit", "6"])
        request.user = 65534
        let process = try PrewarmedProcess(request)
        // The daemon's check of eligibility prevents this failure.
        #expect(try process.child.waitForExit() == .status(6))
        request.noNewPrivileges = true
        let harmless = try PrewarmedProcess(request)
        try harmless.awaitPause()
    }
}

/// A descriptor of a removed directory, whose name now leads to a directory of another user.
private struct RemovedDirectory {
    let directory: TemporaryDirectory
    let descriptor: Int32
    var newPath: String { directory.path + "/d (deleted)" }

    init() throws {
        directory = try TemporaryDirectory()
        let path = directory.path + "/d"
        try #require(mkdir(path, 0o755) == 0)
        descriptor = cts_open_directory(path)
        try #require(descriptor >= 0 && rmdir(path) == 0)
    }

    func message(_ flags: GoMessage.Flags, _ roles: [DescriptorRole]) throws -> GoMessage {
        GoMessage(
            arguments: try StringList(["probe"]), environment: try StringList(["PATH=/bin"]),
            flags: flags, roles: roles)
    }
}
