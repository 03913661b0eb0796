internal import Glibc
internal import GreenroomAppChannel

/// Schedules work that the app shall do later, in the background, launched for it where it does not run;
/// `BGTaskScheduler`.
///
/// Requests outlive the app and a reboot. Each is run once, when its time has come and the machine allows; a
/// task that shall come again is submitted again, from its handler. `greenroomctl tasks` shows what is pending,
/// and `greenroomctl debug run-task` runs it without waiting.
@MainActor public final class TaskScheduler {
    public static let shared = TaskScheduler()

    private var handlers: [String: @MainActor (ScheduledTask) -> Void] = [:]
    private var runs: [UInt64: ScheduledTask] = [:]
    /// Numbers count up; one that comes again is known.
    private var lastRun: UInt64 = 0

    private init() {}

    /// Registers what runs a task. Do so before the launch is over: at the latest in
    /// `application(_:didFinishLaunchingWithOptions:)`.
    ///
    /// - Parameter launchHandler: called on the main thread, with an ``AppRefreshTask`` or a ``ProcessingTask``.
    /// - Returns: false if the identifier has a handler, or the launch is over.
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

    /// Schedules a task. A pending request with the same identifier is replaced.
    public func submit(_ request: any TaskRequest) async throws(Error) {
        let answer = await withCheckedContinuation { continuation in
            submit(request) { continuation.resume(returning: $0) }
        }
        if let answer { throw answer }
    }

    /// - Parameter completionHandler: is told why not, or nil.
    public func submit(
        _ request: any TaskRequest, completionHandler: @escaping @MainActor (Error?) -> Void
    ) {
        guard let application = Application.current else {
            return completionHandler(Error(.unavailable, "the app has not been launched"))
        }
        let request = GreenroomAppChannel.TaskRequest(request)
        application.ask({ .background(.submit(request, cookie: $0)) }) {
            completionHandler(Error($0))
        }
    }

    /// Withdraws a pending request; a task that runs goes on.
    public func cancel(taskRequestWithIdentifier identifier: String) {
        Application.current?.report(.background(.query(.cancel([identifier]), cookie: 0)))
    }

    public func cancelAllTaskRequests() {
        Application.current?.report(.background(.query(.cancelAll, cookie: 0)))
    }

    /// What has been submitted and was not run yet.
    public func pendingTaskRequests() async -> [any TaskRequest] {
        guard let application = Application.current, application.isManaged else { return [] }
        return await withCheckedContinuation { continuation in
            application.listTaskRequests { continuation.resume(returning: $0.map(\.request)) }
        }
    }

    /// Why a request was not accepted.
    public struct Error: Swift.Error, Hashable, CustomStringConvertible {
        public let code: Code
        public let description: String

        /// `BGTaskScheduler.Error.Code`
        public enum Code: Int, Sendable {
            /// The app cannot be run in the background: it runs by hand, or the machine's administrator
            /// allows no scheduled work.
            case unavailable = 1
            /// One app refresh and ten processing requests may be pending.
            case tooManyPendingTaskRequests = 2
            /// The manifest does not name the identifier.
            case notPermitted = 3
        }

        init(_ code: Code, _ description: String) {
            self.code = code
            self.description = description
        }

        init?(_ answer: AppEvent.Answer) {
            guard case .refused(let code, let reason) = answer else { return nil }
            switch GreenroomAppChannel.TaskRequest.Refusal(rawValue: code) {
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

/// The wall clock: since 1970 (UTC).
func wallClock() -> Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
