import GreenroomLinux
import Testing

@testable import GreenroomSupervisor

/// Which of the files that a process has mapped are libraries to open before the next pause.
@Suite struct OpenedLibrariesTests {
    private func mapping(
        _ path: String, inode: UInt64, isExecutable: Bool = true, isDeleted: Bool = false
    ) -> MappedFiles.Mapping {
        let line =
            "7f00-7f01 r-\(isExecutable ? "x" : "-")p 00000000 08:01 \(inode)    "
            + path.replacing("\n", with: "\\012") + (isDeleted ? " (deleted)" : "")
        return MappedFiles.parse(Array(line.utf8))[0]
    }

    private func chosen(_ paths: String..., known: [String] = []) -> [String] {
        let mapped = paths.enumerated().map { mapping($1, inode: UInt64($0 + 1)) }
        return OpenedLibraries.choose(from: mapped, atPause: [], known: known)
    }

    @Test func `those that were not mapped at the pause, in the order of mapping`() {
        let paused = mapping("/usr/lib/libc.so.6", inode: 1)
        let mapped = [
            mapping("/usr/lib/qt/plugins/theme.so", inode: 4),
            mapping("/usr/lib/libQt5Svg.so.5.15.8", inode: 3),
            mapping("/usr/share/icons/cache", inode: 2, isExecutable: false), paused,
        ]
        let chosen = OpenedLibraries.choose(from: mapped, atPause: [.init(paused)])
        #expect(chosen == ["/usr/lib/libQt5Svg.so.5.15.8", "/usr/lib/qt/plugins/theme.so"])
    }

    @Test(arguments: [
        "/usr/bin/program", "/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/x/notso.sox/data",
        "/usr/lib/libnss_files.so.2", "/usr/lib/libpthread.so.0", "/usr/lib/gconv/UTF-16.so",
        "/usr/lib/security/pam_unix.so", "/tmp/a:b.so", "/tmp/$ORIGIN/a.so", "/tmp/a\nb.so",
        "/dev/shm/a.so",
    ])
    func `no file that dlopen cannot open early by its path`(_ path: String) {
        #expect(chosen(path).isEmpty)
    }

    @Test func `no deleted file`() {
        let mapped = [mapping("/usr/lib/a.so", inode: 1, isDeleted: true)]
        #expect(OpenedLibraries.choose(from: mapped, atPause: []).isEmpty)
    }

    @Test func `none at all if two versions of a toolkit are loaded`() {
        #expect(chosen("/usr/lib/a.so", "/usr/lib/libgtk-3.so.0").count == 2)
        #expect(
            chosen("/usr/lib/a.so", "/usr/lib/libgtk-3.so.0", "/usr/lib/libgtk-4.so.1").isEmpty)
    }

    @Test func `after those that are known, and not more than fit`() {
        #expect(
            chosen("/b.so", "/a.so", known: ["/b.so", "/c.so"]) == ["/b.so", "/c.so", "/a.so"])
        let many = (0..<1000).map { mapping("/usr/lib/lib\($0).so", inode: UInt64($0 + 1)) }
        let count = OpenedLibraries.choose(from: many, atPause: []).count
        #expect(count == OpenedLibraries.countLimit)
        let folder = "/" + String(repeating: "x", count: 200)
        let long = many.map { mapping(folder + $0.path, inode: $0.inode) }
        let paths = OpenedLibraries.choose(from: long, atPause: [])
        #expect(paths.joined(separator: ":").utf8.count < OpenedLibraries.byteLimit)
        #expect(paths.count > 50)
    }
}
