internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest

// URLs and documents: which app opens them, and the choice where several could.

extension ControlHandler {
    func open(
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
            let (context, key) = try launches.context(of: app, content, .url)
            launches.begin(
                app, context, key, inBackground: false, request, launches.newIdentifier())
            return nil
        } catch {
            return error.description
        }
    }

    // MARK: The choice of an app

    func setDefault(
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
}
