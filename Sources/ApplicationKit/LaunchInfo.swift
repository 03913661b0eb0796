internal import GreenroomAppChannel

/// Why this process runs, and when what happened. Times are `CLOCK_MONOTONIC`; differences are what they
/// are good for. Never measure a launch from the process's start: a prewarmed process may be days old.
public struct LaunchInfo: Sendable {
    /// Whether the process had been prewarmed, until the end of the process.
    public let wasPrewarmed: Bool
    public let reason: Reason
    /// The launch's arguments, the program's name first. `CommandLine.arguments` has the same, unless it was
    /// looked at before `ApplicationMain`: it keeps what it finds first, which is the prewarm's.
    public var arguments: [String] { given?.strings ?? CommandLine.arguments }
    /// The app has never finished a launch here: time for its one-time setup (install templates into
    /// ``Container/stateDirectory``, say). Stays so until a launch succeeds; false for an app that is run by
    /// hand.
    public let isFirstLaunch: Bool
    /// The same of this version of it (`Version=` of the manifest).
    public let isFirstLaunchOfVersion: Bool
    /// `Version=` of the manifest.
    public let version: String?
    /// When somebody asked for the launch.
    public var requestInstant: Duration { Self.duration(request) }
    /// When the process was prewarmed and paused; nil if it was not.
    public var pauseInstant: Duration? { pause.map(Self.duration) }
    /// When the process went on, or reached `ApplicationMain` in a cold launch.
    public var resumeInstant: Duration { Self.duration(resume) }
    /// Each step and when it was done, in order.
    public var steps: [(step: Step, instant: Duration)] {
        instants.compactMap { step, instant in
            Step(rawValue: step).map { ($0, Self.duration(instant)) }
        }
    }

    // As they came, because few apps look: made into what people read when they do.
    private let given: StringList?
    private let request: UInt64
    private let pause: UInt64?
    private let resume: UInt64
    var instants: [(step: Int32, instant: UInt64)] = []

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

    @MainActor init(_ start: PausedStart) {
        wasPrewarmed = start.pauseInstant != nil
        reason = Reason(rawValue: start.launch.reason.rawValue) ?? .system
        isFirstLaunch = start.launch.flags.contains(.firstLaunch)
        isFirstLaunchOfVersion = start.launch.flags.contains(.firstLaunchOfVersion)
        version = start.launch.version
        given = start.arguments
        request = start.launch.requestInstant
        pause = start.pauseInstant
        resume = start.resumeInstant
    }
}
