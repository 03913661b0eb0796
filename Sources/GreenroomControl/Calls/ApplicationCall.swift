internal import Varlink

extension Control {
    /// Calls that only apps made with an SDK can answer.
    public enum ApplicationCall: Hashable, Sendable {
        case open(OpenCall)
        /// A quick action.
        case performAction(app: String, action: String, isBackground: Bool)
        /// A remote notification. A response means that the user has tapped on it: the app comes to
        /// the foreground. Without one, the app gets the notification in the background.
        case notify(app: String, payload: String, response: String?)
        case continueActivity(app: String, type: String, title: String?, webpageURL: String?)
        /// Another key of UIApplication.LaunchOptionsKey, for a launch in the background.
        case deliver(app: String, key: LaunchKey, values: [String])
        /// Sets the app that opens `handles`, which is `scheme:NAME` or `type:TYPE`.
        case setDefaultHandler(app: String, handles: String)
        case scene(app: String, SceneAction, session: String?)
        /// Makes a user's protected data unavailable (`lock`) or available. Nil means the caller.
        case lock(user: UInt32?)
        case unlock(user: UInt32?)
    }

    public struct OpenCall: Hashable, Sendable {
        public var urls: [String]
        /// Nil means the app that declares the scheme or the type.
        public var app: String?
        /// The MIME type of all URLs, if the caller knows it.
        public var contentType: String?
        public var sourceApplication: String?
        public var isBackground = false
        /// Text for the app from the caller, for each URL (UIScene.OpenURLOptions).
        public var annotation: String?
        public var eventAttribution: String?
        /// Together with ``sizeClass``, selects the launch screen.
        public var orientation: Orientation?
        public var sizeClass: SizeClass?
        public init(urls: [String]) { self.urls = urls }

        /// At most this many URLs in one call: more than a user selects, and few enough to fit into
        /// a message to the app.
        public static let urlLimit = 64
    }

    /// Launch options that have no method of their own.
    public enum LaunchKey: String, CaseIterable, Sendable {
        case location
        case localNotification = "local_notification"
        case newsstandDownloads = "newsstand_downloads"
        case bluetoothCentrals = "bluetooth_centrals"
        case bluetoothPeripherals = "bluetooth_peripherals"
        case cloudKitShareMetadata = "cloud_kit_share_metadata"
    }

    public enum SceneAction: String, CaseIterable, Sendable {
        case activate
        case background
        case disconnect
        case discard
    }
}

extension Control.ApplicationCall {
    var methodName: String {
        switch self {
        case .open: "Open"
        case .performAction: "PerformAction"
        case .notify: "Notify"
        case .continueActivity: "ContinueActivity"
        case .deliver: "Deliver"
        case .setDefaultHandler: "SetDefaultHandler"
        case .scene: "RequestScene"
        case .lock: "Lock"
        case .unlock: "Unlock"
        }
    }

    /// Nil if the method is not one of these.
    init?(method: String, _ call: Call) throws(ServiceError) {
        let parameters = Parameters(call)
        switch method {
        case "Open":
            self = .open(try Control.OpenCall(parameters))
        case "PerformAction":
            try parameters.allow(["app", "action", "background"])
            self = .performAction(
                app: try parameters["app"].text(), action: try parameters["action"].text(),
                isBackground: try parameters["background"].optionalBool())
        case "Notify":
            try parameters.allow(["app", "payload", "response"])
            self = .notify(
                app: try parameters["app"].text(), payload: try parameters["payload"].text(),
                response: try parameters["response"].optionalText())
        case "ContinueActivity":
            try parameters.allow(["app", "type", "title", "webpageURL"])
            self = .continueActivity(
                app: try parameters["app"].text(), type: try parameters["type"].text(),
                title: try parameters["title"].optionalText(),
                webpageURL: try parameters["webpageURL"].optionalText())
        case "Deliver":
            try parameters.allow(["app", "key", "values"])
            self = .deliver(
                app: try parameters["app"].text(), key: try parameters["key"].word(),
                values: try parameters["values"].optionalTexts() ?? [])
        case "SetDefaultHandler":
            try parameters.allow(["app", "handles"])
            self = .setDefaultHandler(
                app: try parameters["app"].text(), handles: try parameters["handles"].text())
        case "RequestScene":
            try parameters.allow(["app", "action", "session"])
            self = .scene(
                app: try parameters["app"].text(), try parameters["action"].word(),
                session: try parameters["session"].optionalText())
        case "Lock":
            try parameters.allow(["user"])
            self = .lock(user: try parameters["user"].optionalInteger())
        case "Unlock":
            try parameters.allow(["user"])
            self = .unlock(user: try parameters["user"].optionalInteger())
        case _: return nil
        }
    }

