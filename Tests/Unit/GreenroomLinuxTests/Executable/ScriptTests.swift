import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct ScriptTests {
    private let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private func script(_ line: String, _ name: String = "script") throws -> String {
        try directory.write("\(line)\n", to: name, mode: 0o755)
    }

    private func inspect(_ path: String, searchPath: String? = nil) throws -> ExecutableFacts {
        try ExecutableInspection.inspect(path: path, searchPath: searchPath ?? "/usr/bin:/bin")
    }

    private func real(_ path: String) -> String { ExecutableInspection.realPath(path) }

    @Test func `a script is run by its interpreter, with the option before the script`() throws {
        let path = try script("#! /usr/bin/python3 -u -B \t")
        let facts = try inspect(path)
        #expect(facts.eligibility == .eligible)
        #expect(facts.executable == real("/usr/bin/python3"))
        #expect(facts.argumentPrefix == ["/usr/bin/python3", "-u -B", path])
        #expect(facts.files.map(\.role) == [.script, .executable, .loader])
    }

    @Test(arguments: [
        ("#!/usr/bin/env sh", ["sh"]), ("#!/usr/bin/env -S sh -e -u", ["sh", "-e", "-u"]),
        ("#!/bin/env --split-string=sh -e", ["sh", "-e"]),
    ])
    func `a script that names env is run by the program that env starts`(
        line: String, command: [String]
    ) throws {
        let path = try script(line)
        let facts = try inspect(path)
        #expect(facts.eligibility == .eligible)
        #expect(facts.executable == real("/bin/sh"))
        #expect(facts.argumentPrefix == command + [path])
        #expect(facts.files.map(\.role) == [.script, .wrapper, .executable, .loader])
    }

    @Test(arguments: [
        "#!/usr/bin/env -i sh", "#!/usr/bin/env -S -i sh", "#!/usr/bin/env -S -u LD_PRELOAD sh",
        "#!/usr/bin/env -S LD_PRELOAD= sh", "#!/usr/bin/env -S PATH=/x sh", "#!/usr/bin/env",
        "#!/usr/bin/env -S 'sh' -e", "#!/usr/bin/env -S sh ${A}", "#!/usr/bin/env -vS sh",
        "#!/usr/bin/env A=1", "#!/usr/bin/env -SA=1 sh", "#!/usr/bin/env -S sh\r",
        "#!/usr/bin/env -S GREENROOM_CHANNEL=1 sh",
    ])
    func `a script whose env line does more than find a program is ineligible`(line: String) throws
    {
        #expect(
            try inspect(try script(line)).eligibility == .ineligible(.wrapperNotUnderstood))
    }

    @Test(arguments: ["#!bin/sh", "#!sh", "#!./env sh", "#!/usr/bin/env bin/sh"])
    func `an interpreter without a full path is not chosen`(line: String) throws {
        #expect(try inspect(try script(line)).eligibility == .ineligible(.relativePath))
    }

    @Test func `a script with env is ineligible if PATH has relative folders`() throws {
        let path = try script("#!/usr/bin/env sh")
        for search in ["/usr/bin:", "/bin:bin", "."] {
            #expect(
                try inspect(path, searchPath: search).eligibility == .ineligible(.relativePath))
        }
    }

    @Test func `a program that is only named env is an interpreter like any other`() throws {
        #expect(
            try run(ChildRequest("/bin/cp", arguments: ["cp", "/bin/sh", "\(directory.path)/env"]))
                .exit == .status(0))
        let facts = try inspect(try script("#!\(directory.path)/env python3"))
        #expect(facts.executable == "\(directory.path)/env")
        #expect(facts.files.map(\.role) == [.script, .executable, .loader])
        #expect(facts.argumentPrefix?.dropLast() == ["\(directory.path)/env", "python3"])
    }

    @Test func `an interpreter that is a script is followed, and argv is as the kernel makes it`()
        throws
    {
        let inner = try script("#!/bin/echo one", "inner")
        let outer = try script("#!\(inner) two", "outer")
        let facts = try inspect(outer)
        #expect(facts.executable == real("/bin/echo"))
        #expect(facts.files.map(\.role) == [.script, .script, .executable, .loader])
        let output = try run(ChildRequest(outer, arguments: ["zero", "three"])).output
        let expected = try #require(facts.argumentPrefix).dropFirst() + ["three"]
        #expect(String(decoding: output, as: UTF8.self) == expected.joined(separator: " ") + "\n")
    }

    @Test func `five interpreters in a row are the limit, as in the kernel`() throws {
        var path = "/bin/echo"
        for level in 1...5 { path = try script("#!\(path)", "level\(level)") }
        #expect(try inspect(path).eligibility == .eligible)
        #expect(try run(ChildRequest(path)).exit == .status(0))
        path = try script("#!\(path)", "level6")
        #expect(throws: ExecutableError.tooManyInterpreters(path: path)) { try inspect(path) }
        #expect(throws: TestError.self) { try ChildProcess(ChildRequest(path)) }
        let itself = "\(directory.path)/itself"
        #expect(throws: ExecutableError.tooManyInterpreters(path: itself)) {
            try inspect(try script("#!\(itself)", "itself"))
        }
    }

    @Test func `a name is looked up, and a failure has its own error`() throws {
        let path = try script("#!/bin/sh")
        let search = "\(directory.path)/none:\(directory.path)"
        #expect(try inspect("script", searchPath: search).path == path)
        #expect(throws: ExecutableError.notFound(name: "missing", searchPath: search)) {
            try inspect("missing", searchPath: search)
        }
        #expect(throws: ExecutableError.notFound(name: "/no/such", searchPath: nil)) {
            try inspect("/no/such")
        }
        #expect(throws: ExecutableError.notAFile(path: directory.path, isDirectory: true)) {
            try inspect(directory.path)
        }
        chmod(path, 0o644)
        #expect(throws: ExecutableError.notExecutable(path: path)) {
            try inspect("script", searchPath: search)
        }
        let lost = try script("#!/no/such -x", "lost")
        #expect(throws: ExecutableError.interpreterNotFound(script: lost, interpreter: "/no/such"))
        {
            try inspect(lost)
        }
        let empty = try script("#! \t", "empty")
        #expect(throws: ExecutableError.badFirstLine(script: empty)) { try inspect(empty) }
        let long = try script("#!/" + String(repeating: "x", count: 300), "long")
        #expect(throws: ExecutableError.badFirstLine(script: long)) { try inspect(long) }
    }

    @Test func `an empty entry of the search path does not mean the working directory`() throws {
        #expect(throws: ExecutableError.self) { try inspect("script", searchPath: ":") }
    }

    @Test func `a changed script makes its facts stale`() throws {
        let path = try script("#!/bin/sh")
        let facts = try inspect(path)
        #expect(facts.files.first(where: \.hasChanged) == nil)
        try directory.write("#!/bin/sh\nexit 1\n", to: "script", mode: 0o755)
        #expect(facts.files.first(where: \.hasChanged)?.role == .script)
        unlink(path)
        #expect(facts.files.first(where: \.hasChanged)?.role == .script)
    }
}
