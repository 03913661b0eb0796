import ApplicationKit

final class SceneApp: Talkative {
    static var sceneDelegateClass: (any SceneDelegate.Type)? { TalkativeScene.self }

    init() {
        guard variable("PROBE_POSTS") != nil else { return }
        for name in [
            Application.didBecomeActiveNotification, Application.willResignActiveNotification,
            Application.didEnterBackgroundNotification,
            Application.willEnterForegroundNotification, Application.willTerminateNotification,
        ] {
            Application.notificationCenter.addObserver(forName: name) {
                say("posted \($0.name.rawValue) \($0.object.applicationState)")
            }
        }
    }

    func application(
        _ application: Application,
        willFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { will(application, launchOptions) }
    func application(
        _ application: Application,
        didFinishLaunchingWithOptions launchOptions: Application.LaunchOptions?
    ) -> Bool { did(application, launchOptions) }

    func application(
        _ application: Application, configurationForConnecting session: SceneSession,
        options: Scene.ConnectionOptions
    ) -> SceneConfiguration {
        say(
            "configuration \(session.persistentIdentifier) \(session.role.rawValue) \(options.urlContexts.map(\.url)) \(application.applicationState)"
        )
        return session.configuration
    }
}

final class TalkativeScene: SceneDelegate {
    func scene(
        _ scene: Scene, willConnectTo session: SceneSession,
        options: Scene.ConnectionOptions
    ) {
        tell("willConnect", scene)
        if !options.isEmpty {
            say(
                "options \(options.urlContexts.map(\.url)) \(options.shortcutItem?.type ?? "-") \(options.userActivities.map(\.activityType)) \(options.notificationResponse?.actionIdentifier ?? "-")"
            )
        }
        if variable("PROBE_VALUES") != nil { sayValues(of: options) }
        if let activity = session.stateRestorationActivity {
            say("restore \(activity.activityType)")
        }
    }
    func sceneDidDisconnect(_ scene: Scene) { tell("didDisconnect", scene) }
    func sceneWillEnterForeground(_ scene: Scene) { tell("willEnterForeground", scene) }
    func sceneDidBecomeActive(_ scene: Scene) {
        tell("didBecomeActive", scene)
        scene.didDrawFirstFrame()
    }
    func sceneWillResignActive(_ scene: Scene) { tell("willResignActive", scene) }
    func sceneDidEnterBackground(_ scene: Scene) { tell("didEnterBackground", scene) }
    func scene(_ scene: Scene, openURLContexts urlContexts: [OpenURLContext]) {
        say("scene opens \(urlContexts.map(\.url))")
        let application = Application.shared
        switch urlContexts.first?.url {
        case "notes://another":
            application.requestSceneSessionActivation(nil) { say("refused: \($0)") }
            say("asked")
        case "notes://refresh":
            application.requestSceneSessionRefresh(scene.session)
            let (scenes, sessions) = (application.connectedScenes, application.openSessions)
            say("connected \(scenes == [scene]) open \(sessions == [scene.session])")
        case "notes://close": application.requestSceneSessionDestruction(scene.session)
        default: break
        }
    }
    func scene(
        _ scene: Scene, performActionFor shortcutItem: ApplicationShortcutItem,
        completionHandler: @escaping @MainActor (Bool) -> Void
    ) {
        say("scene performs \(shortcutItem.type)")
        completionHandler(true)
    }

    func scene(_ scene: Scene, userDidAcceptCloudKitShareWith metadata: String) {
        say("scene accepts share \(metadata)")
    }

    private func sayValues(of options: Scene.ConnectionOptions) {
        let urls = options.urlContexts.map { context in
            let rest = [
                context.options.sourceApplication, context.options.annotation,
                context.options.eventAttribution,
            ]
            return [context.url] + rest.map { $0 ?? "-" } + ["\(context.options.openInPlace)"]
        }
        say("urls \(urls)")
        let texts = [
            options.sourceApplication, options.handoffUserActivityType,
            options.cloudKitShareMetadata, options.notificationResponse?.actionIdentifier,
            options.notificationResponse?.payload,
        ]
        say("texts \(texts.map { $0 ?? "-" })")
        say("activities \(options.userActivities.map(words)) action \(words(options.shortcutItem))")
    }

    private func tell(_ what: String, _ scene: Scene) {
        say(
            "\(scene.session.persistentIdentifier) \(what) \(scene.activationState) app \(Application.shared.applicationState)"
        )
    }
}
