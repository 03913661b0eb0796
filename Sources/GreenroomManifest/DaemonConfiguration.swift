public import GreenroomPolicy
public import UnitFile

/// The daemon's settings, from `greenroom.conf`, with their defaults.
public struct DaemonConfiguration: Hashable, Sendable {
    /// The settings of the core; `read` has their keys.
    public var policy = Policy()
    /// `ConnectionsPerUser=`, `ConnectionsMax=`: how many clients the control socket may have
    /// (sd-varlink).
    public var connectionsPerUser: Int = 1024
    public var connectionsMax: Int = 4096
    /// Names or numbers of groups. Members of `ControlGroups=` may launch and end other users' apps
    /// as far as the manifests allow; members of `ObserveGroups=` may see other users' apps;
    /// members of `AdministerGroups=` may do everything.
    public var controlGroups: [String] = []
    public var observeGroups: [String] = []
    public var administerGroups: [String] = []

    /// `WindowBudget=`: all instances held at a window together hold at most this many bytes; nil
    /// means a sixteenth of the machine's memory, at most 1 GiB.
    public var windowBudget: UInt64?

    /// `PrewarmMinMemory=`: nothing is prewarmed while less memory is available, in bytes.
    public var prewarmMinimalMemory: UInt64 = 256 << 20
    /// `PrewarmMaxLoad=`: nothing is prewarmed while the load per processor is above this, in
    /// hundredths; 0 means no limit. A build that uses every processor has a load of one or two. At
    /// a load of four, users already wait four times as long, and a prewarm that nobody has asked
    /// for would make it worse.
    public var prewarmMaximalLoadPercent = 400
    /// `PrewarmMinBattery=`: nothing is prewarmed while the machine runs on a battery below this
    /// percentage.
    public var prewarmMinimalBattery = 20
    /// `PrewarmWhenHot=no`: whether nothing is prewarmed while a thermal zone is at a trip point
    /// that throttles.
    public var prewarmMindsHeat = true
    /// `PressureWarningStallSec=`, `PressureCriticalStallSec=`: how much of a second some tasks, or
    /// all tasks, must stall for lack of memory to reach that level (lmkd).
    public var pressureWarningStall: Duration = .milliseconds(70)
    public var pressureCriticalStall: Duration = .milliseconds(700)
    /// `MetricsIntervalSec=`: the time from one payload of metrics for an app to the next
    /// (MetricKit).
    public var metricsInterval: Duration = .seconds(86_400)
    /// `PageOutSuspended=`: whether the memory of suspended apps is paged out.
    public var pageOutSuspended = PageOut.auto
    public enum PageOut: String, CaseIterable, Sendable {
        case no
        case yes
        /// Only if there is swap.
        case auto
    }
    /// `BackgroundMemoryHigh=`: how many bytes an app in the background may hold before the kernel
    /// takes memory back; nil means as many as its manifest allows.
    public var backgroundMemoryHigh: UInt64?
    /// `TaskMaxLoad=`: processing waits while the load per processor is above this, in hundredths.
    public var taskMaximalLoadPercent = 100
    /// `History=`: whether launches are recorded. `HistoryDays=`, `HistoryLaunchesPerUser=`: how
    /// long they are kept, and how many of each user's apps.
    public var keepsHistory = true
    public var historyDays = 30
    public var historyLaunchesPerUser = 10_000
    /// `PlanPrewarms=`: whether past launches decide which apps with `When=auto` are kept warm.
    public var plansPrewarms = true
    /// `DefaultWhen=`: `When=` of apps whose manifest has neither `When=` nor `Count=`, and of apps
    /// that come only from a desktop entry. With `boot`, the latter are not prewarmed.
    public var defaultOccasion = DefaultOccasion.auto
    public enum DefaultOccasion: String, CaseIterable, Sendable {
        case boot
        case auto
    }
    /// The effective `defaultOccasion`. Without plans, nothing would ever be warm with `auto`.
    public var usableDefaultOccasion: AppManifest.Occasion {
        switch defaultOccasion {
        case .boot: .boot
        case .auto: keepsHistory && plansPrewarms ? .auto : .boot
        }
    }

