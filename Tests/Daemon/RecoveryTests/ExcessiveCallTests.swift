import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Calls that are small to send and expensive to read, from a user who has no app here. Each is
/// refused with the limit that it exceeds, and other callers do not wait for it.
@Suite struct ExcessiveCallTests {
    private static let app = "org.example.app"
    private static let stranger: Int32 = 12_346

    private func daemon() throws -> TestDaemon {
        try TestDaemon([program(Self.app, try compileProbe("behave.c"))])
    }

    private func attacker(_ daemon: TestDaemon) throws -> TestClient {
        guard getuid() == 0 else { return try daemon.client() }
        let descriptor = cts_connect_as(daemon.socketPath, Self.stranger, Self.stranger, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    private func launch(_ parameters: String) -> [UInt8] {
        Array(
            #"{"method":"io.greenroom.Control.Launch","parameters":{"app":"x",\#(parameters)}}"#
                .utf8) + [0]
    }

    private func names(_ count: Int) -> [UInt8] {
        launch(#""environment":{"# + (0..<count).map { "\"\($0)\":1" }.joined(separator: ",") + "}")
    }

    private func texts(_ count: Int) -> [UInt8] {
        launch(#""arguments":["# + (0..<count).map { "\"\($0)\"" }.joined(separator: ",") + "]")
    }

    private func zeros(_ count: Int) -> [UInt8] {
        launch(#""umask":0."# + String(repeating: "0", count: count))
    }

    /// The answer to the attacker, and the time of the slowest call of others in the meantime. One
    /// such call is made whenever the attacker's socket is full, and after the last byte.
    private func attack(
        _ message: [UInt8], _ daemon: TestDaemon, beside other: TestClient
    ) throws -> (answer: String, slowest: Duration) {
        let client = try attacker(daemon)
        _ = fcntl(client.descriptor, F_SETFL, fcntl(client.descriptor, F_GETFL) | O_NONBLOCK)
        var slowest = Duration.zero
        func call() throws { slowest = max(slowest, try duration(of: daemon, other)) }
        var sent = 0
        while sent < message.count {
            let count = message.withUnsafeBytes {
                send(
                    client.descriptor, $0.baseAddress! + sent, message.count - sent,
                    CInt(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else {
                // The daemon has closed the connection: it need not read the rest.
                guard errno == EAGAIN else { break }
                try call()
            }
        }
        for _ in 0..<3 { try call() }
        let file = FileDescriptor(owning: dup(client.descriptor))
        var bytes: [UInt8] = []
        while try file.waitUntilReadable(milliseconds: Processes.deadline) {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(client.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
            if bytes.last == 0 { break }
        }
        return (String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self), slowest)
    }

    /// How long a call takes, without the time for which the daemon or this thread waited for a
    /// processor, because that depends on what else the machine does.
    private func duration(of daemon: TestDaemon, _ other: TestClient) throws -> Duration {
        // In this order, every wait in the duration is subtracted.
        let before = try processorWaits(daemon)
        let start = ContinuousClock.now
        _ = try other.list()
        return start.duration(to: .now) - (try processorWaits(daemon) - before)
    }

    /// The second number of schedstat is in nanoseconds (Documentation/scheduler/sched-stats.rst).
    private func processorWaits(_ daemon: TestDaemon) throws -> Duration {
        ["\(try daemon.pid)", "thread-self"].reduce(.zero) { sum, thread in
            let bytes = (try? readFile("/proc/\(thread)/schedstat")) ?? []
            let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            return sum + .nanoseconds(words.count > 1 ? Int64(words[1]) ?? 0 : 0)
        }
    }

    private func refusal(_ what: String, _ limit: Int) -> String {
        #"{"error":"io.greenroom.Control.LimitExceeded","parameters":{"what":"\#(what)","#
            + #""limit":\#(limit)}}"#
    }

    /// Generous for a debug build. Without limits, the attacks took two to seven times as long.
    private static let patience = Duration.milliseconds(800)

    /// The memory is freed when the connection is closed, which no event reports. (A sanitizer keeps
    /// what is freed, to notice who uses it.)
    private func expectMemoryBack(
        _ daemon: TestDaemon, since before: Int, _ other: TestClient
    ) throws {
        guard ChildRequest.sanitizerOptions.isEmpty else { return }
        let end = ContinuousClock.now.advanced(by: .milliseconds(Processes.deadline))
        while try resident(daemon) - before >= 8 << 20, ContinuousClock.now < end {
            _ = try other.list()
        }
        #expect(try resident(daemon) - before < 8 << 20)
    }

    @Test func `1.45 million names in one call are refused with the limit, again and again`() throws
    {
        let daemon = try daemon()
        let other = try daemon.client()
        _ = try attack(names(10), daemon, beside: other)
        let before = try resident(daemon)
        for _ in 0..<3 {
            let (answer, slowest) = try attack(names(1_450_000), daemon, beside: other)
            #expect(answer == refusal("bytes in one message", 8 << 20))
            #expect(slowest < Self.patience)
            // The message has the allowed size.
            let second = try attack(names(700_000), daemon, beside: other)
            #expect(second.answer == refusal("names in one message", 8192))
            #expect(second.slowest < Self.patience)
        }
        try expectMemoryBack(daemon, since: before, other)
    }

    @Test func `a million values in one call are refused with the limit`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        // The memory that the first call of this kind makes resident stays.
        _ = try attack(texts(10), daemon, beside: other)
        let before = try resident(daemon)
        for _ in 0..<3 {
            let (answer, slowest) = try attack(texts(900_000), daemon, beside: other)
            #expect(answer == refusal("values in one message", 80_000))
            #expect(slowest < Self.patience)
        }
        try expectMemoryBack(daemon, since: before, other)
    }

    @Test func `a number with millions of digits is refused`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let (answer, slowest) = try attack(zeros(7 << 20), daemon, beside: other)
        #expect(answer == "")
        #expect(slowest < Self.patience)
    }

    /// Each fraction takes several microseconds to read, and no call needs one.
    @Test func `sixty thousand long fractions in one call are refused with the limit`() throws {
        let daemon = try daemon()
        let other = try daemon.client()
        let fraction = "0." + String(repeating: "7", count: 100) + "e-300"
        let (answer, slowest) = try attack(
            launch(
                #""arguments":["#
                    + String(repeating: fraction + ",", count: 60_000) + "1]"),
            daemon, beside: other)
        #expect(answer == refusal("values in one message", 80_000))
        #expect(slowest < Self.patience)
    }

    @Test func `an app gets as many arguments and variables as it can be started with`() throws {
        let daemon = try daemon()
        let client = try daemon.client()
        let other = try daemon.client()
        var call = Control.LaunchCall(app: Self.app)
        call.arguments = ["exit", "3"] + (2..<65_000).map { "file-\($0)" }
        call.callerEnvironment = (0..<4000).map { "NAME\($0)=value" }
        let launched = try client.launch(call)
        #expect(try client.wait(launched.instance).status == 3)
        // Measures how long others wait while the daemon reads such calls repeatedly.
        call.app = "org.example.none"
        for _ in 0..<5 {
            try client.send(.launch(call))
            #expect(try duration(of: daemon, other) < Self.patience)
            #expect(throws: ControlError.self) { try client.reply(to: .launch(call)) }
        }
    }

    /// Until the app listens (`ReadyOn=listening`), the daemon inspects its descriptors several
    /// times a second.
    @Test func `an app with a million descriptors that does not listen delays nobody`() throws {
        try requireOrSkip(getuid() == 0, "without cgroups one process of the app is looked at")
        let daemon = try TestDaemon(
            program(
                Self.app, try compileProbe("descriptors.c"),
                ["ReadyOn=listening", "LaunchDeadlineSec=60"]))
        let other = try daemon.client()
        let output = try Pipe()
        let launched = try other.launch(Self.app, ["60"], output: output.writeEnd)
        output.closeWriteEnd()
        let count = try #require(Int(readLine(output.readEnd)))
        try requireOrSkip(count > 500_000, "an app may open only \(count) files here")
        let end = ContinuousClock.now.advanced(by: .seconds(2))
        var slowest = Duration.zero
        while ContinuousClock.now < end {
            slowest = max(slowest, try duration(of: daemon, other))
        }
        #expect(slowest < Self.patience)
        #expect(try other.instance(launched.instance).state == .launching)
        try other.change(.kill, launched.instance)
        _ = try other.wait(launched.instance)
    }

    private func resident(_ daemon: TestDaemon) throws -> Int {
        Processes.residentByteCount(of: try daemon.pid)
    }
}
