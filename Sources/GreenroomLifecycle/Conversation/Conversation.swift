/// Where a scene stands, as its app sees it (UIScene.ActivationState; the raw values are UIKit's
/// and are kept in the runtime state).
public enum ActivationState: Int8, CaseIterable, Sendable {
    /// Not connected, or connected and not yet shown.
    case unattached = -1
    case foregroundActive = 0
    case foregroundInactive = 1
    case background = 2
}

/// A scene session of an app. Counts up within the app and outlives its processes; 0 stands for
/// the whole of an app without scenes.
public struct SceneIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
    public static let application = SceneIdentifier(0)
    public var description: String { String(rawValue) }
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// What an app is told to do next with one of its scenes. It acknowledges each when its delegate
/// has returned. The raw values are kept in the runtime state: never renumber.
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
    /// Asked to end; SIGTERM follows.
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
    /// Counts up within the instance: a step that is told again keeps its cookie, so that the app
    /// acknowledges it again without doing it twice.
    public var cookie: UInt64
    /// Half the time to begin with; the whole once it was warned of.
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

/// What is known of an app that acknowledges its states, from the end of its launch on. Its scenes
/// are in order of use, the latest last.
public struct Conversation: Hashable, Sendable {
    public var scenes: [SceneRecord]
    public var pending: PendingStep?
    /// Of the last step that was told.
    public var lastCookie: UInt64

    public init(scenes: [SceneRecord], pending: PendingStep? = nil, lastCookie: UInt64 = 0) {
        self.scenes = scenes
        self.pending = pending
        self.lastCookie = lastCookie
    }

    /// Scenes of one instance: more than anybody shows side by side, and they fit its record.
    public static let sceneLimit = 8
}

// The legal ways of a scene:
//
//   unattached          → foregroundInactive (user), background (system)
//   foregroundInactive  → foregroundActive, background
//   foregroundActive    → foregroundInactive
//   background          → foregroundInactive, unattached (disconnected)

extension SceneRecord {
    /// The next step towards its goal; nil where it is.
    var nextStep: LifecycleStep? {
        switch (goal, isConnected, activation) {
        case (.disconnected, false, _): nil
        case (.foreground, false, _): .connect
        case (.background, false, _): .connectInBackground
        case (.foreground, true, .unattached), (.foreground, true, .background):
            .willEnterForeground
        case (.foreground, true, .foregroundInactive): .didBecomeActive
        case (.foreground, true, .foregroundActive): nil
        case (.background, true, .foregroundActive), (.disconnected, true, .foregroundActive):
            .willResignActive
        case (.background, true, .foregroundInactive), (.background, true, .unattached),
            (.disconnected, true, .foregroundInactive):
            .didEnterBackground
        case (.background, true, .background): nil
        case (.disconnected, true, .background), (.disconnected, true, .unattached): .disconnect
        }
    }

    /// The app has done it.
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
    /// What comes next: who leaves the front before who enters it.
    var next: (scene: SceneIdentifier, step: LifecycleStep)? {
        let leaving = scenes.first { $0.goal != .foreground && $0.nextStep != nil }
        guard let scene = leaving ?? scenes.first(where: { $0.nextStep != nil }),
            let step = scene.nextStep
        else { return nil }
        return (scene.scene, step)
    }

    /// Some scene is in the foreground, or on its way there.
    var wantsForeground: Bool { scenes.contains { $0.goal == .foreground } }

    /// The app's state is the aggregate of its scenes' (UIScene): active if any is, else inactive if
    /// any is, else background. Nil while none is attached yet.
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
