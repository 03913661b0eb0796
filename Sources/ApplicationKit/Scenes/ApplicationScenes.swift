internal import GreenroomAppChannel

/// Connects scenes and moves them between states: unattached → foregroundInactive ↔
/// foregroundActive, foregroundInactive ↔ background, unattached → background, and background →
/// unattached when the scene is disconnected.
extension Application {
    /// The sessions that this process knows, whether or not their scenes are connected; UIKit's
    /// `UIApplication.openSessions`.
    public var openSessions: Set<SceneSession> { Set(sessions) }
    /// The scenes that are connected; UIKit's `UIApplication.connectedScenes`.
    public var connectedScenes: Set<Scene> { Set(sessions.compactMap(\.scene)) }

    func session(withIdentifier identifier: String) -> SceneSession? {
        sessions.first { $0.persistentIdentifier == identifier }
    }

    /// Makes a scene and connects it: asks the delegate for its configuration, creates the scene
    /// and its delegate, and calls `willConnectTo`.
    func connect(_ connection: SceneConnection) {
        let session = session(for: connection)
        let options = Scene.ConnectionOptions(content: connection.content)
        session.stateRestorationActivity = connection.restoration.map(UserActivity.init)
        session.configuration = call("application(_:configurationForConnecting:options:)") {
            delegate.application(self, configurationForConnecting: session, options: options)
        }
        reached(.sceneConfiguration, session: session)
        let scene = Scene(session, of: self)
        session.scene = scene
        let delegateClass =
            session.configuration.delegateClass ?? type(of: delegate).sceneDelegateClass
        #if DEBUG
            if let delegateClass { NearMisses.warn(of: delegateClass) }
        #endif
        scene.delegate = delegateClass?.init()
        call("scene(_:willConnectTo:options:)") {
            scene.delegate?.scene(scene, willConnectTo: session, options: options)
        }
        // If the user asked for a document, restoring would take the user elsewhere.
        if connection.content.documentURL == nil { _ = restoreInteractionState(of: scene) }
        if !connection.isForForeground { enter(.background, scene) }
        reached(.sceneConnection, session: session)
        if options.notificationResponse == nil {
            let outcome = Outcome { _ in }
            deliverNotification(connection.content, outcome)
            outcome.close()
        }
        acknowledge(connection.cookie)
    }

    private func session(for connection: SceneConnection) -> SceneSession {
        if let known = session(withIdentifier: connection.session) { return known }
        let role = SceneSession.Role(rawValue: connection.role)
        let session = SceneSession(
            connection.session, role: role,
            configuration: SceneConfiguration(
                name: connection.configuration, sessionRole: role,
                delegateClass: type(of: delegate).sceneDelegateClass))
        sessions.append(session)
        return session
    }

    /// Moves a scene to another state. As in an app without scenes, a callback that announces a
    /// change ("will") is called before the state changes, and a callback that reports a change
    /// ("did") after it. Where the app's own state changes with the scene's, its notification is
    /// posted after the scene's callback.
    func move(_ identifier: String, _ transition: AppEvent.SceneTransition) {
        guard let session = session(withIdentifier: identifier), let scene = session.scene else {
            return
        }
        let before = applicationState
        switch transition {
        case .willEnterForeground:
            call("sceneWillEnterForeground") { scene.delegate?.sceneWillEnterForeground(scene) }
            if before == .background { post(Self.willEnterForegroundNotification) }
            enter(.foregroundInactive, scene)
        case .didBecomeActive:
            enter(.foregroundActive, scene)
            call("sceneDidBecomeActive") { scene.delegate?.sceneDidBecomeActive(scene) }
            if before != .active { post(Self.didBecomeActiveNotification) }
            reached(.active, session: session)
        case .willResignActive: resignActive(scene)
        case .didEnterBackground:
            let wasInFront = scene.isInForeground
            enter(.background, scene)
            call("sceneDidEnterBackground") { scene.delegate?.sceneDidEnterBackground(scene) }
            if before != .background, applicationState == .background {
                post(Self.didEnterBackgroundNotification)
            }
            if wasInFront { saveState(of: scene) }
            reached(.background, session: session)
        case .didDisconnect: disconnect(scene)
        }
    }

    private func resignActive(_ scene: Scene) {
        let isLast = !sessions.contains {
            $0.scene?.activationState == .foregroundActive && $0.scene !== scene
        }
        call("sceneWillResignActive") { scene.delegate?.sceneWillResignActive(scene) }
        if isLast, scene.activationState == .foregroundActive {
            post(Self.willResignActiveNotification)
        }
        enter(.foregroundInactive, scene)
    }

    private func disconnect(_ scene: Scene) {
        enter(.unattached, scene)
        call("sceneDidDisconnect") { scene.delegate?.sceneDidDisconnect(scene) }
        scene.session.scene = nil
    }

    /// The app is about to end, and with it its scenes.
    func disconnectScenes() {
        for scene in sessions.compactMap(\.scene) {
            if scene.activationState == .foregroundActive { resignActive(scene) }
            disconnect(scene)
        }
    }

    private func enter(_ state: Scene.ActivationState, _ scene: Scene) {
        scene.activationState = state
        hasHadScene = hasHadScene || state != .unattached
    }

    func discard(_ identifiers: [String]) {
        let discarded = identifiers.map { identifier in
            session(withIdentifier: identifier)
                ?? SceneSession(
                    identifier, role: .application,
                    configuration: SceneConfiguration(name: nil, sessionRole: .application))
        }
        sessions.removeAll { discarded.contains($0) }
        call("application(_:didDiscardSceneSessions:)") {
            delegate.application(self, didDiscardSceneSessions: Set(discarded))
        }
    }

    /// Delivers content to a running scene, or to the app delegate if `scene` is nil. A
    /// notification always goes to the app delegate.
    func deliver(
        _ content: AppContent, to scene: Scene?, _ finish: @escaping @MainActor (Bool) -> Void
    ) {
        guard let scene else { return deliverToDelegate(content, finish) }
        let outcome = Outcome(finish)
        if !content.urls.isEmpty {
            let contexts = content.urls.map(OpenURLContext.init)
            outcome.add(
                callOptional("scene(_:openURLContexts:)") {
                    scene.delegate?.scene(scene, openURLContexts: contexts)
                } != nil)
        }
        if let type = content.handoffUserActivityType ?? content.userActivities.first?.type {
            call("scene(_:willContinueUserActivityWithType:)") {
                scene.delegate?.scene(scene, willContinueUserActivityWithType: type)
            }
        }
        for activity in content.userActivities {
            outcome.add(
                callOptional("scene(_:continue:)") {
                    scene.delegate?.scene(scene, continue: UserActivity(activity))
                } != nil)
        }
        if let action = content.quickAction {
            let completion = outcome.open()
            call("scene(_:performActionFor:completionHandler:)") {
                guard let delegate = scene.delegate else { return completion(false) }
                delegate.scene(
                    scene, performActionFor: ApplicationShortcutItem(action),
                    completionHandler: completion)
            }
        }
        if let metadata = content.cloudKitShareMetadata {
            outcome.add(
                callOptional("scene(_:userDidAcceptCloudKitShareWith:)") {
                    scene.delegate?.scene(scene, userDidAcceptCloudKitShareWith: metadata)
                } != nil)
        }
        deliverNotification(content, outcome)
        outcome.close()
    }
}
