import ArgumentParser
import TestSupport
import Testing
import VarlinkTestSupport

@testable import GreenroomCommands

@Suite("logs") struct LogsTests {
    private func words(_ line: String..., isUsers: Bool = false) throws -> [String] {
        let logs = try Logs.parse(line)
        return logs.arguments(for: logs.apps.map { "org.example.\($0)" }, isUsers: isUsers)
    }

    @Test func `logs asks the journal for the app's own lines and for those about it`() throws {
        #expect(
            try words("app") == [
                "journalctl", "SYSLOG_IDENTIFIER=org.example.app", "+",
                "GREENROOM_APP=org.example.app",
            ])
    }

    @Test func `logs of several apps come from one call of journalctl`() throws {
        #expect(
            try words("a", "b") == [
                "journalctl", "SYSLOG_IDENTIFIER=org.example.a", "SYSLOG_IDENTIFIER=org.example.b",
                "+", "GREENROOM_APP=org.example.a", "GREENROOM_APP=org.example.b",
            ])
    }

    @Test func `logs without an app are those of all apps`() throws {
        #expect(
            try words() == [
                "journalctl", "_SYSTEMD_UNIT=greenroomd.service",
                "_SYSTEMD_UNIT=greenroom-apps.service",
            ])
        #expect(
            try words("--events", isUsers: true) == [
                "journalctl", "--user", "--catalog", "_SYSTEMD_USER_UNIT=greenroomd.service",
            ])
    }

    @Test func `logs passes its options on, and reads the user's journal for a user's daemon`()
        throws
    {
        #expect(
            try words(
                "app", "-f", "-n", "5", "--since", "-1h", "--until", "now", "-p", "warning", "-b",
                "0", "--json", isUsers: true) == [
                    "journalctl", "--user", "--follow", "--lines=5", "--since=-1h", "--until=now",
                    "--priority=warning", "--boot=0", "--output=json",
                    "SYSLOG_IDENTIFIER=org.example.app", "+", "GREENROOM_APP=org.example.app",
                ])
        let habits = try words("-n5", "app", "-r", "-x", "-e", "-o", "cat", "--no-pager")
        #expect(
            habits.dropFirst().prefix(6) == [
                "--lines=5", "--reverse", "--pager-end", "--no-pager", "--output=cat", "--catalog",
            ])
        #expect(try words("-n", "all").contains("--lines=all"))
        #expect(try words("-n0", "app").contains("--lines=0"))
        for wrong in ["-1", "some", "5x"] {
            #expect(throws: (any Error).self) { try words("-n", wrong) }
        }
    }

    @Test func `logs --events shows only events, with explanations`() throws {
        #expect(
            try words("app", "--events") == [
                "journalctl", "--catalog", "GREENROOM_APP=org.example.app",
            ])
    }

    @Test func `logs of a pattern are those of the apps that match it`() throws {
        let daemon = try FakeDaemon()
        let path = daemon.server.path
        let logs = try Logs.parse([])
        #expect(try logs.resolved("*.passwd", path) == ["org.debian.passwd", "org.other.passwd"])
        #expect(try logs.resolved("f[fg]*", path) == ["org.ffmpeg.ffmpeg"])
        #expect(throws: Failure.self) { try logs.resolved("nothing*", daemon.server.path) }
    }

    @Test func `without the daemon, logs finds a short name among the manifests`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("[App]\nExec=/bin/true\n", to: "org.example.odd.app")
        let manifests = InstalledManifests(in: [directory.path])
        #expect(try Logs.identifier(of: "odd", among: manifests) == "org.example.odd")
        // A removed app still has logs.
        #expect(try Logs.identifier(of: "even", among: manifests) == "even")
    }
}
