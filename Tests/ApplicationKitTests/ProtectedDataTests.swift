import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

@Suite struct ProtectedDataTests {
    /// A credentials directory with one secret, and its descriptor.
    private func credentials() throws -> (TemporaryDirectory, Int32) {
        let directory = try TemporaryDirectory()
        try directory.write("s3cret", to: "token", mode: 0o400)
        return (directory, cts_open_directory(directory.path))
    }

    @Test(arguments: AppProcess.Start.allCases)
    func `what is unavailable is not taken for absent`(start: AppProcess.Start) throws {
        let (folder, directory) = try credentials()
        defer { close(directory) }
        let app = try AppProcess("both", start)
        // Launched while the device is locked: no credentials yet.
        try app.launch(AppLaunch(cookie: 1), start)
        try app.awaitAcknowledgement(1)
        try app.tell(.protectedDataWillBecomeUnavailable)
        try app.tell(.credentials(cookie: 2), descriptors: [directory])
        try app.tell(.protectedDataDidBecomeAvailable)
        try app.tell(.protectedDataWillBecomeUnavailable)
        try app.tell(.protectedDataDidBecomeAvailable)
        let lines = try app.end().filter { $0.hasPrefix("protected") }
        let available = "protectedDataDidBecomeAvailable token=s3cret, absent=nil"
        #expect(
            lines == [
                "protectedDataWillBecomeUnavailable token: unavailable, absent: unavailable",
                available, "protectedDataWillBecomeUnavailable token=s3cret, absent=nil",
                available,
            ])
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: [true, false])
    func `what the manifest names and could not be read is unavailable, not absent`(
        isNamed: Bool
    ) throws {
        let app = try AppProcess("both", .cold)
        var flags: AppLaunch.Flags = [.foreground, .protectedDataAvailable]
        if isNamed { flags.insert(.namesCredentials) }
        try app.launch(AppLaunch(cookie: 1, flags: flags), .cold)
        try app.awaitAcknowledgement(1)
        try app.tell(.protectedDataWillBecomeUnavailable)
        let said = isNamed ? "token: unavailable, absent: unavailable" : "token=nil, absent=nil"
        #expect(try app.end().contains("protectedDataWillBecomeUnavailable \(said)"))
    }

    @Test func `credentials come with the launch of an unlocked device`() throws {
        let (folder, directory) = try credentials()
        defer { close(directory) }
        let app = try AppProcess("both", .prewarmed)
        try app.launch(
            AppLaunch(cookie: 1, flags: [.foreground, .protectedDataAvailable, .credentials]),
            .prewarmed, descriptors: [directory])
        try app.awaitAcknowledgement(1)
        try app.tell(.protectedDataWillBecomeUnavailable)
        #expect(
            try app.end().contains("protectedDataWillBecomeUnavailable token=s3cret, absent=nil"))
        withExtendedLifetime(folder) {}
    }
}
