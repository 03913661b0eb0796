internal import UnitFile

extension AppManifest {
    /// What an app's one-time setup and its saved state depend on.
    public struct Setup: Hashable, Sendable {
        /// `Version=` of `[App]`: any word; another one is another version. Empty unless set.
        public var version = ""
        /// `StateVersion=` of `[Application]`: saved state of another one is not handed over. That of
        /// the app unless set.
        public var stateVersion: String?
        /// `Container=` of `[App]`: folders of its own that it may write to; yes for SDK apps unless set.
        public var hasContainer = false

        public init() {}
    }

    /// In bytes: it travels with every launch.
    private static let versionLimit = 255

    static func readSetup(_ reader: inout SectionReader, _ kind: Kind) -> Setup {
        var setup = Setup()
        setup.version = reader.last("App", "Version", readVersion) ?? ""
        setup.stateVersion = reader.last("Application", "StateVersion", readVersion)
        setup.hasContainer =
            reader.last("App", "Container", boolean) ?? (kind == .applicationKit)
        return setup
    }

    private static func readVersion(_ value: Value) throws(ValueError) -> String {
        let isWord = value.text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
        guard isWord, value.text.utf8.count <= versionLimit else {
            throw ValueError(
                message: "'\(Names.cut(value.text))' is no version: one word of at most "
                    + "\(versionLimit) bytes")
        }
        return value.text
    }
}
