internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

// What apps made with the SDK can be asked for: opened URLs, actions, notifications, activities; their
// scenes; and the lock.

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

    // MARK: Launching for a reason

    /// What a request of this kind may bring, for its user's account.
    static let contentByteCount = WireFormat.inlineStringLimit

    private func launch(
        _ name: String, _ content: AppContent, _ reason: AppLaunch.Reason, inBackground: Bool,
        _ connection: ControlConnection, _ hints: AppManifest.LaunchScreenHints = .init()
    ) throws(ControlError) {
        let app = try findApplication(name, connection.peer)
        try check(content, app)
        var (context, key) = try context(of: app, content, reason)
        context.screenHints = hints
        try connection.user.beginLaunch(byteCount: Self.contentByteCount)
        let identifier = LaunchIdentifier(newLaunchIdentifier())
        let request = register(
            .handling(connection, app.identifier, identifier, requestedAt: supervisor.now))
        begin(app, context, key, inBackground: inBackground, request, identifier)
    }

    private func check(_ content: AppContent, _ app: InstalledApp) throws(ControlError) {
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

    private func context(
        of app: InstalledApp, _ content: AppContent, _ reason: AppLaunch.Reason
    ) throws(ControlError) -> (LaunchContext, EnvironmentKey) {
        var (context, key) = try supervisor.launcher.contexts.context(
            for: Control.LaunchCall(app: app.identifier.rawValue), of: app, descriptors: [],
            requestedAt: supervisor.now)
        context.content = content
        context.reason = reason
        return (context, key)
    }

    private func begin(
        _ app: InstalledApp, _ context: LaunchContext, _ key: EnvironmentKey, inBackground: Bool,
        _ request: RequestIdentifier, _ identifier: LaunchIdentifier, _ limit: TriggerLimit? = nil
    ) {
        supervisor.launcher.contexts.remember(context, for: request)
        let launch = LaunchRequest(
            app: app.identifier, launchIdentifier: identifier, environmentKey: key,
            inBackground: inBackground)
        supervisor.handle(
            limit.map { .triggered(request, launch, $0) } ?? .launchRequested(request, launch))
    }

    private func findApplication(
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

    // MARK: Opening

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
        let candidates = handlers { mayDo(.control, owner: $0.account, connection.peer) }
        var name = call.app ?? ""
        if call.app == nil { name = try handler(of: call.urls, call.contentType, candidates) }
        let app = try findApplication(name, connection.peer)
        for url in call.urls
        where Handlers.match(url, call.contentType, app.application) == nil {
            throw .refused(
                code: "undeclared_feature",
                reason:
                    "\(name) does not open \(Self.cut(url)); its manifest would need the scheme "
                    + "in URLSchemes= or the type in DocumentTypes=")
        }
        let hints = AppManifest.LaunchScreenHints(call.orientation, call.sizeClass)
        try launch(name, content, .url, inBackground: call.isBackground, connection, hints)
    }

    /// One app for all of them.
    private func handler(
        of urls: [String], _ contentType: String?, _ handlers: Handlers
    ) throws(ControlError) -> String {
        var found: Set<String> = []
        for url in urls {
            do throws(Handlers.Failure) {
                found.insert(try handlers.app(for: url, contentType: contentType))
            } catch {
                throw Self.error(error)
            }
        }
        guard found.count == 1, let app = found.first else {
            throw .refused(
                code: "several_apps",
                reason: "they belong to several apps (\(found.sorted().joined(separator: ", "))); "
                    + "open them one by one, or name the app")
        }
        return app
    }

    private static func error(_ failure: Handlers.Failure) -> ControlError {
        switch failure {
        case .none(let url):
            .refused(
                code: "no_handler",
                reason: "no app opens \(cut(url)); an app declares what it opens with URLSchemes= "
                    + "and DocumentTypes= in [Application] of its manifest")
        case .several(let url, let apps):
            .refused(
                code: "several_apps",
                reason: "\(apps.joined(separator: " and ")) open \(cut(url)); name one with --app, "
                    + "or choose it with \"greenroomctl open --set-default APP scheme:NAME\" (or "
                    + "type:TYPE)")
        }
    }

    private static func cut(_ url: String) -> String {
        url.utf8.count > 100 ? String(url.prefix(100)) + "…" : url
    }

    private func handlers(_ isVisible: (InstalledApp) -> Bool) -> Handlers {
        let apps = catalog.apps.filter { $0.kind == .applicationKit && isVisible($0) }
        return Handlers(
            candidates: apps.map {
                .init(app: $0.identifier.rawValue, application: $0.application)
            }, defaults: defaultHandlers)
    }

    /// For an app in front that opens a URL: like a client of the same user. The reason if not.
    func openURL(
        _ url: String, from source: AppIdentifier, as request: RequestIdentifier
    ) -> String? {
        guard let owner = catalog.owner(of: source) else { return "the app is gone" }
        do throws(ControlError) {
            let handlers = handlers { $0.account.user == owner.user }
            let name = try handler(of: [url], nil, handlers)
            guard let app = catalog[AppIdentifier(name)] else { return "no app opens it" }
            var content = AppContent()
            content.sourceApplication = source.rawValue
            content.urls = [AppContent.OpenURL(url)]
            try check(content, app)
            let (context, key) = try context(of: app, content, .url)
            let identifier = LaunchIdentifier(newLaunchIdentifier())
            begin(app, context, key, inBackground: false, request, identifier)
            return nil
        } catch {
            return error.description
        }
    }

    func launchForTimer(_ identifier: AppIdentifier) { launchForSystem(identifier, .timer) }

    func launchForPath(_ identifier: AppIdentifier, _ limit: TriggerLimit) {
        launchForSystem(identifier, .path, limit)
    }

    /// For an event that the app asked for in its manifest. What is refused (a crash loop, for example)
    /// is tried again with the next event.
    private func launchForSystem(
        _ identifier: AppIdentifier, _ reason: AppLaunch.Reason, _ limit: TriggerLimit? = nil
    ) {
        guard let app = catalog[identifier],
            let (context, key) = try? context(of: app, AppContent(), reason)
        else { return }
        begin(
            app, context, key, inBackground: true, supervisor.applications.requests.newRequest(),
            LaunchIdentifier(newLaunchIdentifier()), limit)
    }

    private func setDefault(
        _ name: String, _ handles: String, _ connection: ControlConnection
    ) throws(ControlError) {
        try require(.administer, owner: nil, connection.peer)
        let app = try findApplication(name, connection.peer)
        let declared =
            app.application.urlSchemes.map { "scheme:" + $0 }
            + app.application.documentTypes.map { "type:" + $0 }
        guard declared.contains(handles) else {
            throw .refused(
                code: "undeclared_feature",
                reason: "\(name) does not declare \(Self.cut(handles)); it declares "
                    + (declared.isEmpty ? "nothing" : declared.joined(separator: ", ")))
        }
        var defaults = defaults(defaultHandlersPath)
        defaults[handles] = name
        guard defaults.count <= HandlerDefaults.limit else {
            throw .limitExceeded(what: "default handlers", limit: HandlerDefaults.limit)
        }
        try writeDefaults(defaults)
        connection.reply(ControlReply.done)
    }

    /// Read when it is needed: nobody opens things in a loop. What was chosen counts before what an
    /// administrator has written beside the manifests, where the supervisor may not write.
    private var defaultHandlers: [String: String] {
        defaults(givenDefaultHandlersPath).merging(defaults(defaultHandlersPath)) { $1 }
    }

    private func defaults(_ path: String) -> [String: String] {
        (try? SmallFile.text(of: path)).map(HandlerDefaults.parse) ?? [:]
    }

    private func writeDefaults(_ defaults: [String: String]) throws(ControlError) {
        let slash = defaultHandlersPath.lastIndex(of: "/") ?? defaultHandlersPath.startIndex
        unsafe mkdir(String(defaultHandlersPath[..<slash]), 0o755)
        do throws(SystemError) {
            try SmallFile.replace(defaultHandlersPath, with: HandlerDefaults.text(of: defaults))
        } catch {
            throw .refused(
                code: "read_only", reason: "writing \(defaultHandlersPath): \(error)")
        }
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
        guard user == connection.peer.user || access.isTrusted(connection.peer) else {
            throw .permissionDenied(needed: access.needed(for: .administer, owner: nil))
        }
        supervisor.handle(.lockChanged(user: user, isLocked: isLocked))
        connection.reply(ControlReply.done)
    }
}