    /// The defaults of the product. Those of `Policy` neither delay nor inspect anything, so that the
    /// core can be used without a machine.
    public init() {
        policy.prewarmStartDelay = .seconds(10)
        policy.refillDelay = .seconds(1)
        // If there are two users, each leaves half of the instances to the other.
        policy.instancesPerUser = 1024
        policy.inspectsConditions = true
        policy.inspectsFileLocks = true
    }
}

extension DaemonConfiguration {
    /// Reads a configuration. Returns none if there is any error, so that a typing error never
    /// leads to the defaults. Warnings do not count, and an empty file is valid.
    public static func parse(
        _ bytes: [UInt8], file: String
    ) -> (configuration: DaemonConfiguration?, diagnostics: [Diagnostic]) {
        var reader = SectionReader(bytes, file: file)
        var configuration = DaemonConfiguration()
        configuration.read(&reader)
        reader.reportUnknown()
        return (reader.hasErrors ? nil : configuration, reader.sortedDiagnostics())
    }

    public static func parse(
        _ text: String, file: String
    ) -> (configuration: DaemonConfiguration?, diagnostics: [Diagnostic]) {
        parse(Array(text.utf8), file: file)
    }

    mutating func read(_ reader: inout SectionReader) {
        set(\.policy.prewarmByteBudget, "PrewarmBudget", &reader) { value throws(ValueError) in
            try value.bytes()
        }
        set(\.windowBudget, "WindowBudget", &reader) { value throws(ValueError) in
            value.text == "auto" ? nil : try value.bytes()
        }
        set(\.policy.windowNeedsSession, "WindowNeedsSession", &reader) {
            value throws(ValueError) in try value.boolean()
        }
        set(\.policy.prewarmTimeToLive, "PrewarmTimeToLiveSec", &reader, positiveDuration)
        set(\.policy.launchDeadline, "LaunchDeadlineSec", &reader, positiveDuration)
        set(\.policy.pauseDeadline, "PauseDeadlineSec", &reader, positiveDuration)
        set(\.policy.startDeadline, "StartDeadlineSec", &reader, positiveDuration)
        set(\.policy.backgroundGrace, "BackgroundGraceSec", &reader, duration)
        set(\.policy.terminateGrace, "TerminateGraceSec", &reader, duration)
        set(\.policy.backOffFirst, "BackOffFirstSec", &reader, positiveDuration)
        set(\.policy.backOffCap, "BackOffCapSec", &reader, positiveDuration)
        set(\.policy.crashLoopCount, "CrashLoopCount", &reader, integer(1...100))
        set(\.policy.crashLoopWindow, "CrashLoopWindowSec", &reader, positiveDuration)
        set(\.policy.concurrentPrewarms, "ConcurrentPrewarms", &reader, integer(1...64))
        set(\.policy.instanceLimit, "InstanceLimit", &reader, integer(1...4096))
        set(\.policy.instancesPerUser, "InstancesPerUser", &reader, integer(1...4096))
        set(\.connectionsPerUser, "ConnectionsPerUser", &reader, integer(1...65536))
        set(\.connectionsMax, "ConnectionsMax", &reader, integer(1...65536))
        readConditions(&reader)
        readBackgroundTime(&reader)
        readHistory(&reader)
        controlGroups = groups("ControlGroups", &reader)
        observeGroups = groups("ObserveGroups", &reader)
        administerGroups = groups("AdministerGroups", &reader)

        if policy.backOffFirst > policy.backOffCap {
            reader.error(
                place(of: "BackOffFirstSec", "BackOffCapSec", reader),
                "BackOffFirstSec= is more than BackOffCapSec=")
        }
        if connectionsPerUser > connectionsMax {
            reader.error(
                place(of: "ConnectionsPerUser", "ConnectionsMax", reader),
                "ConnectionsPerUser= is more than ConnectionsMax=")
        }
    }

    /// A longer delay would be of no use, because an app that takes this long to start leaves
    /// processors idle in between.
    private func refillDelay(_ value: Value) throws(ValueError) -> Duration {
        let delay = try value.duration()
        guard delay <= .seconds(60) else {
            throw ValueError(message: "must be at most 1min; 0 refills at once")
        }
        return delay
    }

