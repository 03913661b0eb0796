/// The object that responds to what happens to the app as a whole; UIKit's `UIApplicationDelegate`.
/// Each method follows UIKit's method of the same name. Where the name differs, the method's
/// comment gives UIKit's.
///
/// ```swift
/// @main final class AppDelegate: ApplicationDelegate {
///     func application(
///         _ application: Application,
///         didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
///     ) -> Bool { true }
/// }
/// ```
///
/// Every method is optional, as in UIKit: a method that the class does not have is not called, and
/// its default result does not count. (Swift's protocols have no optional methods. The default
/// implementations in this module tell ``Application`` that they ran.)
///
/// Make the class `final`. A subclass cannot add a method that its superclass left to the default:
/// Swift binds the methods where the class declares its conformance, so the subclass's method would
/// never be called, and nothing can detect that at run time.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiapplicationdelegate>
@MainActor public protocol ApplicationDelegate: AnyObject {
    /// Creates the delegate. ``ApplicationMain(_:)`` calls it once, after the app was launched.
    init()

    /// The class of the delegates of scenes whose configuration names no class; the key
    /// `UISceneDelegateClassName` of UIKit's scene manifest. If it is not nil, an app that is run
    /// by hand, and so has no manifest, is an app with scenes. The default is nil.
    static var sceneDelegateClass: (any SceneDelegate.Type)? { get }

    // MARK: Launch

    /// Shows the default interface that the manifest names. Called first of all, and only for apps
    /// without scenes. UIKit loads the main storyboard at this point.
    func application(_ application: Application, loadInterfaceNamed name: String)
    /// The launch has begun, and no state has been restored yet.
    /// - Returns: false if the app cannot open the URL, cannot continue the activity, or has
    ///   performed the quick action itself. Ignored if a remote notification launched the app.
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool
    /// The launch is almost done. This is the last chance to look at the launch options.
    /// - Returns: the same as `willFinishLaunchingWithOptions`. If either method returns false, the
    ///   URL, the activity and the quick action are not delivered.
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool

    // MARK: State restoration, for apps without scenes. (A scene saves an activity instead.)

    /// Asks whether to save the app's state: the app has left the foreground, or is about to end
    /// while in it. The method may encode values into `coder`.
    /// - Returns: true to save the state; false to delete the state that was saved before.
    func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool
    /// Asks whether to restore the app's saved state. Called between `willFinishLaunching` and
    /// `didFinishLaunching` if a saved state exists; later if protected data was unavailable at the
    /// launch.
    /// - Returns: true to restore the state; false to leave it as it is until the app saves again.
    func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool
    /// Encodes the app's own values, before the registered objects encode theirs; UIKit's
    /// `application(_:willEncodeRestorableStateWith:)`.
    func application(_ application: Application, willEncodeRestorableStateWith coder: StateCoder)
    /// Decodes the app's own values, after the registered objects have decoded theirs; UIKit's
    /// `application(_:didDecodeRestorableStateWith:)`.
    func application(_ application: Application, didDecodeRestorableStateWith coder: StateCoder)
    /// Makes an object that the archive has state for and that is not registered; UIKit's
    /// `application(_:viewControllerWithRestorationIdentifierPath:coder:)`.
    /// - Returns: the object, which the app keeps alive; nil if its state is no longer of use.
    func application(
        _ application: Application, objectWithRestorationIdentifier identifier: String,
        coder: StateCoder
    ) -> (any StateRestoring)?

    // MARK: States of apps without scenes. (A scene's delegate is told the scene's own states.)

    /// The app has become active: the user is working with it.
    func applicationDidBecomeActive(_ application: Application)
    /// The app is about to become inactive, as it does on its way to the background.
    func applicationWillResignActive(_ application: Application)
    /// The app is in the background now. It is suspended a few seconds later, unless a background
    /// task is open (``Application/beginBackgroundTask(withName:expirationHandler:)``).
    func applicationDidEnterBackground(_ application: Application)
    /// The app is about to leave the background.
    func applicationWillEnterForeground(_ application: Application)

    // MARK: System events

