internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// The times of one launch, or return to the foreground, as the app reports them.
struct LaunchTrace {
    let requestedAt: Instant
    private(set) var steps: [(name: String, instant: Instant)] = []
    private var complaints = 0

    /// More than a launch with all its scenes has; an app may not fill our memory with them.
    private static let stepLimit = 32
    private static let complaintLimit = 16

    init(requestedAt: Instant) { self.requestedAt = requestedAt }

    /// False if there are too many.
    @discardableResult
    mutating func add(_ name: String, at instant: Instant) -> Bool {
        guard steps.count < Self.stepLimit else { return false }
        steps.append((name, instant))
        return true
    }

    mutating func mayComplain() -> Bool {
        complaints += 1
        return complaints <= Self.complaintLimit
    }
}

extension SceneIdentifier {
    /// A session's name on the channel and in the control interface.
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
