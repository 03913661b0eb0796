import Glibc
import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomCommands

/// Which settings a measured program gets, and what is seen of its home.
@Suite struct SettingsCopyTests {
    private let folder: TemporaryDirectory
    private var own: String { folder.path + "/own" }
    private var home: String { folder.path + "/home" }

    init() throws {
        folder = try TemporaryDirectory()
        for path in [own, own + "/app", home] { mkdir(path, 0o700) }
    }

    private func copy() throws {
        try SettingsCopy.make(of: [own + "/app"], in: home, try SampleClock())
    }

    private func write(_ text: String, to path: String) throws {
        try SmallFile.replace(path, with: text)
    }

    @Test func `links are followed, and a link to nothing is left out`() throws {
        try write("a", to: own + "/other")
        symlink("../other", own + "/app/link")
        symlink("../missing", own + "/app/broken")
        try copy()
        #expect(try readFile(home + "/app/link") == Array("a".utf8))
        var status = stat()
        #expect(lstat(home + "/app/link", &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
        #expect(lstat(home + "/app/broken", &status) != 0)
    }

    /// Settings may be a link into a store of packages, where nobody may write.
    @Test(arguments: [true, false])
    func `whoever has the copy can remove it`(isWhole: Bool) throws {
        mkdir(own + "/store", 0o700)
        try write("a", to: own + "/store/file")
        chmod(own + "/store", 0o555)
        symlink("../store", own + "/app/link")
        if !isWhole {
            // A folder is in the place of the copy of a later file.
            try write("a", to: own + "/app/later")
            for path in [home + "/app", home + "/app/later"] { mkdir(path, 0o700) }
        }
        #expect(isWhole == ((try? copy()) != nil))
        #expect(try readFile(home + "/app/link/file") == Array("a".utf8))
        var status = stat()
        #expect(stat(home + "/app/link", &status) == 0 && status.st_mode & 0o777 == 0o755)
    }

    @Test func `a file that cannot be copied is not left out beside a link to nothing`() throws {
        symlink("../missing", own + "/app/broken")
        try write("a", to: own + "/app/file")
        // A folder is in the place of the file's copy.
        for path in [home + "/app", home + "/app/file"] { mkdir(path, 0o700) }
        #expect(throws: Failure.self) { try copy() }
    }

    @Test func `a program that is no longer waited for ends with what it has started`() throws {
        let script = "sh -c 'printf %09d $$; exec sleep 10000'; :"
        let output = try MeasuredServer.output(
            ["/bin/sh", "-c", script], clock: SampleClock(), atMost: 9)
        let process = try #require(pid_t(String(decoding: output, as: UTF8.self)))
        let descriptor = try? ProcessDescriptor(pid: process)
        defer { if descriptor != nil { kill(process, SIGKILL) } }
        #expect(try descriptor?.descriptor.waitUntilReadable(milliseconds: 0) ?? true)
    }

    @Test func `what is too large, too deep or endless is not copied`() throws {
        let mistakes: [(String) throws -> Void] = [
            { symlink("..", $0 + "/loop") },
            {
                try self.write("", to: $0 + "/file")
                truncate($0 + "/file", 65 << 20)
            },
            { path in
                var path = path
                for _ in 0...SettingsCopy.depthLimit {
                    path += "/a"
                    mkdir(path, 0o700)
                }
            },
        ]
        for (number, mistake) in mistakes.enumerated() {
            let path = "\(own)/app/\(number)"
            mkdir(path, 0o700)
            try mistake(path)
            #expect(throws: Failure.self) { try copy() }
            #expect(try FolderContents.names(in: home).allSatisfy { $0.hasPrefix(".") })
            _ = Caller.run("/bin/rm", ["rm", "-rf", path])
        }
        try copy()
    }

    @Test func `a change is seen as deep as settings are copied, and what is deeper is told`()
        throws
    {
        var path = own + "/app"
        for _ in 1..<SettingsCopy.depthLimit {
            path += "/a"
            mkdir(path, 0o700)
        }
        try write("a", to: path + "/file")
        mkdir(home + "/.config", 0o700)
        try SettingsCopy.make(of: [own + "/app"], in: home + "/.config", try SampleClock())
        let before = FilesBelow(home)
        #expect(before.isComplete)
        let deepest = ".config" + path.dropFirst(own.count)
        try write("b", to: "\(home)/\(deepest)/file")
        #expect(FilesBelow(home).changes(since: before) == [deepest + "/file"])
        for name in ["a", "a/b", "a/b/c"] { mkdir("\(home)/\(deepest)/\(name)", 0o700) }
        #expect(!FilesBelow(home).isComplete)
    }

    @Test func `a program gets the signals that this process blocks, or keeps them blocked`() {
        var signals = sigset_t()
        var former = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        let words = ["sh", "-c", "kill -TERM $$; exit 3"]
        #expect(Caller.run("/bin/sh", words) == 128 + SIGTERM)
        #expect(Caller.run("/bin/sh", words, keepsMask: true) == 3)
    }
}
