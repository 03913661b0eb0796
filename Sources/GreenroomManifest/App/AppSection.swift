public import UnitFile

/// The keys of `[App]` that depend on no other.
public struct AppSection: Hashable, Sendable {
    static let name = "App"

    /// `Type=`
    public var kind: AppManifest.Kind
    /// `Environment=`, in order. Only the last assignment of each name is kept.
    public var environment: [EnvironmentVariable]
    /// `WorkingDirectory=`: absolute, or `~` for the home directory; nil means the caller's.
    public var workingDirectory: String?
    /// `UMask=`; nil means the caller's.
    public var umask: UInt32?
    /// `Group=`: a name or a number; nil means the daemon's own group.
    public var group: String?
    /// `SupplementaryGroups=`, in addition to those of the user.
    public var supplementaryGroups: [String]
    /// `LimitNOFILE=` and so on, in the order of their numbers.
    public var limits: [LimitSetting]
    /// `Instances=`
    public var isSingleInstance: Bool
    /// `ForegroundGroup=`; nil means the group of the user's session, or none for an app that comes
    /// from a desktop entry.
    public var foregroundGroup: AppManifest.ForegroundGroup?
    /// `SuspendInBackground=`; true for SDK apps and false for programs unless set.
    public var suspendsInBackground: Bool
    /// `ReadyOn=`
    public var readyCondition: AppManifest.ReadyCondition
    /// `LaunchDeadlineSec=`, `BackgroundGraceSec=`, `TerminateGraceSec=`; nil means the daemon's
    /// settings.
    public var launchDeadline: Duration?
    public var backgroundGrace: Duration?
    public var terminateGrace: Duration?
    /// `KillMode=`; nil means `process` for instances that `run` started and for the command of a
    /// desktop entry, else `control-group`.
    public var killMode: AppManifest.KillMode?
    /// `ForceQuitLasts=`; nil means the daemon's setting, or `no` for a service.
    public var forceQuitLasts: Bool?

    init(_ reader: inout SectionReader) {
        typealias Limit = AppManifest.Limit
        kind = reader.last(Self.name, "Type", Self.choice) ?? .program
        environment = Self.lastOfEachName(
            reader.list(Self.name, "Environment", atMost: Limit.environmentVariables) {
                word throws(ValueError) in try Names.environmentVariable(word.text)
            })
        workingDirectory = reader.last(Self.name, "WorkingDirectory") { value throws(ValueError) in
            value.text == "~" ? "~" : try Names.path(value.text)
        }
        umask = reader.last(Self.name, "UMask", Self.umask)
        group = reader.last(Self.name, "Group", account)
        supplementaryGroups = reader.list(
            Self.name, "SupplementaryGroups", atMost: Limit.supplementaryGroups
        ) { word throws(ValueError) in try Names.account(word.text) }
        limits = Self.limits(&reader)
        let instances: Instances? = reader.last(Self.name, "Instances", Self.choice)
        isSingleInstance = instances.map { $0 == .single } ?? (kind == .applicationKit)
        foregroundGroup = reader.last(
            Self.name, "ForegroundGroup", AppManifest.readForegroundGroup)
        suspendsInBackground =
            reader.last(Self.name, "SuspendInBackground", boolean)
            ?? (kind == .applicationKit)
        readyCondition = reader.last(Self.name, "ReadyOn", Self.choice) ?? .exec
        launchDeadline = reader.last(
            Self.name, "LaunchDeadlineSec", positiveDuration)
        backgroundGrace = reader.last(Self.name, "BackgroundGraceSec", duration)
        terminateGrace = reader.last(Self.name, "TerminateGraceSec", duration)
        killMode = reader.last(Self.name, "KillMode", Self.choice)
        forceQuitLasts = reader.last(Self.name, "ForceQuitLasts", boolean)
    }

    private enum Instances: String, CaseIterable {
        case single, multiple
    }

    private static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ value: Value
    ) throws(ValueError) -> Choice {
        try value.choice(Choice.self)
    }

    private static func umask(_ value: Value) throws(ValueError) -> UInt32 {
        let mode = try value.octalMode()
        guard mode <= 0o777 else {
            throw ValueError(message: "a umask has no bits beyond 0777")
        }
        return mode
    }

    private static func limits(_ reader: inout SectionReader) -> [LimitSetting] {
        LimitSetting.Resource.allCases.sorted { $0.number < $1.number }.compactMap { resource in
            reader.last(name, "Limit" + resource.rawValue) { value throws(ValueError) in
                try value.limitSetting(resource)
            }
        }
    }

    private static func lastOfEachName(
        _ variables: [EnvironmentVariable]
    ) -> [EnvironmentVariable] {
        var result: [EnvironmentVariable] = []
        for variable in variables {
            if let index = result.firstIndex(where: { $0.name == variable.name }) {
                result[index] = variable
            } else {
                result.append(variable)
            }
        }
        return result
    }
}

extension AppManifest {
    /// Which processes are ended when the main process ends by itself (systemd.kill(5)).
    public enum KillMode: String, CaseIterable, Sendable {
        /// All processes that the main process has started.
        case controlGroup = "control-group"
        /// No other process.
        case process
    }
}
