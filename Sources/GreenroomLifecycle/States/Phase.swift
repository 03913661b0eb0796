// How far an instance has got is two values: its course, and its end. Its state, which clients see,
// and its phase, by which the core decides, follow from them.
//
//   end \ course  prewarming  paused     ordered, told to go  running
//   none, left    prewarming  prewarmed  launching            launching, inactive, active, background,
//                                                             suspended
//   ordered, rest terminating
//   deserted      as `ordered` if the end was ordered, as `none` if not
//   over          notRunning

/// How far an instance has got, whatever ends it.
public enum Course: Hashable, Sendable {
    /// The instance is on its way to the pause point.
    case prewarming
    case paused
    /// A process was ordered for a launch, and is not known to run yet.
    case ordered
    /// GO was sent or is about to be sent. STARTED has not arrived yet.
    case toldToGo
    /// The instance has run for its launch since this time: it was spawned for the launch, or left
    /// its pause.
    case running(Situation, since: Instant)

    /// Where a running instance is. Its user sees `starting` and `arriving` as one state, and
    /// `freezing` and `frozen` as another.
    public enum Situation: Hashable, Sendable {
        /// The ready condition is not met.
        case starting
        /// The instance is ready and was told its first step. Only apps that acknowledge their
        /// states are ever in this situation.
        case arriving
        case inactive
        case active
        case background
        /// The freezer was told and has not answered. The record's deadline is that of the answer.
        case freezing
        /// The instance is frozen, as far as is known.
        case frozen
    }

    var state: ExecutionState {
        switch self {
        case .prewarming: .prewarming
        case .paused: .prewarmed
        case .ordered, .toldToGo, .running(.starting, _), .running(.arriving, _): .launching
        case .running(.inactive, _): .inactive
        case .running(.active, _): .active
        case .running(.background, _): .background
        case .running(.freezing, _), .running(.frozen, _): .suspended
        }
    }

    /// When the instance began to run for its launch.
    var launchedAt: Instant? {
        if case .running(_, let since) = self { since } else { nil }
    }

    /// The course that leads to a state which is not an end. Nothing but a launch that has begun to
    /// run leads beyond `launching`.
    func entering(_ state: ExecutionState) -> Course {
        let situation: Situation
        switch state {
        case .prewarmed: return .paused
        case .launching: return .toldToGo
        case .inactive: situation = .inactive
        case .active: situation = .active
        case .background: situation = .background
        case .suspended: situation = .freezing
        case .prewarming, .terminating, .notRunning:
            preconditionFailure("no course leads to \(state)")
        }
        return running(situation)
    }

    /// The same run in another situation.
    func running(_ situation: Situation) -> Course {
        guard let launchedAt else { preconditionFailure("\(situation) without having run") }
        return .running(situation, since: launchedAt)
    }
}

/// How far the end of an instance has got.
public enum InstanceEnd: Hashable, Sendable {
    /// The instance is neither ended nor being ended.
    case none
    /// The end is ordered, and the main process has not ended.
    case ordered(ExitReason)
    /// No process is left, but nobody has said yet how the main process ended. The reason is that
    /// of the order to end, if there was one.
    case deserted(ordered: ExitReason?)
    /// The main process has ended by itself. The other processes keep running.
    case left(Exit)
    /// The main process has ended, and the other processes are being ended.
    case rest(Exit)
    /// No process is left.
    case over(Exit)

    /// How and when the main process ended.
    public struct Exit: Hashable, Sendable {
        /// Nil if the program was never executed.
        public var status: ExitStatus?
        public var reason: ExitReason
        public var at: Instant
        /// The state in which the instance was when its end began.
        public var from: ExecutionState

        public init(
            status: ExitStatus?, reason: ExitReason, at: Instant, from: ExecutionState
        ) {
            self.status = status
            self.reason = reason
            self.at = at
            self.from = from
        }
    }

    var exit: Exit? {
        switch self {
        case .none, .ordered, .deserted: nil
        case .left(let exit), .rest(let exit), .over(let exit): exit
        }
    }

    func state(on course: Course) -> ExecutionState {
        switch self {
        case .none, .left, .deserted(ordered: nil): course.state
        case .ordered, .rest, .deserted(ordered: _?): .terminating
        case .over: .notRunning
        }
    }
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
    /// The situations of a running instance (`Course.Situation`).
    case starting
    case arriving
    case inactive
    case active
    case background
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
        switch end {
        case .ordered, .deserted(ordered: _?): return .ending
        case .rest: return .emptying
        case .over: return .ended
        case .none, .left, .deserted(ordered: nil): break
        }
        switch course {
        case .prewarming: return .prewarming
        case .paused: return .paused
        case .ordered: return .ordered
        case .toldToGo: return .toldToGo
        case .running(.starting, _): return .starting
        case .running(.arriving, _): return .arriving
        case .running(.inactive, _): return .inactive
        case .running(.active, _): return .active
        case .running(.background, _): return .background
        case .running(.freezing, _): return .freezing
        case .running(.frozen, _): return .frozen
        }
    }

    public var state: ExecutionState { end.state(on: course) }

    /// When the instance began to run for its launch.
    public var launchedAt: Instant? { course.launchedAt }

    /// Why the instance is being ended, or has ended.
    public var endReason: ExitReason? {
        switch end {
        case .none: nil
        case .ordered(let reason): reason
        case .deserted(let reason): reason
        case .left(let exit), .rest(let exit), .over(let exit): exit.reason
        }
    }

    /// Set once the main process has ended.
    public var exitStatus: ExitStatus? { end.exit?.status }
    public var endedAt: Instant? { end.exit?.at }

    /// The state in which the instance was when its end began; nil as long as there is no end.
    public var lastState: ExecutionState? {
        switch end {
        case .none, .deserted(ordered: nil): nil
        case .ordered, .deserted(ordered: _?): course.state
        case .left(let exit), .rest(let exit), .over(let exit): exit.from
        }
    }

    /// False while processes of the instance may exist.
    public var isEmpty: Bool {
        switch end {
        case .none, .ordered, .left, .rest: false
        case .deserted, .over: true
        }
    }

    /// The end once it is ordered. If the main process has ended already, the reason for its end
    /// stays.
    func orderedEnd(_ reason: ExitReason) -> InstanceEnd {
        switch end {
        case .none, .ordered: return .ordered(reason)
        case .deserted: return .deserted(ordered: reason)
        case .left(var exit), .rest(var exit), .over(var exit):
            exit.from = state
            return .rest(exit)
        }
    }

    /// The instance was asked to launch and is not known to run yet.
    var isUndecided: Bool { phase == .ordered || phase == .toldToGo }
}
