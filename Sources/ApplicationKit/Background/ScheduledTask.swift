internal import GreenroomAppChannel

/// One run of scheduled work; `BGTask`. Its handler starts the work and, when it is done, calls
/// ``setTaskCompleted(success:)``.
@MainActor public class ScheduledTask {
    public let identifier: String
    let run: TaskRun
    private unowned let application: Application
    private var isCompleted = false
    private var isExpired = false

    /// Called on the main thread shortly before the time for the task is over. Stop the work and complete the
    /// task in it; an app that has not is ended.
    public var expirationHandler: (@MainActor () -> Void)? {
        didSet { if isExpired { callExpirationHandler() } }
    }

    init(_ run: TaskRun, _ application: Application) {
        identifier = run.identifier
        self.run = run
        self.application = application
    }

    /// Says that the work is done, or that it could not be. Calling it again does nothing.
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

/// Brings what the app shows up to date; `BGAppRefreshTask`.
public final class AppRefreshTask: ScheduledTask {}

/// Minutes of work while nobody uses the machine; `BGProcessingTask`.
public final class ProcessingTask: ScheduledTask {}

/// What is submitted to the ``TaskScheduler``; `BGTaskRequest`.
public protocol TaskRequest: Sendable {
    /// One of `ScheduledTasks=` in `[Application]` of the app's manifest.
    var identifier: String { get }
    /// Not before: the time since 1970 (UTC) on the wall clock. Nil for as soon as possible.
    var earliestBeginDate: Duration? { get set }
}

extension TaskRequest {
    /// Not before so much time from now.
    public mutating func beginNoEarlier(than delay: Duration) {
        earliestBeginDate = wallClock() + delay
    }
}

/// A short task, run when the machine allows; `BGAppRefreshTaskRequest`. One may be pending.
public struct AppRefreshTaskRequest: TaskRequest, Hashable {
    public var identifier: String
    public var earliestBeginDate: Duration?

    public init(identifier: String) { self.identifier = identifier }
}

/// A long task, run while nobody uses the machine; `BGProcessingTaskRequest`. Ten may be pending.
public struct ProcessingTaskRequest: TaskRequest, Hashable {
    public var identifier: String
    public var earliestBeginDate: Duration?
    /// Not while a battery feeds the machine.
    public var requiresExternalPower = false
    /// Not without a way to the network.
    public var requiresNetworkConnectivity = false

    public init(identifier: String) { self.identifier = identifier }
}

extension GreenroomAppChannel.TaskRequest {
    /// As it travels.
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
