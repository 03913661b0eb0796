import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// Real programs in several languages, cold and prewarmed: the same output and exit status.
@Suite struct ProgramTests {
    private func expectSameOutput(
        _ request: ChildRequest, executable: String? = nil, prewarmArguments: [String]? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let cold = try run(request, mergingErrors: true)
        let warm = try runPrewarmed(
            request, executable: executable, mergingErrors: true,
            prewarmArguments: prewarmArguments)
        #expect(!cold.output.isEmpty, sourceLocation: sourceLocation)
        #expect(warm.exit == cold.exit, sourceLocation: sourceLocation)
        #expect(lines(warm.output) == lines(cold.output), sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ["/usr/bin/ffmpeg", "-version"], ["/usr/bin/inkscape", "--version"],
        ["/usr/bin/git", "--version"],
        [
            "/usr/bin/python3", "-c", "import sys, os; print(sys.argv, os.environ, os.getcwd())",
            "x",
        ],
        ["/bin/sh", "-c", "echo $0 $A; exit 3"], ["/usr/bin/env"],
    ])
    func `installed programs say the same`(arguments: [String]) throws {
        try requireOrSkip(access(arguments[0], X_OK) == 0, "\(arguments[0]) is not installed")
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        var request = ChildRequest(
            arguments[0], arguments: arguments,
            environment: ["PATH=/usr/bin:/bin", "A=1", "HOME=\(directory.path)", "LC_ALL=C.UTF-8"])
        request.directory = directory.path
        try expectSameOutput(request)
    }

    @Test func `ffmpeg encodes the same bytes`() throws {
        try requireOrSkip(access("/usr/bin/ffmpeg", X_OK) == 0, "ffmpeg is not installed")
        let arguments =
            "ffmpeg -v error -nostdin -f lavfi -i testsrc=duration=0.2:size=64x64:rate=10 "
            + "-fflags +bitexact -flags +bitexact -f avi -"
        try expectSameOutput(
            ChildRequest(
                "/usr/bin/ffmpeg", arguments: arguments.split(separator: " ").map(String.init)))
    }

    @Test(arguments: [
        ("print.cpp", ProbeCompiler("clang++")),
        ("print.cpp", ProbeCompiler("g++", ["-static-libstdc++"])),
        ("print.rs", ProbeCompiler("rustc")),
    ])
    func `other languages' programs say the same`(source: String, compiler: ProbeCompiler) throws {
        let program = try compileProbe(source, with: compiler)
        var request = ChildRequest(
            program, arguments: [program, "one", "two"], environment: ["A=1"])
        request.directory = "/usr"
        try expectSameOutput(request)
    }

    @Test func `a Go program with cgo says the same`() throws {
        let go = findProgram("go")
        try requireOrSkip(go != nil, "no Go compiler")
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = "\(directory.path)/print"
        var build = ChildRequest(
            go!, arguments: [go!, "build", "-o", program, "\(packageRoot)/Tests/Probes/print.go"])
        build.environment = ["PATH=/usr/bin:/bin", "HOME=\(directory.path)", "CGO_ENABLED=1"]
        let result = try run(build, mergingErrors: true)
        try #require(result.exit == .status(0), "\(lines(result.output))")
        try expectSameOutput(
            ChildRequest(program, arguments: [program, "one"], environment: ["A=1"]))
    }

    @Test(arguments: [
        ("#!/bin/sh\necho \"$0\" \"$@\" $A\n", "/bin/sh"),
        (
            "#!/usr/bin/python3 -u\nimport sys\nprint(sys.argv, sys.flags.no_user_site)\n",
            "/usr/bin/python3"
        ),
        ("#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n", "/usr/bin/python3"),
        ("#!/usr/bin/env -S python3 -u\nimport sys\nprint(sys.argv)\n", "/usr/bin/python3"),
    ])
    func `a script is prewarmed in its last interpreter`(text: String, interpreter: String) throws {
        try requireOrSkip(access(interpreter, X_OK) == 0, "\(interpreter) is not installed")
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let script = try directory.write(text, to: "script", mode: 0o755)
        let request = ChildRequest(
            script, arguments: [script, "one", "two"], environment: ["PATH=/usr/bin:/bin", "A=1"])
        let cold = try run(request, mergingErrors: true)

        var resolved = [CChar](repeating: 0, count: Int(PATH_MAX))
        let executable = String(cString: realpath(interpreter, &resolved)!)
        let prewarm = ChildRequest(script, environment: ["PATH=/usr/bin:/bin"])
        let process = try PrewarmedProcess(prewarm, executable: executable)
        let pause = try process.awaitPause()
        // The kernel, and env, put what they need before the script: the launch keeps it.
        let shown = try readFile("/proc/\(process.child.pid)/cmdline").split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(shown.count == Int(pause.argumentCount))
        var launch = ChildRequest(
            script, arguments: shown + ["one", "two"],
            environment: ["PATH=/usr/bin:/bin", "A=1"])
        let pipe = try Pipe()
        launch.descriptors = [1: pipe.writeEnd, 2: pipe.writeEnd]
        try process.launch(as: launch)
        pipe.closeWriteEnd()
        #expect(lines(readToEnd(pipe.readEnd)) == lines(cold.output))
        #expect(try process.child.waitForExit() == cold.exit)
    }
}
