import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A client may pass a file that the client itself serves (fuse(4)), and may never answer.
@Suite struct SilentFileSystemTests {
    /// O_PATH, which is a macro in C.
    private let pathOnly: CInt = 0o10_000_000

    @Test func `a working directory that never answers delays nobody else`() throws {
        try requireOrSkip(
            geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
        let folder = try TemporaryDirectory()
        let device = cts_mount_silent(folder.path, 0)
        try requireOrSkip(device >= 0, "no mounts here")
        defer { umount2(folder.path, CInt(MNT_DETACH)) }
        let directory = open(folder.path, pathOnly | O_CLOEXEC)
        defer { close(directory) }
        let daemon = try TestDaemon([program("org.example.app", "/bin/true")])
        let (client, other) = (try daemon.client(), try daemon.client())
        var call = Control.LaunchCall(app: "org.example.app")
        call.workingDirectoryDescriptor = 0
        try client.send(.launch(call), descriptors: [directory])
        // The first call may be served before the launch.
        let answers = Result { for _ in 0..<4 { _ = try other.list() } }
        // Until this is closed, the daemon could not be ended.
        close(device)
        try answers.get()
        _ = try? client.reply(to: .launch(call))
    }

    /// The file system is mounted with allow_other, so that root may use it too.
    @Test func `a path that a manifest names on another user's file system is not touched`() throws
    {
        try requireOrSkip(
            geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
        let folder = try TemporaryDirectory()
        let device = cts_mount_silent(folder.path, 12_346)
        try requireOrSkip(device >= 0, "no mounts here")
        // Then processes that wait for the file system go on.
        defer {
            close(device)
            umount2(folder.path, CInt(MNT_DETACH))
        }
        var watcher = program("org.example.watcher", "/bin/true", ["Type=application-kit"])
        watcher.lines += [
            "[Path]", "PathExists=\(folder.path)/one", "PathChanged=\(folder.path)/two",
            "DirectoryNotEmpty=\(folder.path)/three",
        ]
        let daemon = try TestDaemon([
            program("org.example.app", "/bin/true"), watcher,
            program("org.example.served", "\(folder.path)/program"),
        ])
        let client = try daemon.client()
        #expect(
            try client.list().map(\.identifier) == ["org.example.app", "org.example.watcher"])
        #expect(
            daemon.log.contains("\(folder.path) is on a file system that a process of user 12346"))
        let launched = try client.launch("org.example.app")
        #expect(try client.wait(launched.instance).status == 0)
        var call = Control.LaunchCall(app: "org.example.app")
        call.workingDirectory = folder.path + "/folder"
        guard case .refused(let code, _)? = control({ _ = try client.launch(call) }) else {
            throw TestError("another answer")
        }
        #expect(code == "working_directory")
        try daemon.install(program("org.example.later", "\(folder.path)/program"))
        daemon.signal(SIGHUP)
        try daemon.await("a reload") { _ in
            daemon.log.contains("org.example.later") ? true : nil
        }
        _ = try client.list()
    }
}
