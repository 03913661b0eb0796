/// The state of a scene as its app sees it (UIScene.ActivationState). The raw values are UIKit's,
/// and are kept in the runtime state.
public enum ActivationState: Int8, CaseIterable, Sendable {
    /// Not connected, or connected and not yet shown.
    case unattached = -1
    case foregroundActive = 0
    case foregroundInactive = 1
    case background = 2
}

/// A scene session of an app. The numbers count up within the app. A session outlives the app's
/// processes. For an app without scenes, 0 stands for the app as a whole.
public struct SceneIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public static let application = SceneIdentifier(0)
    public var description: String { String(rawValue) }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// What an app is told to do next with one of its scenes. The app acknowledges each step when its
/// delegate has returned. The raw values are kept in the runtime state: never renumber.
public enum LifecycleStep: UInt8, CaseIterable, Sendable {
    /// `scene(_:willConnectTo:options:)`, on the way to the foreground.
    case connect = 1
    /// The same for a launch in the background.
    case connectInBackground = 2
    case willEnterForeground = 3
    case didBecomeActive = 4
    case willResignActive = 5
    case didEnterBackground = 6
    case disconnect = 7
    /// The app is asked to end. SIGTERM follows only if it acknowledges that and then does not
    /// exit.
    case willTerminate = 8
}

/// Where the daemon wants a scene to be.
public enum SceneGoal: UInt8, CaseIterable, Sendable {
    case foreground = 0
    case background = 1
    case disconnected = 2
}

/// One connected, or connecting, scene of an instance.
public struct SceneRecord: Hashable, Sendable {
    public var scene: SceneIdentifier
    public var activation: ActivationState
    public var isConnected: Bool
    public var goal: SceneGoal

    public init(
        scene: SceneIdentifier, activation: ActivationState = .unattached,
        isConnected: Bool = false, goal: SceneGoal
    ) {
        self.scene = scene
        self.activation = activation
        self.isConnected = isConnected
        self.goal = goal
    }
}

/// A step that the app was told and has not acknowledged.
public struct PendingStep: Hashable, Sendable {
    public var step: LifecycleStep
    public var scene: SceneIdentifier
    /// Counts up within the instance. A repeated step keeps its cookie, so that the app
    /// acknowledges the step again without doing it twice.
    public var cookie: UInt64
    /// The end of the first half of the time; once `isWarned` is set, the end of all of it.
    public var deadline: Instant
    public var isWarned: Bool

    public init(
        step: LifecycleStep, scene: SceneIdentifier, cookie: UInt64, deadline: Instant,
        isWarned: Bool = false
    ) {
        self.step = step
        self.scene = scene
        self.cookie = cookie
        self.deadline = deadline
        self.isWarned = isWarned
    }
}

/// The state of an app that acknowledges its states, kept from the end of its launch on. The scenes
/// are in order of use, the latest last.
public struct Conversation: Hashable, Sendable {
    public var scenes: [SceneRecord]
    public var pending: PendingStep?
    /// The cookie of the last step that was told.
    public var lastCookie: UInt64

    public init(scenes: [SceneRecord], pending: PendingStep? = nil, lastCookie: UInt64 = 0) {
        self.scenes = scenes
        self.pending = pending
        self.lastCookie = lastCookie
    }

    /// An instance has at most this many scenes. Nobody shows more side by side, and this many fit
    /// into the instance's record.
    public static let sceneLimit = 8
}

extension InstanceRecord {
    /// The conversation of an app that acknowledges its states. Asking for that of any other
    /// instance is a bug of the core, and traps with the identifier.
    var dialogue: Conversation {
        get {
            guard let conversation else {
                preconditionFailure("instance \(instance) acknowledges nothing")
            }
            return conversation
        }
        _modify {
            precondition(conversation != nil, "instance \(instance) acknowledges nothing")
            yield &conversation!
        }
    }
}

// The legal changes of a scene's state:
//
//   unattached          → foregroundInactive (user), background (system)
//   foregroundInactive  → foregroundActive, background
//   foregroundActive    → foregroundInactive
//   background          → foregroundInactive, unattached (disconnected)

extension SceneRecord {
    /// The next step towards the scene's goal; nil if the scene has reached it. During an
    /// interruption of the app, scenes in front are inactive.
    func nextStep(isInterrupted: Bool) -> LifecycleStep? {
        switch (goal, isConnected, activation) {
        case (.disconnected, false, _): nil
        case (.foreground, false, _): .connect
        case (.background, false, _): .connectInBackground
        case (.foreground, true, .unattached), (.foreground, true, .background):
            .willEnterForeground
        case (.foreground, true, .foregroundInactive): isInterrupted ? nil : .didBecomeActive
        case (.foreground, true, .foregroundActive): isInterrupted ? .willResignActive : nil
        case (.background, true, .foregroundActive), (.disconnected, true, .foregroundActive):
            .willResignActive
        case (.background, true, .foregroundInactive), (.background, true, .unattached),
            (.disconnected, true, .foregroundInactive):
            .didEnterBackground
        case (.background, true, .background): nil
        case (.disconnected, true, .background), (.disconnected, true, .unattached): .disconnect
        }
    }

    /// Changes the scene as the app does when it has done `step`.
    mutating func apply(_ step: LifecycleStep) {
        switch step {
        case .connect: isConnected = true
        case .connectInBackground:
            isConnected = true
            activation = .background
        case .willEnterForeground, .willResignActive: activation = .foregroundInactive
        case .didBecomeActive: activation = .foregroundActive
        case .didEnterBackground: activation = .background
        case .disconnect:
            isConnected = false
            activation = .unattached
        case .willTerminate: break
        }
    }
}

extension Conversation {
    /// The next step. A scene that leaves the front comes before one that enters it.
    func next(isInterrupted: Bool) -> (scene: SceneIdentifier, step: LifecycleStep)? {
        let nextSteps = scenes.compactMap { scene in
            scene.nextStep(isInterrupted: isInterrupted).map { (scene, $0) }
        }
        let leaving = nextSteps.first { $0.0.goal != .foreground }
        return (leaving ?? nextSteps.first).map { ($0.0.scene, $0.1) }
    }

    /// Whether the scene used last is coming to the foreground and has not been told
    /// willEnterForeground.
    var awaitsReturn: Bool {
        guard let last = scenes.last(where: { $0.goal != .disconnected }), last.goal == .foreground
        else { return false }
        let isTold = pending?.scene == last.scene && pending?.step == .willEnterForeground
        switch last.activation {
        // A scene that is leaving the foreground passes through the background.
        case .foregroundInactive:
            return pending?.scene == last.scene && pending?.step == .didEnterBackground
        case .background, .unattached: return last.isConnected && !isTold
        case .foregroundActive: return false
        }
    }

    /// Whether a scene is in the foreground or on its way there.
    var wantsForeground: Bool { scenes.contains { $0.goal == .foreground } }

    /// The app's state follows from its scenes (UIScene): active if any scene is, else inactive if
    /// any is, else background. Nil if a scene is on its way and none is attached yet.
    public var aggregate: ExecutionState? {
        if scenes.contains(where: { $0.activation == .foregroundActive }) { return .active }
        if scenes.contains(where: { $0.activation == .foregroundInactive }) { return .inactive }
        let isAttaching = scenes.contains {
            $0.activation == .unattached && $0.goal != .disconnected
        }
        let isAttached = scenes.contains { $0.activation == .background }
        return isAttaching && !isAttached ? nil : .background
    }
}
