internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// The times of one launch, as the app reports them, or of one return to the foreground, as the
/// daemon sees it. Each step counts once: what an app draws or shows for the first time later, for
/// example another scene, is not part of the launch.
struct LaunchTrace {
    private(set) var requestedAt: Instant
    /// A return to the foreground that is under way.
    var isReturning: Bool
    private(set) var steps: [(name: String, instant: Instant)] = []

    /// More steps than a launch with all its scenes has; the limit keeps an app from filling the
    /// daemon's memory.
    private static let stepLimit = 32

    init(requestedAt: Instant, isReturn: Bool = false) {
        self.requestedAt = requestedAt
        isReturning = isReturn
    }

    /// Returns false if the step does not count.
    @discardableResult
    mutating func add(_ name: String, at instant: Instant) -> Bool {
        guard steps.count < Self.stepLimit, !steps.contains(where: { $0.name == name }) else {
            return false
        }
        steps.append((name, instant))
        return true
    }

    /// Another request for the same launch: the earliest request began it.
    mutating func wasRequested(at instant: Instant) { requestedAt = min(requestedAt, instant) }

    /// Whether the app has reached the foreground: later steps belong to something else.
    var hasBeenActive: Bool { steps.contains { $0.name == "active" } }
}

extension SceneIdentifier {
    /// The scene of a session by its name on the channel and in the control interface.
    init?(session: String) {
        guard let number = UInt32(session), number > 0, "\(number)" == session else { return nil }
        self.init(number)
    }
}

extension AppEvent.Lifecycle {
    /// Nil for the steps of scenes.
    init?(_ step: LifecycleStep) {
        switch step {
        case .willEnterForeground: self = .willEnterForeground
        case .didBecomeActive: self = .didBecomeActive
        case .willResignActive: self = .willResignActive
        case .didEnterBackground: self = .didEnterBackground
        case .willTerminate: self = .willTerminate
        case .connect, .connectInBackground, .disconnect: return nil
        }
    }
}

extension AppEvent.SceneTransition {
    /// Nil for the steps of the whole app, and for the connection.
    init?(_ step: LifecycleStep) {
        switch step {
        case .willEnterForeground: self = .willEnterForeground
        case .didBecomeActive: self = .didBecomeActive
        case .willResignActive: self = .willResignActive
        case .didEnterBackground: self = .didEnterBackground
        case .disconnect: self = .didDisconnect
        case .connect, .connectInBackground, .willTerminate: return nil
        }
    }
}
