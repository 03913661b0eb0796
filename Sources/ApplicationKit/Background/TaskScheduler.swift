internal import Glibc
internal import GreenroomAppChannel

/// Schedules work for the app to do later, in the background; BackgroundTasks' `BGTaskScheduler`.
/// Greenroom launches the app for it if the app is not running.
///
/// Requests outlive the app and a reboot. Each is run once, when its time has come and the machine
/// allows. To repeat a task, submit it again from its handler. `greenroomctl tasks` shows the
/// pending requests, and `greenroomctl debug run-task` runs one at once.
///
/// Source: <https://developer.apple.com/documentation/backgroundtasks/bgtaskscheduler>
@MainActor public final class TaskScheduler {
    /// The app's scheduler; `BGTaskScheduler.shared`.
    public static let shared = TaskScheduler()

    private var handlers: [String: @MainActor (ScheduledTask) -> Void] = [:]
    private var runs: [UInt64: ScheduledTask] = [:]
    /// The number of the last run. Each run has a higher number than the one before, so a run whose
    /// number is not higher is one that the daemon repeats.
    private var lastRun: UInt64 = 0

    private init() {}

    /// Registers the handler of a task;
    /// `BGTaskScheduler.register(forTaskWithIdentifier:using:launchHandler:)`. Register every task
    /// before the launch is over, at the latest in `application(_:didFinishLaunchingWithOptions:)`.
    ///
    /// - Parameter launchHandler: called on the main thread with an ``AppRefreshTask`` or a
    ///   ``ProcessingTask``.
    /// - Returns: false if the identifier has a handler already, or if the launch is over.
    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String,
        launchHandler: @escaping @MainActor (ScheduledTask) -> Void
    ) -> Bool {
        guard handlers[identifier] == nil, Application.current?.stage != .launched else {
            return false
        }
        handlers[identifier] = launchHandler
        return true
    }

    /// Schedules a task; `BGTaskScheduler.submit(_:)`. The request replaces a pending one with the
    /// same identifier. Returns when the daemon has accepted the request.
    /// - Throws: ``Error`` if the daemon refused the request.
    public func submit(_ request: any TaskRequest) async throws(Error) {
        let answer = await withCheckedContinuation { continuation in
            submit(request) { continuation.resume(returning: $0) }
        }
        if let answer { throw answer }
    }

    /// Schedules a task, as ``submit(_:)`` does.
    /// - Parameter completionHandler: called on the main thread with the daemon's refusal, or nil
    ///   if it accepted the request.
    public func submit(
        _ request: any TaskRequest, completionHandler: @escaping @MainActor (Error?) -> Void
    ) {
        guard let application = Application.current else {
            return completionHandler(Error(.unavailable, "the app has not been launched"))
        }
        let request = TaskSubmission(request)
        application.ask({ .background(.submit(request, cookie: $0)) }) {
            completionHandler(Error($0))
        }
    }

    /// Withdraws a pending request; `BGTaskScheduler.cancel(taskRequestWithIdentifier:)`. A task
    /// that is already running goes on.
    public func cancel(taskRequestWithIdentifier identifier: String) {
        Application.current?.report(.background(.query(.cancel([identifier]), cookie: 0)))
    }

    /// Withdraws all pending requests of the app; `BGTaskScheduler.cancelAllTaskRequests()`.
    public func cancelAllTaskRequests() {
        Application.current?.report(.background(.query(.cancelAll, cookie: 0)))
    }

    /// The requests that have been submitted and not run yet;
    /// `BGTaskScheduler.pendingTaskRequests()`. Empty in an app that is run by hand.
    public func pendingTaskRequests() async -> [any TaskRequest] {
        guard let application = Application.current, application.isManaged else { return [] }
        return await withCheckedContinuation { continuation in
            application.listTaskRequests { continuation.resume(returning: $0.map(\.request)) }
        }
    }

    /// Why a request was not accepted; `BGTaskScheduler.Error`.
    ///
    /// Source: <https://developer.apple.com/documentation/backgroundtasks/bgtaskscheduler/error>
    public struct Error: Swift.Error, Hashable, CustomStringConvertible {
        /// The kind of the refusal.
        public let code: Code
        /// The reason in words, as the daemon gave it.
        public let description: String

        /// The kinds of refusal; `BGTaskScheduler.Error.Code`.
        ///
        /// Source: <https://developer.apple.com/documentation/backgroundtasks/bgtaskscheduler/error/code>
        public enum Code: Int, Sendable {
            /// The app cannot be run in the background: it was started by hand, or the machine's
            /// administrator allows no scheduled work.
            case unavailable = 1
            /// The app has as many pending requests of this kind as it may: one for an app refresh,
            /// ten for processing.
            case tooManyPendingTaskRequests = 2
            /// `ScheduledTasks=` in the app's manifest does not name the identifier.
            case notPermitted = 3
        }

        init(_ code: Code, _ description: String) {
            self.code = code
            self.description = description
        }

        init?(_ answer: AppEvent.Answer) {
            guard case .refused(let code, let reason) = answer else { return nil }
            switch TaskSubmission.Refusal(rawValue: code) {
            case .tooManyPendingTaskRequests: self.init(.tooManyPendingTaskRequests, reason)
            case .notPermitted: self.init(.notPermitted, reason)
            case .unavailable, nil: self.init(.unavailable, reason)
            }
        }
    }

    // MARK: Running

    func run(_ run: TaskRun, in application: Application) {
        guard run.number > lastRun else { return }
        lastRun = run.number
        guard let handler = handlers[run.identifier] else {
            return application.report(.background(.completed(run: run.number, .noHandler)))
        }
        let task: ScheduledTask =
            switch run.kind {
            case .appRefresh: AppRefreshTask(run, application)
            case .processing: ProcessingTask(run, application)
            }
        runs[run.number] = task
        application.call("launchHandler") { handler(task) }
    }

    func expire(_ run: TaskRun, in application: Application) { runs[run.number]?.expire() }

    func forget(_ run: UInt64) { runs[run] = nil }
}

/// The wall clock's time since 1970 UTC (clock_gettime(2)).
func wallClock() -> Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
