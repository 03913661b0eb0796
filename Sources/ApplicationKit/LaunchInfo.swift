internal import GreenroomAppChannel

/// Why this process runs, and when what happened. Times are `CLOCK_MONOTONIC`; differences are what they
/// are good for. Never measure a launch from the process's start: a prewarmed process may be days old.
public struct LaunchInfo: Sendable {
    /// Whether the process had been prewarmed, until the end of the process.
    public var wasPrewarmed: Bool { record.pauseInstant != nil }
    public var reason: Reason { Reason(rawValue: record.launch.reason.rawValue) ?? .system }
    /// The launch's arguments, the program's name first. `CommandLine.arguments` has the same, unless it was
    /// looked at before `ApplicationMain`: it keeps what it finds first, which is the prewarm's.
    public var arguments: [String] { record.arguments?.strings ?? CommandLine.arguments }
    /// The app has never finished a launch here: time for its one-time setup (install templates into
    /// ``Container/stateDirectory``, say). Stays so until a launch succeeds; false for an app that is run by
    /// hand.
    public var isFirstLaunch: Bool { record.launch.flags.contains(.firstLaunch) }
    /// The same of this version of it (`Version=` of the manifest).
    public var isFirstLaunchOfVersion: Bool {
        record.launch.flags.contains(.firstLaunchOfVersion)
    }
    /// `Version=` of the manifest.
    public var version: String? { record.launch.version }
    /// When somebody asked for the launch.
    public var requestInstant: Duration { Self.duration(record.launch.requestInstant) }
    /// When the process was prewarmed and paused; nil if it was not.
    public var pauseInstant: Duration? { record.pauseInstant.map(Self.duration) }
    /// When the process went on, or reached `ApplicationMain` in a cold launch.
    public var resumeInstant: Duration { Self.duration(record.resumeInstant) }
    /// Each step and when it was done, in order.
    public var steps: [(step: Step, instant: Duration)] {
        Step.allCases.filter { instants[Int($0.rawValue)] != 0 }
            .map { ($0, instants[Int($0.rawValue)]) }
            .sorted { $0.1 < $1.1 }
            .map { ($0, Self.duration($1)) }
    }

    // As they came, because few apps look: made into what people read when they do.
    private let record: LaunchRecord
    /// By step; 0: not yet. (The metadata of an array of these would have to be made at each launch.)
    private var instants = InlineArray<13, UInt64>(repeating: 0)

    /// As the daemon is told it.
    func told(drawnAt: UInt64?) -> LaunchSteps {
        var told = LaunchSteps(
            requestedAt: record.launch.requestInstant, pausedAt: record.pauseInstant,
            drawnAt: drawnAt)
        for step in AppReport.LaunchStep.allCases {
            let instant = instants[Int(step.rawValue)]
            if instant != 0 { told.steps.append(.init(step, at: instant)) }
        }
        return told
    }

    mutating func note(_ step: Int, at instant: UInt64) { instants[step] = instant }

    private static func duration(_ nanoseconds: UInt64) -> Duration {
        .nanoseconds(Int64(clamping: nanoseconds))
    }

    /// Who or what wanted the app to run.
    public enum Reason: Int32, CaseIterable, Sendable {
        case user = 0
        case url = 1
        case quickAction = 2
        case userActivity = 3
        case remoteNotification = 4
        case location = 5
        case timer = 6
        case socket = 7
        case path = 8
        case system = 9
        /// Work that it had scheduled (``TaskScheduler``).
        case scheduledTask = 10
    }

    /// The steps of the launch sequence, in order.
    public enum Step: Int32, CaseIterable, Sendable {
        case main = 0
        case objects = 1
        case eventLoop = 2
        case interface = 3
        case willFinishLaunching = 4
        case stateRestoration = 5
        case didFinishLaunching = 6
        case didFinishLaunchingNotification = 7
        case sceneConfiguration = 8
        case sceneConnection = 9
        case active = 10
        case background = 11
        case afterLaunch = 12
    }

    init(_ record: LaunchRecord) {
        self.record = record
        instants[Int(Step.main.rawValue)] = record.resumeInstant
    }
}

/// What is known of the launch, once for all that look at it. A class, because a copy of so much, and
/// what Swift's runtime makes of its types for one, costs more than the rest of the way to the delegate.
final class LaunchRecord: Sendable {
    /// As it came.
    final class Message: Sendable {
        let launch: AppLaunch
        init(_ launch: AppLaunch) { self.launch = launch }
    }

    private let message: Message
    var launch: AppLaunch { message.launch }
    /// `CLOCK_MONOTONIC` in nanoseconds; nil when the process was not prewarmed.
    let pauseInstant: UInt64?
    let resumeInstant: UInt64
    /// The launch's, where a prewarmed process got them with its order to go.
    let arguments: StringList?

    init(
        _ message: Message, pauseInstant: UInt64? = nil, resumeInstant: UInt64,
        arguments: StringList? = nil
    ) {
        self.message = message
        self.pauseInstant = pauseInstant
        self.resumeInstant = resumeInstant
        self.arguments = arguments
    }
}
