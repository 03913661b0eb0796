import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Other work goes on while many manifests are read.
@Suite struct ReloadTests {
    private static let app = "org.example.reloaded"
    private static let count = 2000

    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        for number in 0..<Self.count {
            try daemon.directory.write(
                "[App]\nExec=/bin/true\n[Prewarm]\nWhen=never\n",
                to: "apps/org.example.many\(number).app")
        }
        return daemon
    }

    private func isReadable(_ client: TestClient) throws -> Bool {
        var entry = [PollEntry(client.descriptor, CInt(POLLIN))]
        return try PollEntry.wait(&entry, milliseconds: 0) > 0
    }

    @Test func `a call is answered while thousands of manifests are read`() throws {
        let daemon = try daemon()
        let (patient, hasty) = (try daemon.client(), try daemon.client())
        try patient.send(.reload)
        #expect(try hasty.run(Self.app, ["exit", "3"]).exit.status == 3)
        #expect(try !isReadable(patient), "the launch was answered after the reload")
        guard case .reloaded(let report) = try patient.reply(to: .reload) else {
            throw TestError("another answer")
        }
        #expect(report.loaded.count == Self.count + 1)
        #expect(report.failed.isEmpty)
    }

    @Test func `a reload during another reload includes the changes made since`() throws {
        let daemon = try daemon()
        let clients = try (0..<4).map { _ in try daemon.client() }
        var expected = Self.count + 1
        for (number, client) in clients.enumerated() {
            if number > 0 {
                unlink("\(daemon.appDirectory)/org.example.many\(number).app")
                expected -= 1
            }
            try client.send(.reload)
        }
        guard case .reloaded(let last) = try #require(clients.last).reply(to: .reload) else {
            throw TestError("another answer")
        }
        #expect(last.loaded.count == expected)
        for client in clients.dropLast() { _ = try client.reply(to: .reload) }
    }

    @Test func `a reload goes on if its client leaves`() throws {
        let daemon = try daemon()
        let watcher = try daemon.watch()
        var client: TestClient? = try daemon.client()
        try client?.send(.reload)
        client = nil
        try watcher.next { $0.kind == .appsChanged }
        #expect(try daemon.client().list().count == Self.count + 1)
    }
}
