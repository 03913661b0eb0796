public import UnitFile

extension AppManifest {
    /// `[Supervision]` (systemd.service(5), systemd.unit(5)).
    public struct SupervisionSettings: Hashable, Sendable {
        /// `Restart=`
        public enum Restart: String, CaseIterable, Sendable {
            case no
            case onFailure = "on-failure"
            case onAbnormal = "on-abnormal"
            case always
        }

        public var restart: Restart = .no
        /// `RestartSec=`
        public var restartDelay: Duration = .milliseconds(100)
        /// `RestartMaxDelaySec=`: the limit up to which the delay doubles. Nil means that it does
        /// not grow.
        public var maximumDelay: Duration?
        /// `StartLimitBurst=`, `StartLimitIntervalSec=`; 0 means no limit.
        public var startLimitBurst = 5
        public var startLimitInterval: Duration = .seconds(10)
        /// `SuccessExitStatus=`, `RestartPreventExitStatus=`
        public var success = ExitStatuses()
        public var preventing = ExitStatuses()
    }

    /// Exit statuses and numbers of signals.
    public struct ExitStatuses: Hashable, Sendable {
        public var statuses: Set<UInt8> = []
        public var signals: Set<UInt8> = []
    }

    /// `[Dependencies]`: the identifiers of other apps.
    public struct DependencySettings: Hashable, Sendable {
        public var after: [String]
        public var requires: [String]
        public var conflicts: [String]
        /// The position of each identifier, for errors that are found only after all manifests were
        /// read.
        public var positions: [String: Position]
    }

    static func readSupervision(_ reader: inout SectionReader) -> SupervisionSettings? {
        let section = "Supervision"
        var settings = SupervisionSettings()
        let restart = reader.last(section, "Restart") { value throws(ValueError) in
            try value.choice(SupervisionSettings.Restart.self)
        }
        let delay = reader.last(section, "RestartSec", duration)
        settings.maximumDelay = reader.last(section, "RestartMaxDelaySec", duration)
        let burst = reader.last(section, "StartLimitBurst") { value throws(ValueError) in
            try value.integer(0...Limit.startLimitBurst)
        }
        let interval = reader.last(section, "StartLimitIntervalSec", duration)
        settings.success = readStatuses(&reader, "SuccessExitStatus")
        settings.preventing = readStatuses(&reader, "RestartPreventExitStatus")
        guard reader.unit.sections.contains(where: { $0.name == section }) else { return nil }
        settings.restart = restart ?? settings.restart
        settings.restartDelay = delay ?? settings.restartDelay
        settings.startLimitBurst = burst ?? settings.startLimitBurst
        settings.startLimitInterval = interval ?? settings.startLimitInterval
        return settings
    }

    private static func readStatuses(
        _ reader: inout SectionReader, _ key: String
    ) -> ExitStatuses {
        var result = ExitStatuses()
        let words = reader.list("Supervision", key, atMost: 256 + 64) {
            word throws(ValueError) in try exitStatus(word)
        }
        for (isSignal, number) in words {
            if isSignal { result.signals.insert(number) } else { result.statuses.insert(number) }
        }
        return result
    }

    /// Reads a number as an exit status, and a name as a signal.
    private static func exitStatus(_ word: Word) throws(ValueError) -> (Bool, UInt8) {
        if let first = word.text.utf8.first, (48...57).contains(first) {
            guard let status = UInt8(word.text) else {
                throw ValueError(
                    message: "'\(Names.cut(word.text))' is not an exit status, 0 to 255")
            }
            return (false, status)
        }
        return (true, UInt8(clamping: try word.signal()))
    }

    static func readDependencies(_ reader: inout SectionReader) -> DependencySettings? {
        let section = "Dependencies"
        var lists: [[String]] = []
        var positions: [String: Position] = [:]
        for key in ["After", "Requires", "Conflicts"] {
            for value in reader.unit.all(section, key) {
                for word in value.text.split(whereSeparator: \.isWhitespace) {
                    positions[String(word)] = positions[String(word)] ?? value.position
                }
            }
            lists.append(
                reader.list(section, key, atMost: Limit.dependencies) {
                    word throws(ValueError) in try Names.identifier(word.text)
                })
        }
        guard lists.contains(where: { !$0.isEmpty }) else { return nil }
        return DependencySettings(
            after: lists[0], requires: lists[1], conflicts: lists[2], positions: positions)
    }
}
