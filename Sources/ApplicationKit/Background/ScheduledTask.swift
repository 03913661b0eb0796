internal import GreenroomAppChannel

/// One run of scheduled work; BackgroundTasks' `BGTask`. The handler that
/// ``TaskScheduler/register(forTaskWithIdentifier:launchHandler:)`` registered starts the work, and
/// the app calls ``setTaskCompleted(success:)`` when the work is done.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgtask>
@MainActor public class ScheduledTask {
    /// The identifier under which the task was submitted; `BGTask.identifier`.
    public let identifier: String
    let run: TaskRun
    private unowned let application: Application
    private var isCompleted = false
    private var isExpired = false

    /// Called on the main thread shortly before the task's time runs out;
    /// `BGTask.expirationHandler`. It must stop the work and complete the task: an app that does
    /// not is ended.
    public var expirationHandler: (@MainActor () -> Void)? {
        didSet { if isExpired { callExpirationHandler() } }
    }

    init(_ run: TaskRun, _ application: Application) {
        identifier = run.identifier
        self.run = run
        self.application = application
    }

    /// Tells Greenroom that the work is done (true) or has failed (false);
    /// `BGTask.setTaskCompleted(success:)`. Calling it again does nothing.
    public func setTaskCompleted(success: Bool) {
        guard !isCompleted else { return }
        isCompleted = true
        expirationHandler = nil
        TaskScheduler.shared.forget(run.number)
        application.report(
            .background(.completed(run: run.number, success ? .success : .failure)))
    }

    func expire() {
        isExpired = true
        callExpirationHandler()
    }

    private func callExpirationHandler() {
        guard !isCompleted, let handler = expirationHandler else { return }
        expirationHandler = nil
        application.call("expirationHandler", handler)
    }
}

/// A short task that updates what the app shows; `BGAppRefreshTask`.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgapprefreshtask>
public final class AppRefreshTask: ScheduledTask {}

/// A task of several minutes that runs while nobody uses the machine; `BGProcessingTask`.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgprocessingtask>
public final class ProcessingTask: ScheduledTask {}

/// A request to run a task, for ``TaskScheduler/submit(_:)``; `BGTaskRequest`.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgtaskrequest>
public protocol TaskRequest: Sendable {
    /// The task's identifier, which `ScheduledTasks=` in the app's manifest must name.
    var identifier: String { get }
    /// The task does not run before this time on the wall clock, which is counted from 1970 UTC.
    /// Nil means as soon as possible.
    var earliestBeginDate: Duration? { get set }
}

extension TaskRequest {
    /// Lets the task run only after `delay` from now: sets ``earliestBeginDate``.
    public mutating func beginNoEarlier(than delay: Duration) {
        earliestBeginDate = wallClock() + delay
    }
}

/// A request to run a short task when the machine allows; `BGAppRefreshTaskRequest`. An app may
/// have one such request pending.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgapprefreshtaskrequest>
public struct AppRefreshTaskRequest: TaskRequest, Hashable {
    /// The task's identifier, which `ScheduledTasks=` in the app's manifest must name.
    public var identifier: String
    /// The wall clock's time since 1970 UTC before which the task does not run; nil: at any time.
    public var earliestBeginDate: Duration?

    /// Creates a request to run the task as soon as possible.
    public init(identifier: String) { self.identifier = identifier }
}

/// A request to run a long task while nobody uses the machine; `BGProcessingTaskRequest`. An app
/// may have ten such requests pending.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgprocessingtaskrequest>
public struct ProcessingTaskRequest: TaskRequest, Hashable {
    /// The task's identifier, which `ScheduledTasks=` in the app's manifest must name.
    public var identifier: String
    /// The wall clock's time since 1970 UTC before which the task does not run; nil: at any time.
    public var earliestBeginDate: Duration?
    /// Whether the task must not begin while the machine runs on battery.
    public var requiresExternalPower = false
    /// Whether the task must not begin without a route to the network.
    public var requiresNetworkConnectivity = false

    /// Creates a request to run the task as soon as possible, without conditions.
    public init(identifier: String) { self.identifier = identifier }
}

extension TaskSubmission {
    /// The request in the form in which the app channel carries it.
    init(_ request: any TaskRequest) {
        let processing = request as? ProcessingTaskRequest
        self.init(request.identifier, kind: processing == nil ? .appRefresh : .processing)
        requiresExternalPower = processing?.requiresExternalPower ?? false
        requiresNetworkConnectivity = processing?.requiresNetworkConnectivity ?? false
        earliestBegin = request.earliestBeginDate.map {
            let (seconds, attoseconds) = $0.components
            let (scaled, overflow) = UInt64(max(0, seconds))
                .multipliedReportingOverflow(by: 1_000_000)
            return overflow ? .max : scaled &+ UInt64(max(0, attoseconds) / 1_000_000_000_000)
        }
    }

    var request: any TaskRequest {
        let earliest = earliestBegin.map { Duration.microseconds(Int64(clamping: $0)) }
        switch kind {
        case .appRefresh:
            var request = AppRefreshTaskRequest(identifier: identifier)
            request.earliestBeginDate = earliest
            return request
        case .processing:
            var request = ProcessingTaskRequest(identifier: identifier)
            request.earliestBeginDate = earliest
            request.requiresExternalPower = requiresExternalPower
            request.requiresNetworkConnectivity = requiresNetworkConnectivity
            return request
        }
    }
}
