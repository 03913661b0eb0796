/// The object that responds to what happens to one scene; UIKit's `UISceneDelegate`. Each method
/// follows UIKit's method of the same name. Every method is optional, as with
/// ``ApplicationDelegate``.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiscenedelegate>
@MainActor public protocol SceneDelegate: AnyObject {
    /// Creates the delegate. Called when its scene is being connected.
    init()

    /// The scene is being connected to the app, for the reasons in `connectionOptions`.
    func scene(
        _ scene: Scene, willConnectTo session: SceneSession,
        options connectionOptions: Scene.ConnectionOptions)
    /// The scene was disconnected. Its session may be connected again later.
    func sceneDidDisconnect(_ scene: Scene)
    /// The scene is about to enter the foreground.
    func sceneWillEnterForeground(_ scene: Scene)
    /// The scene has become active: the user is working with it.
    func sceneDidBecomeActive(_ scene: Scene)
    /// The scene is about to become inactive, as it does on its way to the background.
    func sceneWillResignActive(_ scene: Scene)
    /// The scene is in the background now.
    func sceneDidEnterBackground(_ scene: Scene)

    /// Asks for the scene's state to save: the scene has left the foreground, or the app is about
    /// to end while the scene is in it.
    /// - Returns: the activity that ``SceneSession/stateRestorationActivity`` holds at the next
    ///   connection; nil to delete the activity that was saved before.
    func stateRestorationActivity(for scene: Scene) -> UserActivity?
    /// Restores the scene's saved state, if there is one and the scene is not connected to open a
    /// document. Called after `willConnectTo`, or later, when protected data has become available.
    func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity)

    /// Opens URLs in a scene that is connected already.
    func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext])
    /// Performs a quick action; UIKit's `windowScene(_:performActionFor:completionHandler:)`.
    /// - Parameter completionHandler: call it once, when the action is done, with whether it
    ///   succeeded.
    func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void)
    /// The user wants to continue an activity, whose data may take a moment to arrive.
    func scene(_ scene: Scene, willContinueUserActivityWithType userActivityType: String)
    /// Continues an activity.
    func scene(_ scene: Scene, continue userActivity: UserActivity)
    /// The user has accepted a share while the scene is connected; UIKit's
    /// `windowScene(_:userDidAcceptCloudKitShareWith:)`. Otherwise the share is in the options of
    /// the connection.
    func scene(_ scene: Scene, userDidAcceptCloudKitShareWith metadata: String)
}

/// The default implementations, for methods that the delegate's class does not have.
extension SceneDelegate {
    /// Does nothing.
    public func scene(
        _ scene: Scene, willConnectTo session: SceneSession,
        options connectionOptions: Scene.ConnectionOptions
    ) {}
    /// Does nothing.
    public func sceneDidDisconnect(_ scene: Scene) {}
    /// Does nothing.
    public func sceneWillEnterForeground(_ scene: Scene) {}
    /// Does nothing.
    public func sceneDidBecomeActive(_ scene: Scene) {}
    /// Does nothing.
    public func sceneWillResignActive(_ scene: Scene) {}
    /// Does nothing.
    public func sceneDidEnterBackground(_ scene: Scene) {}
    /// Saves nothing, and the activity that was saved before stays. (If the delegate's own method
    /// returns nil, that activity is deleted.)
    public func stateRestorationActivity(for scene: Scene) -> UserActivity? {
        scene.application?.leftToDefault(UserActivity?.none) ?? nil
    }
    /// Does nothing.
    public func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity) {}

    /// Opens nothing: the URLs count as not opened.
    public func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext]) {
        scene.application?.leftToDefault(())
    }
    /// Completes with false: the scene performs no quick actions.
    public func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) { completionHandler(false) }
    /// Does nothing.
    public func scene(_ scene: Scene, willContinueUserActivityWithType userActivityType: String) {}
    /// Continues nothing: the activity counts as not continued.
    public func scene(_ scene: Scene, continue userActivity: UserActivity) {
        scene.application?.leftToDefault(())
    }
    /// Accepts nothing: the share counts as not handled.
    public func scene(_ scene: Scene, userDidAcceptCloudKitShareWith metadata: String) {
        scene.application?.leftToDefault(())
    }
}
