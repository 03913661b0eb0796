@testable import GreenroomCommands
import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Whether the numbers that a daemon gives to processes mean the same here (pid_namespaces(7)).
@Suite struct ProcessNumberTests {
    @Test func `of a daemon beside us they do`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/control"
        let listener = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        defer { withExtendedLifetime(listener) {} }
        #expect(try ControlClient(path: path).sharesProcessNumbers)
    }

    /// That one listens outside of ours is tested with a whole daemon.
    @Test func `of one in a namespace of its own they do not`() throws {
        try requireOrSkip(
            getuid() == 0, "only root makes a namespace of process numbers everywhere")
        let directory = try TemporaryDirectory()
        let path = directory.path + "/control"
        let said = try Pipe()
        let script = """
            import socket, sys
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen()
            print("listens", flush=True)
            listener.accept()[0].recv(1)
            """
        var request = ChildRequest(
            "/usr/bin/unshare",
            arguments: [
                "unshare", "--pid", "--fork", "--kill-child", "python3", "-c", script, path,
            ])
        request.descriptors[1] = said.writeEnd
        let daemon = try ChildProcess(request)
        said.closeWriteEnd()
        var byte: UInt8 = 0
        #expect(read(said.readEnd, &byte, 1) == 1)
        #expect(try !ControlClient(path: path).sharesProcessNumbers)
        try daemon.waitForExit()
    }
}
