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

    /// Output, errors, status, and every file that the job leaves behind.
    private struct Result: Equatable {
        var exit: ChildProcess.Exit
        var output: [String]
        var files: [String]
    }

    /// Does the job in `folder`, whose path the output may contain, and empties the folder.
    private func result(
        of job: ProgramJob, _ program: String, in folder: TemporaryDirectory, isPrewarmed: Bool
    ) throws -> Result {
        func shell(_ command: String) throws -> [String] {
            var request = ChildRequest(
                "/bin/sh", arguments: ["sh", "-c", command],
                environment: ["PATH=/usr/bin:/bin", "LC_ALL=C"])
            request.directory = folder.path
            return lines(try run(request, mergingErrors: true).output)
        }
        for (name, text) in job.files { try folder.write(text, to: name) }
        let input = open(try folder.write(job.input, to: ".input"), O_RDONLY | O_CLOEXEC)
        let errors = open(
            "\(folder.path)/.errors", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer {
            close(input)
            close(errors)
        }
        var request = ChildRequest(
            program, arguments: [program] + job.arguments,
            environment: ["PATH=/usr/bin:/bin", "A=1", "HOME=\(folder.path)", "LC_ALL=C.UTF-8"]
                + job.environment)
        request.descriptors = [0: input, 2: errors]
        request.directory = folder.path
        let (exit, output) = isPrewarmed ? try runPrewarmed(request) : try run(request)
        let files = try shell(
            "find . -printf '%P %y %m %l\\n' | sort; find . -type f -exec cksum {} + | sort; cat .errors"
        )
        _ = try shell("find . -mindepth 1 -delete")
        return Result(exit: exit, output: lines(output), files: files)
    }

    @Test(arguments: ProgramJob.all)
    func `installed programs do the same whether cold or prewarmed`(job: ProgramJob) throws {
        // The program as Debian has it, not a wrapper of the same name.
        let program = ["/usr/bin/", "/bin/"].map { $0 + job.program }
            .first { access($0, X_OK) == 0 }
        try requireOrSkip(program != nil, "\(job.program) is not installed")
        let folder = try TemporaryDirectory()
        defer { withExtendedLifetime(folder) {} }
        let cold = try result(of: job, program!, in: folder, isPrewarmed: false)
        let warm = try result(of: job, program!, in: folder, isPrewarmed: true)
        #expect(warm == cold)
    }

    @Test(arguments: [
        ("print.cpp", ProbeCompiler("clang++")),
        ("print.cpp", ProbeCompiler("g++", ["-static-libstdc++"])),
        ("print.rs", ProbeCompiler("rustc")), ("print.swift", ProbeCompiler("swiftc")),
        ("print.swift", ProbeCompiler("swiftc", ["-static-stdlib"])),
    ])
    func `programs in other languages print the same whether cold or prewarmed`(
        source: String, compiler: ProbeCompiler
    ) throws {
        let program = try compileProbe(source, with: compiler)
        var request = ChildRequest(
            program, arguments: [program, "one", "two"], environment: ["A=1"])
        request.directory = "/usr"
        try expectSameOutput(request)
    }

    @Test func `a Go program with cgo prints the same whether cold or prewarmed`() throws {
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
        // The kernel, and env, put words before the script, which the launch keeps.
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
