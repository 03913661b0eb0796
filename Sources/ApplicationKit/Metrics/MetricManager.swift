internal import GreenroomAppChannel

/// Hears of the app's metrics and diagnostics; MetricKit's `MXMetricManagerSubscriber`. Both methods are
/// optional.
@MainActor public protocol MetricManagerSubscriber: AnyObject {
    /// What was counted in the days that are over: at most once a day, with those before that nobody took.
    func didReceive(_ payloads: [MetricPayload])
    /// What went wrong, at once; of an app that ended, at its next launch.
    func didReceive(_ payloads: [DiagnosticPayload])
}

extension MetricManagerSubscriber {
    public func didReceive(_ payloads: [MetricPayload]) {}
    public func didReceive(_ payloads: [DiagnosticPayload]) {}
}

/// Where an app gets the daemon's measurements of it; MetricKit's `MXMetricManager`. Never measure a launch from
/// the start of the process: it may have been prewarmed days before. The daemon counts from the user's request.
@MainActor public final class MetricManager {
    public static let shared = MetricManager()

    /// What was delivered to this process, oldest first.
    public private(set) var pastPayloads: [MetricPayload] = []
    public private(set) var pastDiagnosticPayloads: [DiagnosticPayload] = []

    private var subscribers: [any MetricManagerSubscriber] = []
    private weak var application: Application?
    private var tasks: Set<LaunchTaskID> = []

    /// More of them at once are a mistake.
    private static let taskLimit = 16
    /// Payloads kept for those who come later.
    private static let pastLimit = 32
    private static let nameByteLimit = 128

    private init() {}

    // MARK: Subscribing

    /// May be called at any time, before the launch too. Subscribers stay until they are removed.
    public func add(_ subscriber: any MetricManagerSubscriber) {
        guard !subscribers.contains(where: { $0 === subscriber }) else { return }
        subscribers.append(subscriber)
        if subscribers.count == 1 { application?.report(.subscribesToMetrics(true)) }
    }

    public func remove(_ subscriber: any MetricManagerSubscriber) {
        let before = subscribers.count
        subscribers.removeAll { $0 === subscriber }
        if before > 0, subscribers.isEmpty { application?.report(.subscribesToMetrics(false)) }
    }

    /// The application object is there, and with it the channel.
    func begin(_ application: Application) {
        self.application = application
        if !subscribers.isEmpty { application.report(.subscribesToMetrics(true)) }
    }

    /// - Returns: whether somebody wanted them.
    func receive(_ reports: [MetricReport]) -> Bool {
        let payloads = reports.map(MetricPayload.init)
        pastPayloads = (pastPayloads + payloads).suffix(Self.pastLimit)
        for subscriber in subscribers {
            application?.call("didReceive(_: [MetricPayload])") { subscriber.didReceive(payloads) }
        }
        return !subscribers.isEmpty
    }

    func receive(_ reports: [DiagnosticReport]) -> Bool {
        let payloads = reports.map(DiagnosticPayload.init)
        pastDiagnosticPayloads = (pastDiagnosticPayloads + payloads).suffix(Self.pastLimit)
        for subscriber in subscribers {
            application?.call("didReceive(_: [DiagnosticPayload])") {
                subscriber.didReceive(payloads)
            }
        }
        return !subscribers.isEmpty
    }

    // MARK: Extended launches

    /// The name of work that belongs to the launch, at most 128 bytes.
    public struct LaunchTaskID: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.rawValue = rawValue }
    }

    /// Counts work as part of the launch: the launch is over when it has drawn and this is finished
    /// (``ApplicationLaunchMetric/histogrammedExtendedLaunch``). Of several, the last counts.
    ///
    /// Call it before the app is active and has drawn: in `didFinishLaunchingWithOptions`, or when a scene
    /// connects.
    /// - Throws: ``LaunchTaskError``.
    public static func extendLaunchMeasurement(
        forTaskID taskID: LaunchTaskID
    ) throws(LaunchTaskError) { try shared.extend(taskID) }

    /// The work is done.
    /// - Throws: ``LaunchTaskError/unknown`` if it was not begun, or is finished already.
    public static func finishExtendedLaunchMeasurement(
        forTaskID taskID: LaunchTaskID
    ) throws(LaunchTaskError) { try shared.finish(taskID) }

    private func extend(_ task: LaunchTaskID) throws(LaunchTaskError) {
        guard 1...Self.nameByteLimit ~= task.rawValue.utf8.count, !task.rawValue.utf8.contains(0)
        else { throw .invalidID }
        guard let application, !application.hasFinishedLaunch else { throw .pastDeadline }
        guard !tasks.contains(task) else { throw .duplicated }
        guard tasks.count < Self.taskLimit else { throw .maxCount }
        tasks.insert(task)
        application.report(
            .launchTask(task.rawValue, isFinished: false, at: monotonicNanoseconds()))
    }

    private func finish(_ task: LaunchTaskID) throws(LaunchTaskError) {
        guard tasks.remove(task) != nil else { throw .unknown }
        application?.report(
            .launchTask(task.rawValue, isFinished: true, at: monotonicNanoseconds()))
    }
}

/// Why a launch cannot be extended; MetricKit's `MXError.Code` for launch tasks.
public enum LaunchTaskError: Error, Hashable, Sendable {
    /// An empty name, a long one, or one with a NUL.
    case invalidID
    /// There are 16 already.
    case maxCount
    /// The app is active already, or has drawn.
    case pastDeadline
    case duplicated
    /// No such task is under way.
    case unknown
}
