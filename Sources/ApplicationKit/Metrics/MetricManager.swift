internal import GreenroomAppChannel

/// An object that receives the app's metrics and diagnostics; MetricKit's
/// `MXMetricManagerSubscriber`. Both methods are optional.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxmetricmanagersubscriber>
@MainActor public protocol MetricManagerSubscriber: AnyObject {
    /// Receives the metrics of past days, at most once a day. Includes earlier days whose metrics
    /// no subscriber has received.
    func didReceive(_ payloads: [MetricPayload])
    /// Receives diagnostics as soon as something has gone wrong; if the app ended, at its next
    /// launch.
    func didReceive(_ payloads: [DiagnosticPayload])
}

extension MetricManagerSubscriber {
    /// Does nothing.
    public func didReceive(_ payloads: [MetricPayload]) {}
    /// Does nothing.
    public func didReceive(_ payloads: [DiagnosticPayload]) {}
}

/// Gives an app the daemon's measurements of it; MetricKit's `MXMetricManager`. Never measure a
/// launch from the start of the process, which may have been prewarmed days before: the daemon
/// measures from the user's request.
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxmetricmanager>
@MainActor public final class MetricManager {
    /// The process's metric manager; `MXMetricManager.shared`.
    public static let shared = MetricManager()

    /// The metrics that this process has received, oldest first, at most 32 days;
    /// `MXMetricManager.pastPayloads`.
    public private(set) var pastPayloads: [MetricPayload] = []
    /// The diagnostics that this process has received, oldest first, at most 32;
    /// `MXMetricManager.pastDiagnosticPayloads`.
    public private(set) var pastDiagnosticPayloads: [DiagnosticPayload] = []

    private var subscribers: [any MetricManagerSubscriber] = []
    private weak var application: Application?
    private var tasks: Set<LaunchTaskID> = []

    /// How many payloads of each kind are kept for subscribers that are added later.
    private static let pastLimit = 32

    private init() {}

    // MARK: Subscribing

    /// Adds a subscriber, which stays until it is removed; `MXMetricManager.add(_:)`. May be called
    /// at any time, even before the launch. Adding the same object again does nothing.
    public func add(_ subscriber: any MetricManagerSubscriber) {
        guard !subscribers.contains(where: { $0 === subscriber }) else { return }
        subscribers.append(subscriber)
        if subscribers.count == 1 { application?.report(.subscribesToMetrics(true)) }
    }

    /// Removes a subscriber; `MXMetricManager.remove(_:)`.
    public func remove(_ subscriber: any MetricManagerSubscriber) {
        let before = subscribers.count
        subscribers.removeAll { $0 === subscriber }
        if before > 0, subscribers.isEmpty { application?.report(.subscribesToMetrics(false)) }
    }

    /// Called when the application object, and with it the channel, has been created.
    func begin(_ application: Application) {
        self.application = application
        if !subscribers.isEmpty { application.report(.subscribesToMetrics(true)) }
    }

    /// Delivers metrics to the subscribers.
    /// - Returns: whether there are any.
    func receive(_ reports: [MetricReport]) -> Bool {
        let payloads = reports.map(MetricPayload.init)
        pastPayloads = (pastPayloads + payloads).suffix(Self.pastLimit)
        for subscriber in subscribers {
            application?.call("didReceive(_: [MetricPayload])") { subscriber.didReceive(payloads) }
        }
        return !subscribers.isEmpty
    }

    /// Delivers diagnostics to the subscribers.
    /// - Returns: whether there are any.
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

    /// The name of work that belongs to the launch: 1 to 128 bytes; `MXLaunchTaskID`.
    ///
    /// Source: <https://developer.apple.com/documentation/metrickit/mxlaunchtaskid>
    public struct LaunchTaskID: RawRepresentable, Hashable, Sendable {
        /// The name.
        public let rawValue: String
        /// Creates an identifier with that name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates an identifier with that name.
        public init(_ rawValue: String) { self.rawValue = rawValue }
    }

    /// Begins work that counts as part of the launch;
    /// `MXMetricManager.extendLaunchMeasurement(forTaskID:)`. The extended launch
    /// (``ApplicationLaunchMetric/histogrammedExtendedLaunch``) ends when the app has drawn and all
    /// such work is finished.
    ///
    /// Call it before the app is active or has drawn: in `didFinishLaunchingWithOptions`, or when a
    /// scene connects. At most 16 tasks may be under way.
    /// - Throws: ``LaunchTaskError``, except ``LaunchTaskError/unknown``.
    public static func extendLaunchMeasurement(
        forTaskID taskID: LaunchTaskID
    ) throws(LaunchTaskError) { try shared.extend(taskID) }

    /// Ends work that ``extendLaunchMeasurement(forTaskID:)`` began;
    /// `MXMetricManager.finishExtendedLaunchMeasurement(forTaskID:)`.
    /// - Throws: ``LaunchTaskError/unknown`` if the work was not begun or has been finished
    ///   already.
    public static func finishExtendedLaunchMeasurement(
        forTaskID taskID: LaunchTaskID
    ) throws(LaunchTaskError) { try shared.finish(taskID) }

    private func extend(_ task: LaunchTaskID) throws(LaunchTaskError) {
        let name = task.rawValue.utf8
        guard 1...AppLimits.launchTaskNameBytes ~= name.count, !name.contains(0) else {
            throw .invalidID
        }
        guard let application, !application.hasFinishedLaunch else { throw .pastDeadline }
        guard !tasks.contains(task) else { throw .duplicated }
        guard tasks.count < AppLimits.launchTasks else { throw .maxCount }
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
///
/// Source: <https://developer.apple.com/documentation/metrickit/mxerror/code>
public enum LaunchTaskError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name is empty, has more than 128 bytes, or contains a NUL.
    case invalidID
    /// 16 tasks are under way already.
    case maxCount
    /// The app is active already, or has drawn, or has not been launched.
    case pastDeadline
    /// A task with this name is under way already.
    case duplicated
    /// No task with this name is under way.
    case unknown

    /// The reason in words.
    public var description: String {
        switch self {
        case .invalidID: "the name of a launch task has 1 to 128 bytes and no NUL"
        case .maxCount: "16 launch tasks are under way, and there can be no more"
        case .pastDeadline:
            "the launch cannot be extended: the app is active, has drawn, or is not launched"
        case .duplicated: "a launch task of this name is under way"
        case .unknown: "no launch task of this name is under way"
        }
    }
}