    func encodeMembers(to writer: inout JSONWriter) {
        switch self {
        case .open(let open): open.encodeMembers(to: &writer)
        case .performAction(let app, let action, let isBackground):
            writer.member("app", app)
            writer.member("action", action)
            if isBackground { writer.member("background", true) }
        case .notify(let app, let payload, let response):
            writer.member("app", app)
            writer.member("payload", payload)
            writer.member("response", ifPresent: response)
        case .continueActivity(let app, let type, let title, let webpageURL):
            writer.member("app", app)
            writer.member("type", type)
            writer.member("title", ifPresent: title)
            writer.member("webpageURL", ifPresent: webpageURL)
        case .deliver(let app, let key, let values):
            writer.member("app", app)
            writer.member("key", key)
            if !values.isEmpty { writer.member("values", values) }
        case .setDefaultHandler(let app, let handles):
            writer.member("app", app)
            writer.member("handles", handles)
        case .scene(let app, let action, let session):
            writer.member("app", app)
            writer.member("action", action)
            writer.member("session", ifPresent: session)
        case .lock(let user), .unlock(let user): writer.member("user", ifPresent: user)
        }
    }

    fileprivate struct Parameters {
        let object: JSONObject
        init(_ call: Call) { object = call.parameters }

        subscript(name: String) -> JSONObject.Member {
            JSONObject.Member(name: name, value: object[name] ?? .null)
        }

        func allow(_ names: [String]) throws(ServiceError) {
            if let other = object.members.first(where: { !names.contains($0.name) }) {
                throw other.invalid
            }
        }
    }
}

extension Control.OpenCall {
    fileprivate init(_ parameters: Control.ApplicationCall.Parameters) throws(ServiceError) {
        try parameters.allow([
            "urls", "app", "contentType", "sourceApplication", "background", "annotation",
            "eventAttribution", "orientation", "sizeClass",
        ])
        var open = Self(urls: try parameters["urls"].texts())
        guard 1...Self.urlLimit ~= open.urls.count else {
            throw .invalidParameter("urls")
        }
        open.app = try parameters["app"].optionalText()
        open.contentType = try parameters["contentType"].optionalText()
        open.sourceApplication = try parameters["sourceApplication"].optionalText()
        open.isBackground = try parameters["background"].optionalBool()
        open.annotation = try parameters["annotation"].optionalText()
        open.eventAttribution = try parameters["eventAttribution"].optionalText()
        open.orientation = try parameters["orientation"].optionalWord()
        open.sizeClass = try parameters["sizeClass"].optionalWord()
        self = open
    }

    fileprivate func encodeMembers(to writer: inout JSONWriter) {
        writer.member("urls", urls)
        writer.member("app", ifPresent: app)
        writer.member("contentType", ifPresent: contentType)
        writer.member("sourceApplication", ifPresent: sourceApplication)
        if isBackground { writer.member("background", true) }
        writer.member("annotation", ifPresent: annotation)
        writer.member("eventAttribution", ifPresent: eventAttribution)
        writer.member("orientation", ifPresent: orientation?.rawValue)
        writer.member("sizeClass", ifPresent: sizeClass?.rawValue)
    }
}
