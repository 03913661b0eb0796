internal import GreenroomAppChannel

/// One instance of the app's interface; UIKit's `UIScene`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiscene>
@MainActor public final class Scene: Hashable {
    /// The session, which outlives the scene; `UIScene.session`.
    public let session: SceneSession
    /// The app to which the scene belongs.
    public private(set) weak var application: Application?
    /// The object that responds to what happens to the scene; `UIScene.delegate`. The scene keeps
    /// it alive.
    public internal(set) var delegate: (any SceneDelegate)?
    /// The scene's state; `UIScene.activationState`.
    public internal(set) var activationState = ActivationState.unattached
    /// A title for the user; `UIScene.title`. The library stores it and does not send it anywhere.
    public var title = ""

    /// The state of a scene, with UIKit's raw values; `UIScene.ActivationState`.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiscene/activationstate-swift.enum>
    public enum ActivationState: Int, Sendable {
        /// The scene is being connected, or was disconnected.
        case unattached = -1
        /// The scene is in the foreground and the user is working with it.
        case foregroundActive = 0
        /// The scene is on its way into or out of the foreground.
        case foregroundInactive = 1
        /// The scene is in the background.
        case background = 2
    }

    /// Why the scene is connected; UIKit's `UIScene.ConnectionOptions`.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiscene/connectionoptions>
    public struct ConnectionOptions: Hashable, Sendable {
        let content: AppContent

        /// The URLs to open.
        public var urlContexts: [OpenURLContext] { content.urls.map(OpenURLContext.init) }
        /// The identifier of the app that asked for the scene.
        public var sourceApplication: String? { content.sourceApplication }
        /// The quick action to perform.
        public var shortcutItem: ApplicationShortcutItem? {
            content.quickAction.map(ApplicationShortcutItem.init)
        }
        /// The user activities to continue.
        public var userActivities: [UserActivity] {
            content.userActivities.map(UserActivity.init)
        }
        /// The type of a user activity whose data comes later.
        public var handoffUserActivityType: String? { content.handoffUserActivityType }
        /// What the user chose on a notification.
        public var notificationResponse: NotificationResponse? {
            NotificationResponse(content)
        }
        /// The metadata of a share that the user has accepted, as the sender wrote it.
        public var cloudKitShareMetadata: String? { content.cloudKitShareMetadata }
        /// Whether there is nothing to open, do or continue. A notification that the user has not
        /// answered goes to the app delegate.
        public var isEmpty: Bool {
            urlContexts.isEmpty && sourceApplication == nil && shortcutItem == nil
                && userActivities.isEmpty && handoffUserActivityType == nil
                && notificationResponse == nil && cloudKitShareMetadata == nil
        }
    }

    init(_ session: SceneSession, of application: Application) {
        self.session = session
        self.application = application
    }

    var isInForeground: Bool {
        activationState == .foregroundActive || activationState == .foregroundInactive
    }

    /// Tells Greenroom that the user now sees this scene, as ``Application/didDrawFirstFrame()``
    /// does for an app without scenes.
    public func didDrawFirstFrame() {
        guard let application else { return }
        application.note(
            .didDrawFirstFrame(at: application.drew(), session: session.persistentIdentifier))
    }

    /// Whether both are the same object.
    public nonisolated static func == (a: Scene, b: Scene) -> Bool { a === b }
    /// Feeds the object's identity into `hasher`.
    public nonisolated func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}

/// What the system remembers of a scene, while it is connected and afterwards; UIKit's
/// `UISceneSession`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiscenesession>
@MainActor public final class SceneSession: Hashable {
    /// Identifies the session, across launches of the app; `UISceneSession.persistentIdentifier`.
    public nonisolated let persistentIdentifier: String
    /// What the scene is for; `UISceneSession.role`.
    public let role: Role
    /// The configuration with which the scene was made; `UISceneSession.configuration`.
    public internal(set) var configuration: SceneConfiguration
    /// The scene, or nil unless it is connected; `UISceneSession.scene`.
    public internal(set) var scene: Scene?
    /// The activity that the scene saved last; `UISceneSession.stateRestorationActivity`. Nil while
    /// protected data is unavailable: `scene(_:restoreInteractionStateWith:)` is called with it
    /// afterwards.
    public var stateRestorationActivity: UserActivity?
    /// The app's own data about the session, which lasts as long as the process;
    /// `UISceneSession.userInfo`.
    public var userInfo: [String: String] = [:]

    /// What a scene is for; UIKit's `UISceneSession.Role`.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiscenesession/role-swift.struct>
    public struct Role: RawRepresentable, Hashable, Sendable {
        /// The role's name.
        public let rawValue: String
        /// Creates a role of that name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// An interactive scene of the app; UIKit's `windowApplication`.
        public static let application = Role(rawValue: SceneConnection.applicationRole)
    }

    init(_ identifier: String, role: Role, configuration: SceneConfiguration) {
        persistentIdentifier = identifier
        self.role = role
        self.configuration = configuration
    }

    /// Whether both have the same persistent identifier.
    public nonisolated static func == (a: SceneSession, b: SceneSession) -> Bool {
        a.persistentIdentifier == b.persistentIdentifier
    }
    /// Feeds the persistent identifier into `hasher`.
    public nonisolated func hash(into hasher: inout Hasher) {
        hasher.combine(persistentIdentifier)
    }
}

/// The kind of scene to make; UIKit's `UISceneConfiguration`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uisceneconfiguration>
public struct SceneConfiguration {
    /// The configuration's name in the manifest; nil if it has none.
    public var name: String?
    /// What the scene is for.
    public var role: SceneSession.Role
    /// The class of the scene's delegate; nil means ``ApplicationDelegate/sceneDelegateClass``.
    public var delegateClass: (any SceneDelegate.Type)?

    /// Creates a configuration.
    public init(
        name: String?, sessionRole role: SceneSession.Role,
        delegateClass: (any SceneDelegate.Type)? = nil
    ) {
        self.name = name
        self.role = role
        self.delegateClass = delegateClass
    }
}
