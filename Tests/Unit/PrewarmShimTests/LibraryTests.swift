import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// Libraries that are opened before the pause, because the program will open them after main.
@Suite struct LibraryTests {
    private func library() throws -> String {
        try compileProbe(
            "opens-library.c", with: ProbeCompiler("clang", ["-DLIBRARY", "-shared", "-fPIC"]),
            output: "libopened.so")
    }

    /// Prewarms the program with the list, launches it with the arguments, and returns its lines.
    private func output(
        of program: String, _ arguments: [String], list: String
    ) throws -> [String] {
        let process = try PrewarmedProcess(
            ChildRequest(
                program, environment: ["PATH=/bin", PrewarmEnvironment.librariesName + "=" + list]))
        try process.awaitPause()
        let pipe = try Pipe()
        var request = ChildRequest(
            program, arguments: [program] + arguments, environment: ["PATH=/bin"])
        request.descriptors[1] = pipe.writeEnd
        try process.launch(as: request)
        pipe.closeWriteEnd()
        let output = lines(readToEnd(pipe.readEnd))
        #expect(try process.child.waitForExit() == .status(0))
        return output
    }

    @Test func `a listed library is loaded before main, and only there`() throws {
        let program = try compileProbe("opens-library.c")
        let library = try library()
        #expect(
            try output(of: program, ["asks", library], list: library).contains("before: 1"))
        #expect(try output(of: program, ["asks", library], list: "").contains("before: 0"))
    }

    @Test func `a program that opens a listed library itself notices nothing`() throws {
        let program = try compileProbe("opens-library.c")
        let library = try library()
        let direct = try run(
            ChildRequest(program, arguments: [program, library], environment: ["PATH=/bin"]))
        let expected = lines(direct.output)
        #expect(expected.last == "the library ends" || expected.contains("the library ends"))
        let absent = "/nonexistent/libabsent.so"
        for list in ["", library, "\(absent):\(library)", "\(library):/etc/passwd:"] {
            #expect(try output(of: program, [library], list: list) == expected, "\(list)")
        }
    }

    private func prewarmed(announcing list: String) throws -> PrewarmedProcess {
        try PrewarmedProcess(
            ChildRequest(
                try compileProbe("opens-library.c"),
                environment: [
                    "PATH=/bin", PrewarmEnvironment.librariesName + "=" + list,
                    PrewarmEnvironment.announcesName + "=1",
                ]))
    }

    /// A daemon that does not know announcements does not ask for them, as in the other tests.
    @Test func `each library is announced before it is opened, if the daemon asks`() throws {
        let library = try library()
        let list = "\(library):/nonexistent/libabsent.so"
        let process = try prewarmed(announcing: list)
        let expected: [AppMessage] = [
            .opening(0, .next), .opening(1, .next), .opening(1, .failed),
            .opening(2, .done),
        ]
        for message in expected { #expect(try process.receive() == message) }
        try process.awaitPause()
    }

    /// The library would act before the executable's own start, or move the descriptors of the
    /// launch.
    @Test(arguments: ["-DCALLS_BACK", "-DOPENS_FILE"])
    func `a library that reaches out of itself ends the prewarm`(what: String) throws {
        let program = try compileProbe(
            "opens-library.c", with: ProbeCompiler("clang", ["-rdynamic"]), output: "opens")
        let library = try compileProbe(
            "opens-library.c",
            with: ProbeCompiler("clang", ["-DLIBRARY", what, "-shared", "-fPIC"]),
            output: "libreaching.so")
        let process = try PrewarmedProcess(
            ChildRequest(
                program,
                environment: ["PATH=/bin", PrewarmEnvironment.librariesName + "=" + library]))
        #expect(try process.receive() == .error(errno: ENOTRECOVERABLE, cookie: 0))
        #expect(try process.child.waitForExit() == .status(0))
    }

    @Test func `a library whose thread has ended does not end the list`() throws {
        let brief = try compileProbe(
            "opens-library.c",
            with: ProbeCompiler("clang", ["-DLIBRARY", "-DENDS_THREAD", "-shared", "-fPIC"]),
            output: "libbrief.so")
        let list = "\(brief):\(try library())"
        for _ in 0..<20 {
            let process = try prewarmed(announcing: list)
            let expected: [AppMessage] = [
                .opening(0, .next), .opening(1, .next), .opening(2, .done),
            ]
            for message in expected { try #require(try process.receive() == message) }
            #expect(try process.awaitPause().threadCount == 1)
        }
    }

    @Test func `with musl the list is ignored`() throws {
        let program = try compileProbe("opens-library.c", with: ProbeCompiler("musl-gcc"))
        let library = try compileProbe(
            "opens-library.c", with: ProbeCompiler("musl-gcc", ["-DLIBRARY", "-shared", "-fPIC"]),
            output: "libopened.so")
        let seen = try output(of: program, ["asks", library], list: library)
        #expect(seen.contains("before: 0") && seen.contains { $0.hasPrefix("opened: 1") })
    }
}
