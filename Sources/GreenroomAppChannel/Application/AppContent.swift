/// What an app is asked to open, do or continue, or what it is told: UIKit's launch options in the
/// channel's form. Launches, connections of scenes and running apps get the same type.
///
/// A key of user information must not contain `=`; if it does, it is cut off there.
public struct AppContent: Hashable, Sendable {
    /// `url`, `urlContexts`: the URLs in the order of the request.
    public var urls: [OpenURL] = []
    /// `sourceApplication`: the identifier of the requesting app.
    public var sourceApplication: String?
    /// `shortcutItem`
    public var quickAction: QuickAction?
    /// `userActivityDictionary`, `userActivities`
    public var userActivities: [Activity] = []
    /// `handoffUserActivityType`: the type of an activity whose data comes later.
    public var handoffUserActivityType: String?
    /// `remoteNotification`: the payload as it was sent, usually JSON.
    public var remoteNotification: String?
    /// `localNotification`
    public var localNotification: String?
    /// `notificationResponse`: the identifier of what the user chose on the notification. The
    /// notification itself is set too.
    public var notificationResponse: String?
    /// `location`: whether there are location events to fetch.
    public var isForLocation = false
    /// The identifiers to restore.
    public var newsstandDownloads: [String] = []
    public var bluetoothCentrals: [String] = []
    public var bluetoothPeripherals: [String] = []
    /// `cloudKitShareMetadata`
    public var cloudKitShareMetadata: String?

    public init() {}

    public var isEmpty: Bool { self == AppContent() }

    /// Adds content that came later. Where there can be only one value, the later one counts.
    public mutating func add(_ later: AppContent) {
        urls += later.urls
        sourceApplication = later.sourceApplication ?? sourceApplication
        quickAction = later.quickAction ?? quickAction
        userActivities += later.userActivities
        handoffUserActivityType = later.handoffUserActivityType ?? handoffUserActivityType
        if later.remoteNotification != nil || later.localNotification != nil {
            remoteNotification = later.remoteNotification
            localNotification = later.localNotification
            notificationResponse = later.notificationResponse
        }
        isForLocation = isForLocation || later.isForLocation
        newsstandDownloads += later.newsstandDownloads
        bluetoothCentrals += later.bluetoothCentrals
        bluetoothPeripherals += later.bluetoothPeripherals
        cloudKitShareMetadata = later.cloudKitShareMetadata ?? cloudKitShareMetadata
    }

    /// A URL and how to open it.
    public struct OpenURL: Hashable, Sendable {
        public var url: String
        public var sourceApplication: String?
        public var annotation: String?
        public var eventAttribution: String?
        /// Whether to change the document in its place instead of a copy.
        public var opensInPlace = false

        public init(_ url: String) { self.url = url }
    }

    /// What the user was doing, here or elsewhere.
    public struct Activity: Hashable, Sendable {
        public var type: String
        public var title: String?
        public var webpageURL: String?
        public var targetContentIdentifier: String?
        public var userInfo: [String: String] = [:]

        public init(_ type: String) { self.type = type }
    }

    /// A Home screen quick action.
    public struct QuickAction: Hashable, Sendable {
        public var type: String
        public var title: String?
        public var subtitle: String?
        public var userInfo: [String: String] = [:]

        public init(_ type: String) { self.type = type }
    }
}

/// On the wire, each value is a field. The details of a URL, an activity or a quick action follow
/// its field, with the field's name as a prefix: `url.source=…` after `url=…`.
extension AppContent {
    func add(to fields: inout AppFields) {
        for url in urls {
            fields.add("url", url.url)
            fields.add("url.source", url.sourceApplication)
            fields.add("url.annotation", url.annotation)
            fields.add("url.attribution", url.eventAttribution)
            fields.add("url.in-place", url.opensInPlace ? "1" : nil)
        }
        fields.add("source-application", sourceApplication)
        if let quickAction {
            fields.add("action", quickAction.type)
            fields.add("action.title", quickAction.title)
            fields.add("action.subtitle", quickAction.subtitle)
            fields.add("action.info.", quickAction.userInfo)
        }
        for activity in userActivities { activity.add(to: &fields, as: "activity") }
        fields.add("handoff", handoffUserActivityType)
        fields.add("remote-notification", remoteNotification)
        fields.add("local-notification", localNotification)
        fields.add("notification-response", notificationResponse)
        fields.add("location", isForLocation ? "1" : nil)
        fields.add("newsstand-download", newsstandDownloads)
        fields.add("bluetooth-central", bluetoothCentrals)
        fields.add("bluetooth-peripheral", bluetoothPeripherals)
        fields.add("cloudkit-share", cloudKitShareMetadata)
    }

    init(_ fields: AppFields) {
        for (name, value) in fields.pairs { take(name, value) }
    }

    private mutating func take(_ name: Substring, _ value: String) {
        switch name {
        case "url": urls.append(OpenURL(value))
        case "source-application": sourceApplication = value
        case "action": quickAction = QuickAction(value)
        case "activity": userActivities.append(Activity(value))
        case "handoff": handoffUserActivityType = value
        case "remote-notification": remoteNotification = value
        case "local-notification": localNotification = value
        case "notification-response": notificationResponse = value
        case "location": isForLocation = true
        case "newsstand-download": newsstandDownloads.append(value)
        case "bluetooth-central": bluetoothCentrals.append(value)
        case "bluetooth-peripheral": bluetoothPeripherals.append(value)
        case "cloudkit-share": cloudKitShareMetadata = value
        default: takeDetail(name, value)
        }
    }

    /// Reads a detail. A detail is ignored if it follows no value to which it could belong.
    private mutating func takeDetail(_ name: Substring, _ value: String) {
        if let detail = name.without(prefix: "url."), !urls.isEmpty {
            urls[urls.count - 1].take(detail, value)
        } else if let detail = name.without(prefix: "activity."), !userActivities.isEmpty {
            userActivities[userActivities.count - 1].take(detail, value)
        } else if let detail = name.without(prefix: "action.") {
            quickAction?.take(detail, value)
        }
    }
}

extension AppContent.OpenURL {
    fileprivate mutating func take(_ name: Substring, _ value: String) {
        switch name {
        case "source": sourceApplication = value
        case "annotation": annotation = value
        case "attribution": eventAttribution = value
        case "in-place": opensInPlace = value == "1"
        default: break
        }
    }
}

extension AppContent.QuickAction {
    fileprivate mutating func take(_ name: Substring, _ value: String) {
        switch name {
        case "title": title = value
        case "subtitle": subtitle = value
        default:
            if let key = name.without(prefix: "info.") { userInfo[String(key)] = value }
        }
    }
}

extension AppContent.Activity {
    func add(to fields: inout AppFields, as name: String) {
        fields.add(name, type)
        fields.add(name + ".title", title)
        fields.add(name + ".page", webpageURL)
        fields.add(name + ".target", targetContentIdentifier)
        fields.add(name + ".info.", userInfo)
    }

    mutating func take(_ name: Substring, _ value: String) {
        switch name {
        case "title": title = value
        case "page": webpageURL = value
        case "target": targetContentIdentifier = value
        default:
            if let key = name.without(prefix: "info.") { userInfo[String(key)] = value }
        }
    }
}

extension Substring {
    func without(prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
