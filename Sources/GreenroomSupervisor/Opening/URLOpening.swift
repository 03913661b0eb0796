internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Finds the app that opens a URL or a document, and keeps the choice where several apps could.
@LoopActor
final class URLOpening {
    private let catalog: AppCatalog
    private let launches: TriggeredLaunches
    /// The file with the apps that were chosen for schemes and types.
    private let defaultsPath: String
    /// The file that an administrator may have put beside the manifests, where the supervisor may
    /// not write.
    private let givenDefaultsPath: String

    init(
        catalog: AppCatalog, launches: TriggeredLaunches, stateDirectory: String,
        manifestDirectory: String
    ) {
        self.catalog = catalog
        self.launches = launches
        defaultsPath = stateDirectory + "/" + HandlerDefaults.fileName
        givenDefaultsPath = manifestDirectory + "/" + HandlerDefaults.fileName
    }

    /// The one app that opens all of the URLs.
    ///
    /// - Parameter isVisible: the apps that may be chosen.
    func app(
        for urls: [String], _ contentType: String?, among isVisible: (InstalledApp) -> Bool
    ) throws(ControlError) -> String {
        let handlers = handlers(isVisible)
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
                reason: "no app opens \(url.cut); an app declares what it opens with URLSchemes= "
                    + "and DocumentTypes= in [Application] of its manifest")
        case .several(let url, let apps):
            .refused(
                code: "several_apps",
                reason: "\(apps.joined(separator: " and ")) open \(url.cut); name one with --app, "
                    + "or choose it with \"greenroomctl open --set-default APP scheme:NAME\" (or "
                    + "type:TYPE)")
        }
    }

    private func handlers(_ isVisible: (InstalledApp) -> Bool) -> Handlers {
        let apps = catalog.apps.filter { $0.kind == .applicationKit && isVisible($0) }
        return Handlers(
            candidates: apps.map {
                .init(app: $0.identifier.rawValue, application: $0.application)
            }, defaults: defaults)
    }

    /// Opens a URL for an app in front, as for a client of the same user.
    ///
    /// - Returns: why the URL cannot be opened; nil if it can.
    func open(_ url: String, from source: AppIdentifier, _ origin: Requests.Origin) -> String? {
        guard let owner = catalog.owner(of: source) else { return "the app is gone" }
        do throws(ControlError) {
            let name = try app(for: [url], nil) { $0.account.user == owner.user }
            guard let app = catalog[AppIdentifier(name)] else { return "no app opens it" }
            var content = AppContent()
            content.sourceApplication = source.rawValue
            content.urls = [AppContent.OpenURL(url)]
            content.urls[0].sourceApplication = source.rawValue
            try LaunchFeatures.check(content, app)
            let (context, key) = try launches.context(of: app, content, .url)
            launches.begin(
                app, context, key, from: origin, as: launches.newIdentifier(), inBackground: false)
            return nil
        } catch {
            return error.description
        }
    }

    // MARK: The choice of an app

    func choose(_ app: InstalledApp, for handles: String) throws(ControlError) {
        let name = app.identifier.rawValue
        let declared =
            app.application.urlSchemes.map { "scheme:" + $0 }
            + app.application.documentTypes.map { "type:" + $0 }
        guard declared.contains(handles) else {
            throw .refused(
                code: "undeclared_feature",
                reason: "\(name) does not declare \(handles.cut); it declares "
                    + (declared.isEmpty ? "nothing" : declared.joined(separator: ", ")))
        }
        var defaults = Self.defaults(in: defaultsPath)
        defaults[handles] = name
        guard defaults.count <= HandlerDefaults.limit else {
            throw .limitExceeded(what: "default handlers", limit: HandlerDefaults.limit)
        }
        try write(defaults)
    }

    /// Read whenever it is needed, because nobody opens things in a loop. What a user chose comes
    /// before what the administrator has written.
    private var defaults: [String: String] {
        Self.defaults(in: givenDefaultsPath).merging(Self.defaults(in: defaultsPath)) { $1 }
    }

    private static func defaults(in path: String) -> [String: String] {
        (try? SmallFile.text(of: path)).map(HandlerDefaults.parse) ?? [:]
    }

    private func write(_ defaults: [String: String]) throws(ControlError) {
        let slash = defaultsPath.lastIndex(of: "/") ?? defaultsPath.startIndex
        unsafe mkdir(String(defaultsPath[..<slash]), 0o755)
        do throws(SystemError) {
            try SmallFile.replace(defaultsPath, with: HandlerDefaults.text(of: defaults))
        } catch {
            throw .refused(code: "read_only", reason: "writing \(defaultsPath): \(error)")
        }
    }
}
