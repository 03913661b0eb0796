import CTestSupport
import DaemonTestSupport
import Glibc
import GreenroomControl
import GreenroomLinux
import TestSupport
import Testing

/// Watchers that come back go on where they were, even with the next supervisor.
@Suite struct `Resuming a watch` {
    private let app = "org.example.a"
    private let foreign = "org.example.foreign"
    private static let stranger: Int32 = 65_534

    private func daemon() throws -> TestDaemon {
        try TestDaemon(program(app, try compileProbe("behave.c")))
    }

    private func stranger(_ daemon: TestDaemon) throws -> TestClient {
        let descriptor = cts_connect_as(daemon.socketPath, Self.stranger, Self.stranger, -1)
        guard descriptor >= 0 else { throw TestError("connecting: errno \(-descriptor)") }
        return TestClient(owning: descriptor)
    }

    /// Launches the app, and waits for its end and for the event of that.
    private func exit(_ daemon: TestDaemon, _ watcher: EventWatcher) throws -> Control.Event {
        let launched = try daemon.client().launch(app, ["exit", "0"])
        return try watcher.next { $0.kind == .exited && $0.instance == launched.instance }
    }

    @Test func `a watcher first gets the events since a given one, then new events`() throws {
        let daemon = try daemon()
        let first = try daemon.watch()
        let known = try exit(daemon, first)
        _ = try exit(daemon, first)
        let second = try daemon.watch(after: known.sequence)
        let last = try exit(daemon, first)
        try second.next { $0.sequence == last.sequence }
        #expect(second.events == Array(first.events.drop { $0.sequence <= known.sequence }))
    }

    @Test func `a watcher goes on with the next supervisor and misses nothing`() throws {
        let daemon = try daemon()
        let before = try daemon.watch()
        let known = try exit(daemon, before)
        let running = try daemon.client().launch(app, ["wait-forever"])
        try before.next { $0.kind == .launched && $0.instance == running.instance }
        // The call has been answered, so no turn is open.
        _ = try daemon.client().list()
        try daemon.kill()
        kill(running.processId!, SIGKILL)
        try Processes.awaitEnd(of: running.processId!)
        try daemon.start()
        let after = try daemon.watch(after: known.sequence)
        try after.next { $0.kind == .exited && $0.instance == running.instance }
        let told = Array(before.events.drop { $0.sequence <= known.sequence })
        #expect(Array(after.events.prefix(told.count)) == told)
        #expect(!after.events.contains { $0.kind == .eventsLost })
        let numbers = after.events.map(\.sequence)
        #expect(numbers == Array(known.sequence + 1...known.sequence + UInt64(numbers.count)))
    }

    @Test func `a watcher is told that events that are no longer kept are lost`() throws {
        let daemon = try daemon()
        let watcher = try daemon.watch()
        let known = try exit(daemon, watcher)
        // The events take a quarter of a megabyte.
        var last = known
        while last.sequence < known.sequence + 2_000 { last = try exit(daemon, watcher) }
        let late = try daemon.watch(after: known.sequence)
        let gap = try late.next()
        #expect(gap.kind == .eventsLost)
        try late.next { $0.sequence == last.sequence }
        #expect(late.events.filter { $0.kind == .eventsLost }.count == 1)
        let kept = late.events.dropFirst().map(\.sequence)
        #expect(kept == Array(gap.sequence + 1...last.sequence))
        #expect(kept.count > 500)
    }

    @Test func `a watcher that gives an unknown number is told that events are lost`() throws {
        let daemon = try daemon()
        let latest = try daemon.watch().latest
        let watcher = try daemon.watch(after: latest + 1_000_000)
        #expect(try watcher.next().kind == .eventsLost)
        let earlier = try daemon.watch(after: 1)
        #expect(try earlier.next().kind == .eventsLost)
    }

    @Test func `a watcher that sees only its own apps goes on with its own numbers`() throws {
        try requireOrSkip(getuid() == 0, "only root can be two users")
        let daemon = try TestDaemon(
            program(app, try compileProbe("behave.c"), ["User=\(Self.stranger)"]),
            program(foreign, try compileProbe("behave.c")))
        let client = try stranger(daemon)
        guard case .watching(let latest) = try client.call(.watch()) else {
            throw TestError("no number to begin with")
        }
        let watcher = try daemon.watch()
        for app in [app, foreign, app, foreign] {
            let launched = try daemon.client().launch(app, ["exit", "0"])
            try watcher.next { $0.kind == .exited && $0.instance == launched.instance }
        }
        try daemon.restart()
        let next = try stranger(daemon)
        _ = try next.call(.watch(after: latest))
        var numbers: [UInt64] = []
        var ends = 0
        while ends < 2 {
            guard case .watched(let event?) = try next.reply(to: .watch()) else { break }
            #expect(event.app == app || event.kind == .eventsLost)
            numbers.append(event.sequence)
            if event.kind == .exited { ends += 1 }
        }
        #expect(numbers == Array(latest + 1...latest + UInt64(numbers.count)))
    }
}
