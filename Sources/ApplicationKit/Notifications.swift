/// Notifications of the app's life, for objects other than the delegate. They follow UIKit's
/// notifications of the same names, and this file has as much of Foundation's `NotificationCenter`
/// as they need.
extension Application {
    /// The name of a notification; Foundation's `Notification.Name`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/notification/name>
    public struct NotificationName: RawRepresentable, Hashable, Sendable {
        /// The name.
        public let rawValue: String
        /// Creates a notification name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// What an observer is called with; Foundation's `Notification`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/notification>
    public struct Notification {
        /// The notification's name.
        public let name: NotificationName
        /// The app that posted the notification.
        public let object: Application
        /// The launch options, in ``didFinishLaunchingNotification`` of an app without scenes;
        /// otherwise nil.
        public let userInfo: LaunchOptions?
    }

    /// Posted just after `application(_:didFinishLaunchingWithOptions:)` has returned.
    public static let didFinishLaunchingNotification = NotificationName(
        rawValue: "didFinishLaunching")
    /// Posted after `applicationDidBecomeActive(_:)`, or after the
    /// `sceneDidBecomeActive(_:)` that changes the state of the whole app.
    public static let didBecomeActiveNotification = NotificationName(rawValue: "didBecomeActive")
    /// Posted after `applicationWillResignActive(_:)`, or after the
    /// `sceneWillResignActive(_:)` that changes the state of the whole app.
    public static let willResignActiveNotification = NotificationName(
        rawValue: "willResignActive")
    /// Posted after `applicationDidEnterBackground(_:)`, or after the
    /// `sceneDidEnterBackground(_:)` that changes the state of the whole app.
    public static let didEnterBackgroundNotification = NotificationName(
        rawValue: "didEnterBackground")
    /// Posted after `applicationWillEnterForeground(_:)`, or after the
    /// `sceneWillEnterForeground(_:)` that changes the state of the whole app.
    public static let willEnterForegroundNotification = NotificationName(
        rawValue: "willEnterForeground")
    /// Posted after `applicationWillTerminate(_:)`. The process exits when the observers have
    /// returned.
    public static let willTerminateNotification = NotificationName(rawValue: "willTerminate")
    /// Posted after `applicationDidReceiveMemoryWarning(_:)`.
    public static let didReceiveMemoryWarningNotification = NotificationName(
        rawValue: "didReceiveMemoryWarning")
    /// Posted after `applicationSignificantTimeChange(_:)`.
    public static let significantTimeChangeNotification = NotificationName(
        rawValue: "significantTimeChange")
    /// Posted after `applicationProtectedDataWillBecomeUnavailable(_:)`. Protected data can still
    /// be read.
    public static let protectedDataWillBecomeUnavailableNotification = NotificationName(
        rawValue: "protectedDataWillBecomeUnavailable")
    /// Posted after `applicationProtectedDataDidBecomeAvailable(_:)`.
    public static let protectedDataDidBecomeAvailableNotification = NotificationName(
        rawValue: "protectedDataDidBecomeAvailable")

    /// Calls observers when a notification is posted; Foundation's `NotificationCenter`.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/notificationcenter>
    @MainActor public final class NotificationCenter {
        /// An observer's registration, which lasts until ``NotificationCenter/removeObserver(_:)``.
        ///
        /// Source: none; Apple has no such type.
        public struct Observation: Hashable, Sendable { fileprivate let number: Int }

        private var observers:
            [(Observation, NotificationName, @MainActor (Notification) -> Void)] = []
        private var count = 0

        /// Calls `observer` whenever a notification of that name is posted. Observers are called in
        /// the order in which they were added.
        @discardableResult
        public func addObserver(
            forName name: NotificationName,
            using observer: @escaping @MainActor (Notification) -> Void
        ) -> Observation {
            count += 1
            let observation = Observation(number: count)
            observers.append((observation, name, observer))
            return observation
        }

        /// Stops calling an observer. Removing it again does nothing.
        public func removeObserver(_ observation: Observation) {
            observers.removeAll { $0.0 == observation }
        }

        func post(_ notification: Notification) {
            for (_, name, observer) in observers where name == notification.name {
                observer(notification)
            }
        }
    }

    /// The process's notification center. It exists before the application object, so that a static
    /// initializer or `main` can already add observers.
    public static let notificationCenter = NotificationCenter()

    func post(_ name: NotificationName, userInfo: LaunchOptions? = nil) {
        Self.notificationCenter.post(Notification(name: name, object: self, userInfo: userInfo))
    }
}
