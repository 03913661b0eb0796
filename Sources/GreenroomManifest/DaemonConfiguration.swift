public import UnitFile

/// The daemon's own settings, from `greenroom.conf`. What is not set has the default given here.
public struct DaemonConfiguration: Hashable, Sendable {
    /// `PrewarmBudget=`: paused instances together never exceed this many bytes.
    public var prewarmByteBudget: UInt64 = 1 << 30
    /// `PrewarmTimeToLiveSec=`: how long a paused instance is kept (OpenWhisk).
    public var prewarmTimeToLive: Duration = .seconds(600)
    /// `LaunchDeadlineSec=`: from the launch to its ready condition (Apple, observed).
    public var launchDeadline: Duration = .seconds(20)
    /// `PauseDeadlineSec=`: from spawn to the pause point.
    public var pauseDeadline: Duration = .seconds(20)
    /// `StartDeadlineSec=`: from the order to go on to the program's start.
    public var startDeadline: Duration = .seconds(2)
    /// `BackgroundGraceSec=`: from entering the background to being frozen (Android 14).
    public var backgroundGrace: Duration = .seconds(10)
    /// `TerminateGraceSec=`: from SIGTERM to SIGKILL (Apple, OpenHarmony).
    public var terminateGrace: Duration = .seconds(5)
    /// `BackOffFirstSec=`, `BackOffCapSec=`: the wait after a failed prewarm or launch doubles from
    /// the one to the other.
    public var backOffFirst: Duration = .seconds(1)
    public var backOffCap: Duration = .seconds(300)
    /// `CrashLoopCount=`, `CrashLoopWindowSec=`: this many crashes within the window are a crash
    /// loop (Android).
    public var crashLoopCount: Int = 2
    public var crashLoopWindow: Duration = .seconds(120)
    /// `ConcurrentPrewarms=`: at most this many run towards their pause at once.
    public var concurrentPrewarms: Int = 2
    /// `InstanceLimit=`: instances alive at once.
    public var instanceLimit: Int = 2048
    /// `ConnectionsPerUser=`, `ConnectionsMax=`: clients of the control socket (sd-varlink).
    public var connectionsPerUser: Int = 1024
    public var connectionsMax: Int = 4096
    /// `ControlGroups=`: whose members may launch and end apps of others as far as their manifests
    /// allow; `ObserveGroups=`: may look; `AdministerGroups=`: may do everything. Names or numbers.
    public var controlGroups: [String] = []
    public var observeGroups: [String] = []
    public var administerGroups: [String] = []

    public init() {}
}

extension DaemonConfiguration {
    /// Reads a configuration. There is none if anything is an error, so that a slip of the pen
    /// never means "the defaults"; warnings do not prevent one. An empty file is valid.
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
        set(\.prewarmByteBudget, "PrewarmBudget", &reader) { value throws(ValueError) in
            try value.bytes()
        }
        set(\.prewarmTimeToLive, "PrewarmTimeToLiveSec", &reader, positiveDuration)
        set(\.launchDeadline, "LaunchDeadlineSec", &reader, positiveDuration)
        set(\.pauseDeadline, "PauseDeadlineSec", &reader, positiveDuration)
        set(\.startDeadline, "StartDeadlineSec", &reader, positiveDuration)
        set(\.backgroundGrace, "BackgroundGraceSec", &reader, duration)
        set(\.terminateGrace, "TerminateGraceSec", &reader, duration)
        set(\.backOffFirst, "BackOffFirstSec", &reader, positiveDuration)
        set(\.backOffCap, "BackOffCapSec", &reader, positiveDuration)
        set(\.crashLoopCount, "CrashLoopCount", &reader, integer(1...100))
        set(\.crashLoopWindow, "CrashLoopWindowSec", &reader, positiveDuration)
        set(\.concurrentPrewarms, "ConcurrentPrewarms", &reader, integer(1...64))
        set(\.instanceLimit, "InstanceLimit", &reader, integer(1...65536))
        set(\.connectionsPerUser, "ConnectionsPerUser", &reader, integer(1...65536))
        set(\.connectionsMax, "ConnectionsMax", &reader, integer(1...65536))
        controlGroups = groups("ControlGroups", &reader)
        observeGroups = groups("ObserveGroups", &reader)
        administerGroups = groups("AdministerGroups", &reader)

        if backOffFirst > backOffCap {
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

    /// Of two keys that contradict each other, the one that is set last.
    private func place(of first: String, _ second: String, _ reader: SectionReader) -> Position {
        let keys = [first, second].flatMap { reader.unit.assignments(Self.section, $0) }
        return keys.map(\.value.position).max() ?? reader.position(of: Self.section)
    }
}
