/// How far the launch of an instance has got.
public enum LaunchProgress: Hashable, Sendable {
    /// The instance was told nothing: it is prewarmed, or its process was ordered for a launch.
    case none
    /// GO was sent or is about to be sent. STARTED has not arrived yet.
    case toldToGo
    /// The instance has run for its launch since this time: it was spawned for the launch, or left
    /// its pause.
    case running(since: Instant)
}

/// A finer state of an instance. What an event means for an instance depends on its phase;
/// `Transitions.swift` has the table.
public enum Phase: CaseIterable, Hashable, Sendable {
    /// `prewarming`: the instance is on its way to the pause point. `paused`: it waits there.
    case prewarming
    case paused
    /// `ordered`: a process was ordered for a launch. `toldToGo`: a paused instance was told to go.
    /// In both phases the instance is not known to run yet.
    case ordered
    case toldToGo
    /// The instance runs, but its ready condition is not met.
    case starting
    /// The instance is ready and was told its first step. Only apps that acknowledge their states
    /// have this phase.
    case arriving
    case inactive
    case active
    case background
    /// `freezing`: the freezer was told and has not answered. `frozen`: the instance is frozen, as
    /// far as is known.
    case freezing
    case frozen
    /// `ending`: the instance is being ended. `emptying`: the main process has ended, and the rest
    /// has not.
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

    /// When the instance began to run for its launch.
    public var launchedAt: Instant? {
        if case .running(let since) = progress { since } else { nil }
    }

    /// The instance was asked to launch and is not known to run yet.
    var isUndecided: Bool { phase == .ordered || phase == .toldToGo }
}