    /// The app is about to end: the process exits when this method returns. A suspended app ends
    /// without this call.
    func applicationWillTerminate(_ application: Application)
    /// Memory is short: free what can be made again.
    func applicationDidReceiveMemoryWarning(_ application: Application)
    /// The clock was set, a new day began, or the time zone changed.
    func applicationSignificantTimeChange(_ application: Application)
    /// Protected data will become unavailable, because the device is locked. It can be read until
    /// this method returns, for at most 5 seconds. An app that is suspended at the lock gets no such
    /// call; its ``Application/isProtectedDataAvailable`` is false when it runs again.
    func applicationProtectedDataWillBecomeUnavailable(_ application: Application)
    /// The device was unlocked: protected data can be read again
    /// (``Application/credential(named:)``).
    func applicationProtectedDataDidBecomeAvailable(_ application: Application)

    // MARK: Requests

    /// Opens a URL; UIKit's `application(_:open:options:)`.
    /// - Returns: whether the app opened it.
    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool
    /// Performs a quick action.
    /// - Parameter completionHandler: call it once, when the action is done, with whether it
    ///   succeeded.
    func application(
        _ application: Application, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void)
    /// The user wants to continue an activity, whose data may take a moment to arrive.
    /// - Returns: whether the app itself tells the user that it is on its way.
    func application(
        _ application: Application, willContinueUserActivityWithType userActivityType: String
    ) -> Bool
    /// Continues an activity.
    /// - Returns: whether the app continues it.
    func application(_ application: Application, continue userActivity: UserActivity) -> Bool
    /// A remote notification has arrived; UIKit's
    /// `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)`.
    /// - Parameters:
    ///   - payload: the text as it was sent, usually JSON.
    ///   - completionHandler: call it once, when the app has dealt with the notification.
    func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void)
    /// The user has answered a notification; UserNotifications'
    /// `userNotificationCenter(_:didReceive:withCompletionHandler:)`. A scene that is connected for
    /// it has the response in its connection options instead.
    /// - Parameter completionHandler: call it once, when the app has dealt with the response.
    func application(
        _ application: Application, didReceive response: NotificationResponse,
        withCompletionHandler completionHandler: @escaping @MainActor () -> Void)

    /// The user has opened a local notification: at the launch or, if the app was already running,
    /// on its way to the foreground; UIKit's `application(_:didReceive:)` with a
    /// `UILocalNotification`.
    /// - Parameter payload: the text as it was delivered.
    func application(_ application: Application, didReceiveLocalNotification payload: String)
    /// The user has accepted a share: at the launch of an app without scenes or, if the app was
    /// already running, on its way to the foreground. A connected scene is told instead
    /// (``SceneDelegate/scene(_:userDidAcceptCloudKitShareWith:)``).
    /// - Parameter metadata: the share's metadata as the sender wrote it.
    func application(_ application: Application, userDidAcceptCloudKitShareWith metadata: String)
    /// Events of the system wait for the app, which was already running or was suspended: a timer,
    /// socket or path of its manifest, or location or Bluetooth events. Modelled on UIKit's
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. An app that is
    /// launched for such events finds the same in its ``LaunchInfo`` and its launch options.
    /// - Parameters:
    ///   - reason: what happened; also in ``Application/launchInfo``.
    ///   - options: the values that belong to it, as a launch would bring them; often empty.
    func application(
        _ application: Application, handleEventsFor reason: LaunchInfo.Reason,
        options: Application.LaunchOptions)

    // MARK: Scenes

    /// Returns the configuration of a new scene. The default is the manifest's configuration, which
    /// is in the session.
    func application(
        _ application: Application, configurationForConnecting session: SceneSession,
        options: Scene.ConnectionOptions
    ) -> SceneConfiguration
    /// The user has closed these scenes for good, perhaps while the app was not running.
    func application(
        _ application: Application, didDiscardSceneSessions sceneSessions: Set<SceneSession>)
}

extension ApplicationDelegate {
    /// The entry point of a class that is marked `@main`. Calls ``ApplicationMain(_:)``.
    public static func main() { ApplicationMain(Self.self) }
}

