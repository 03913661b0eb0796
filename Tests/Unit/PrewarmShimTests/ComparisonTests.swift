import Glibc
import TestSupport
import Testing

/// What a program sees of itself, started by exec and resumed from its prewarm.
@Suite struct ComparisonTests {
    private func expectNoDifference(
        compiler: ProbeCompiler = .standard, user: Int32? = nil, newSession: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let probe = try compileProbe("probe.c", with: compiler)
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let input = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var request = ChildRequest(
            probe, arguments: ["another name", "first", "", "ünïcode", "--wait=no"],
            environment: ["A=1", "PATH=/bin:/usr/bin", "EMPTY=", "LD_PRELOADED=kept", "ODD"])
        request.descriptors = [0: input, 5: input]
        request.directory = directory.path
        request.umask = 0o027
        request.user = user
        request.newSession = newSession
        let cold = try run(request, mergingErrors: true)
        let warm = try runPrewarmed(request, mergingErrors: true)
        #expect(cold.exit == .status(0), sourceLocation: sourceLocation)
        #expect(warm.exit == .status(0), sourceLocation: sourceLocation)
        #expect(lines(cold.output).count > 60, sourceLocation: sourceLocation)
        #expect(lines(warm.output) == lines(cold.output), sourceLocation: sourceLocation)
    }

    @Test func `a probe sees no difference between a cold and a prewarmed launch`() throws {
        try expectNoDifference()
    }

    @Test func `an ordinary user's probe sees no difference`() throws {
        try requireOrSkip(geteuid() == 0, "only root can become another user")
        try expectNoDifference(user: 65534)
    }

    @Test func `a session leader's probe sees no difference`() throws {
        try expectNoDifference(newSession: true)
    }

    @Test(arguments: [
        ["-no-pie", "-fno-pie"], ["-Wl,-z,now,-z,relro"], ["-Wl,-z,lazy"], ["-fno-plt", "-O2"],
        ["-Wl,--hash-style=sysv"], ["-fsanitize=undefined"], ["-fsanitize=address"],
    ])
    func `a program is prewarmed in the same way however it is linked`(flags: [String]) throws {
        try expectNoDifference(compiler: ProbeCompiler("clang", flags))
    }

    @Test func `a program linked to musl sees no difference`() throws {
        try expectNoDifference(compiler: ProbeCompiler("musl-gcc"))
    }

    @Test(arguments: [
        ProbeCompiler("clang"), ProbeCompiler("clang", ["-no-pie", "-fno-pie"]),
        ProbeCompiler("musl-gcc"),
    ])
    func `an executable's own constructors see the launch`(compiler: ProbeCompiler) throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let input = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var request = ChildRequest(
            try compileProbe("early.c", with: compiler), arguments: ["another name", "first", ""],
            environment: ["A=1", "PATH=/usr/bin:/bin"])
        request.descriptors = [0: input]
        request.directory = directory.path
        request.umask = 0o027
        let cold = try run(request, mergingErrors: true)
        let warm = try runPrewarmed(request, mergingErrors: true)
        #expect(cold.exit == .status(3))
        #expect(warm.exit == cold.exit)
        #expect(lines(cold.output).last == "\(directory.path) 1 027 10 1 1")
        #expect(lines(warm.output) == lines(cold.output))
    }

    @Test func `the process's files in /proc show the launch only if the launch asks for that`()
        throws
    {
        let probe = try compileProbe("probe.c")
        let request = ChildRequest(probe, arguments: [probe, "shown"], environment: ["A=1"])
        let shown = lines(try runPrewarmed(request).output)
        #expect(shown.contains { $0.hasPrefix("cmdline") && $0.hasSuffix("probe|shown|") })
        #expect(shown.contains("environ(4)=A=1|"))
        let hidden = lines(try runPrewarmed(request, flags: []).output)
        #expect(hidden.contains { $0.hasPrefix("cmdline") && $0.hasSuffix("probe|") })
        #expect(!hidden.contains { $0.contains("GREENROOM") || $0.contains("LD_PRELOAD") })
    }
}
