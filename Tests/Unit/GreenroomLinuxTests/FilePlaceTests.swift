import Glibc
import GreenroomLinux
import TestSupport
import Testing

@Suite struct `The place of a directory` {
    private static func place(_ path: String) throws -> FilePlace {
        try #require(try PathOwners.folder(at: path).place)
    }

    @Test func `is the same for two descriptors, and another after the directory was replaced`()
        throws
    {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/home"
        mkdir(path, 0o755)
        let first = try Self.place(path)
        #expect(try Self.place(path) == first)
        // The first one still exists, so its number is not used again.
        rename(path, folder.path + "/former")
        mkdir(path, 0o755)
        #expect(try Self.place(path) != first)
        #expect(try Self.place(folder.path + "/former") != first)
    }
}

@Suite struct `The line in a process's stat file` {
    @Test(arguments: [("S", true), ("R", false), ("D", false), ("T", false)])
    func `says whether the process is at rest`(state: String, isAtRest: Bool) throws {
        let entry = try #require(ProcessTable.Entry(stat: "7 (a) b) \(state) 1 7 7 0 -1 0 0"))
        #expect(entry.pid == 7 && entry.isAtRest == isAtRest)
    }
}
