internal import GreenroomAppChannel

/// Why the app was launched, and when each part of the launch happened. Points in time are counted
/// on `CLOCK_MONOTONIC`, so only their differences mean something. Never measure a launch from the
/// start of the process: a prewarmed process may be days old.
///
/// Source: none; Apple has no such type.
public struct LaunchInfo: Sendable {
    /// Whether the process had been prewarmed before the launch.
    public var wasPrewarmed: Bool { record.pauseInstant != nil }
    /// Why the app runs: the reason for its launch or, if the app was wanted again while it ran or
    /// was suspended, the latest reason. The delegate is told of a new reason that is an event of
    /// the system (``ApplicationDelegate/application(_:handleEventsFor:options:)``).
    public var reason: Reason {
        Reason(rawValue: (latestReason ?? record.launch.reason).rawValue) ?? .system
    }
    /// The launch's arguments, the program's name first. `CommandLine.arguments` has the same,
    /// unless a prewarmed process read it before ``ApplicationMain(_:)``: it then keeps the
    /// prewarm's arguments.
    public var arguments: [String] { record.arguments?.strings ?? CommandLine.arguments }
    /// Whether no launch of the app has ever succeeded on this machine: the time for one-time
    /// setup, such as installing templates into ``Container/stateDirectory``. False in an app that
    /// is run by hand.
    public var isFirstLaunch: Bool { record.launch.flags.contains(.firstLaunch) }
    /// Whether no launch of this version of the app (`Version=` in the manifest) has ever
    /// succeeded.
    public var isFirstLaunchOfVersion: Bool {
        record.launch.flags.contains(.firstLaunchOfVersion)
    }
    /// The app's version, `Version=` in the manifest; nil if the manifest does not name one.
    public var version: String? { record.launch.version }
    /// When the user or the system asked for the launch.
    public var requestInstant: Duration { Self.duration(record.launch.requestInstant) }
    /// When the prewarmed process paused in ``ApplicationMain(_:)``; nil if it was not prewarmed.
    public var pauseInstant: Duration? { record.pauseInstant.map(Self.duration) }
    /// When the prewarmed process went on; in a cold launch, when it reached
    /// ``ApplicationMain(_:)``.
    public var resumeInstant: Duration { Self.duration(record.resumeInstant) }
    /// The steps that have been taken, in order, each with its time.
    public var steps: [(step: Step, instant: Duration)] {
        Step.allCases.filter { instants[Int($0.rawValue)] != 0 }
            .map { ($0, instants[Int($0.rawValue)]) }
            .sorted { $0.1 < $1.1 }
            .map { ($0, Self.duration($1)) }
    }

    // The record as the daemon sent it. Few apps look at it, so the properties convert it only when
    // read.
    private let record: LaunchRecord
    /// When each step was taken, by its raw value; 0 if it was not. (For an `Array`, the runtime
    /// would have to make metadata at each launch.)
    private var instants = InlineArray<13, UInt64>(repeating: 0)

    /// The steps in the form in which the app reports them to the daemon.
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

    /// The latest reason for which the app was wanted after its launch.
    private var latestReason: AppLaunch.Reason?

    mutating func note(_ reason: AppLaunch.Reason) { latestReason = reason }

    mutating func note(_ step: Int, at instant: UInt64) { instants[step] = instant }

    private static func duration(_ nanoseconds: UInt64) -> Duration {
        .nanoseconds(Int64(clamping: nanoseconds))
    }

    /// Why an app is launched.
    ///
    /// Source: none; Apple has no such type.
    public enum Reason: Int32, CaseIterable, Sendable {
        /// The user started it.
        case user = 0
        /// It is asked to open a URL.
        case url = 1
        /// It is asked to perform a quick action.
        case quickAction = 2
        /// It is asked to continue a user activity.
        case userActivity = 3
        /// A remote notification has arrived for it.
        case remoteNotification = 4
        /// There are location events for it.
        case location = 5
        /// A timer of its manifest has elapsed (`[Timer]`).
        case timer = 6
        /// Somebody has connected to a socket of its manifest (`[Socket]`).
        case socket = 7
        /// A path of its manifest has changed (`[Path]`).
        case path = 8
        /// The system has launched it for another reason.
        case system = 9
        /// It is asked to do work that it has scheduled (``TaskScheduler``).
        case scheduledTask = 10
    }

    /// The steps of the launch sequence, in order.
    ///
    /// Source: none; Apple has no such type.
    public enum Step: Int32, CaseIterable, Sendable {
        /// The process has reached ``ApplicationMain(_:)``, or has gone on from there after a
        /// prewarm.
        case main = 0
        /// The application and delegate objects exist.
        case objects = 1
        /// The main event loop exists.
        case eventLoop = 2
        /// The default interface is loaded (apps without scenes).
        case interface = 3
        /// `willFinishLaunching` has returned.
        case willFinishLaunching = 4
        /// The saved state is restored, or there was none.
        case stateRestoration = 5
        /// `didFinishLaunching` has returned.
        case didFinishLaunching = 6
        /// ``Application/didFinishLaunchingNotification`` has been posted.
        case didFinishLaunchingNotification = 7
        /// The first scene has its configuration.
        case sceneConfiguration = 8
        /// The first scene is connected.
        case sceneConnection = 9
        /// The app has become active.
        case active = 10
        /// The app has entered the background.
        case background = 11
        /// The jobs of ``Application/afterLaunch(_:)`` are done.
        case afterLaunch = 12
    }

    init(_ record: LaunchRecord) {
        self.record = record
        instants[Int(Step.main.rawValue)] = record.resumeInstant
    }
}

/// What the library knows about the launch, shared by all its readers. It is a class because
/// copying a struct of this size, and making the runtime's metadata for the copy, costs more than
/// all other work up to the delegate's first call.
final class LaunchRecord: Sendable {
    /// The launch as the daemon sent it.
    final class Message: Sendable {
        let launch: AppLaunch
        init(_ launch: AppLaunch) { self.launch = launch }
    }

    private let message: Message
    var launch: AppLaunch { message.launch }
    /// `CLOCK_MONOTONIC` in nanoseconds; nil when the process was not prewarmed.
    let pauseInstant: UInt64?
    let resumeInstant: UInt64
    /// The launch's arguments, which a prewarmed process gets with its order to go.
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
