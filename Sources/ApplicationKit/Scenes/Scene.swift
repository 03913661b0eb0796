internal import GreenroomAppChannel

/// One instance of the app's interface; UIKit's `UIScene`.
@MainActor public final class Scene: Hashable {
    public let session: SceneSession
    public private(set) weak var application: Application?
    /// The scene keeps it.
    public internal(set) var delegate: (any SceneDelegate)?
    public internal(set) var activationState = ActivationState.unattached
    /// What a switcher shows.
    public var title = ""

    /// Raw values are UIKit's.
    public enum ActivationState: Int, Sendable {
        case unattached = -1
        case foregroundActive = 0
        case foregroundInactive = 1
        case background = 2
    }

    /// Why the scene is connected; UIKit's `UIScene.ConnectionOptions`.
    public struct ConnectionOptions: Hashable, Sendable {
        let content: AppContent

        public var urlContexts: [OpenURLContext] { content.urls.map(OpenURLContext.init) }
        public var sourceApplication: String? { content.sourceApplication }
        public var shortcutItem: ApplicationShortcutItem? {
            content.quickAction.map(ApplicationShortcutItem.init)
        }
        public var userActivities: [UserActivity] {
            content.userActivities.map(UserActivity.init)
        }
        public var handoffUserActivityType: String? { content.handoffUserActivityType }
        public var notificationResponse: NotificationResponse? {
            guard let action = content.notificationResponse else { return nil }
            return NotificationResponse(
                actionIdentifier: action,
                payload: content.remoteNotification ?? content.localNotification)
        }
        public var cloudKitShareMetadata: String? { content.cloudKitShareMetadata }
        public var isEmpty: Bool { content.isEmpty }
    }

    /// What the user chose on a notification.
    public struct NotificationResponse: Hashable, Sendable {
        public let actionIdentifier: String
        public let payload: String?
    }

    init(_ session: SceneSession, of application: Application) {
        self.session = session
        self.application = application
    }

    var isInForeground: Bool {
        activationState == .foregroundActive || activationState == .foregroundInactive
    }

    /// The user sees this scene now.
    public func didDrawFirstFrame() {
        guard let application else { return }
        application.note(
            .didDrawFirstFrame(at: application.drew(), session: session.persistentIdentifier))
    }

    public nonisolated static func == (a: Scene, b: Scene) -> Bool { a === b }
    public nonisolated func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// What the system keeps of a scene, while it is connected and after; UIKit's `UISceneSession`.
@MainActor public final class SceneSession: Hashable {
    public nonisolated let persistentIdentifier: String
    public let role: Role
    public internal(set) var configuration: SceneConfiguration
    /// Nil unless the scene is connected.
    public internal(set) var scene: Scene?
    /// What its scene saved last. Nil while protected data is unavailable:
    /// `scene(_:restoreInteractionStateWith:)` brings it afterwards.
    public var stateRestorationActivity: UserActivity?
    public var userInfo: [String: String] = [:]

    public struct Role: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let application = Role(rawValue: SceneConnection.applicationRole)
    }

    init(_ identifier: String, role: Role, configuration: SceneConfiguration) {
        persistentIdentifier = identifier
        self.role = role
        self.configuration = configuration
    }

    public nonisolated static func == (a: SceneSession, b: SceneSession) -> Bool {
        a.persistentIdentifier == b.persistentIdentifier
    }
    public nonisolated func hash(into hasher: inout Hasher) {
        hasher.combine(persistentIdentifier)
    }
}

/// What kind of scene to make; UIKit's `UISceneConfiguration`.
public struct SceneConfiguration {
    public var name: String?
    public var role: SceneSession.Role
    public var delegateClass: (any SceneDelegate.Type)?

    public init(
        name: String?, sessionRole role: SceneSession.Role,
        delegateClass: (any SceneDelegate.Type)? = nil
    ) {
        self.name = name
        self.role = role
        self.delegateClass = delegateClass
    }
}
