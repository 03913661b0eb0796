internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// The app as a whole: its state, its scenes and the reason for which it runs; UIKit's
/// `UIApplication`. A process has one application object, which ``ApplicationMain(_:)`` creates.
///
/// Source: <https://developer.apple.com/documentation/uikit/uiapplication>
@MainActor public final class Application {
    private static var instance: Application?
    /// The application object, or nil before ``ApplicationMain(_:)`` has created it.
    static var current: Application? { instance }

    /// The process's application object; UIKit's `UIApplication.shared`.
    ///
    /// - Precondition: ``ApplicationMain(_:)`` has been called. Code before that call already runs
    ///   during a prewarm, when the app is not launched: move such code into `willFinishLaunching`.
    public static var shared: Application {
        guard let instance else {
            fatalError("Application.shared was used before ApplicationMain")
        }
        return instance
    }

    /// The app delegate, which ``ApplicationMain(_:)`` created; UIKit's `UIApplication.delegate`.
    public let delegate: any ApplicationDelegate

    /// Why and when the app was launched, and whether it had been prewarmed. This information stays
    /// for the life of the process, unlike the environment variable `ActivePrewarm`, which is
    /// removed after `didFinishLaunching`.
    public internal(set) var launchInfo: LaunchInfo

    /// Whether Greenroom runs this process: false if the app was started by hand, and after the
    /// daemon has ended. An app that is started by hand is launched into the foreground and stays
    /// there.
    public var isManaged: Bool { channel != nil }

    // MARK: Inner state

    enum Stage { case starting, launching, launched }
    var stage = Stage.starting
    var isProcessing = false
    var protectedDataIsAvailable: Bool
    let record: LaunchRecord
    let usesScenes: Bool
    var channel: AppChannel?
    /// The state of an app without scenes.
    var ownState: State
    /// Sessions in the order in which they were connected.
    var sessions: [SceneSession] = []
    /// Whether a scene has ever been attached: until then, the launch says which state the app is
    /// in.
    var hasHadScene = false
    var credentials: Credentials
    var deferred: [@MainActor () -> Void] = []
    var requests: [UInt64: OpenRequest] = [:]
    var requestCount: UInt64 = 0
    /// The cookie of the last step that the app has taken.
    var lastStep: UInt64 = 0
    /// The callers that wait for the list of pending task requests, by cookie.
    var listRequests: [UInt64: @MainActor ([TaskSubmission]) -> Void] = [:]
    var background = BackgroundTasks()
    /// Events that the library makes for itself when no daemon sends any.
    var ownEvents: [AppEvent] = []
    /// Messages that arrived while the launch sequence waited for a different one.
    var held: [AppChannel.Incoming] = []
    var restorables = RestorableObjects()
    /// How many restorations are not complete, by session; nil is the app's own state.
    var extensions: [String?: Int] = [:]
    /// False if the last callback ran the protocol's default implementation.
    private var isImplemented = true
    /// One bit for each step of the launch sequence.
    private var reportedSteps: UInt32 = 0
    /// Where the main thread waits, which it does only after the launch sequence.
    lazy var loop = EventLoop(channel: channel)
    /// When the app or one of its scenes first said that it has drawn: `CLOCK_MONOTONIC`,
    /// nanoseconds.
    var drawnAt: UInt64?
    var hasDrawn: Bool { drawnAt != nil }

    init(_ start: PausedStart, delegateClass: any ApplicationDelegate.Type) {
        record = start.record
        launchInfo = LaunchInfo(record)
        channel = start.channel
        usesScenes =
            start.channel == nil
            ? delegateClass.sceneDelegateClass != nil : record.launch.flags.contains(.scenes)
        ownState = record.launch.flags.contains(.foreground) ? .inactive : .background
        protectedDataIsAvailable = record.launch.flags.contains(.protectedDataAvailable)
        credentials = start.credentials
        #if DEBUG
            NearMisses.warn(of: delegateClass)
        #endif
        delegate = delegateClass.init()
        Self.instance = self
        report(.launchStep(.main, at: record.resumeInstant, session: nil))
        reached(.objects)
        MetricManager.shared.begin(self)
    }

