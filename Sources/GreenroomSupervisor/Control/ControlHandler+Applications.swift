internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

// What apps made with the SDK can be asked for: actions, notifications, activities; their scenes; and the
// lock. (URLs: ControlHandler+Opening.swift.)

extension ControlHandler {
    func perform(
        _ call: Control.ApplicationCall, _ connection: ControlConnection
    ) throws(ControlError) {
        switch call {
        case .open(let open): try self.open(open, connection)
        case .performAction(let name, let action, let isBackground):
            var content = AppContent()
            content.quickAction = AppContent.QuickAction(action)
            try launch(name, content, .quickAction, inBackground: isBackground, connection)
        case .notify(let name, let payload, let response):
            var content = AppContent()
            content.remoteNotification = payload
            content.notificationResponse = response
            let isTapped = response != nil
            try launch(name, content, .remoteNotification, inBackground: !isTapped, connection)
        case .continueActivity(let name, let type, let title, let webpageURL):
            var activity = AppContent.Activity(type)
            activity.title = title
            activity.webpageURL = webpageURL
            var content = AppContent()
            content.userActivities = [activity]
            try launch(name, content, .userActivity, inBackground: false, connection)
        case .deliver(let name, let key, let values):
            let content = Self.content(key, values)
            let reason: AppLaunch.Reason = key == .location ? .location : .system
            try launch(name, content, reason, inBackground: true, connection)
        case .setDefaultHandler(let name, let handles):
            try setDefault(name, handles, connection)
        case .scene(let name, let action, let session):
            try scene(name, action, session, connection)
        case .lock(let user): try setLock(true, user, connection)
        case .unlock(let user): try setLock(false, user, connection)
        }
    }

    private static func content(_ key: Control.LaunchKey, _ values: [String]) -> AppContent {
        var content = AppContent()
        switch key {
        case .location: content.isForLocation = true
        case .localNotification: content.localNotification = values.first ?? ""
        case .newsstandDownloads: content.newsstandDownloads = values
        case .bluetoothCentrals: content.bluetoothCentrals = values
        case .bluetoothPeripherals: content.bluetoothPeripherals = values
        case .cloudKitShareMetadata: content.cloudKitShareMetadata = values.first ?? ""
        }
        return content
    }

    /// Of what a client sent, as much as an error repeats.
    nonisolated static func cut(_ text: String) -> String {
        text.utf8.count > 100 ? String(text.unicodeScalars.prefix(100)) + "…" : text
    }

    // MARK: Launching for a reason

    /// What a request of this kind may bring, for its user's account.
    static let contentByteCount = WireFormat.inlineStringLimit

    func launch(
        _ name: String, _ content: AppContent, _ reason: AppLaunch.Reason, inBackground: Bool,
        _ connection: ControlConnection, _ hints: AppManifest.LaunchScreenHints = .init()
    ) throws(ControlError) {
        let app = try findApplication(name, connection.peer)
        try check(content, app)
        var (context, key) = try launches.context(of: app, content, reason)
        context.screenHints = hints
        try connection.user.beginLaunch(byteCount: Self.contentByteCount)
        let identifier = launches.newIdentifier()
        let request = register(
            .handling(connection, app.identifier, identifier, requestedAt: supervisor.now))
        launches.begin(app, context, key, inBackground: inBackground, request, identifier)
    }

    func check(_ content: AppContent, _ app: InstalledApp) throws(ControlError) {
        if let key = LaunchFeatures.missing(for: content, in: app.application) {
            throw .refused(
                code: "undeclared_feature",
                reason:
                    "\(app.identifier) does not support this; its manifest would need \(key) in "
                    + "[Application]")
        }
        // What could not be told is not asked.
        let launch = AppLaunch(cookie: 0, content: content)
        guard (try? DaemonMessage.event(.launch(launch)).encoded()) != nil else {
            throw .refused(
                code: "too_large",
                reason: "that is more than 64 KiB, or it holds a NUL byte; pass a URL instead")
        }
    }

    func findApplication(
        _ name: String, _ peer: Peer
    ) throws(ControlError) -> InstalledApp {
        let app = try find(name, .control, peer)
        guard app.kind == .applicationKit else {
            throw .refused(
                code: "not_application_kit",
                reason: "\(name) is an unmodified program; only apps made with the SDK "
                    + "(Type=application-kit) can be asked for this"
                    + (app.desktop?.actions.isEmpty == false
                        ? "; actions of its desktop entry are started by launch (--action)" : ""))
        }
        return app
    }

    // MARK: Scenes and the lock

    private func scene(
        _ name: String, _ action: Control.SceneAction, _ session: String?,
        _ connection: ControlConnection
    ) throws(ControlError) {
        let app = try findApplication(name, connection.peer)
        var scene: SceneIdentifier?
        if let session {
            scene = SceneIdentifier(session: session)
            if scene == nil {
                throw .refused(
                    code: "no_such_scene", reason: "\(Self.cut(session)) is no scene session")
            }
        }
        let wish: SceneRequest
        switch (action, scene) {
        case (.activate, let scene): wish = .activate(scene)
        case (.background, let scene?): wish = .background(scene)
        case (.disconnect, let scene?): wish = .disconnect(scene)
        case (.discard, let scene?): wish = .discard(scene)
        case (_, nil):
            throw .refused(code: "no_such_scene", reason: "name the session of the scene")
        }
        supervisor.handle(
            .sceneRequested(register(.transition(connection)), app.identifier, wish))
    }

    private func setLock(
        _ isLocked: Bool, _ user: UInt32?, _ connection: ControlConnection
    ) throws(ControlError) {
        let user = user ?? connection.peer.user
        if user != connection.peer.user {
            try require(.administer, owner: nil, connection.peer)
        } else if !isLocked, hasLockedSession(user),
            !access.allows(connection.peer, to: .administer, owner: nil)
        {
            // Any process of the user's could ask, and the lock is there to keep them from the data.
            throw .permissionDenied(
                needed: "the session to be unlocked (loginctl unlock-session), or "
                    + access.needed(for: .administer, owner: nil))
        }
        supervisor.handle(.lockChanged(user: user, isLocked: isLocked))
        connection.reply(ControlReply.done)
    }
}
