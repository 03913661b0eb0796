internal import GreenroomAppChannel

extension Application {
    /// Why the app was launched, by key: `launchOptions?[.urlText]` is a `String?`. Follows UIKit's
    /// `[UIApplication.LaunchOptionsKey: Any]`. The options are empty if the user simply started
    /// the app. An app with scenes gets nil instead, and finds everything in
    /// ``Scene/ConnectionOptions``.
    ///
    /// A key can have a value only if the app's manifest declares its feature.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiapplication/launchoptionskey>
    public struct LaunchOptions: Hashable, Sendable {
        private let record: LaunchRecord
        var content: AppContent { record.launch.content }

        init(_ record: LaunchRecord) { self.record = record }

        /// Whether both hold the same values.
        public static func == (one: Self, other: Self) -> Bool { one.content == other.content }
        /// Feeds the values into `hasher`.
        public func hash(into hasher: inout Hasher) { content.hash(into: &hasher) }

        /// Whether no key has a value: the user simply started the app.
        public var isEmpty: Bool { content.isEmpty }

        /// The value of `key`, or nil if there is none.
        public subscript<Value>(_ key: LaunchOptionsKey<Value>) -> Value? { key.value(content) }

        /// The names of the keys that have a value, as UIKit spells them.
        public var keys: [String] { Self.presence.filter { $0.isIn(content) }.map(\.name) }

        private static let presence: [(name: String, isIn: @Sendable (AppContent) -> Bool)] = [
            entry(.urlText), entry(.sourceApplication), entry(.annotation),
            entry(.localNotification), entry(.remoteNotification), entry(.location),
            entry(.newsstandDownloads),
            entry(.bluetoothCentrals), entry(.bluetoothPeripherals),
            entry(.userActivityDictionary), entry(.userActivityType), entry(.shortcutItem),
            entry(.cloudKitShareMetadata), entry(.eventAttribution),
        ]

        private static func entry<Value>(
            _ key: LaunchOptionsKey<Value>
        ) -> (String, @Sendable (AppContent) -> Bool) {
            (key.rawValue, { key.value($0) != nil })
        }
    }

    /// A key of ``LaunchOptions`` with the type of its value; UIKit's
    /// `UIApplication.LaunchOptionsKey`.
    ///
    /// Source: <https://developer.apple.com/documentation/uikit/uiapplication/launchoptionskey>
    public struct LaunchOptionsKey<Value>: Sendable {
        /// The key's name, as UIKit spells it.
        public let rawValue: String
        let value: @Sendable (AppContent) -> Value?
    }
}

extension Application.LaunchOptionsKey {
    /// The same key with another type of value.
    package init(
        _ key: Application.LaunchOptionsKey<String>,
        _ transform: @escaping @Sendable (String) -> Value?
    ) {
        self.init(rawValue: key.rawValue) { key.value($0).flatMap(transform) }
    }
}

extension Application.LaunchOptionsKey where Value == Never {
    /// ``urlText`` has the URL as text.
    @available(
        *, unavailable,
        message: "import ApplicationKitFoundation for a URL, or use urlText for a String"
    )
    public static var url: Self { fatalError("unavailable") }
}

extension Application.LaunchOptionsKey where Value == String {
    /// The URL to open, as text; the first if there are several. UIKit's key `url`, which the module
    /// ApplicationKitFoundation has with Foundation's type.
    public static var urlText: Self { Self(rawValue: "url") { $0.urls.first?.url } }
    /// The identifier of the app that asked for the launch.
    public static var sourceApplication: Self {
        Self(rawValue: "sourceApplication") {
            $0.sourceApplication ?? $0.urls.first?.sourceApplication
        }
    }
    /// A text that the requesting app sent with the URL.
    public static var annotation: Self {
        Self(rawValue: "annotation") { $0.urls.first?.annotation }
    }
    /// The payload of the local notification for which the app was launched.
    public static var localNotification: Self {
        Self(rawValue: "localNotification") { $0.localNotification }
    }
    /// The payload of the remote notification as it was sent, usually JSON.
    public static var remoteNotification: Self {
        Self(rawValue: "remoteNotification") { $0.remoteNotification }
    }
    /// The type of the user activity to continue.
    public static var userActivityType: Self {
        Self(rawValue: "userActivityType") {
            $0.userActivities.first?.type ?? $0.handoffUserActivityType
        }
    }
    /// The metadata of a share that the user has accepted, as the sender wrote it.
    public static var cloudKitShareMetadata: Self {
        Self(rawValue: "cloudKitShareMetadata") { $0.cloudKitShareMetadata }
    }
    /// The attribution that came with the URL.
    public static var eventAttribution: Self {
        Self(rawValue: "eventAttribution") { $0.urls.first?.eventAttribution }
    }
}

extension Application.LaunchOptionsKey where Value == Bool {
    /// True if there are location events to fetch, otherwise nil.
    public static var location: Self {
        Self(rawValue: "location") { $0.isForLocation ? true : nil }
    }
}

extension Application.LaunchOptionsKey where Value == [String] {
    /// The identifiers of the downloads that have ended.
    public static var newsstandDownloads: Self {
        Self(rawValue: "newsstandDownloads") { $0.newsstandDownloads.nonEmpty }
    }
    /// The identifiers of the Bluetooth centrals to restore.
    public static var bluetoothCentrals: Self {
        Self(rawValue: "bluetoothCentrals") { $0.bluetoothCentrals.nonEmpty }
    }
    /// The identifiers of the Bluetooth peripherals to restore.
    public static var bluetoothPeripherals: Self {
        Self(rawValue: "bluetoothPeripherals") { $0.bluetoothPeripherals.nonEmpty }
    }
}

extension Application.LaunchOptionsKey where Value == UserActivity {
    /// The user activity to continue. (UIKit's value is a dictionary that contains it.)
    public static var userActivityDictionary: Self {
        Self(rawValue: "userActivityDictionary") { $0.userActivities.first.map(UserActivity.init) }
    }
}

extension Application.LaunchOptionsKey where Value == ApplicationShortcutItem {
    /// The quick action that the user chose.
    public static var shortcutItem: Self {
        Self(rawValue: "shortcutItem") { $0.quickAction.map(ApplicationShortcutItem.init) }
    }
}

extension Array {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
