internal import GreenroomAppChannel

/// What the user was doing, on this device or on another; `NSUserActivity`.
public struct UserActivity: Hashable, Sendable {
    public var activityType: String
    public var title: String?
    public var webpageURL: String?
    public var targetContentIdentifier: String?
    public var userInfo: [String: String] = [:]

    public init(activityType: String) { self.activityType = activityType }

    init(_ activity: AppContent.Activity) {
        activityType = activity.type
        title = activity.title
        webpageURL = activity.webpageURL
        targetContentIdentifier = activity.targetContentIdentifier
        userInfo = activity.userInfo
    }

    var activity: AppContent.Activity {
        var activity = AppContent.Activity(activityType)
        activity.title = title
        activity.webpageURL = webpageURL
        activity.targetContentIdentifier = targetContentIdentifier
        activity.userInfo = userInfo
        return activity
    }
}

/// A quick action; `UIApplicationShortcutItem`.
public struct ApplicationShortcutItem: Hashable, Sendable {
    public let type: String
    public let localizedTitle: String
    public let localizedSubtitle: String?
    public let userInfo: [String: String]

    init(_ action: AppContent.QuickAction) {
        type = action.type
        localizedTitle = action.title ?? action.type
        localizedSubtitle = action.subtitle
        userInfo = action.userInfo
    }
}

/// A URL to open, and how; `UIOpenURLContext`. The URL is text, so that an app need not have Foundation:
/// one that has says `URL(string: context.url)`.
public struct OpenURLContext: Hashable, Sendable {
    public let url: String
    public let options: Options

    public struct Options: Hashable, Sendable {
        /// Identifier of the app that asked.
        public let sourceApplication: String?
        public let annotation: String?
        /// The document is to be changed where it is; otherwise copy it before using it.
        public let openInPlace: Bool
        public let eventAttribution: String?
    }

    init(_ url: AppContent.OpenURL) {
        self.url = url.url
        options = Options(
            sourceApplication: url.sourceApplication, annotation: url.annotation,
            openInPlace: url.opensInPlace, eventAttribution: url.eventAttribution)
    }
}

/// Why the daemon did not do what the app asked of it.
public struct RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An errno(3). `EAGAIN`: 16 requests of the app are under way; it asks again when one of them is
    /// answered.
    public let code: Int32
    public let description: String
}
