import DaemonTestSupport
import Glibc
import GreenroomControl
import TestSupport
import Testing

/// Apps and clients that repeat an action in a loop do not fill the log.
@Suite struct LogFloodTests {
    private static let app = "org.example.flood"

    private func lines(_ daemon: TestDaemon, _ text: String) -> Int {
        daemon.log.split(separator: "\n").count { $0.contains(text) }
    }

    /// The sum of all numbers in "N more lines about it were suppressed".
    private func suppressed(_ daemon: TestDaemon) -> Int {
        daemon.log.matches(of: /(\d+) more lines about it were suppressed/)
            .reduce(0) { $0 + (Int($1.1) ?? 0) }
    }

    /// The numbers of lines with both texts in the intervals of 5 s. What was suppressed in an
    /// interval is logged at its end.
    private func countsByInterval(_ daemon: TestDaemon, _ text: String, _ other: String) -> [Int] {
        daemon.log.split(separator: "\n").reduce(into: [0]) { counts, line in
            if line.contains("were suppressed") {
                counts.append(0)
            } else if line.contains(text), line.contains(other) {
                counts[counts.count - 1] += 1
            }
        }
    }

    @Test func `an app that is refused 5000 times in a row is logged 50 times`() throws {
        var app = TestApp(Self.app, exec: "\(try compileProbe("flood.c")) 5000")
        app.lines = ["Type=application-kit"]
        let daemon = try TestDaemon(app)
        let (reading, writing) = try pipe()
        defer { close(reading) }
        let launched = try daemon.client().launch(Self.app, output: writing)
        close(writing)
        #expect(try readLine(reading) == "sent")
        // On a slow machine, the app may need several intervals.
        try daemon.await("the sums") { _ in
            lines(daemon, "is not kept") + suppressed(daemon) >= 5000 ? true : nil
        }
        let counts = countsByInterval(daemon, "is not kept", Self.app)
        #expect(counts.first == 50 && counts.allSatisfy { $0 <= 50 }, "\(counts)")
        try daemon.client().change(.kill, launched.instance)
    }

    @Test func `the log lines of one user's apps leave room for those of other users`() throws {
        try requireOrSkip(getuid() == 0, "only root can be several users")
        let probe = try compileProbe("flood.c")
        func apps(_ user: Int, _ count: Int) -> [TestApp] {
            (0..<count).map {
                program(
                    "org.example.user\(user).app\($0)", "\(probe) 1000",
                    ["Type=application-kit", "User=\(user)"])
            }
        }
        let all = apps(12_347, 16) + apps(12_348, 1)
        let daemon = try TestDaemon(all)
        let (reading, writing) = try pipe()
        defer { close(reading) }
        var instances: [UInt64] = []
        let began = ContinuousClock.now
        for app in all {
            instances.append(try daemon.client().launch(app.identifier, output: writing).instance)
            #expect(try readLine(reading) == "sent")
        }
        close(writing)
        try daemon.await("the sums") { _ in
            lines(daemon, "apps of user 12347 were suppressed") > 0
                && daemon.log.contains(/user12348\.app0: \d+ more lines/) ? true : nil
        }
        // An interval is 5 s. On a slow machine, the launches are in several of them.
        let intervals = Int((ContinuousClock.now - began) / .seconds(5)) + 1
        #expect(lines(daemon, "is not kept") <= 350 * intervals + 50)
        let counts = countsByInterval(daemon, "is not kept", "user12348")
        #expect(counts.contains(50) && counts.allSatisfy { $0 <= 50 }, "\(counts)")
        for instance in instances { try daemon.client().change(.kill, instance) }
    }

    @Test func `a client that brings an app to the front 3000 times is logged 500 times`() throws {
        let daemon = try TestDaemon(TestApp(Self.app, exec: try compileProbe("behave.c")))
        let client = try daemon.client()
        _ = try client.launch(Self.app, ["wait-forever"])
        let began = ContinuousClock.now
        for _ in 0..<3000 { _ = try client.launch(Self.app) }
        // In more than five intervals, none need have more than 500 of them.
        guard ContinuousClock.now - began < .seconds(20) else { return }
        try daemon.await("the sum") { _ in suppressed(daemon) > 0 ? true : nil }
        // An interval is 5 s, and the launches may cover only part of the first and the last one.
        let intervals = Int((ContinuousClock.now - began) / .seconds(5)) + 2
        #expect(lines(daemon, "launched \(Self.app)") <= 500 * intervals)
    }

    private func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw TestError("pipe: errno \(errno)") }
        return (ends[0], ends[1])
    }
}
