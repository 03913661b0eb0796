import Glibc
import GreenroomLifecycle
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSupervisor

@Suite struct `The file of an app's metrics` {
    let folder: TemporaryDirectory
    let files: MetricFiles
    let key = MetricKey(app: AppIdentifier("org.example.app"), user: 7)
    var path: String { "\(folder.path)/state/metrics/7/org.example.app" }

    init() throws {
        folder = try TemporaryDirectory()
        files = MetricFiles(stateDirectory: folder.path + "/state")
    }

    private func inode() -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    @Test func `is made with its folders, and only its owner can read it`() throws {
        try files.write("one\n", of: key)
        #expect(files.text(of: key) == "one\n")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `is overwritten, and nothing of a longer text remains`() throws {
        try files.write("a text that is longer\n", of: key)
        let before = inode()
        try files.write("short\n", of: key)
        #expect(inode() == before)
        let lines = files.text(of: key)?.split(separator: "\n")
        #expect(lines == ["short"])
        try files.write("a text that is longer than both\n", of: key)
        #expect(files.text(of: key) == "a text that is longer than both\n")
    }

    /// A killed process could leave a text longer than a page partly written.
    @Test(arguments: [("small", true), ("large", false)])
    func `is replaced if it is large or becomes large`(_ first: String, _ isSmall: Bool) throws {
        let large = String(repeating: "line\n", count: 1000)
        try files.write(isSmall ? first : large, of: key)
        let before = inode()
        try files.write(isSmall ? large : first, of: key)
        #expect(inode() != before)
        #expect(files.text(of: key) == (isSmall ? large : first))
    }

    @Test func `replaces anything that is not a regular file`() throws {
        try files.write("one\n", of: key)
        unlink(path)
        let elsewhere = folder.path + "/elsewhere"
        try SmallFile.replace(elsewhere, with: "another's\n")
        symlink(elsewhere, path)
        try files.write("two\n", of: key)
        #expect(files.text(of: key) == "two\n")
        #expect(try SmallFile.text(of: elsewhere) == "another's\n")
        unlink(path)
        mkfifo(path, 0o600)
        try files.write("three\n", of: key)
        #expect(files.text(of: key) == "three\n")
    }
}
