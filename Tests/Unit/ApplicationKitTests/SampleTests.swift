import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

/// The sample apps do what they demonstrate.
@Suite struct SampleTests {
    private func type(_ text: String, into pipe: Pipe) {
        var text = text
        text.withUTF8 { _ = write(pipe.writeEnd, $0.baseAddress, $0.count) }
    }

    @Test func `Notes opens what its URL names, takes a quick action, and keeps what is typed`()
        throws
    {
        let folder = try TemporaryDirectory()
        let file = try folder.write("buy milk\n", to: "notes.txt")
        let keyboard = try Pipe()
        let app = try AppProcess(
            "", .prewarmed, program: "greenroom-notes", input: keyboard.readEnd)
        try app.launch(
            AppLaunch(cookie: 1, reason: .url, flags: [.foreground, .scenes]), .prewarmed,
            environment: ["NOTES_FILE=\(file)"])
        var content = AppContent()
        content.urls = [.init("notes:1")]
        try app.connect("s", content)
        try app.tell(.willEnterForeground, "s")
        try app.tell(.didBecomeActive, "s")
        content = AppContent()
        content.quickAction = .init("new-note")
        #expect(try app.tell(.deliver(content, session: "s", cookie: 2)))
        content.quickAction = .init("unknown")
        #expect(try !app.tell(.deliver(content, session: "s", cookie: 3)))
        type("call mother\nlist\n", into: keyboard)
        #expect(try app.awaitLine("2  call mother"))
        try app.tell(.willResignActive, "s")
        try app.tell(.didEnterBackground, "s")
        #expect(String(decoding: try readFile(file), as: UTF8.self) == "buy milk\ncall mother\n")
        #expect(try app.end() == ["Goodbye."])
    }

    @Test func `Echo serves the socket that it was handed, in the background`() throws {
        let folder = try TemporaryDirectory()
        let path = "\(folder.path)/socket"
        let listener = try listen(at: path)
        defer { close(listener) }
        let app = try AppProcess("", .prewarmed, program: "greenroom-echo")
        try app.awaitPause()
        try app.send(.event(.launch(AppLaunch(cookie: 1, reason: .socket, flags: []))))
        let go = GoMessage(
            arguments: try StringList(["echo"]), environment: try StringList(["LISTEN_FDS=1"]),
            roles: [.place(3)], cookie: 2)
        try app.send(.go(go), descriptors: [listener])
        try app.awaitAcknowledgement(1)
        let connection = cts_connect_as(path, Int32(getuid()), Int32(getgid()), -1)
        try requireOrSkip(connection >= 0, "connecting as a user needs root")
        defer { close(connection) }
        #expect(write(connection, "hello", 5) == 5)
        var bytes = [UInt8](repeating: 0, count: 16)
        #expect(read(connection, &bytes, bytes.count) == 5)
        #expect(Array(bytes[..<5]) == Array("hello".utf8))
        try app.tell(.willTerminate)
    }

    private func listen(at path: String) throws -> Int32 {
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0, Glibc.listen(listener, 8) == 0 else { throw TestError("\(path)") }
        return listener
    }

    @Test func `Fetch does its work in the background and ends`() throws {
        let folder = try TemporaryDirectory()
        let source = try folder.write("news\nmore\n", to: "source")
        let app = try AppProcess(
            "", .cold, program: "greenroom-fetch",
            environment: ["FETCH_FILE=\(folder.path)/history"], arguments: [source])
        try app.launch(AppLaunch(cookie: 1, reason: .timer, flags: []), .cold)
        #expect(try app.child.waitForExit() == .status(0))
        #expect(app.lines() == ["fetched: news"])
        let history = String(decoding: try readFile("\(folder.path)/history"), as: UTF8.self)
        #expect(history.hasSuffix(" news\n"))
    }
}
