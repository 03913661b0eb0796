import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// A confined app calls the daemon after its manifest was removed or changed.
@Suite struct ConfinedClientTests {
    private static let app = "org.example.app"
    private static let sandbox = "[Sandbox]\nNoNewPrivileges=yes\nRestrictRealtime=yes"

    /// An app that asks for a list of apps when it is told to, and prints the result.
    private func daemon(_ folder: TemporaryDirectory, _ lines: [String]) throws -> TestDaemon {
        let script = """
            #!/bin/sh
            read line < \(folder.path)/fifo
            \(try Programs.client) list --socket "$1" 2>&1 && echo served
            """
        try folder.write(script, to: "ask", mode: 0o755)
        guard mkfifo(folder.path + "/fifo", 0o600) == 0 else { throw TestError("mkfifo") }
        return try TestDaemon([program(Self.app, folder.path + "/ask", lines)])
    }

    private func answer(
        _ daemon: TestDaemon, _ folder: TemporaryDirectory, _ change: () throws -> Void
    ) throws -> String {
        let (reading, writing) = try pipe()
        defer { close(reading) }
        _ = try daemon.client().launch(Self.app, [daemon.socketPath], output: writing)
        close(writing)
        try daemon.kill()
        try change()
        try daemon.start()
        try folder.write("go\n", to: "fifo")
        return try readToEnd(reading)
    }

    @Test(arguments: ["gone", "open", "same"])
    func `a confined app may not call the next supervisor, even with a changed manifest`(
        _ what: String
    ) throws {
        let folder = try TemporaryDirectory()
        let daemon = try daemon(folder, [Self.sandbox])
        let text = try answer(daemon, folder) {
            switch what {
            case "gone": try daemon.remove(Self.app)
            case "open": try daemon.install(program(Self.app, folder.path + "/ask"))
            default: break
            }
        }
        #expect(text.contains("ControlSocket=yes"), "\(text)")
        #expect(!text.contains("served"))
    }

    @Test(arguments: ["gone", "same"])
    func `an app that is not confined may call the next supervisor`(_ what: String) throws {
        let folder = try TemporaryDirectory()
        let daemon = try daemon(folder, [])
        let text = try answer(daemon, folder) { if what == "gone" { try daemon.remove(Self.app) } }
        #expect(text.hasSuffix("served\n"), "\(text)")
    }

    private func readToEnd(_ descriptor: Int32) throws -> String {
        var lines: [String] = []
        repeat { lines.append(try readLine(descriptor)) } while lines.last != ""
        return lines.joined(separator: "\n")
    }

    private func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw TestError("pipe: errno \(errno)") }
        return (ends[0], ends[1])
    }
}
