internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// Tells which requests of an app a killed supervisor had read and not answered. A new supervisor
/// asks every app to repeat its requests (`AppEvent.askAgain`). Requests that the killed supervisor
/// had not read arrive before the repeated ones, in the order of their cookies. So a repeated
/// request whose cookie is below the first of these unread ones is lost, and any other is under
/// way.
struct RepeatedRequests {
    enum Progress: Equatable {
        /// Not seen before, or harmless to do twice.
        case new
        /// Read from the channel by this supervisor, which has answered it or will.
        case underWay
        /// The former supervisor may have done it, and it must not be done twice.
        case lost
    }

    /// The lowest cookie of a request that was not repeated, and the cookies of repeated ones,
    /// which are few.
    private var first: UInt64?
    private var again: Set<UInt64> = []

    mutating func progress(
        of cookie: UInt64, canRepeat: Bool
    ) -> Progress {
        let plain = cookie & ~AppReport.againBit
        guard plain != cookie else {
            first = min(first ?? .max, plain)
            return .new
        }
        if let first, plain >= first { return .underWay }
        guard again.count < AppLimits.requests else { return .lost }
        guard again.insert(plain).inserted else { return .underWay }
        return canRepeat ? .new : .lost
    }

    /// Whether the app has repeated the request with this cookie.
    func contains(_ cookie: UInt64) -> Bool { again.contains(cookie) }
}

extension AppReport.SceneRequest {
    /// True if carrying out the request twice has the same effect as doing so once.
    var canRepeat: Bool {
        switch self {
        case .activate(session: nil, _): false
        case .activate, .refresh, .destroy: true
        }
    }
}
