import CTestSupport
import Glibc
import GreenroomAppChannel
import TestSupport
import Testing

@Suite struct ProtectedDataTests {
    /// The file with one secret.
    private func credentials() -> Int32 {
        let bytes = CredentialFile.bytes(of: [("token", Array("s3cret".utf8))])
        return cts_sealed_memory(bytes, bytes.count)
    }

    private static var ask: AppContent {
        var content = AppContent()
        content.urls = [.init("probe:secret")]
        return content
    }

    @Test(arguments: AppProcess.Start.allCases)
    func `an unavailable credential is not reported as an absent one`(start: AppProcess.Start)
        throws
    {
        let file = credentials()
        defer { close(file) }
        let app = try AppProcess("both", start)
        // The launch has no credentials, because the device is locked.
        try app.launch(AppLaunch(cookie: 1), start)
        try app.awaitAcknowledgement(1)
        try app.tell(.protectedDataWillBecomeUnavailable)
        try app.tell(.credentials(cookie: 2), descriptors: [file])
        try app.tell(.protectedDataDidBecomeAvailable)
        try app.tell(.protectedDataWillBecomeUnavailable)
        try app.tell(.deliver(Self.ask, session: nil, cookie: 3))
        try app.tell(.credentials(cookie: 4), descriptors: [file])
        try app.tell(.protectedDataDidBecomeAvailable)
        let lines = try app.end().filter { $0.contains("token") }
        let available = "protectedDataDidBecomeAvailable token=s3cret, absent=nil"
        #expect(
            lines == [
                "protectedDataWillBecomeUnavailable token: unavailable, absent: unavailable",
                available, "protectedDataWillBecomeUnavailable token=s3cret, absent=nil",
                "secret token: unavailable, absent: unavailable", available,
            ])
    }

    @Test(arguments: [true, false])
    func `a credential that could not be read is unavailable, not absent`(
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

    @Test func `a launch on an unlocked device brings the credentials`() throws {
        let file = credentials()
        defer { close(file) }
        let app = try AppProcess("both", .prewarmed)
        try app.launch(
            AppLaunch(cookie: 1, flags: [.foreground, .protectedDataAvailable, .credentials]),
            .prewarmed, descriptors: [file])
        try app.awaitAcknowledgement(1)
        try app.tell(.protectedDataWillBecomeUnavailable)
        #expect(
            try app.end().contains("protectedDataWillBecomeUnavailable token=s3cret, absent=nil"))
    }
}
