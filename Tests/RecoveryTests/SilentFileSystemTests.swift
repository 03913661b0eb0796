import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// What a client passes may be served by itself (fuse(4)), and it may answer to nothing.
@Suite struct SilentFileSystemTests {
    /// O_PATH, a macro.
    private let pathOnly: CInt = 0o10_000_000

    @Test func `a working directory that answers to nothing holds nobody else up`() throws {
        try requireOrSkip(
            geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0, "only root mounts")
        let folder = try TemporaryDirectory()
        let device = cts_mount_silent(folder.path)
        try requireOrSkip(device >= 0, "no mounts here")
        defer { umount2(folder.path, CInt(MNT_DETACH)) }
        let directory = open(folder.path, pathOnly | O_CLOEXEC)
        defer { close(directory) }
        let daemon = try TestDaemon([program("org.example.app", "/bin/true")])
        let (client, other) = (try daemon.client(), try daemon.client())
        var call = Control.LaunchCall(app: "org.example.app")
        call.workingDirectoryDescriptor = 0
        try client.send(.launch(call), descriptors: [directory])
        // The first may be served before it.
        let answers = Result { for _ in 0..<4 { _ = try other.list() } }
        // Else the daemon could not even be ended.
        close(device)
        try answers.get()
        _ = try? client.reply(to: .launch(call))
    }
}
