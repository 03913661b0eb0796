import DaemonTestSupport
import GreenroomControl
import TestSupport
import Testing

/// Paused instances: made at start and on demand, replaced when used up.
@Suite struct PoolTests {
    @Test func `instances are prewarmed at start, and again after a launch`() throws {
        let program = try compileProbe("behave.c")
        let daemon = try TestDaemon(TestApp("org.example.a", exec: program, prewarm: 2))
        let paused = try daemon.awaitPaused("org.example.a", count: 2)
        let client = try daemon.client()
        let launched = try client.launch("org.example.a", ["exit", "3"])
        #expect(launched.kind == .prewarmed)
        #expect(paused.map(\.instance).contains(launched.instance))
        #expect(try client.wait(launched.instance).status == 3)
        try daemon.awaitPaused("org.example.a", count: 2)
    }
}
