import Testing

@testable import GreenroomAppChannel

extension AppMessageTests {
    static let taskRequests: [TaskSubmission] = {
        var processing = TaskSubmission("org.example.clean", kind: .processing)
        processing.earliestBegin = 1_700_000_000_000_000
        processing.requiresExternalPower = true
        processing.requiresNetworkConnectivity = true
        var refresh = TaskSubmission("org.example.refresh=1", kind: .appRefresh)
        refresh.earliestBegin = 0
        return [processing, refresh, TaskSubmission("x", kind: .processing)]
    }()
    static let taskRun = TaskRun(number: 3, identifier: "x", kind: .processing, deadline: 9)

    static let backgroundEvents: [AppEvent.Background] = [
        .time(until: nil), .time(until: 0), .time(until: .max - 1), .timeExpires(at: .max),
        .run(taskRun), .expire(taskRun), .pendingRequests([], request: 4),
        .pendingRequests(taskRequests, request: 4),
    ]
    static let backgroundReports: [AppReport.Background] =
        [
            .begin(identifier: 1, name: nil), .begin(identifier: .max, name: "upload"),
            .end(identifier: 1), .query(.list, cookie: 1), .query(.cancel(["a", "b"]), cookie: 2),
            .query(.cancelAll, cookie: 3),
        ]
        + AppReport.Completion.allCases.map { .completed(run: 5, $0) }
        + taskRequests.map { .submit($0, cookie: 6) }
}

/// The numbers and forms from which clients in other languages are written.
@Suite struct `Background time on the wire` {
    private static func bytes(_ report: AppReport.Background) throws -> [UInt8] {
        try AppMessage.report(.background(report)).encoded()
    }

    private static func word(_ bytes: [UInt8], at offset: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * $1) }
    }

    @Test func `a time without a limit is all ones`() throws {
        let event = AppEvent.background(.time(until: nil))
        let bytes = try DaemonMessage.event(event).encoded().datagram
        #expect(bytes[6] == 51)
        #expect(Self.word(bytes, at: WireFormat.cookieOffset) == .max)
    }

    @Test func `a request names its kind, conditions and earliest time`() throws {
        let bytes = try Self.bytes(.submit(AppMessageTests.taskRequests[0], cookie: 7))
        #expect(bytes[6] == 85)
        #expect(bytes[8] == 3, "flags")
        #expect(bytes[40] == 1, "status: processing")
        let strings = String(decoding: bytes[160...], as: UTF8.self)
        #expect(strings == "org.example.clean\0earliest=1700000000000000\0")
    }

    @Test func `a list contains its requests one after the other`() throws {
        let event = AppEvent.background(
            .pendingRequests(AppMessageTests.taskRequests, request: 7))
        let bytes = try DaemonMessage.event(event).encoded().datagram
        let strings = String(decoding: bytes[160...], as: UTF8.self)
        #expect(
            strings.hasPrefix(
                "task=org.example.clean\0task.kind=1\0task.earliest=1700000000000000\0"
                    + "task.power=1\0task.network=1\0task=org.example.refresh=1\0task.kind=0\0"))
    }

    @Test func `an unknown kind, question or completion is refused`() throws {
        func expect(_ error: WireError, _ report: AppReport.Background) throws {
            var bytes = try Self.bytes(report)
            bytes[40] = 9
            #expect(throws: error) { try AppMessage(decoding: bytes) }
        }
        try expect(
            .unknownValue(9, type: 85), .submit(AppMessageTests.taskRequests[2], cookie: 1))
        try expect(.unknownValue(9, type: 86), .query(.list, cookie: 1))
        try expect(.unknownValue(9, type: 87), .completed(run: 1, .success))
    }

    @Test func `a request without identifier is refused`() throws {
        let bytes = try AppFrame(.submitTask, cookie: 1).encoded()
        #expect(throws: WireError.malformedStrings) { try AppMessage(decoding: bytes) }
    }
}
