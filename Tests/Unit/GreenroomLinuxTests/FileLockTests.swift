import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct `File locks` {
    @Test func `are found in the machine's list and by their descriptors`() throws {
        // In a process of its own: other tests of this one open more descriptors than are examined.
        let folder = try TemporaryDirectory()
        let ready = try Pipe()
        var request = ChildRequest(
            try compileProbe("behave.c"),
            arguments: [
                "behave", "lock", folder.path + "/locked", "print", "ready", "wait-forever",
            ])
        request.descriptors[1] = ready.writeEnd
        let child = try ChildProcess(request)
        var byte: UInt8 = 0
        #expect(read(ready.readEnd, &byte, 1) == 1)
        // Another test takes thousands of locks for a while, and only a part of the list is read.
        try Patience.wait("the lock is not in the list") {
            try ProcLocks.areHeld(by: [child.pid]) == true
        }
        let descriptors = ProcLocks.descriptors(of: [child.pid]).compactMap { try? readFile($0) }
        #expect(descriptors.contains { ProcLocks.isHeld(by: [child.pid], $0) })
        #expect(!descriptors.contains { ProcLocks.isHeld(by: [getpid()], $0) })
        child.kill(SIGKILL)
        try child.waitForExit()
    }

    @Test func `are read from the complete lines of a list that is cut off`() {
        let text = """
            1: FLOCK  ADVISORY  WRITE 1234 08:02:567 0 EOF
            1: -> FLOCK  ADVISORY  WRITE 99 08:02:567 0 EOF
            2: POSIX  ADVISORY  READ  77 08:02:568 0 10
            3: OFDLCK ADVISORY  READ  -1 08:02:568 0 10
            """
        #expect(ProcLocks.holders(in: text) == [1234, 77])
    }
}

@Suite struct `Paging out` {
    @Test func `covers the memory that can be read or written`() {
        let maps = """
            55d0c0a00000-55d0c0a02000 r--p 00000000 08:02 1234 /bin/cat
            55d0c0a02000-55d0c0a03000 ---p 00002000 08:02 1234 /bin/cat
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0
            7ffd00000000-7ffd00004000 r--p 00000000 00:00 0                          [vvar]
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
            nonsense
            """
        #expect(
            PageableMemory.ranges(in: Array(maps.utf8)) == [
                0x55d0_c0a0_0000..<0x55d0_c0a0_2000, 0x7f00_0000_0000..<0x7f00_0000_1000,
            ])
    }
}

@Suite struct `Detached calls` {
    private func make(_ calls: DetachedJob.Call...) throws -> DetachedJob {
        let report = try DetachedWorker.report()
        let worker = try #require(DetachedWorker(reportingTo: report))
        let job = DetachedJob(calls)
        worker.begin(job)
        #expect(try report.waitUntilReadable(milliseconds: Patience.milliseconds))
        #expect(!worker.isBusy && !worker.isGone)
        worker.end()
        return job
    }

    @Test func `read whole files, and report a file that is too long or missing`() throws {
        let job = try make(
            .read("/proc/self/stat", limit: 4096), .read("/proc/self/stat", limit: 8),
            .read("/proc/self/none", limit: 8))
        // The detached worker is a process of its own.
        let text = String(decoding: try #require(job.bytes(0)), as: UTF8.self)
        let pid = pid_t(text.prefix { $0 != " " })
        #expect(pid != nil && pid != getpid())
        #expect(job.bytes(1) == nil && job.code(1) == EFBIG)
        #expect(job.bytes(2) == nil && job.code(2) == ENOENT)
    }

    @Test func `watch files and read their identities`() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/file"
        try folder.write("", to: "file")
        let inotify = try Inotify()
        let job = try make(
            .look(path, watchedBy: inotify, for: UInt32(IN_ATTRIB)), .look(path),
            .look(path + "x", watchedBy: inotify, for: UInt32(IN_ATTRIB)))
        let identity = try #require(FileIdentity(path: path))
        #expect(job.file(0) == identity && job.file(1) == identity && job.file(2) == nil)
        #expect(job.watch(1) == nil && job.watch(2) == nil && job.code(2) == ENOENT)
        #expect(chmod(path, 0o600) == 0)
        #expect(try inotify.read().map(\.watch) == [job.watch(0)])
    }

    @Test func `page out another process's memory`() throws {
        try requireOrSkip(getuid() == 0, "it takes CAP_SYS_NICE")
        let ready = try Pipe()
        let program = try compileProbe("behave.c")
        var request = ChildRequest(
            program, arguments: ["behave", "print", "ready", "wait-forever"])
        request.descriptors[1] = ready.writeEnd
        let child = try ChildProcess(request)
        var byte: UInt8 = 0
        #expect(read(ready.readEnd, &byte, 1) == 1)
        let maps = try make(.read("/proc/\(child.pid)/maps", limit: 1 << 20)).bytes(0) ?? []
        let range = try #require(PageableMemory.ranges(in: maps).first)
        let process = try ProcessDescriptor(pid: child.pid)
        #expect(try make(.pageOut(process, range)).code(0) == 0)
        // The error shows that the kernel got the range.
        let none: Range<UInt> = 4096..<8192
        #expect(try make(.pageOut(process, none)).code(0) == ENOMEM)
        child.kill(SIGKILL)
        try child.waitForExit()
    }
}

@Suite struct `Small files` {
    @Test func `are replaced as a whole, and a failure leaves nothing behind`() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/file"
        try SmallFile.replace(path, with: "one")
        try SmallFile.replace(path, with: "", mode: 0o600)
        #expect(try SmallFile.text(of: path) == "")
        mkdir(folder.path + "/folder", 0o755)
        try folder.write("", to: "folder/inner")
        #expect(throws: SystemError.self) {
            try SmallFile.replace(folder.path + "/folder", with: "x")
        }
        #expect(try Set(FolderContents.names(in: folder.path)) == ["file", "folder"])
    }

    @Test func `are replaced without changing a file with a similar name`() throws {
        let folder = try TemporaryDirectory()
        try SmallFile.replace(folder.path + "/app.new", with: "another app's")
        try SmallFile.replace(folder.path + "/app", with: "this app's")
        #expect(try SmallFile.text(of: folder.path + "/app.new") == "another app's")
    }

    @Test func `are listed, hidden ones too, up to a limit`() throws {
        let folder = try TemporaryDirectory()
        #expect(FolderContents.isEmpty(folder.path))
        try folder.write("", to: ".a")
        try folder.write("", to: "b")
        #expect(!FolderContents.isEmpty(folder.path))
        #expect(try FolderContents.names(in: folder.path).sorted() == [".a", "b"])
        #expect(try FolderContents.names(in: folder.path, atMost: 1).count == 1)
        #expect(throws: SystemError.self) { try FolderContents.names(in: folder.path + "/c") }
        #expect(FolderContents.isEmpty(folder.path + "/c"))
    }
}
