import DaemonTestSupport
import Glibc
import TestSupport
import Testing

/// The client that greenroom-protocol(7) prints as complete.
@Suite struct `The manual's own client` {
    @Test func `lists, launches and waits`() throws {
        let python = "/usr/bin/python3"
        try requireOrSkip(access(python, X_OK) == 0, "no \(python) here")
        let daemon = try TestDaemon(TestApp("org.example.shell", exec: "/bin/sh"))
        let file = daemon.directory.path + "/client.py"
        try Self.example().withCString { text in
            let stream = try #require(fopen(file, "w"))
            fputs(text, stream)
            fclose(stream)
        }
        func run(_ words: String...) throws -> String {
            let request = ChildRequest(
                python, arguments: ["python3", file, daemon.socketPath] + words)
            return String(
                decoding: try TestSupport.run(request, mergingErrors: true).output, as: UTF8.self)
        }
        #expect(
            try run("org.example.shell", "-c", "exit 7") == """
                org.example.shell not_running
                cold exited_self 7

                """)
        #expect(
            try run("org.example.none").contains(
                #"io.greenroom.Control.NoSuchApp {"app": "org.example.none""#))
    }

    /// The text between the marks, as man(1) shows it.
    private static func example() throws -> String {
        let path = packageRoot + "/Sources/Documentation/man/greenroom-protocol.7"
        let page = String(decoding: try readFile(path), as: UTF8.self)
        let start = try #require(page.firstRange(of: "begin example\n.EX\n")).upperBound
        let end = try #require(page[start...].firstRange(of: ".EE\n.\\\" end example")).lowerBound
        return String(page[start..<end]).replacing("\\-", with: "-").replacing("\\&", with: "")
            .replacing("\\e", with: "\\")
    }
}
