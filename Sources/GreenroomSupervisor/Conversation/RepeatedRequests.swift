internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// Which requests of an app a supervisor that was killed had read and not answered. A new one asks every
/// app to ask again (`AppEvent.askAgain`); what the dead one had not read comes before that, and in the
/// order of its cookies, so the first of those tells what is lost from what is under way.
struct RepeatedRequests {
    enum Standing: Equatable {
        /// Not seen before, or harmless to do twice.
        case new
        /// Read from the channel by this supervisor: it will be answered, or was.
        case underWay
        /// Perhaps done by the former one, and not to be done twice.
        case lost
    }

    /// The first request that came by itself, and those that were repeated, which are few.
    private var first: UInt64?
    private var again: Set<UInt64> = []
    /// As many as an app may have open.
    private static let limit = 256

    mutating func standing(
        of cookie: UInt64, canRepeat: Bool
    ) -> Standing {
        let plain = cookie & ~AppReport.againBit
        guard plain != cookie else {
            first = min(first ?? .max, plain)
            return .new
        }
        if let first, plain >= first { return .underWay }
        guard again.count < Self.limit else { return .lost }
        guard again.insert(plain).inserted else { return .underWay }
        return canRepeat ? .new : .lost
    }

    /// Whether it was repeated.
    func contains(_ cookie: UInt64) -> Bool { again.contains(cookie) }
}

extension AppReport.SceneRequest {
    /// Done twice it is done once.
    var canRepeat: Bool {
        switch self {
        case .activate(session: nil, _): false
        case .activate, .refresh, .destroy: true
        }
    }
}
