internal import GreenroomAppChannel

extension Application {
    /// Why the app was launched: `launchOptions?[.url]` is a `String?`. Empty when somebody simply started
    /// it, and nil for an app with scenes, which finds everything in ``Scene/ConnectionOptions``.
    ///
    /// A key is there only if the app's manifest declares the feature.
    public struct LaunchOptions: Hashable, Sendable {
        private let record: LaunchRecord
        var content: AppContent { record.launch.content }

        init(_ record: LaunchRecord) { self.record = record }

        public static func == (one: Self, other: Self) -> Bool { one.content == other.content }
        public func hash(into hasher: inout Hasher) { content.hash(into: &hasher) }

        public var isEmpty: Bool { content.isEmpty }

        public subscript<Value>(_ key: LaunchOptionsKey<Value>) -> Value? { key.value(content) }

        /// The names of the keys that have a value, in UIKit's words.
        public var keys: [String] { Self.presence.filter { $0.isIn(content) }.map(\.name) }

        private static let presence: [(name: String, isIn: @Sendable (AppContent) -> Bool)] = [
            entry(.url), entry(.sourceApplication), entry(.annotation), entry(.localNotification),
            entry(.remoteNotification), entry(.location), entry(.newsstandDownloads),
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

    /// A key of ``LaunchOptions`` with the type of its value; UIKit's `UIApplication.LaunchOptionsKey`.
    public struct LaunchOptionsKey<Value>: Sendable {
        public let rawValue: String
        let value: @Sendable (AppContent) -> Value?
    }
}

extension Application.LaunchOptionsKey where Value == String {
    /// The URL to open, the first of them.
    public static var url: Self { Self(rawValue: "url") { $0.urls.first?.url } }
    /// Identifier of the app that asked.
    public static var sourceApplication: Self {
        Self(rawValue: "sourceApplication") {
            $0.sourceApplication ?? $0.urls.first?.sourceApplication
        }
    }
    /// What came with the URL.
    public static var annotation: Self {
        Self(rawValue: "annotation") { $0.urls.first?.annotation }
    }
    public static var localNotification: Self {
        Self(rawValue: "localNotification") { $0.localNotification }
    }
    /// The payload as it was sent: JSON, as a rule.
    public static var remoteNotification: Self {
        Self(rawValue: "remoteNotification") { $0.remoteNotification }
    }
    public static var userActivityType: Self {
        Self(rawValue: "userActivityType") {
            $0.userActivities.first?.type ?? $0.handoffUserActivityType
        }
    }
    public static var cloudKitShareMetadata: Self {
        Self(rawValue: "cloudKitShareMetadata") { $0.cloudKitShareMetadata }
    }
    public static var eventAttribution: Self {
        Self(rawValue: "eventAttribution") { $0.urls.first?.eventAttribution }
    }
}

extension Application.LaunchOptionsKey where Value == Bool {
    /// There are location events to fetch: true, or not there.
    public static var location: Self {
        Self(rawValue: "location") { $0.isForLocation ? true : nil }
    }
}

extension Application.LaunchOptionsKey where Value == [String] {
    /// Identifiers to restore.
    public static var newsstandDownloads: Self {
        Self(rawValue: "newsstandDownloads") { $0.newsstandDownloads.nonEmpty }
    }
    public static var bluetoothCentrals: Self {
        Self(rawValue: "bluetoothCentrals") { $0.bluetoothCentrals.nonEmpty }
    }
    public static var bluetoothPeripherals: Self {
        Self(rawValue: "bluetoothPeripherals") { $0.bluetoothPeripherals.nonEmpty }
    }
}

extension Application.LaunchOptionsKey where Value == UserActivity {
    /// What to go on with.
    public static var userActivityDictionary: Self {
        Self(rawValue: "userActivityDictionary") { $0.userActivities.first.map(UserActivity.init) }
    }
}

extension Application.LaunchOptionsKey where Value == ApplicationShortcutItem {
    /// The quick action that was chosen.
    public static var shortcutItem: Self {
        Self(rawValue: "shortcutItem") { $0.quickAction.map(ApplicationShortcutItem.init) }
    }
}

extension Array {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
