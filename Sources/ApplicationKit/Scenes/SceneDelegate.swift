/// The object that responds to what happens to one scene; UIKit's `UISceneDelegate`. As with
/// ``ApplicationDelegate``, every method is optional.
@MainActor public protocol SceneDelegate: AnyObject {
    init()

    /// The scene is about to be shown, for the reasons in `connectionOptions`.
    func scene(
        _ scene: Scene, willConnectTo session: SceneSession,
        options connectionOptions: Scene.ConnectionOptions)
    /// The scene ends; its session may come back.
    func sceneDidDisconnect(_ scene: Scene)
    func sceneWillEnterForeground(_ scene: Scene)
    func sceneDidBecomeActive(_ scene: Scene)
    func sceneWillResignActive(_ scene: Scene)
    func sceneDidEnterBackground(_ scene: Scene)

    /// The scene has left the foreground, or the app is to end in it.
    /// - Returns: what it shall find again in ``SceneSession/stateRestorationActivity``; nil: nothing, and what
    ///   was kept before is forgotten.
    func stateRestorationActivity(for scene: Scene) -> UserActivity?
    /// After `willConnectTo`, if something is kept and the scene is not connected to open a document; later if
    /// protected data was unavailable then.
    func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity)

    func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext])
    /// - Parameter completionHandler: call it, once, when the action is done, with whether it could be.
    func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void)
    func scene(_ scene: Scene, willContinueUserActivityWithType userActivityType: String)
    func scene(_ scene: Scene, continue userActivity: UserActivity)
}

/// What a delegate that leaves a method out has instead of it.
extension SceneDelegate {
    public func scene(
        _ scene: Scene, willConnectTo session: SceneSession,
        options connectionOptions: Scene.ConnectionOptions
    ) {}
    public func sceneDidDisconnect(_ scene: Scene) {}
    public func sceneWillEnterForeground(_ scene: Scene) {}
    public func sceneDidBecomeActive(_ scene: Scene) {}
    public func sceneWillResignActive(_ scene: Scene) {}
    public func sceneDidEnterBackground(_ scene: Scene) {}
    public func stateRestorationActivity(for scene: Scene) -> UserActivity? {
        scene.application?.leftToDefault(UserActivity?.none) ?? nil
    }
    public func scene(_ scene: Scene, restoreInteractionStateWith activity: UserActivity) {}

    public func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext]) {
        scene.application?.leftToDefault(())
    }
    public func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) { completionHandler(false) }
    public func scene(_ scene: Scene, willContinueUserActivityWithType userActivityType: String) {}
    public func scene(_ scene: Scene, continue userActivity: UserActivity) {
        scene.application?.leftToDefault(())
    }
}
