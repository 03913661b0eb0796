import GreenroomLinux
import TestSupport
import Testing

@testable import GreenroomSession

/// When a launch screen is shown, and what ends it.
@Suite struct LaunchScreenTurnTests {
    private static let second: UInt64 = 1_000_000_000
    private static let start = 100 * second

    private static func launch(_ instance: UInt64, at time: UInt64 = start) -> ScreenedLaunch {
        ScreenedLaunch(daemon: 0, instance: instance, file: "\(instance)", requestedAt: time)
    }

    /// A turn with the screen of instance 1 on the display.
    private static func shown() -> LaunchScreenTurn {
        var turn = LaunchScreenTurn()
        #expect(turn.handle(.requested(launch(1)), at: start) == [])
        let time = start + LaunchScreenTurn.delay
        #expect(turn.handle(.timePassed, at: time - 1) == [])
        #expect(turn.handle(.timePassed, at: time) == [.show(launch(1))])
        return turn
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `a request of any time is at most a minute ago`(timestamp: Int64) {
        let before = MonotonicClock.nanoseconds
        let time = LaunchEvents.monotonic(timestamp)
        #expect(time <= MonotonicClock.nanoseconds)
        #expect(time + 60 * Self.second >= before)
    }

    @Test func `a screen is shown when no window has appeared for the delay`() {
        #expect(Self.shown().deadline == Self.start + LaunchScreenTurn.bound)
    }

    @Test func `nothing is shown for a window that appears within the delay`() {
        var turn = LaunchScreenTurn()
        _ = turn.handle(.requested(Self.launch(1)), at: Self.start)
        #expect(turn.handle(.windowAppeared, at: Self.start + 1) == [])
        #expect(turn.deadline == nil)
        #expect(turn.handle(.timePassed, at: Self.start + Self.second) == [])
    }

    @Test func `nothing is shown for a window that was seen before its request was told`() {
        var turn = LaunchScreenTurn()
        _ = turn.handle(.windowAppeared, at: Self.start + 2)
        _ = turn.handle(.requested(Self.launch(1, at: Self.start)), at: Self.start + 3)
        #expect(turn.deadline == nil)
        _ = turn.handle(.requested(Self.launch(2, at: Self.start + 3)), at: Self.start + 4)
        #expect(turn.deadline != nil)
    }

    @Test(
        arguments: [
            .windowAppeared, .launchEnded(daemon: 0, instance: 1), .daemonLost(0),
        ] as [LaunchScreenTurn.Event])
    func `a screen is removed once`(event: LaunchScreenTurn.Event) {
        var turn = Self.shown()
        #expect(turn.handle(event, at: Self.start + Self.second) == [.remove])
        #expect(turn.handle(event, at: Self.start + Self.second) == [])
        #expect(turn.deadline == nil)
    }

    @Test(
        arguments: [
            .launchEnded(daemon: 0, instance: 2), .launchEnded(daemon: 1, instance: 1),
            .daemonLost(1),
        ] as [LaunchScreenTurn.Event])
    func `what concerns another launch leaves the screen`(event: LaunchScreenTurn.Event) {
        var turn = Self.shown()
        #expect(turn.handle(event, at: Self.start + Self.second) == [])
        #expect(turn.deadline != nil)
    }

    @Test func `a screen is removed at the bound, and not shown after it`() {
        var turn = Self.shown()
        let end = Self.start + LaunchScreenTurn.bound
        #expect(turn.handle(.timePassed, at: end - 1) == [])
        #expect(turn.handle(.timePassed, at: end) == [.remove])
        _ = turn.handle(.requested(Self.launch(2)), at: end)
        #expect(turn.handle(.timePassed, at: end) == [])
        #expect(turn.deadline == nil)
    }

    @Test func `the latest launch has the display`() {
        var turn = Self.shown()
        let next = Self.launch(2, at: Self.start + Self.second)
        #expect(turn.handle(.requested(next), at: next.requestedAt) == [.remove])
        #expect(turn.handle(.launchEnded(daemon: 0, instance: 1), at: next.requestedAt) == [])
        #expect(
            turn.handle(.timePassed, at: next.requestedAt + LaunchScreenTurn.delay)
                == [.show(next)])
    }
}
