internal import GreenroomAppChannel

/// What the user was doing, on this device or another; Foundation's `NSUserActivity`.
///
/// Source: <https://developer.apple.com/documentation/foundation/nsuseractivity>
public struct UserActivity: Hashable, Sendable {
    /// The kind of activity, a name in reverse-DNS style; `NSUserActivity.activityType`.
    public var activityType: String
    /// A title for the user; `NSUserActivity.title`.
    public var title: String?
    /// A web page that shows the same content; `NSUserActivity.webpageURL`.
    public var webpageURL: String?
    /// Identifies the content, so that a scene which already shows it can be found;
    /// `NSUserActivity.targetContentIdentifier`.
    public var targetContentIdentifier: String?
    /// The app's own data. Keys must not contain `=`; `NSUserActivity.userInfo`.
    public var userInfo: [String: String] = [:]

    /// Creates an activity without a title or data.
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

/// A quick action that the user chose; UIKit's `UIApplicationShortcutItem`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiapplicationshortcutitem>
public struct ApplicationShortcutItem: Hashable, Sendable {
    /// The kind of action, as the app names it.
    public let type: String
    /// The title that the user saw; ``type`` if it has no title.
    public let localizedTitle: String
    /// The line below the title.
    public let localizedSubtitle: String?
    /// The app's own data.
    public let userInfo: [String: String]

    init(_ action: AppContent.QuickAction) {
        type = action.type
        localizedTitle = action.title ?? action.type
        localizedSubtitle = action.subtitle
        userInfo = action.userInfo
    }
}

/// A URL to open, and how to open it; UIKit's `UIOpenURLContext`. The URL is text, so that an app
/// can do without Foundation. With the module ApplicationKitFoundation, write `URL(context)`.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiopenurlcontext>
public struct OpenURLContext: Hashable, Sendable {
    /// The URL.
    public let url: String
    /// Who asked to open the URL, and how.
    public let options: Options

    /// How to open a URL; UIKit's `UIScene.OpenURLOptions`.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiscene/openurloptions>
    public struct Options: Hashable, Sendable {
        /// The identifier of the app that asked to open the URL.
        public let sourceApplication: String?
        /// A text that the requesting app sent with the URL.
        public let annotation: String?
        /// Whether to change the document in its place. If false, copy the document before using
        /// it.
        public let openInPlace: Bool
        /// The attribution that came with the URL.
        public let eventAttribution: String?
    }

    init(_ url: AppContent.OpenURL) {
        self.url = url.url
        options = Options(
            sourceApplication: url.sourceApplication, annotation: url.annotation,
            openInPlace: url.opensInPlace, eventAttribution: url.eventAttribution)
    }
}

/// What the user chose on a notification; UserNotifications' `UNNotificationResponse`.
///
/// Source: <https://developer.apple.com/documentation/usernotifications/unnotificationresponse>
public struct NotificationResponse: Hashable, Sendable {
    /// The identifier of the action that the user chose.
    public let actionIdentifier: String
    /// The notification's payload as it was sent.
    public let payload: String?
    let isRemote: Bool

    /// Nil if the user has not answered the notification.
    init?(_ content: AppContent) {
        guard let action = content.notificationResponse else { return nil }
        actionIdentifier = action
        payload = content.remoteNotification ?? content.localNotification
        isRemote = content.remoteNotification != nil
    }
}

/// Why a request of the app was refused.
///
/// Source: none; Apple has no such type.
public struct RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An errno(3). `EAGAIN` means that too many requests of the app are under way: the daemon
    /// accepts 16 at a time. Ask again when one of them has been answered. `ENOTCONN` means that
    /// the app runs without Greenroom.
    public let code: Int32
    /// The reason in words.
    public let description: String
}
