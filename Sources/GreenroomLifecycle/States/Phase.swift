/// How far the launch of an instance is.
public enum LaunchProgress: Hashable, Sendable {
    /// It was not told anything: it is prewarmed, or its process was ordered for a launch.
    case none
    /// GO was sent or is about to be; STARTED has not been seen.
    case toldToGo
    /// It has run for its launch since then: it was spawned for it, or passed its pause.
    case running(since: Instant)
}

/// What an instance is at, finer than its state. What an event means for an instance depends on its phase; the table
/// is in `Transitions.swift`.
public enum Phase: CaseIterable, Hashable, Sendable {
    /// On its way to the pause, and there.
    case prewarming
    case paused
    /// Launching: its process was ordered, it was told to go. Neither is known to run yet.
    case ordered
    case toldToGo
    /// It runs, and its ready condition is not met.
    case starting
    /// Ready, and told where it shall be: only apps that acknowledge their states.
    case arriving
    case inactive
    case active
    case background
    /// The freezer was told, and has not answered; frozen, as far as is known.
    case freezing
    case frozen
    /// Being ended; its main process has ended, and others may be left.
    case ending
    case emptying
    case ended
}

extension InstanceRecord {
    public var phase: Phase {
        switch state {
        case .notRunning: .ended
        case .prewarming: .prewarming
        case .prewarmed: .paused
        case .launching:
            switch progress {
            case .none: .ordered
            case .toldToGo: .toldToGo
            case .running: conversation == nil ? .starting : .arriving
            }
        case .inactive: .inactive
        case .active: .active
        case .background: .background
        case .suspended: deadline == nil ? .frozen : .freezing
        case .terminating: exitStatus == nil ? .ending : .emptying
        }
    }

    /// When it began to run for its launch.
    public var launchedAt: Instant? {
        if case .running(let since) = progress { since } else { nil }
    }

    /// It was asked to launch, and is not known to run yet.
    var isUndecided: Bool { phase == .ordered || phase == .toldToGo }
}
