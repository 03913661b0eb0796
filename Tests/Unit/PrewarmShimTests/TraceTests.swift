import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// The program and its children may see no trace of the shim.
@Suite struct TraceTests {
    /// - Parameter isLaunched: whether the constructor runs only at the launch.
    private func expectCleanChild(of program: String, isLaunched: Bool) throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let output = "\(directory.path)/output"
        let request = ChildRequest(
            program, environment: ["PROBE_OUTPUT=\(output)", "PATH=/usr/bin:/bin"])
        let process = try PrewarmedProcess(request)
        if isLaunched {
            try process.awaitPause()
            #expect(access(output, F_OK) != 0)
            try process.launch(as: request)
        }
        // What the child wrote counts as written by its parent, which therefore does not pause.
        #expect(try process.child.waitForExit() == .status(0))
        let seen = lines(try readFile(output))
        #expect(seen.contains("child done"))
        #expect(seen.contains("PROBE_OUTPUT=\(output)"))
        #expect(!seen.contains { $0.contains("GREENROOM") || $0.contains("LD_PRELOAD") })
        #expect(!seen.contains { $0.contains("socket") }, "\(seen)")
    }

    @Test func `the child of an executable's constructor sees no trace`() throws {
        try expectCleanChild(of: try compileProbe("constructor.c"), isLaunched: true)
    }

    @Test(arguments: ["clang", "musl-gcc"])
    func `the child of a library's constructor sees no trace`(compiler: String) throws {
        let library = try compileProbe(
            "constructor.c", with: ProbeCompiler(compiler, ["-DLIBRARY", "-shared", "-fPIC"]),
            output: "libconstructor.so")
        let program = try compileProbe(
            "uses-library.c", with: ProbeCompiler(compiler, [library]))
        // musl runs all constructors together with the executable's.
        try expectCleanChild(of: program, isLaunched: compiler == "musl-gcc")
    }

    @Test func `a paused process shows neither the variables nor an inheritable descriptor`() throws
    {
        let process = try PrewarmedProcess(ChildRequest(try compileProbe("probe.c")))
        try process.awaitPause()
        let environment = String(
            decoding: try readFile("/proc/\(process.child.pid)/environ"), as: UTF8.self)
        #expect(!environment.contains("GREENROOM") && !environment.contains("LD_PRELOAD"))
        let flags = String(
            decoding: try readFile("/proc/\(process.child.pid)/fdinfo/1023"), as: UTF8.self)
        #expect(flags.contains("flags:\t02000002"), "\(flags)")
    }

    @Test func `the user's own preloaded library is kept`() throws {
        let own = "/usr/lib/x86_64-linux-gnu/libm.so.6"
        try requireOrSkip(access(own, R_OK) == 0, "\(own) is missing")
        let process = try PrewarmedProcess(
            ChildRequest(try compileProbe("probe.c")), userPreload: own)
        try process.awaitPause()
        let environment = try readFile("/proc/\(process.child.pid)/environ").split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        #expect(environment.contains("LD_PRELOAD=\(own)"))
        let maps = String(decoding: try readFile("/proc/\(process.child.pid)/maps"), as: UTF8.self)
        #expect(maps.contains("libm.so.6"))
    }

    @Test func `a program that is not the expected executable runs without a pause`() throws {
        let probe = try compileProbe("probe.c")
        let pipe = try Pipe()
        var request = ChildRequest(probe)
        request.descriptors[1] = pipe.writeEnd
        let process = try PrewarmedProcess(request, executable: "/no/such/executable")
        pipe.closeWriteEnd()
        let seen = lines(readToEnd(pipe.readEnd))
        #expect(try process.child.waitForExit() == .status(0))
        #expect(seen.contains { $0.contains("GREENROOM_CHANNEL=1023:") })
        #expect(try process.receive() == nil)
    }

    @Test func `a process whose executable is replaced after exec still pauses`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = "\(directory.path)/program"
        #expect(
            try run(
                ChildRequest("/bin/cp", arguments: ["cp", try compileProbe("probe.c"), program])
            ).exit == .status(0))
        // The file is removed right after exec, before or after the shim looks at it; the process
        // must pause in both cases. The dynamic linker's trace in a pipe would tell the moment, but
        // it is slow.
        let process = try PrewarmedProcess(ChildRequest(program), executable: program)
        unlink(program)
        try process.awaitPause()
    }

    @Test func `without a daemon's variables the shim does nothing`() throws {
        let probe = try compileProbe("probe.c")
        var request = ChildRequest(probe, environment: ["PATH=/bin"])
        let plain = try run(request)
        request.environment.append("LD_PRELOAD=\(try prewarmShim())")
        let preloaded = try run(request)
        #expect(preloaded.exit == .status(0))
        let difference = lines(preloaded.output).filter {
            !lines(plain.output).contains($0) && !$0.contains("LD_PRELOAD")
        }
        #expect(difference.isEmpty, "\(difference)")
    }

    @Test(arguments: [
        "GREENROOM_CHANNEL=", "GREENROOM_CHANNEL=3", "GREENROOM_CHANNEL=1:2x",
        "GREENROOM_CHANNEL=1:999999999", "GREENROOM_CHANNEL=99999999999999999999:1",
    ])
    func `an invalid channel is ignored`(variable: String) throws {
        let result = try run(
            ChildRequest(
                try compileProbe("behave.c"), arguments: ["behave", "exit", "7"],
                environment: [variable, "LD_PRELOAD=\(try prewarmShim())"]))
        #expect(result.exit == .status(7))
    }
}
