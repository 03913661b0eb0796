internal import UnitFile

extension AppManifest {
    /// Settings for an app's one-time setup and its saved state.
    public struct Setup: Hashable, Sendable {
        /// `Version=` in `[App]`: any word; another word means another version. Empty unless set.
        public var version = ""
        /// `StateVersion=` in `[Application]`: the app does not get state that was saved under
        /// another version. If nil, ``version`` is used.
        public var stateVersion: String?
        /// `Container=` in `[App]`: whether the app has its own folders, which it may write to.
        /// True for SDK apps unless set.
        public var hasContainer = false

        public init() {}
    }

    /// The longest version in bytes, because it is sent with every launch.
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
                message: "'\(Names.cut(value.text))' is not a version: one word of at most "
                    + "\(versionLimit) bytes")
        }
        return value.text
    }
}
