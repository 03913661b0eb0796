internal import UnitFile

extension AppManifest {
    /// `[Path]`: files that launch an app in the background when they appear or change
    /// (systemd.path(5)).
    public struct PathTriggers: Hashable, Sendable {
        public enum Condition: String, CaseIterable, Sendable {
            case exists = "PathExists"
            case existsGlob = "PathExistsGlob"
            /// The file was written and closed, renamed, created or removed; in a directory, one of
            /// its files.
            case changed = "PathChanged"
            /// The same, or the file was written to.
            case modified = "PathModified"
            case directoryNotEmpty = "DirectoryNotEmpty"
        }

        public struct Trigger: Hashable, Sendable {
            public var condition: Condition
            public var path: String
        }

        public var triggers: [Trigger]
        /// `TriggerLimitBurst=`, `TriggerLimitIntervalSec=`: once the paths would launch the app
        /// more often than this, they are no longer watched.
        public var limitBurst = 5
        public var limitInterval: Duration = .seconds(10)
    }

    /// At most this many paths for each key.
    static let pathLimit = 32

    static func readPath(_ reader: inout SectionReader) -> PathTriggers? {
        let section = "Path"
        var result = PathTriggers(triggers: [])
        for condition in PathTriggers.Condition.allCases {
            let paths = reader.list(section, condition.rawValue, atMost: pathLimit) {
                (word) throws(ValueError) in try Names.path(word.text)
            }
            result.triggers += paths.map { .init(condition: condition, path: $0) }
        }
        let burst = reader.last(section, "TriggerLimitBurst") { (value) throws(ValueError) in
            try value.integer(1...1000)
        }
        result.limitBurst = burst ?? result.limitBurst
        result.limitInterval =
            reader.last(section, "TriggerLimitIntervalSec", positiveDuration)
            ?? result.limitInterval
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return nil }
        return result.triggers.isEmpty ? nil : result
    }
}
