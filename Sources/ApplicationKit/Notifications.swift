/// What objects other than the delegate can observe; the corner of `NotificationCenter` that an app's life
/// needs.
extension Application {
    public struct NotificationName: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public struct Notification {
        public let name: NotificationName
        public let object: Application
        /// Of ``didFinishLaunchingNotification``: the launch options; nil for all others, and for an app
        /// with scenes.
        public let userInfo: LaunchOptions?
    }

    /// Posted just after `didFinishLaunchingWithOptions` has returned.
    public static let didFinishLaunchingNotification = NotificationName(
        rawValue: "didFinishLaunching")
    public static let didBecomeActiveNotification = NotificationName(rawValue: "didBecomeActive")
    public static let willResignActiveNotification = NotificationName(
        rawValue: "willResignActive")
    public static let didEnterBackgroundNotification = NotificationName(
        rawValue: "didEnterBackground")
    public static let willEnterForegroundNotification = NotificationName(
        rawValue: "willEnterForeground")
    public static let willTerminateNotification = NotificationName(rawValue: "willTerminate")
    public static let didReceiveMemoryWarningNotification = NotificationName(
        rawValue: "didReceiveMemoryWarning")
    public static let significantTimeChangeNotification = NotificationName(
        rawValue: "significantTimeChange")
    public static let protectedDataWillBecomeUnavailableNotification = NotificationName(
        rawValue: "protectedDataWillBecomeUnavailable")
    public static let protectedDataDidBecomeAvailableNotification = NotificationName(
        rawValue: "protectedDataDidBecomeAvailable")

    @MainActor public final class NotificationCenter {
        /// Ends with ``removeObserver(_:)``.
        public struct Observation: Hashable, Sendable { fileprivate let number: Int }

        private var observers:
            [(Observation, NotificationName, @MainActor (Notification) -> Void)] = []
        private var count = 0

        /// Calls `observer` at each notification of that name, in the order of registration.
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

        public func removeObserver(_ observation: Observation) {
            observers.removeAll { $0.0 == observation }
        }

        func post(_ notification: Notification) {
            for (_, name, observer) in observers where name == notification.name {
                observer(notification)
            }
        }
    }

    /// There before the application object is: a static initializer or `main` may register already.
    public static let notificationCenter = NotificationCenter()

    func post(_ name: NotificationName, userInfo: LaunchOptions? = nil) {
        Self.notificationCenter.post(Notification(name: name, object: self, userInfo: userInfo))
    }
}
