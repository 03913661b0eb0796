import CTestSupport
import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Which users' files may be opened by name, on a real file system with folders of other users.
@Suite struct PathOwnersTests {
    private static let stranger: uid_t = 64_105

    private func folders() throws -> TemporaryDirectory {
        try requireOrSkip(getuid() == 0, "only root can give files to others")
        let directory = try TemporaryDirectory()
        for name in ["ours", "theirs", "ours/deep"] { mkdir("\(directory.path)/\(name)", 0o755) }
        try directory.write("", to: "ours/file")
        try directory.write("", to: "theirs/file")
        chown(directory.path + "/theirs", Self.stranger, Self.stranger)
        return directory
    }

    @Test func `a path that nobody else can change may be opened, even through links`() throws {
        let directory = try folders()
        let path = directory.path
        symlink("../ours/file", path + "/ours/relative")
        symlink(path + "/ours/relative", path + "/ours/absolute")
        for name in ["ours/file", "ours/./file", "ours/relative", "ours/absolute", "ours/deep/"] {
            #expect(PathOwners().objection(to: "\(path)/\(name)") == nil, "\(name)")
        }
        #expect(PathOwners().objection(to: "/dev/null") == nil)
        #expect(PathOwners().objection(to: path + "/ours/none")?.isAbsence == true)
    }

    @Test func `a path through another user's folder or link is refused`() throws {
        let directory = try folders()
        let path = directory.path
        let theirs = PathOwners.Objection.foreign(path: path + "/theirs", owner: Self.stranger)
        symlink(path + "/theirs/file", path + "/ours/link")
        symlink(path + "/ours/file", path + "/theirs/link")
        for name in [
            "theirs/file", "theirs/link", "theirs/none", "ours/link", "theirs/../ours/file",
        ] {
            #expect(PathOwners().objection(to: "\(path)/\(name)") == theirs, "\(name)")
        }
        // The kernel takes a slash as a separator even before a combining mark.
        mkdir(path + "/theirs/\u{301}", 0o755)
        #expect(PathOwners().objection(to: path + "/theirs/\u{301}/x") == theirs)
        // A link of the stranger's in a folder of ours, for example a sticky one.
        symlink("file", path + "/ours/planted")
        lchown(path + "/ours/planted", Self.stranger, Self.stranger)
        let planted = PathOwners.Objection.foreign(
            path: path + "/ours/planted", owner: Self.stranger)
        #expect(PathOwners().objection(to: path + "/ours/planted") == planted)
        #expect(PathOwners().objection(toFile: "planted", in: path + "/ours") == planted)
        // For the stranger's own daemon the link is its own.
        #expect(PathOwners(user: Self.stranger).objection(to: path + "/theirs/link") == nil)
    }

    @Test func `a path may end in a stranger's folder, and no link of the stranger's is followed`()
        throws
    {
        let directory = try folders()
        let path = try #require(PathOwners.realPath(of: directory.path))
        func destination(_ name: String) throws -> PathOwners.Destination {
            try PathOwners().destination(of: directory.path + "/" + name)
        }
        symlink("../theirs", path + "/ours/link")
        symlink("../ours", path + "/theirs/link")
        chown(path + "/theirs/file", Self.stranger, Self.stranger)
        for (name, end, isStrangers) in [
            ("ours/file", "ours/file", false), ("ours/none/x", "ours/none/x", false),
            ("theirs/file", "theirs/file", true), ("theirs/none/x", "theirs/none/x", true),
            ("ours/link/file", "theirs/file", true),
        ] {
            let found = try destination(name)
            #expect(found.path == "\(path)/\(end)" && found.isStrangers == isStrangers, "\(found)")
        }
        #expect(throws: PathOwners.Objection.self) { try destination("theirs/link/file") }
        chmod(path + "/ours", 0o1777)
        #expect(try destination("ours/none").isStrangers, "anybody can make it")
        #expect(try destination("ours/file").isStrangers == false)
    }

    @Test func `a path that everybody can change is refused, except names in a sticky folder`()
        throws
    {
        let directory = try folders()
        let path = directory.path
        chmod(path + "/ours", 0o1777)
        #expect(PathOwners().objection(to: path + "/ours/file") == nil)
        chmod(path + "/ours/file", 0o646)
        #expect(
            PathOwners().objection(to: path + "/ours/file")
                == .writableByAll(path: path + "/ours/file"))
        chmod(path + "/ours/file", 0o664)
        #expect(PathOwners().objection(to: path + "/ours/file") == nil)
        chmod(path + "/ours", 0o777)
        #expect(
            PathOwners().objection(to: path + "/ours/file") == .writableByAll(path: path + "/ours"))
    }

    /// A path on such a file system could be waited for forever.
    @Test func `a path on a file system that another user's process serves is not touched`() throws
    {
        let directory = try folders()
        let path = directory.path
        let mounted = path + "/ours/deep"
        try requireOrSkip(access("/dev/fuse", R_OK | W_OK) == 0, "there is no /dev/fuse")
        let device = cts_mount_silent(mounted, Int32(Self.stranger))
        try requireOrSkip(device >= 0, "no mounts here")
        defer {
            close(device)
            umount2(mounted, CInt(MNT_DETACH))
        }
        symlink("deep/file", path + "/ours/link")
        try directory.write("#!\(mounted)/interpreter\n", to: "ours/script", mode: 0o755)
        let served = PathOwners.Objection.served(path: mounted, user: Self.stranger)
        for name in ["deep", "deep/file", "deep/a/b", "link", "./deep/../file"] {
            #expect(PathOwners().objection(to: "\(path)/ours/\(name)") == served, "\(name)")
        }
        #expect(PathOwners().objection(toFile: "deep", in: path + "/ours") == served)
        #expect(FileIdentity(path: mounted + "/file") == nil)
        #expect(FileStatus(path: path + "/ours/link") == nil)
        #expect(FolderContents.isEmpty(mounted))
        #expect(throws: SystemError.self) {
            try Inotify().watch(foreign: mounted, for: UInt32(IN_CREATE))
        }
        let refused = ExecutableError.served(path: mounted, user: Self.stranger)
        for name in ["deep/file", "link", "script"] {
            #expect(throws: refused) {
                try ExecutableInspection.inspect(path: "\(path)/ours/\(name)")
            }
        }
        #expect(throws: ExecutableError.self) {
            try ExecutableInspection.inspect(path: "file", searchPath: mounted)
        }
        // The daemon of that user may touch it.
        #expect(PathOwners(user: Self.stranger).objection(to: mounted)?.isAbsence != false)
    }

    @Test func `a circle of links ends with an error`() throws {
        let directory = try folders()
        symlink("two", directory.path + "/one")
        symlink("one", directory.path + "/two")
        guard case .failed(let error)? = PathOwners().objection(to: directory.path + "/one") else {
            throw TestError("no objection")
        }
        #expect(error.code == ELOOP)
    }
}
