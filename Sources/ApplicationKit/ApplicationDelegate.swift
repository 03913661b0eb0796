/// The object that responds to what happens to the app as a whole; UIKit's `UIApplicationDelegate`.
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
/// Every method is optional, as in UIKit: those that the class does not have are not called and do not
/// count. (Swift's protocols know no optional methods. The default implementations in this module leave
/// word that they ran, which is how ``Application`` knows.)
///
/// Write a class that is `final`. In a class that is not, a subclass cannot add a method that its superclass
/// left to the default: Swift decides at the conformance, and the subclass's method is never called. Nothing
/// can see that at run time, so keep the methods where `ApplicationDelegate` is written.
@MainActor public protocol ApplicationDelegate: AnyObject {
    init()

    /// Makes the app one with scenes when it is run by hand, where no manifest says so, and is the delegate
    /// of scenes whose configuration names none (`UISceneDelegateClassName`). Nil unless implemented.
    static var sceneDelegateClass: (any SceneDelegate.Type)? { get }

    // MARK: Launch

    /// Show the default interface that the manifest names. Apps without scenes; before all else.
    func application(_ application: Application, loadInterfaceNamed name: String)
    /// The launch has begun; nothing is restored yet.
    /// - Returns: false if the URL cannot be opened, the activity not be continued, or the quick action is
    ///   dealt with here. Ignored when a remote notification launched the app.
    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool
    /// The launch is almost done: the last chance to look at the launch options.
    /// - Returns: as for `willFinishLaunchingWithOptions`; if either is false, so is the whole.
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool

    // MARK: State restoration. Apps without scenes: a scene saves an activity.

    /// The app has left the foreground, or is to end in it. May encode values of its own.
    /// - Returns: whether its state shall be kept. False forgets what was kept before.
    func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool
    /// Between `willFinishLaunching` and `didFinishLaunching`, if something is kept; later if protected data was
    /// unavailable at the launch.
    /// - Returns: whether it shall be restored. False leaves it as it is, until the app saves again.
    func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool
    /// Before the objects encode theirs.
    func application(_ application: Application, willEncodeRestorableStateWith coder: StateCoder)
    /// After the objects have decoded theirs.
    func application(_ application: Application, didDecodeRestorableStateWith coder: StateCoder)
    /// An object of the archive that is not registered.
    /// - Returns: nil if its state is of no use any more. The app keeps the object.
    func application(
        _ application: Application, objectWithRestorationIdentifier identifier: String,
        coder: StateCoder
    ) -> (any StateRestoring)?

    // MARK: States. Apps without scenes: scenes hear of their own.

    func applicationDidBecomeActive(_ application: Application)
    func applicationWillResignActive(_ application: Application)
    func applicationDidEnterBackground(_ application: Application)
    func applicationWillEnterForeground(_ application: Application)

    // MARK: System events

    /// The last callback: the process ends when it returns. A suspended app ends without.
    func applicationWillTerminate(_ application: Application)
    func applicationDidReceiveMemoryWarning(_ application: Application)
    /// The clock was set, a day or the time zone changed.
    func applicationSignificantTimeChange(_ application: Application)
    func applicationProtectedDataWillBecomeUnavailable(_ application: Application)
    func applicationProtectedDataDidBecomeAvailable(_ application: Application)

    // MARK: Requests

    /// - Returns: whether it was opened.
    func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool
    /// - Parameter completionHandler: call it, once, when the action is done, with whether it could be.
    func application(
        _ application: Application, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void)
    /// An activity is announced, which may take a moment to arrive.
    /// - Returns: whether the app tells the user so itself.
    func application(
        _ application: Application, willContinueUserActivityWithType userActivityType: String
    ) -> Bool
    /// - Returns: whether it is continued.
    func application(_ application: Application, continue userActivity: UserActivity) -> Bool
    /// - Parameter completionHandler: call it, once, when the notification is dealt with.
    func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void)

    // MARK: Scenes

    /// The configuration of a new scene; the manifest's unless implemented.
    func application(
        _ application: Application, configurationForConnecting session: SceneSession,
        options: Scene.ConnectionOptions
    ) -> SceneConfiguration
    /// The user closed these for good, perhaps while the app was not running.
    func application(
        _ application: Application, didDiscardSceneSessions sceneSessions: Set<SceneSession>)
}

extension ApplicationDelegate {
    /// Where `@main` begins.
    public static func main() { ApplicationMain(Self.self) }
}

/// What a delegate that leaves a method out has instead of it.
extension ApplicationDelegate {
    public static var sceneDelegateClass: (any SceneDelegate.Type)? { nil }

    public func application(_ application: Application, loadInterfaceNamed name: String) {}
    public func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { application.leftToDefault(true) }
    public func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { application.leftToDefault(true) }

    public func application(
        _ application: Application, shouldSaveSecureApplicationState coder: StateCoder
    ) -> Bool { application.leftToDefault(false) }
    public func application(
        _ application: Application, shouldRestoreSecureApplicationState coder: StateCoder
    ) -> Bool { application.leftToDefault(false) }
    public func application(
        _ application: Application, willEncodeRestorableStateWith coder: StateCoder
    ) {}
    public func application(
        _ application: Application, didDecodeRestorableStateWith coder: StateCoder
    ) {}
    public func application(
        _ application: Application, objectWithRestorationIdentifier identifier: String,
        coder: StateCoder
    ) -> (any StateRestoring)? { nil }

    public func applicationDidBecomeActive(_ application: Application) {}
    public func applicationWillResignActive(_ application: Application) {}
    public func applicationDidEnterBackground(_ application: Application) {}
    public func applicationWillEnterForeground(_ application: Application) {}
    public func applicationWillTerminate(_ application: Application) {}
    public func applicationDidReceiveMemoryWarning(_ application: Application) {}
    public func applicationSignificantTimeChange(_ application: Application) {}
    public func applicationProtectedDataWillBecomeUnavailable(_ application: Application) {}
    public func applicationProtectedDataDidBecomeAvailable(_ application: Application) {}

    public func application(
        _ application: Application, open url: String, options: OpenURLContext.Options
    ) -> Bool { application.leftToDefault(false) }
    public func application(
        _ application: Application, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) { completionHandler(false) }
    public func application(
        _ application: Application, willContinueUserActivityWithType userActivityType: String
    ) -> Bool { application.leftToDefault(false) }
    public func application(
        _ application: Application, continue userActivity: UserActivity
    ) -> Bool { application.leftToDefault(false) }
    public func application(
        _ application: Application, didReceiveRemoteNotification payload: String,
        fetchCompletionHandler completionHandler:
            @escaping @MainActor (Application.BackgroundFetchResult) -> Void
    ) { completionHandler(.noData) }

    public func application(
        _ application: Application, configurationForConnecting session: SceneSession,
        options: Scene.ConnectionOptions
    ) -> SceneConfiguration { session.configuration }
    public func application(
        _ application: Application, didDiscardSceneSessions sceneSessions: Set<SceneSession>
    ) {}
}
