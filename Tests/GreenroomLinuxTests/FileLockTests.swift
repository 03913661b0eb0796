import Glibc
import TestSupport
import Testing

@testable import GreenroomLinux

@Suite struct `File locks` {
    @Test func `are found in the machine's list and by their descriptors`() throws {
        let folder = try TemporaryDirectory()
        try folder.write("", to: "locked")
        let file = try FileDescriptor.open(folder.path + "/locked", O_RDWR)
        // Of the whole process: nobody else here takes record locks.
        var lock = flock(
            l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 1, l_pid: 0)
        #expect(fcntl(file.rawValue, F_SETLK, &lock) == 0)
        #expect(try FileLocks.areHeld(by: [getpid()]))
        #expect(FileLocks.holdsLock([getpid()]))
    }

    @Test func `of a list that is cut off the whole lines count`() {
        let text = """
            1: FLOCK  ADVISORY  WRITE 1234 08:02:567 0 EOF
            1: -> FLOCK  ADVISORY  WRITE 99 08:02:567 0 EOF
            2: POSIX  ADVISORY  READ  77 08:02:568 0 10
            3: OFDLCK ADVISORY  READ  -1 08:02:568 0 10
            """
        #expect(FileLocks.holders(in: text) == [1234, 77])
    }
}

@Suite struct `Paging out` {
    @Test func `goes through what can be read or written`() {
        let maps = """
            55d0c0a00000-55d0c0a02000 r--p 00000000 08:02 1234 /bin/cat
            55d0c0a02000-55d0c0a03000 ---p 00002000 08:02 1234 /bin/cat
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0
            7ffd00000000-7ffd00004000 r--p 00000000 00:00 0                          [vvar]
            ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
            nonsense
            """
        #expect(
            PagingOut.ranges(in: maps) == [
                0x55d0_c0a0_0000..<0x55d0_c0a0_2000, 0x7f00_0000_0000..<0x7f00_0000_1000,
            ])
    }

    @Test func `reaches the end of a process, step by step`() throws {
        try requireOrSkip(getuid() == 0, "it takes CAP_SYS_NICE")
        var steps = 0
        var paging = try PagingOut(pid: getpid())
        while try paging.step(byteCount: 64 << 20) { steps += 1 }
        #expect(steps > 0)
    }
}

@Suite struct `Small files` {
    @Test func `are replaced whole, and a failure leaves nothing behind`() throws {
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

    @Test func `are replaced without a neighbour's harm`() throws {
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
