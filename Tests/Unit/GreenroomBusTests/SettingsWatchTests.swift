import Testing

@testable import GreenroomBus
@testable import GreenroomSession

/// When a source of settings that was lost is begun anew.
@Suite struct SettingsWatchTests {
    private struct Failure: Error {}

    private final class Connection: SettingsConnection {
        var ends = false
        let descriptor: CInt = -1
        let hasMore = false
        let appearance: Appearance?

        init(_ appearance: Appearance? = nil) { self.appearance = appearance }

        func hear() throws -> DisplaySettings.Change {
            if ends { throw Failure() }
            return .none
        }
    }

    @Test func `one that was there for long is begun anew soon`() {
        let connection = Connection()
        var failureCount = 0
        let begin: () throws -> any SettingsConnection = {
            failureCount += 1
            if failureCount <= 3 { throw Failure() }
            return connection
        }
        var watch = SettingsWatch([(.display, begin)])
        var now: UInt64 = 0
        while let beginAt = watch.beginAt {
            now = beginAt
            watch.hear { now }
        }
        connection.ends = true
        now += SettingsWatch.trial + 1
        watch.hear { now }
        #expect(watch.takeLost() == [.display])
        #expect(watch.beginAt == now + SettingsWatch.shortestPause)
    }

    /// A program that is held follows other settings while it runs, but not those.
    @Test(arguments: [96.0, 192])
    func `a display that has changed its scale while it was lost is restyled`(scale: Double) {
        let first = Connection(Appearance(scales: [96]))
        var connections = [first, Connection(Appearance(scales: [scale]))]
        var watch = SettingsWatch([(.display, { connections.removeFirst() })])
        watch.hear { 0 }
        #expect(watch.takeChange() == .changed)
        first.ends = true
        watch.hear { 0 }
        #expect(watch.takeChange() == .none)
        watch.hear { SettingsWatch.shortestPause }
        #expect(watch.takeChange() == (scale == 96 ? .changed : .restyled))
    }

    @Test func `the pause begins when a display has failed to answer in time`() {
        let late: UInt64 = 2_000_000_000
        var now: UInt64 = 0
        let begin: () throws -> any SettingsConnection = {
            now += late
            throw Failure()
        }
        var watch = SettingsWatch([(.display, begin)])
        watch.hear { now }
        #expect(watch.beginAt == late + SettingsWatch.shortestPause)
    }
}
