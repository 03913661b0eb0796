internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

// Calls about apps made with the SDK: actions, notifications, activities, scenes, and the session
// lock.

@LoopActor
struct ApplicationCalls {
    let core: Core
    let catalog: AppCatalog
    let requests: Requests
    let authorization: Authorization
    let launches: TriggeredLaunches
    let opening: URLOpening
    let machine: MachineEvents
    let locks: UserLocks

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
            let (reason, inBackground) = Self.occasion(of: key)
            try launch(name, content, reason, inBackground: inBackground, connection)
        case .setDefaultHandler(let name, let handles):
            try setDefault(name, handles, connection)
        case .scene(let name, let action, let session):
            try scene(name, action, session, connection)
        case .lock(let user): try setLock(true, user, connection)
        case .unlock(let user): try setLock(false, user, connection)
        }
    }

    /// A local notification launches an app when the user taps it, and a share when the user
    /// accepts it. The other keys are for events of the system.
    private static func occasion(
        of key: Control.LaunchKey
    ) -> (reason: AppLaunch.Reason, inBackground: Bool) {
        switch key {
        case .location: (.location, true)
        case .localNotification, .cloudKitShareMetadata: (.user, false)
        case .newsstandDownloads, .bluetoothCentrals, .bluetoothPeripherals: (.system, true)
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

    // MARK: Launching for a reason

    private func launch(
        _ name: String, _ content: AppContent, _ reason: AppLaunch.Reason, inBackground: Bool,
        _ connection: ControlConnection, _ hints: AppManifest.LaunchScreenHints = .init()
    ) throws(ControlError) {
        let app = try findApplication(name, connection.peer)
        try LaunchFeatures.check(content, app)
        var (context, key) = try launches.context(of: app, content, reason)
        context.screenHints = hints
        try connection.user.beginLaunch(byteCount: WaitingCall.contentByteCount)
        let identifier = launches.newIdentifier()
        let waiting = WaitingCall.Launch(
            connection: connection, identifier: identifier,
            byteCount: WaitingCall.contentByteCount, handler: app.identifier)
        launches.begin(
            app, context, key, from: .client(.launch(waiting)), as: identifier,
            inBackground: inBackground)
    }

    private func findApplication(
        _ name: String, _ peer: Peer
    ) throws(ControlError) -> InstalledApp {
        let app = try authorization.find(name, .control, peer)
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

    // MARK: URLs

    private func open(
        _ call: Control.OpenCall, _ connection: ControlConnection
    ) throws(ControlError) {
        var content = AppContent()
        content.sourceApplication = call.sourceApplication
        content.urls = call.urls.map {
            var url = AppContent.OpenURL($0)
            url.sourceApplication = call.sourceApplication
            url.annotation = call.annotation
            url.eventAttribution = call.eventAttribution
            return url
        }
        var name = call.app ?? ""
        if call.app == nil {
            name = try opening.app(for: call.urls, call.contentType) {
                authorization.mayDo(.control, owner: $0.account, connection.peer)
            }
        }
        let app = try findApplication(name, connection.peer)
        for url in call.urls
        where Handlers.match(url, call.contentType, app.application) == nil {
            throw .refused(
                code: "undeclared_feature",
                reason:
                    "\(name) does not open \(url.cut); its manifest would need the scheme "
                    + "in URLSchemes= or the type in DocumentTypes=")
        }
        let hints = AppManifest.LaunchScreenHints(call.orientation, call.sizeClass)
        try launch(name, content, .url, inBackground: call.isBackground, connection, hints)
    }

    private func setDefault(
        _ name: String, _ handles: String, _ connection: ControlConnection
    ) throws(ControlError) {
        try authorization.require(.administer, owner: nil, connection.peer)
        try opening.choose(try findApplication(name, connection.peer), for: handles)
        connection.reply(ControlReply.done)
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
                    code: "no_such_scene", reason: "\(session.cut) is not a scene session")
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
        requests.ask(.scene(app.identifier, wish), for: .client(.plain(connection)))
    }

    /// Beyond this many locked users, only users with an app here and trusted users are added. One
    /// person may have thousands of user numbers (subuid(5)), and all locked users are written down
    /// at each change.
    private static let lockLimit = 1024

    private func setLock(
        _ isLocked: Bool, _ user: UInt32?, _ connection: ControlConnection
    ) throws(ControlError) {
        let user = user ?? connection.peer.user
        if user != connection.peer.user {
            try authorization.require(.administer, owner: nil, connection.peer)
        } else if !isLocked, machine.hasLockedSession(user),
            !authorization.mayDo(.administer, owner: nil, connection.peer)
        {
            // Any process of the user could ask, and the session lock is there to keep those
            // processes from the data.
            throw .permissionDenied(
                needed: "the session to be unlocked (loginctl unlock-session), or "
                    + authorization.needed(for: .administer))
        }
        let locked = core.lifecycle.lockedUsers
        if isLocked, user == connection.peer.user, locked.count >= Self.lockLimit,
            !locked.contains(user), !SharedLimit.isTrusted(user), !catalog.hasApp(of: user)
        {
            throw .limitExceeded(what: "locked users without an app", limit: Self.lockLimit)
        }
        locks.note(user, isLocked: isLocked)
        connection.reply(ControlReply.done)
    }
}
