import ArgumentParser
import Testing

@testable import GreenroomCommands

@Suite("logs") struct LogsTests {
    private func words(_ line: String..., isUsers: Bool = false) throws -> [String] {
        try Logs.parse(line).arguments(for: "org.example.app", isUsers: isUsers)
    }

    @Test func `logs asks the journal for the app's own lines and for those about it`() throws {
        #expect(
            try words("app") == [
                "journalctl", "SYSLOG_IDENTIFIER=org.example.app", "+",
                "GREENROOM_APP=org.example.app",
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
    }

    @Test func `logs --events shows only events, with explanations`() throws {
        #expect(
            try words("app", "--events") == [
                "journalctl", "--catalog", "GREENROOM_APP=org.example.app",
            ])
    }
}