    // MARK: Calling back

    /// How long a callback may keep the main thread, 250 ms. A callback that takes longer is
    /// reported to the daemon by its name and counts as a hang
    /// (``ApplicationResponsivenessMetric/histogrammedApplicationHangTime``).
    public static var callbackTimeLimit: Duration { .nanoseconds(AppLimits.callbackNanoseconds) }

    /// Runs the main actor's jobs. They are the app's code, so they count as a callback.
    func runMainQueue() { call("main queue") { loop.runMainQueue() } }

    /// Whether work that begins now is too late to be part of the launch.
    var hasFinishedLaunch: Bool { hasDrawn || hasReached(.active) }

    /// Calls `body`, one of the app's callbacks, and reports it if it takes too long.
    func call<Result>(_ name: String, _ body: () -> Result) -> Result {
        let start = monotonicNanoseconds()
        let result = body()
        let duration = monotonicNanoseconds() &- start
        if duration > AppLimits.callbackNanoseconds {
            note(.callbackOverran(name, duration: .nanoseconds(Int64(clamping: duration))))
        }
        return result
    }

    /// Calls `body`, an optional callback.
    /// - Returns: nil if the delegate does not have the method.
    func callOptional<Result>(_ name: String, _ body: () -> Result) -> Result? {
        isImplemented = true
        let result = call(name, body)
        return isImplemented ? result : nil
    }

    func leftToDefault<Result>(_ result: Result) -> Result {
        isImplemented = false
        return result
    }

    // MARK: Reporting

    func report(_ report: @autoclosure () -> AppReport) { channel?.send(.report(report())) }

    /// Sends a report that nobody waits for.
    func note(_ report: @autoclosure () -> AppReport) {
        channel?.send(.report(report()), mayBeLost: true)
    }

    /// Ends the process after sending what waits in the outbox.
    func end() -> Never {
        channel?.drain()
        exit(0)
    }

    /// Reports a step of the launch sequence, the first time that it is taken.
    func reached(_ step: AppReport.LaunchStep, session: SceneSession? = nil) {
        guard !hasReached(step) else { return }
        reportedSteps |= 1 << step.rawValue
        let now = monotonicNanoseconds()
        launchInfo.note(Int(step.rawValue), at: now)
        note(.launchStep(step, at: now, session: session?.persistentIdentifier))
    }

    func hasReached(_ step: AppReport.LaunchStep) -> Bool {
        reportedSteps & (1 << step.rawValue) != 0
    }

    func acknowledge(_ cookie: UInt64, handled: Bool = true) {
        report(.acknowledged(cookie: cookie, handled: handled))
    }

    /// Tells Greenroom that the user now sees the app. The time from the user's request to the
    /// first such call is the launch's time to first draw
    /// (``ApplicationLaunchMetric/histogrammedTimeToFirstDraw``); for an app that never calls this
    /// method, the first activation counts instead. UIKit has no such method: it sees the first
    /// frame.
    public func didDrawFirstFrame() {
        note(.didDrawFirstFrame(at: drew(), session: nil))
    }

    func drew() -> UInt64 {
        let now = monotonicNanoseconds()
        drawnAt = drawnAt ?? now
        return now
    }

    /// Runs `work` on the main thread after the launch sequence, as soon as the app is active or in
    /// the background. Use it for whatever the user can do without when the app appears.
    public func afterLaunch(_ work: @escaping @MainActor () -> Void) {
        deferred.append(work)
        wake()
    }

    /// Schedules a call of ``processEvents()``: an app with its own loop may not call it soon.
    func wake() {
        if stage == .launched && !isProcessing { Task { processEvents() } }
    }

    /// The daemon has closed the app channel. The app goes on alone.
    func channelEnded() {
        loop.forgetChannel()
        channel = nil
        let pending = requests.values
        requests = [:]
        for request in pending {
            request.answered(.refused(code: ECONNRESET, reason: "greenroomd is gone"))
        }
        let lists = listRequests.values
        listRequests = [:]
        for answer in lists { answer([]) }
        background.limit(to: nil)
    }
}
