extension ControlError: CustomStringConvertible {
    /// What happened, and what to do about it, for people.
    public var description: String {
        switch self {
        case .noSuchApp(let app, let suggestion?):
            "no app \(app) is installed; did you mean \(suggestion)?"
        case .noSuchApp(let app, nil):
            "no app \(app) is installed; \"greenroomctl list\" shows all that are"
        case .notRunning(.app(let app)):
            "\(app) is not running; start it with \"greenroomctl launch \(app)\""
        case .notRunning(.instance(let instance)):
            "there is no instance \(instance); \"greenroomctl status\" shows all instances"
        case .noSuchLaunch(let launch):
            "no launch \(launch) is known; it was never made, or was forgotten"
        case .illegalTransition(let instance, let from, let to):
            "instance \(instance) is \(from.words) and cannot become \(to.words) from there"
        case .ineligible(let app, let reason?): "\(app) cannot be prewarmed: \(reason)"
        case .ineligible(let app, nil):
            "\(app) cannot be prewarmed; \"greenroomctl explain \(app)\" says why"
        case .refused(_, let reason): reason
        case .permissionDenied(let needed): "you may not do this; it requires \(needed)"
        case .spawnFailed(let stage, let errno, let reason):
            "the program could not be started: \(stage): \(reason) (errno \(errno))"
        case .backOff(let app, let retryAfterUSec, _, wasReclaimed: true):
            "the memory of \(app) was taken back recently, so it is not prewarmed yet; "
                + "try again in \(seconds(roundingUp: retryAfterUSec)) s"
        case .backOff(let app, let retryAfterUSec, let isCrashLooping, wasReclaimed: false):
            "\(app) \(isCrashLooping ? "keeps crashing" : "failed recently"); "
                + "try again in \(seconds(roundingUp: retryAfterUSec)) s"
        case .limitExceeded(let what, let limit):
            "the limit of \(limit) \(what) is reached; "
                + (Self.isOfMessage(what)
                    ? "send less at once, such as fewer or shorter arguments"
                    : "use fewer, or end some first")
        case .shuttingDown: "the daemon is shutting down; try again when it is back"
        }
    }
}

extension ControlError {
    /// Whether a single message exceeds the limit, so that ending something would not help.
    private static func isOfMessage(_ what: String) -> Bool {
        what.hasSuffix(" one message") || what.hasSuffix(" at once")
    }
}

/// Rounds up without overflow, because a message may have any number of microseconds.
private func seconds(roundingUp microseconds: Int64) -> Int64 {
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return rest > 0 ? seconds + 1 : seconds
}

extension Control.Word<Control.ExecutionState> {
    /// The word for humans.
    public var words: String { known?.words ?? rawValue }
}

extension Control.ExecutionState {
    /// The word for humans.
    public var words: String {
        switch self {
        case .notRunning: "not running"
        case .prewarming, .prewarmed, .launching, .inactive, .active, .background, .suspended,
            .terminating:
            rawValue
        }
    }
}