/// The default implementations, for methods that the delegate's class does not have. Where the
/// result decides something, the implementation tells the application that it does not count.
extension ApplicationDelegate {
    /// Nil: scenes have no delegate unless their configuration names its class.
    public static var sceneDelegateClass: (any SceneDelegate.Type)? { nil }

    /// Does nothing.
    public func application(_ application: Application, loadInterfaceNamed name: String) {}
    /// Returns true, which does not count: `didFinishLaunchingWithOptions` alone decides.
    public func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { application.leftToDefault(true) }
    /// Returns true, which does not count: `willFinishLaunchingWithOptions` alone decides.
    public func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { application.leftToDefault(true) }

    /// Saves nothing, and leaves what was saved before.
    public func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool { application.leftToDefault(false) }
    /// Restores nothing.
    public func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool { application.leftToDefault(false) }
    /// Does nothing.
    public func application(
        _ application: Application, willEncodeRestorableStateWith coder: StateCoder
    ) {}
    /// Does nothing.
    public func application(
        _ application: Application, didDecodeRestorableStateWith coder: StateCoder
    ) {}
    /// Returns nil: the object's state is not restored.
    public func application(
        _ application: Application, objectWithRestorationIdentifier identifier: String,
        coder: StateCoder
    ) -> (any StateRestoring)? { nil }

    /// Does nothing.
    public func applicationDidBecomeActive(_ application: Application) {}
    /// Does nothing.
    public func applicationWillResignActive(_ application: Application) {}
    /// Does nothing.
    public func applicationDidEnterBackground(_ application: Application) {}
    /// Does nothing.
    public func applicationWillEnterForeground(_ application: Application) {}
    /// Does nothing.
    public func applicationWillTerminate(_ application: Application) {}
    /// Does nothing.
    public func applicationDidReceiveMemoryWarning(_ application: Application) {}
    /// Does nothing.
    public func applicationSignificantTimeChange(_ application: Application) {}
    /// Does nothing.
    public func applicationProtectedDataWillBecomeUnavailable(_ application: Application) {}
    /// Does nothing.
    public func applicationProtectedDataDidBecomeAvailable(_ application: Application) {}

    /// Returns false: the app does not open URLs.
    public func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool { application.leftToDefault(false) }
    /// Completes with false: the app performs no quick actions.
    public func application(
        _ application: Application, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) { completionHandler(false) }
    /// Returns false: the app does not tell the user that the activity is on its way.
    public func application(
        _ application: Application, willContinueUserActivityWithType userActivityType: String
    ) -> Bool { application.leftToDefault(false) }
    /// Returns false: the app does not continue activities.
    public func application(
        _ application: Application, continue userActivity: UserActivity
    ) -> Bool { application.leftToDefault(false) }
    /// Completes with `noData`.
    public func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void
    ) { completionHandler(.noData) }
    /// Calls `application(_:didReceiveRemoteNotification:fetchCompletionHandler:)` if the
    /// notification was a remote one.
    public func application(
        _ application: Application, didReceive response: NotificationResponse,
        withCompletionHandler completionHandler: @escaping @MainActor () -> Void
    ) {
        guard response.isRemote, let payload = response.payload else { return completionHandler() }
        self.application(
            application, didReceiveRemoteNotification: payload,
            fetchCompletionHandler: { _ in completionHandler() })
    }

    /// Receives nothing: the notification counts as not handled.
    public func application(
        _ application: Application, didReceiveLocalNotification payload: String
    ) { application.leftToDefault(()) }
    /// Accepts nothing: the share counts as not handled.
    public func application(
        _ application: Application, userDidAcceptCloudKitShareWith metadata: String
    ) { application.leftToDefault(()) }
    /// Does nothing.
    public func application(
        _ application: Application, handleEventsFor reason: LaunchInfo.Reason,
        options: Application.LaunchOptions
    ) {}

    /// Returns the session's configuration, which is the manifest's.
    public func application(
        _ application: Application, configurationForConnecting session: SceneSession,
        options: Scene.ConnectionOptions
    ) -> SceneConfiguration { session.configuration }
    /// Does nothing.
    public func application(
        _ application: Application, didDiscardSceneSessions sceneSessions: Set<SceneSession>
    ) {}
}