    private mutating func readConditions(_ reader: inout SectionReader) {
        set(\.policy.prewarmStartDelay, "PrewarmStartDelaySec", &reader, duration)
        set(\.policy.refillDelay, "RefillDelaySec", &reader, refillDelay)
        set(\.prewarmMinimalMemory, "PrewarmMinMemory", &reader) { value throws(ValueError) in
            try value.bytes()
        }
        set(\.prewarmMaximalLoadPercent, "PrewarmMaxLoad", &reader) { value throws(ValueError) in
            try value.hundredths(0...1000)
        }
        set(\.prewarmMinimalBattery, "PrewarmMinBattery", &reader, integer(0...100))
        set(\.prewarmMindsHeat, "PrewarmWhenHot", &reader) { value throws(ValueError) in
            !(try value.boolean())
        }
        set(\.pressureWarningStall, "PressureWarningStallSec", &reader, positiveDuration)
        set(\.pressureCriticalStall, "PressureCriticalStallSec", &reader, positiveDuration)
        set(\.policy.pressureQuietTime, "PressureQuietSec", &reader, positiveDuration)
        set(\.policy.inspectsFileLocks, "CheckFileLocks", &reader) { value throws(ValueError) in
            try value.boolean()
        }
        set(\.policy.fileLockGrace, "LockedFileGraceSec", &reader, duration)
        set(\.policy.forceQuitLasts, "ForceQuitLasts", &reader) { value throws(ValueError) in
            try value.boolean()
        }
        set(\.metricsInterval, "MetricsIntervalSec", &reader, positiveDuration)
        set(\.pageOutSuspended, "PageOutSuspended", &reader) { value throws(ValueError) in
            if let choice = PageOut(rawValue: value.text) { return choice }
            if let isWanted = try? value.boolean() { return isWanted ? .yes : .no }
            return try value.choice(PageOut.self)
        }
        set(\.backgroundMemoryHigh, "BackgroundMemoryHigh", &reader) { value throws(ValueError) in
            value.text == "infinity" ? nil : try value.bytes()
        }
    }

    private mutating func readBackgroundTime(_ reader: inout SectionReader) {
        set(\.policy.backgroundTaskLimit, "BackgroundTaskSec", &reader, positiveDuration)
        set(\.policy.offersScheduledWork, "ScheduledWork", &reader) { value throws(ValueError) in
            try value.boolean()
        }
        set(\.policy.refreshTaskLimit, "AppRefreshTaskSec", &reader, positiveDuration)
        set(\.policy.processingTaskLimit, "ProcessingTaskSec", &reader, positiveDuration)
        set(\.policy.taskIdleTime, "TaskIdleSec", &reader, duration)
        set(\.taskMaximalLoadPercent, "TaskMaxLoad", &reader) { value throws(ValueError) in
            try value.hundredths(0...1000)
        }
    }

    private mutating func readHistory(_ reader: inout SectionReader) {
        set(\.keepsHistory, "History", &reader) { value throws(ValueError) in
            try value.boolean()
        }
        set(\.plansPrewarms, "PlanPrewarms", &reader) { value throws(ValueError) in
            try value.boolean()
        }
        set(\.defaultOccasion, "DefaultWhen", &reader) { value throws(ValueError) in
            try value.choice(DefaultOccasion.self)
        }
        set(\.historyDays, "HistoryDays", &reader, integer(1...3650))
        set(
            \.historyLaunchesPerUser, "HistoryLaunchesPerUser", &reader, integer(1...1_000_000))
    }

    private static let section = "Greenroom"

    private mutating func set<T>(
        _ property: WritableKeyPath<Self, T>, _ key: String, _ reader: inout SectionReader,
        _ read: (Value) throws(ValueError) -> T
    ) {
        if let value = reader.last(Self.section, key, read) { self[keyPath: property] = value }
    }

    private func integer(_ range: ClosedRange<Int>) -> (Value) throws(ValueError) -> Int {
        { value throws(ValueError) in try value.integer(range) }
    }

    private func groups(_ key: String, _ reader: inout SectionReader) -> [String] {
        reader.list(Self.section, key, atMost: AppManifest.Limit.supplementaryGroups) {
            word throws(ValueError) in try Names.account(word.text)
        }
    }

    /// The position of the later of two keys that contradict each other.
    private func place(of first: String, _ second: String, _ reader: SectionReader) -> Position {
        let keys = [first, second].flatMap { reader.unit.assignments(Self.section, $0) }
        return keys.map(\.value.position).max() ?? reader.position(of: Self.section)
    }
}
