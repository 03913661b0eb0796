import Glibc
import GreenroomLinux
import TestSupport
import Testing
import Varlink
import VarlinkTestSupport

/// The implementations of Varlink test each other with org.varlink.certification: here our server
/// with the Python client, and our client with the Python server.
@Suite(.enabled(if: PythonClient.isThere)) struct `The certification of Varlink` {
    @Test func `our server passes the certification`() throws {
        let certification = try Certification(description: try Self.description())
        let server = try TestServer { certification.answer($0.call) }
        let result = PythonClient.run(
            Self.program, arguments: ["--client", "--varlink=unix:\(server.path)"])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("Certification passed"))
        #expect(certification.passed == 1)
    }

    @Test func `a client that returns something else fails the certification`() throws {
        let certification = try Certification(description: try Self.description())
        let server = try TestServer { certification.answer($0.call) }
        let result = PythonClient.run(
            """
            import sys, varlink
            with varlink.Client.new_with_address("unix:" + sys.argv[1]) as client, \\
                    client.open("org.varlink.certification") as connection:
                name = connection.Start()["client_id"]
                connection.Test01(name)
                for call in [lambda: connection.Test02(name, False), lambda: connection.End(name),
                             lambda: connection.Test02("somebody", True)]:
                    try:
                        call()
                    except varlink.VarlinkError as error:
                        print(error.error())
            """, arguments: [server.path])
        #expect(
            result.output == """
                org.varlink.certification.CertificationError
                org.varlink.certification.CertificationError
                org.varlink.certification.ClientIdError

                """)
        #expect(certification.passed == 0)
    }

    @Test func `our client passes the certification`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/python"
        let interpreter = try #require(PythonClient.interpreter)
        let output = try Pipe()
        var request = ChildRequest(
            interpreter,
            arguments: [interpreter, "-u", "-c", Self.program, "--varlink=unix:\(path)"],
            environment: ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"])
        request.descriptors[1] = output.writeEnd
        let child = try ChildProcess(request)
        defer {
            child.kill(SIGKILL)
            _ = try? child.waitForExit()
        }
        let said = FileDescriptor(owning: dup(output.readEnd))
        guard try said.waitUntilReadable(milliseconds: 60_000) else { throw TestError("silence") }
        try Examinee(path).run()
    }

    /// The Python part of the certification, as it came with the package; the notice at the end is
    /// ours.
    private static let program = """
        import runpy, sys
        try:
            runpy.run_module("varlink.tests.test_certification", run_name="__main__", alter_sys=False)
        except SystemExit as exit:
            if not exit.code: print("Certification passed")
            raise
        """

    private static func description() throws -> String {
        let result = PythonClient.run(
            """
            import importlib.resources as r
            print((r.files("varlink.tests") / "org.varlink.certification.varlink").read_text(), end="")
            """, arguments: [])
        try #require(result.status == 0, "\(result.output)")
        return result.output
    }
}
