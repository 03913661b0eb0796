import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct MappedFilesTests {
    @Test func `each mapped file of a process is found once, with its identity on disk`() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = "\(directory.path)/waits"
        let source = try compileProbe("behave.c")
        #expect(
            try run(ChildRequest("/bin/cp", arguments: ["cp", source, program])).exit == .status(0))
        let ready = try Pipe()
        var request = ChildRequest(
            program, arguments: ["behave", "print", "ready", "wait-forever"])
        request.descriptors[1] = ready.writeEnd
        let child = try ChildProcess(request)
        var byte: UInt8 = 0
        #expect(read(ready.readEnd, &byte, 1) == 1)

        let mapped = {
            MappedFiles.parse(try readFile("/proc/\(child.pid)/maps")).filter(\.isProgramText)
        }
        let isCurrent = { (file: MappedFiles.Mapping) in
            file.isCurrent(FileIdentity(path: file.path))
        }
        let files = try mapped()
        #expect(files.count { $0.path == program } == 1)
        #expect(files.contains { $0.path.hasSuffix("/libc.so.6") })
        #expect(files.allSatisfy(isCurrent))

        rename(program, program + ".old")
        #expect(files.filter { !isCurrent($0) }.map(\.path) == [program])
        rename(program + ".old", program)
        unlink(program)
        #expect(try mapped().filter { !isCurrent($0) }.map(\.path) == [program])
    }

    @Test func `an unusual line is read or skipped, and never crashes the reader`() {
        let text = """
            00400000-00401000 r-xp 00000000 fe:01 17 /a b\\012c (deleted)
            00400000-00401000 r-xp 00000000 fe:01 17 /a b\\012c (deleted)
            00500000-00501000 rw-p 00000000 00:00 0
            00500000-00501000 rw-p 00000000 00:00 0          [heap]
            00600000-00601000 rw-p 00000000 100:2345 18446744073709551615      /b
            nonsense
            00600000-00601000 rw-p 00000000 zz:00 4 /c
            00600000-00601000 rw-p 00000000 00:00 99999999999999999999 /d
            """
        let mappings = MappedFiles.parse(Array(text.utf8))
        #expect(mappings.map(\.path) == ["/a b\nc", "/b"])
        #expect(mappings.map(\.isDeleted) == [true, false])
        #expect(mappings.map(\.isExecutable) == [true, false])
        // A code mapping without its name means a replaced file; names of data mappings do not matter.
        #expect(mappings.map { $0.isAnonymous(nil) } == [false, false])
        let own = "7000-8000 r--p 00000000 fe:01 4 /tmp/greenroom-none (deleted)\n"
        #expect(MappedFiles.parse(Array(own.utf8)).map { $0.isAnonymous(nil) } == [true])
        let code = own + own.replacing("r--p", with: "r-xp")
        #expect(MappedFiles.parse(Array(code.utf8)).map { $0.isAnonymous(nil) } == [false])
        #expect(mappings[1].inode == .max)
        #expect(mappings[0].device == 0xfe01)
        #expect(mappings[1].device == 0x0230_0045 | 0x10000)
    }

    @Test func `settings that dconf shares are no program text, unless they are code`() {
        func isProgramText(_ permissions: String, _ path: String) -> Bool? {
            MappedFiles.parse(Array("1000-2000 \(permissions) 00000000 fe:01 3 \(path)\n".utf8))
                .first?.isProgramText
        }
        #expect(isProgramText("r--s", "/run/user/1000/dconf/user") == false)
        #expect(isProgramText("r--p", "/home/ada/.config/dconf/user") == false)
        #expect(isProgramText("r-xp", "/home/ada/.config/dconf/user") == true)
        #expect(isProgramText("r--p", "/usr/share/dconf/schemas/user") == true)
    }
}
