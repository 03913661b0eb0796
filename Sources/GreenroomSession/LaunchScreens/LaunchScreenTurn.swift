// Which launch screen is on the display, and for how long. There is at most one, that of the latest
// launch.
//
//   any     -> waiting    a launch of an app with a launch screen is reported, and no window has
//                         appeared since the launch was requested
//   any     -> none       such a launch is reported, but a window has appeared since its request
//   waiting -> shown      no window has appeared for `delay`
//   waiting,
//   shown   -> none       a window has appeared, the launch is over, its daemon has gone, or
//                         `bound` has passed
//   shown   -> none       the screen cannot be shown
//
// Any new window ends the turn: a compositor does not say whose window it is (the app may have
// handed its launch to another process), and a screen must not cover what the user is waiting for.

/// A launch whose app has a launch screen.
struct ScreenedLaunch: Hashable, Sendable {
    /// Which of the daemons has launched it.
    var daemon: Int
    var instance: UInt64
    var file: String
    /// In nanoseconds (CLOCK_MONOTONIC).
    var requestedAt: UInt64
}

struct LaunchScreenTurn: Hashable, Sendable {
    /// In nanoseconds. A window that appears within this time seems immediate, and a screen before
    /// it would only flash.
    static let delay: UInt64 = 100_000_000
    /// In nanoseconds, from the request. The launch screen of a program that never opens a window
    /// must not cover other windows for longer.
    static let bound: UInt64 = 10_000_000_000

    enum State: Hashable, Sendable {
        case none
        case waiting(ScreenedLaunch)
        case shown(ScreenedLaunch)
    }

    enum Event: Hashable, Sendable {
        case requested(ScreenedLaunch)
        case windowAppeared
        case launchEnded(daemon: Int, instance: UInt64)
        case daemonLost(Int)
        case timePassed
    }

    enum Effect: Hashable, Sendable {
        case show(ScreenedLaunch)
        case remove
    }

    private(set) var state = State.none
    /// The time of the latest window: one that appears at once may come before the report of its
    /// launch.
    private var lastWindowAt: UInt64 = 0

    /// When `timePassed` must be handled next.
    var deadline: UInt64? {
        switch state {
        case .none: nil
        case .waiting(let launch): launch.requestedAt + Self.delay
        case .shown(let launch): launch.requestedAt + Self.bound
        }
    }

    private var launch: ScreenedLaunch? {
        switch state {
        case .none: nil
        case .waiting(let launch), .shown(let launch): launch
        }
    }

    mutating func handle(_ event: Event, at now: UInt64) -> [Effect] {
        switch event {
        case .requested(let launch):
            let effects = end()
            if launch.requestedAt > lastWindowAt { state = .waiting(launch) }
            return effects
        case .windowAppeared:
            lastWindowAt = now
            return end()
        case .launchEnded(let daemon, let instance):
            return launch?.daemon == daemon && launch?.instance == instance ? end() : []
        case .daemonLost(let daemon):
            return launch?.daemon == daemon ? end() : []
        case .timePassed:
            return pass(now)
        }
    }

    private mutating func pass(_ now: UInt64) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        switch state {
        // If this process itself was delayed for so long that the bound has passed, it shows
        // nothing.
        case .waiting(let launch) where launch.requestedAt + Self.bound > now:
            state = .shown(launch)
            return [.show(launch)]
        case .none, .waiting, .shown: return end()
        }
    }

    /// Called when the screen cannot be shown.
    mutating func giveUp() { state = .none }

    private mutating func end() -> [Effect] {
        defer { state = .none }
        if case .shown = state { return [.remove] }
        return []
    }
}
