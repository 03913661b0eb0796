import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Full-screen programs on a user's terminal, cold and prewarmed.
@Suite struct FullScreenTests {
    private static let cold = "org.example.cold"
    private static let warm = "org.example.warm"
    private static let all = [cold, warm]
    private static let alternateScreen = "\u{1B}[?1049h"
    private static let firstScreen = "\u{1B}[?1049l"

    private static func desk(_ names: String..., help: String) throws -> Desk {
        let program = names.lazy.compactMap { findProgram($0) }.first
        try requireOrSkip(program != nil, "no \(names[0])")
        return try Desk(cold: cold, warm: warm, exec: program!, first: help)
    }

    @Test(arguments: all)
    func `vim edits a file, and can be stopped and continued while it does`(_ app: String) throws {
        let desk = try Self.desk("vim.tiny", "vim", help: "--version")
        let file = try desk.daemon.directory.write("first\n", to: "text-\(app)")
        desk.shell.type("greenroomctl run \(app) -- -u NONE \(file)\r")
        try desk.shell.await("first")
        desk.shell.type("osecond\u{1B}")
        try desk.shell.await("second")
        desk.shell.type("\u{1A}")
        #expect(try desk.shell.await("ready> ").contains("Stopped"))
        #expect(!desk.shell.isRaw)
        #expect(try desk.shell.enter("cat \(file)").contains("\r\nfirst\r\n"))
        desk.shell.type("fg\r")
        try desk.shell.await("second")
        desk.shell.type(":wq\r")
        try desk.shell.await("ready> ")
        #expect(String(decoding: try readFile(file), as: UTF8.self) == "first\nsecond\n")
        #expect(!desk.shell.isRaw)
        try desk.expectKind(of: app)
    }

    @Test(arguments: all)
    func `less shows a pipe page by page, with keys from the terminal`(_ app: String) throws {
        let desk = try Self.desk("less", help: "--version")
        desk.shell.type("seq 1 500 | greenroomctl run \(app)\r")
        try desk.shell.await("23\r\n")
        desk.shell.type(" ")
        try desk.shell.await("46\r\n:")
        try desk.awaitReading(app)
        desk.shell.type("\u{1A}")
        #expect(try desk.shell.await("ready> ").contains("Stopped"))
        #expect(!desk.shell.isRaw)
        desk.shell.type("fg\r")
        try desk.shell.await("46\r\n")
        desk.shell.type("G")
        try desk.shell.await("500")
        desk.shell.type("q")
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
        try desk.expectKind(of: app)
    }

    @Test(arguments: all)
    func `top follows the window size and ends when q is typed`(_ app: String) throws {
        let desk = try Self.desk("top", help: "-v")
        desk.shell.type("greenroomctl run \(app) -- -d 100\r")
        try desk.shell.await("PID")
        try desk.shell.await("the client's front") { desk.shell.isRaw }
        desk.shell.resize(rows: 40, columns: 120)
        try desk.shell.await("PID")
        desk.shell.type("\u{1A}")
        #expect(try desk.shell.await("ready> ").contains("Stopped"))
        desk.shell.type("fg\r")
        try desk.shell.await("PID")
        desk.shell.type("q")
        try desk.shell.await("ready> ")
        #expect(!desk.shell.isRaw)
        try desk.expectKind(of: app)
    }
}
