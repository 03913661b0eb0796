@testable import GreenroomCommands
import Glibc
import GreenroomLinux
import TestSupport
import Testing

/// Whether a daemon's process numbers mean the same processes here (pid_namespaces(7)).
@Suite struct ProcessNumberTests {
    @Test func `a daemon in our namespace has our process numbers`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/control"
        let listener = try UnixSocket.listen(at: path, .stream, mode: 0o600)
        defer { withExtendedLifetime(listener) {} }
        #expect(try ControlClient(path: path).sharesProcessNumbers)
    }

    /// A test with a whole daemon covers a daemon outside of our namespace.
    @Test func `a daemon in a namespace of its own has other process numbers`() throws {
        try requireOrSkip(
            getuid() == 0, "only root can make a PID namespace on every system")
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
