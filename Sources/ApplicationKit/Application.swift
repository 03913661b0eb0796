internal import CApplicationKit
internal import Glibc
internal import GreenroomAppChannel

/// The app: its state, its scenes, why it runs; UIKit's `UIApplication`. There is one, from
/// ``ApplicationMain(_:)`` on.
@MainActor public final class Application {
    private static var instance: Application?
    /// Nil before ``ApplicationMain(_:)``.
    static var current: Application? { instance }

    /// - Precondition: `ApplicationMain` has been called. What runs before it runs during a prewarm, where
    ///   the app is not launched: move it into `willFinishLaunching`.
    public static var shared: Application {
        guard let instance else {
            fatalError("Application.shared was used before ApplicationMain")
        }
        return instance
    }

    public let delegate: any ApplicationDelegate

    /// Whether, why and when it was launched, and whether it had been prewarmed. Unlike `ActivePrewarm` in
    /// the environment, which goes after `didFinishLaunching`, this stays.
    public internal(set) var launchInfo: LaunchInfo

    /// Whether Greenroom runs this process. By hand, an app is launched into the foreground.
    public var isManaged: Bool { channel != nil }

    // MARK: Inner state

    enum Stage { case starting, launching, launched }
    var stage = Stage.starting
    var isProcessing = false
    var protectedDataIsAvailable: Bool
    let record: LaunchRecord
    let usesScenes: Bool
    var channel: AppChannel?
    /// Of an app without scenes.
    var ownState: State
    /// Sessions in the order in which they were connected.
    var sessions: [SceneSession] = []
    /// Whether a scene has ever been attached: until then, the launch says which state the app is in.
    var hasHadScene = false
    var credentials: Credentials
    var deferred: [@MainActor () -> Void] = []
    var requests: [UInt64: OpenRequest] = [:]
    var requestCount: UInt64 = 0
    /// The last step that was done, by its cookie.
    var lastStep: UInt64 = 0
    /// Who asked for the pending task requests.
    var listRequests: [UInt64: @MainActor ([GreenroomAppChannel.TaskRequest]) -> Void] = [:]
    var background = BackgroundTasks()
    /// What happens next where no daemon says so.
    var ownEvents: [AppEvent] = []
    /// What came while the launch sequence waited for something else.
    var held: [AppChannel.Incoming] = []
    var restorables = RestorableObjects()
    /// Restorations that are not complete, by session; nil is the app's own.
    var extensions: [String?: Int] = [:]
    /// False after a callback that turned out to be the protocol's default.
    private var isImplemented = true
    /// A bit per step.
    private var reportedSteps: UInt32 = 0
    /// Waited at for the first time when the launch sequence is over.
    lazy var loop = EventLoop(channel: channel)
    /// When it said so first, itself or one of its scenes.
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
        delegate = delegateClass.init()
        Self.instance = self
        report(.launchStep(.main, at: record.resumeInstant, session: nil))
        reached(.objects)
        MetricManager.shared.begin(self)
    }

    // MARK: Calling back

    /// A callback that keeps the main thread longer than this is reported by its name.
    public static var callbackTimeLimit: Duration { .nanoseconds(callbackNanosecondLimit) }
    private static let callbackNanosecondLimit: UInt64 = 250_000_000

    /// What the main actor has to do is the app's too.
    func runMainQueue() { call("main queue") { loop.runMainQueue() } }

    /// What begins now is not part of the launch.
    var hasFinishedLaunch: Bool { hasDrawn || hasReached(.active) }

    /// Runs a callback of the app's.
    func call<Result>(_ name: String, _ body: () -> Result) -> Result {
        let start = monotonicNanoseconds()
        let result = body()
        let duration = monotonicNanoseconds() &- start
        if duration > Self.callbackNanosecondLimit {
            note(.callbackOverran(name, duration: .nanoseconds(Int64(clamping: duration))))
        }
        return result
    }

    /// Nil when the delegate does not have the method.
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

    /// What nobody waits for.
    func note(_ report: @autoclosure () -> AppReport) {
        channel?.send(.report(report()), mayBeLost: true)
    }

    /// Ends the process, when what it had to say is said.
    func end() -> Never {
        channel?.drain()
        exit(0)
    }

    /// Reports a step of the launch sequence, the first time it is done.
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

    /// The user sees the app now. Without this call, the first activation counts.
    public func didDrawFirstFrame() {
        note(.didDrawFirstFrame(at: drew(), session: nil))
    }

    func drew() -> UInt64 {
        let now = monotonicNanoseconds()
        drawnAt = drawnAt ?? now
        return now
    }

    /// Runs `work` on the main thread when the launch sequence is over and the app is active, or in the
    /// background: what need not be done for the user to see the app.
    public func afterLaunch(_ work: @escaping @MainActor () -> Void) { deferred.append(work) }

    /// The daemon's, when it is gone: the app goes on alone.
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
