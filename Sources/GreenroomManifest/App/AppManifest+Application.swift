internal import UnitFile

extension AppManifest {
    /// `[Application]`: what an SDK app shows, and what it may be launched for. The app is never
    /// asked to use a feature that is not declared here (UIApplication.LaunchOptionsKey).
    public struct Application: Hashable, Sendable {
        /// `Scenes=`: whether the app has a scene delegate.
        public var hasScenes = false
        /// `MultipleScenes=`: whether it may have several scenes at once.
        public var hasMultipleScenes = false
        /// `SceneConfiguration=`: the configuration's name, which `configurationForConnecting`
        /// gets.
        public var sceneConfiguration: String?
        /// `Interface=`: the default interface, for apps without scenes.
        public var interface: String?
        /// `URLSchemes=`: a scheme such as `notes`, or the beginning of URLs such as
        /// `https://example.org/notes/`.
        public var urlSchemes: [String] = []
        /// `DocumentTypes=`: MIME types (`text/markdown`, `text/*`) and suffixes (`*.md`).
        public var documentTypes: [String] = []
        public var quickActions: [String] = []
        public var userActivityTypes: [String] = []
        /// `ScheduledTasks=`: the identifiers of work that the app may schedule.
        public var scheduledTasks: [String] = []
        /// The features that are declared; each has its own key, such as `RemoteNotifications=`.
        public var features: Set<Feature> = []

        public init() {}
    }

    /// The features that a manifest can declare with `yes`.
    public enum Feature: String, CaseIterable, Sendable {
        case remoteNotifications = "RemoteNotifications"
        case localNotifications = "LocalNotifications"
        case locationUpdates = "LocationUpdates"
        case newsstandDownloads = "NewsstandDownloads"
        case bluetoothCentrals = "BluetoothCentrals"
        case bluetoothPeripherals = "BluetoothPeripherals"
        case cloudKitShares = "CloudKitShares"
        case eventAttribution = "EventAttribution"
    }

    /// At most this many schemes, types, actions or activities. A manifest with more is a mistake.
    static let applicationListLimit = 64

    static func readApplication(_ reader: inout SectionReader, _ kind: Kind) -> Application {
        let section = "Application"
        var result = Application()
        result.hasScenes = reader.last(section, "Scenes", boolean) ?? false
        result.hasMultipleScenes = reader.last(section, "MultipleScenes", boolean) ?? false
        result.sceneConfiguration = reader.last(section, "SceneConfiguration") { $0.text }
        result.interface = reader.last(section, "Interface") { $0.text }
        result.urlSchemes = reader.list(section, "URLSchemes", atMost: applicationListLimit) {
            (word) throws(ValueError) in try readScheme(word.text)
        }
        result.documentTypes = reader.list(section, "DocumentTypes", atMost: applicationListLimit) {
            (word) throws(ValueError) in try readDocumentType(word.text)
        }
        for (key, path) in [
            ("QuickActions", \Application.quickActions),
            ("UserActivityTypes", \Application.userActivityTypes),
            ("ScheduledTasks", \Application.scheduledTasks),
        ] as [(String, WritableKeyPath<Application, [String]>)] {
            result[keyPath: path] = reader.list(section, key, atMost: applicationListLimit) {
                (word) throws(ValueError) in try readName(word.text)
            }
        }
        for feature in Feature.allCases
        where reader.last(section, feature.rawValue, boolean) == true {
            result.features.insert(feature)
        }
        checkApplication(&reader, result, kind)
        return result
    }

    private static func checkApplication(
        _ reader: inout SectionReader, _ application: Application, _ kind: Kind
    ) {
        let section = "Application"
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return }
        if kind != .applicationKit {
            reader.error(
                reader.position(of: section),
                "[Application] is for apps made with the SDK; set Type=application-kit in [App]")
        } else if application.hasMultipleScenes && !application.hasScenes {
            reader.error(
                reader.position(of: section), "MultipleScenes=yes needs Scenes=yes beside it")
        }
    }

    /// Reads a scheme (RFC 3986: a letter, then letters, digits, `+`, `-`, `.`) or the beginning of
    /// a URL.
    static func readScheme(_ text: String) throws(ValueError) -> String {
        let scheme = text.prefix { $0 != ":" }
        let isScheme =
            scheme.utf8.first.map(isLetter) == true
            && scheme.utf8.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
        guard isScheme, text.utf8.count <= 256 else {
            throw ValueError(
                message:
                    "'\(Names.cut(text))' is neither a URL scheme (notes) nor the beginning of "
                    + "URLs (https://example.org/notes/)")
        }
        let rest = text.dropFirst(scheme.count)
        guard rest.isEmpty || rest.hasPrefix(":") else {
            throw ValueError(message: "'\(Names.cut(text))' is not a URL scheme")
        }
        return scheme.lowercased() + rest
    }

    private static func readDocumentType(_ text: String) throws(ValueError) -> String {
        let isSuffix =
            text.hasPrefix("*.") && text.utf8.count > 2 && !text.dropFirst(2).contains("*")
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        let isType =
            halves.count == 2 && !halves[0].isEmpty && !halves[1].isEmpty && halves[0] != "*"
        guard isSuffix || isType, text.utf8.count <= 256, !text.utf8.contains(where: { $0 <= 0x20 })
        else {
            throw ValueError(
                message: "'\(Names.cut(text))' is neither a MIME type (text/markdown) nor a suffix "
                    + "(*.md)")
        }
        return text
    }

    private static func readName(_ text: String) throws(ValueError) -> String {
        guard 1...256 ~= text.utf8.count, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw ValueError(message: "'\(Names.cut(text))' is not a name of at most 256 bytes")
        }
        return text
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7a ~= byte | 0x20 }
    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }
}
