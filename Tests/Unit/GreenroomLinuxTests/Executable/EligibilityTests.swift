import CTestSupport
import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Which programs may be prewarmed, on programs built for the purpose and installed ones.
@Suite struct EligibilityTests {
    private func inspect(_ path: String) throws -> ExecutableFacts {
        try ExecutableInspection.inspect(path: path)
    }

    /// A copy of a probe that a test may change.
    private func copy(
        of program: String, to directory: TemporaryDirectory, mode: UInt32 = 0o755
    ) throws -> String {
        let path = "\(directory.path)/copy"
        #expect(
            try run(ChildRequest("/bin/cp", arguments: ["cp", program, path])).exit == .status(0))
        chmod(path, mode)
        return path
    }

    @Test(arguments: [
        ProbeCompiler("clang"), ProbeCompiler("clang", ["-no-pie", "-fno-pie"]),
        ProbeCompiler("clang", ["-Wl,--hash-style=sysv"]),
        ProbeCompiler("clang", ["-Wl,--hash-style=gnu", "-s"]),
        ProbeCompiler("clang", ["-rdynamic", "-fuse-ld=lld"]), ProbeCompiler("musl-gcc"),
        ProbeCompiler("musl-gcc", ["-no-pie", "-fno-pie"]),
        ProbeCompiler("gcc", ["-no-pie", "-fno-pie", "-fuse-ld=bfd"]),
        ProbeCompiler("gcc", ["-no-pie", "-fno-pie", "-fuse-ld=bfd", "-Wl,-z,now"]),
        ProbeCompiler("gcc", ["-pg"]), ProbeCompiler("gcc", ["-fcf-protection=full"]),
        ProbeCompiler("clang", ["-fuse-ld=lld", "-Wl,-z,pack-relative-relocs", "-Wl,-z,now"]),
    ])
    func `dynamic programs with a C library are eligible`(compiler: ProbeCompiler) throws {
        // The program defines no symbol, so GNU ld gives it an empty hash table.
        let program = try compileProbe("first-instruction.c", with: compiler)
        let facts = try inspect(program)
        #expect(facts.eligibility == .eligible)
        #expect(facts.files.map(\.role) == [.executable, .loader])
        #expect(facts.argumentPrefix == nil)
        #expect(facts.files.first(where: \.hasChanged) == nil)
    }

    @Test(arguments: ["ffmpeg", "inkscape", "git", "/usr/bin/python3", "sh", "env"])
    func `installed programs are eligible`(name: String) throws {
        try requireOrSkip(findProgram(name) != nil, "\(name) is not installed")
        #expect(try inspect(name).eligibility == .eligible)
    }

    @Test(arguments: [
        (ProbeCompiler("gcc", ["-static"]), IneligibilityReason.staticallyLinked),
        (ProbeCompiler("gcc", ["-static-pie"]), .staticPositionIndependent),
        (ProbeCompiler("musl-gcc", ["-static"]), .staticallyLinked),
    ])
    func `static programs are not eligible`(
        compiler: ProbeCompiler, reason: IneligibilityReason
    ) throws {
        let facts = try inspect(try compileProbe("first-instruction.c", with: compiler))
        #expect(facts.eligibility == .ineligible(reason))
    }

    @Test func `a program with a loader but no C library is not eligible`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let source = try directory.write("void _start(void) { for (;;) ; }\n", to: "bare.c")
        let bare = try compile(
            source: source,
            with: ProbeCompiler(
                "clang",
                ["-nostdlib", "-fPIE", "-pie", "-Wl,-dynamic-linker,/lib64/ld-linux-x86-64.so.2"]))
        #expect(try inspect(bare).eligibility == .ineligible(.noCLibrary))
        let own = try compile(
            source: try directory.write(
                "int puts(const char *); void _start(void) { puts(\"\"); }", to: "own.c"),
            with: ProbeCompiler("clang", ["-nostartfiles", "-fno-builtin"]))
        #expect(try inspect(own).eligibility == .ineligible(.noLibraryStart))
        // The C library's start code, of a program that brings its own function to call.
        let replaced = try compile(
            source: try directory.write(
                "int main(void) { return 0; } void __libc_start_main(void) { for (;;) ; }",
                to: "replaced.c"),
            with: ProbeCompiler("clang", ["-Wl,--export-dynamic"]))
        #expect(try inspect(replaced).eligibility.reason != nil)
    }

    @Test(arguments: [
        ("libstd-0123456789abcdef.so", IneligibilityReason?.some(.argumentsReadEarly)),
        ("libgnustep-base.so.1.28", .argumentsReadEarly), ("libasan.so.8", .preloadRefused),
        ("libparted.so.2", .startsPrograms), ("libtsan.so.2", .startsPrograms),
        ("libstdc.so", nil),
    ])
    func `a library that is known to prevent a pause makes its program ineligible`(
        name: String, reason: IneligibilityReason?
    ) throws {
        let library = try compile(
            source: "\(packageRoot)/Tests/Probes/constructor.c",
            with: ProbeCompiler(
                "clang", ["-DLIBRARY", "-shared", "-fPIC", "-Wl,-soname,\(name)"]),
            output: name)
        let program = try compileProbe("uses-library.c", with: ProbeCompiler("clang", [library]))
        let expected = reason.map { Eligibility.ineligible($0) } ?? .eligible
        #expect(try inspect(program).eligibility == expected)
    }

    @Test(arguments: [
        (["-Wl,-rpath,/usr/lib:lib"], IneligibilityReason?.some(.relativePath)),
        (["-Wl,-rpath,/usr/lib:"], .relativePath), (["-Wl,-rpath,/usr/lib:$ORIGIN/../lib"], nil),
        (["-Wl,-dynamic-linker,lib/ld.so"], .relativePath),
        (["-Wl,-dynamic-linker,/usr/bin/env"], .unknownLoader),
    ])
    func `a program with a relative library path or an unknown dynamic linker is not eligible`(
        flags: [String], reason: IneligibilityReason?
    ) throws {
        let program = try compileProbe("behave.c", with: ProbeCompiler("clang", flags))
        #expect(try inspect(program).eligibility.reason == reason)
    }

    @Test func `a program that names a library by a relative path is not eligible`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let library = try compileProbe(
            "constructor.c", with: ProbeCompiler("clang", ["-DLIBRARY", "-shared", "-fPIC"]),
            output: "libnameless.so")
        let folder = library.dropLast("/libnameless.so".utf8.count)
        let program = try compileProbe(
            "uses-library.c",
            with: ProbeCompiler(
                "clang", ["../\(folder.split(separator: "/").last!)/libnameless.so"]))
        #expect(try inspect(program).eligibility == .ineligible(.relativePath))
        let fixed = try compileProbe("uses-library.c", with: ProbeCompiler("clang", [library]))
        #expect(try inspect(fixed).eligibility == .eligible)
    }

    @Test(arguments: [
        ("LD_PRELOAD=/usr/lib/libasan.so.8", IneligibilityReason?.some(.preloadRefused)),
        ("LD_PRELOAD=a.so:/b/libclang_rt.asan-x86_64.so", .preloadRefused),
        ("LD_PRELOAD=lib/a.so", .relativePath), ("LD_LIBRARY_PATH=/a;b", .relativePath),
        ("LD_LIBRARY_PATH=/a:", .relativePath), ("LD_LIBRARY_PATH=", nil),
        ("LD_LIBRARY_PATH=/a:/b", nil), ("LD_PRELOAD=liba.so /b/c.so", nil),
        ("LD_AUDIT=./a.so", .relativePath), ("LD_AUDIT=/a.so:b.so", nil),
        ("LD_DEBUG=", .changesProcess), ("LD_TRACE_LOADED_OBJECTS=1", .changesProcess),
        ("LD_DEBUG_OUTPUT=/x", nil), ("XLD_DEBUG=all", nil),
    ])
    func `libraries of the environment are judged like the program's own`(
        variable: String, reason: IneligibilityReason?
    ) {
        #expect(ExecutableInspection.objection(to: ["A=b", variable]) == reason)
    }

    @Test func `the shared address sanitizer's program is not eligible`() throws {
        let program = try compileProbe(
            "early.c", with: ProbeCompiler("gcc", ["-fsanitize=address"]))
        #expect(try inspect(program).eligibility == .ineligible(.preloadRefused))
    }

    @Test func `Go programs are eligible only with cgo`() throws {
        let go = findProgram("go")
        try requireOrSkip(go != nil, "no Go compiler")
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let plain = try directory.write(
            "package main\nfunc main() { println(1) }\n", to: "plain.go")
        func build(_ source: String, _ flags: [String], cgo: String) throws -> Eligibility {
            var request = ChildRequest(
                go!, arguments: [go!, "build", "-o", "\(directory.path)/out"] + flags + [source])
            request.environment = [
                "PATH=/usr/bin:/bin", "HOME=\(directory.path)", "CGO_ENABLED=\(cgo)",
            ]
            let result = try run(request, mergingErrors: true)
            try #require(
                result.exit == .status(0), "\(String(decoding: result.output, as: UTF8.self))")
            return try inspect("\(directory.path)/out").eligibility
        }
        #expect(try build(plain, [], cgo: "0") == .ineligible(.staticallyLinked))
        #expect(try build(plain, ["-buildmode=pie"], cgo: "0") == .ineligible(.noCLibrary))
        #expect(
            try build("\(packageRoot)/Tests/Probes/print.go", [], cgo: "1") == .eligible)
    }

    @Test func `permissions that make the dynamic linker ignore LD_PRELOAD are found`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = try copy(of: try compileProbe("behave.c"), to: directory)
        let eligible = try inspect(program)
        #expect(eligible.eligibility == .eligible)
        chmod(program, 0o4755)
        #expect(try inspect(program).eligibility == .ineligible(.setUserID))
        chmod(program, 0o2755)
        #expect(try inspect(program).eligibility == .ineligible(.setGroupID))
        chmod(program, 0o755)
        #expect(try inspect(program).eligibility == .eligible)
        #expect(eligible.files.first(where: \.hasChanged)?.path == program)

        // VFS_CAP_REVISION_2 with CAP_NET_RAW permitted.
        let capability: [UInt8] = [1, 0, 0, 2, 0, 0x20, 0, 0] + [UInt8](repeating: 0, count: 12)
        let result = cts_setxattr(program, "security.capability", capability, capability.count)
        try requireOrSkip(result == 0, "file capabilities cannot be set here: errno \(-result)")
        #expect(try inspect(program).eligibility == .ineligible(.fileCapabilities))
    }

    @Test func `another architecture, a missing dynamic linker and invalid files are found`() throws
    {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        var bytes = try readFile(try compileProbe("behave.c"))
        func eligibility(_ bytes: [UInt8]) throws -> Eligibility {
            let path = "\(directory.path)/changed"
            let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o755)
            #expect(write(file, bytes, bytes.count) == bytes.count)
            close(file)
            return try inspect(path).eligibility
        }
        #expect(try eligibility(bytes) == .eligible)
        #expect(try eligibility([]) == .ineligible(.unknownFormat))
        #expect(try eligibility(Array("echo hello\n".utf8)) == .ineligible(.unknownFormat))
        #expect(try eligibility(Array(bytes[..<1000])) == .ineligible(.damagedFile))
        bytes[18] = 183
        #expect(try eligibility(bytes) == .ineligible(.otherArchitecture))
        bytes[18] = 62
        bytes[4] = 1
        #expect(try eligibility(bytes) == .ineligible(.otherArchitecture))
        bytes[4] = 2
        let loader = Array("/lib64/ld-linux".utf8)
        let at = try #require(bytes.indices.first { bytes[$0...].starts(with: loader) })
        bytes[at + 1] = UInt8(ascii: "X")
        #expect(try eligibility(bytes) == .ineligible(.loaderMissing))
    }

    @Test func `a file that cannot be read is not eligible`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = try copy(of: try compileProbe("behave.c"), to: directory, mode: 0o111)
        let previous = cts_set_file_user(65534)
        defer { _ = cts_set_file_user(previous) }
        #expect(try inspect(program).eligibility == .ineligible(.unreadable))
    }

    @Test func `every reason has a code and a sentence of its own`() {
        let reasons = IneligibilityReason.allCases
        #expect(Set(reasons.map(\.explanation)).count == reasons.count)
        for reason in reasons {
            #expect(reason.code.allSatisfy { $0.isLowercase || $0 == "_" })
            #expect(reason.explanation.hasSuffix("."))
        }
    }
}
