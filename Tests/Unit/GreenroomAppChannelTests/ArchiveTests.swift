import Testing

@testable import GreenroomAppChannel

@Suite struct `Archives of an app's state` {
    @Test func `an archive returns the first value of a name, whatever the value contains`() {
        var archive = AppArchive()
        #expect(archive.isEmpty)
        archive.add("note", "a=b=c")
        archive.add("note", "second")
        #expect(archive["note"] == "a=b=c")
        #expect(archive["not"] == nil)
        #expect(archive.byteCount == "note=a=b=c".utf8.count + "note=second".utf8.count + 2)
    }

    @Test func `an archive holds a scene's activity with everything in it`() {
        let activity = AppMessageTests.content.userActivities[0]
        #expect(AppArchive(activity).activity == activity)
        #expect(AppArchive().activity == nil)
    }

    /// One message has the content for which a scene is connected, and the scene's archive.
    @Test func `an archive of the largest size fits one message`() throws {
        var archive = AppArchive()
        archive.add("k", String(repeating: "x", count: AppArchive.byteLimit - 3))
        #expect(archive.byteCount == AppArchive.byteLimit)
        let state = SavedState(archive, appVersion: String(repeating: "1", count: 255))
        let message = DaemonMessage.event(.restoreState(state, session: "1", cookie: .max))
        #expect(try message.encoded().datagram.count < WireFormat.datagramLimit)
        _ = try AppMessage.report(.state(.save(archive), session: "1", cookie: 0)).encoded()
    }

    @Test func `a state with missing words is refused, and so is an unknown kind of report`() throws
    {
        var frame = SavedState(AppArchive()).frame(session: nil, cookie: 1)
        frame.words.removeLast()
        let short = try frame.encoded()
        #expect(throws: WireError.malformedStrings) {
            try DaemonMessage(decoding: short.span.bytes)
        }
        var report = StateReport.forget.frame(session: nil, cookie: 0)
        report.status = 3
        let unknown = try report.encoded()
        #expect(throws: WireError.unknownValue(3, type: 80)) { try AppMessage(decoding: unknown) }
    }
}
