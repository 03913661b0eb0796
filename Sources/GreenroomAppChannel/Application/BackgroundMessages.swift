/// Background time (51, 52; 83, 84) and scheduled work (53–55; 85–87): UIKit's background tasks and
/// BGTaskScheduler on the wire. These messages are not acknowledged.
extension AppEvent {
    public enum Background: Equatable, Sendable {
        /// How long the app may go on in the background: `CLOCK_MONOTONIC` in nanoseconds. Nil
        /// means no limit, as in the foreground.
        case time(until: UInt64?)
        /// Background time is about to end. The app runs the expiration handlers and ends every
        /// task before then; otherwise it is ended.
        case timeExpires(at: UInt64)
        /// Run the handler that is registered for the task.
        case run(TaskRun)
        /// Run the expiration handler of that run and complete it before its deadline.
        case expire(TaskRun)
        /// Answers ``TaskQuery/list``.
        case pendingRequests([TaskSubmission], request: UInt64)
    }
}

extension AppReport {
    public enum Background: Equatable, Sendable {
        /// The app chooses `identifier`. It is never 0, and is used only once in the life of the
        /// process.
        case begin(identifier: UInt64, name: String?)
        case end(identifier: UInt64)
        /// Answered (``AppEvent/answer(request:_:)``) with success or one of
        /// ``TaskSubmission/Refusal``. Replaces a pending request with the same identifier.
        case submit(TaskSubmission, cookie: UInt64)
        case query(TaskQuery, cookie: UInt64)
        /// ``TaskRun/number`` of the run.
        case completed(run: UInt64, Completion)
    }

    /// How a run ended.
    public enum Completion: Int32, CaseIterable, Sendable {
        case success = 0
        case failure = 1
        /// The app has registered no handler for the task.
        case noHandler = 2
    }
}

/// A question or an order of an app about its pending requests.
public enum TaskQuery: Equatable, Sendable {
    /// Answered with ``AppEvent/Background/pendingRequests(_:request:)``.
    case list
    /// Cancels the requests with these identifiers. Not answered. A run that has begun goes on.
    case cancel([String])
    case cancelAll
}

/// Work that an app wants to be run later, in the background (`BGTaskRequest`).
public struct TaskSubmission: Hashable, Sendable {
    /// One of `ScheduledTasks=` in the manifest.
    public var identifier: String
    public var kind: Kind
    /// The earliest time at which it may begin: microseconds since 1970 UTC; nil means any time.
    public var earliestBegin: UInt64?
    /// A condition of processing requests.
    public var requiresExternalPower = false
    public var requiresNetworkConnectivity = false

    public enum Kind: Int32, CaseIterable, Sendable {
        /// A short task that updates what the app shows (`BGAppRefreshTaskRequest`).
        case appRefresh = 0
        /// Minutes of work while nobody uses the machine (`BGProcessingTaskRequest`).
        case processing = 1
    }

    /// Why a request is refused, as an errno in the answer (`BGTaskScheduler.Error.Code`).
    public enum Refusal: Int32, CaseIterable, Sendable {
        /// EOPNOTSUPP: apps may not run in the background here.
        case unavailable = 95
        /// EDQUOT: at most one app refresh and ten processing requests may be pending.
        case tooManyPendingTaskRequests = 122
        /// EPERM: the manifest does not name the task.
        case notPermitted = 1
    }

    public init(_ identifier: String, kind: Kind) {
        self.identifier = identifier
        self.kind = kind
    }
}

/// One run of scheduled work.
public struct TaskRun: Hashable, Sendable {
    /// The run's number, which is never 0 and never used again.
    public var number: UInt64
    public var identifier: String
    public var kind: TaskSubmission.Kind
    /// When the run must be completed: `CLOCK_MONOTONIC`, nanoseconds. Its expiration comes
    /// earlier.
    public var deadline: UInt64

    public init(number: UInt64, identifier: String, kind: TaskSubmission.Kind, deadline: UInt64) {
        self.number = number
        self.identifier = identifier
        self.kind = kind
        self.deadline = deadline
    }
}

extension AppEvent.Background {
    private static let unlimited = UInt64.max

    var frame: AppFrame {
        switch self {
        case .time(let instant): AppFrame(.backgroundTime, cookie: instant ?? Self.unlimited)
        case .timeExpires(let instant): AppFrame(.backgroundTimeExpires, cookie: instant)
        case .run(let run): run.frame(.runTask)
        case .expire(let run): run.frame(.expireTask)
        case .pendingRequests(let requests, let cookie): Self.list(requests, cookie)
        }
    }

    private static func list(_ requests: [TaskSubmission], _ cookie: UInt64) -> AppFrame {
        var frame = AppFrame(.pendingTasks, cookie: cookie)
        for request in requests {
            frame.fields.add("task", request.identifier)
            frame.fields.add("task.kind", String(request.kind.rawValue))
            frame.fields.add("task.earliest", request.earliestBegin.map { String($0) })
            frame.fields.add("task.power", request.requiresExternalPower ? "1" : nil)
            frame.fields.add("task.network", request.requiresNetworkConnectivity ? "1" : nil)
        }
        return frame
    }

    init(time frame: AppFrame) {
        self = .time(until: frame.cookie == Self.unlimited ? nil : frame.cookie)
    }

    init(list frame: AppFrame) {
        var requests: [TaskSubmission] = []
        for (name, value) in frame.fields.pairs {
            if name == "task" {
                requests.append(TaskSubmission(value, kind: .appRefresh))
            } else if let detail = name.without(prefix: "task."), !requests.isEmpty {
                requests[requests.count - 1].take(detail, value)
            }
        }
        self = .pendingRequests(requests, request: frame.cookie)
    }
}

extension AppReport.Background {
    var frame: AppFrame {
        switch self {
        case .begin(let identifier, let name):
            return AppFrame(
                .beginBackgroundTask, cookie: identifier, words: name.map { [$0] } ?? [])
        case .end(let identifier): return AppFrame(.endBackgroundTask, cookie: identifier)
        case .submit(let request, let cookie):
            var frame = AppFrame(
                .submitTask, cookie: cookie, status: request.kind.rawValue,
                words: [request.identifier])
            frame.flags = request.flags
            frame.fields.add("earliest", request.earliestBegin.map { String($0) })
            return frame
        case .query(.list, let cookie): return AppFrame(.taskRequests, cookie: cookie)
        case .query(.cancel(let identifiers), let cookie):
            return AppFrame(.taskRequests, cookie: cookie, status: 1, words: identifiers)
        case .query(.cancelAll, let cookie):
            return AppFrame(.taskRequests, cookie: cookie, status: 2)
        case .completed(let run, let completion):
            return AppFrame(.completedTask, cookie: run, status: completion.rawValue)
        }
    }

    init(completion frame: AppFrame) throws(WireError) {
        guard let completion = AppReport.Completion(rawValue: frame.status) else {
            throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
        self = .completed(run: frame.cookie, completion)
    }
}

extension TaskQuery {
    init(_ frame: AppFrame) throws(WireError) {
        switch frame.status {
        case 0: self = .list
        case 1: self = .cancel(frame.words)
        case 2: self = .cancelAll
        default: throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
    }
}

extension TaskSubmission {
    static let externalPowerFlag: UInt32 = 1
    static let networkFlag: UInt32 = 2

    fileprivate var flags: UInt32 {
        (requiresExternalPower ? Self.externalPowerFlag : 0)
            | (requiresNetworkConnectivity ? Self.networkFlag : 0)
    }

    init(_ frame: AppFrame) throws(WireError) {
        guard let kind = Kind(rawValue: frame.status) else {
            throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
        guard let identifier = frame.word(0) else { throw .malformedStrings }
        self.init(identifier, kind: kind)
        let earliest = frame.fields.pairs.first { $0.name == "earliest" }?.value
        earliestBegin = earliest.flatMap { UInt64($0) }
        requiresExternalPower = frame.flags & Self.externalPowerFlag != 0
        requiresNetworkConnectivity = frame.flags & Self.networkFlag != 0
    }

    /// Reads a detail of a pending request.
    fileprivate mutating func take(_ name: Substring, _ value: String) {
        switch name {
        case "kind": kind = Int32(value).flatMap { Kind(rawValue: $0) } ?? kind
        case "earliest": earliestBegin = UInt64(value)
        case "power": requiresExternalPower = value == "1"
        case "network": requiresNetworkConnectivity = value == "1"
        default: break
        }
    }
}

extension TaskRun {
    fileprivate func frame(_ type: AppMessageType) -> AppFrame {
        var frame = AppFrame(
            type, cookie: number, status: kind.rawValue, words: [identifier])
        frame.fields.add("deadline", String(deadline))
        return frame
    }

    init(_ frame: AppFrame) throws(WireError) {
        guard let kind = TaskSubmission.Kind(rawValue: frame.status) else {
            throw .unknownValue(frame.status, type: frame.type.rawValue)
        }
        guard let identifier = frame.word(0) else { throw .malformedStrings }
        let deadline = frame.fields.pairs.first { $0.name == "deadline" }?.value
        self.init(
            number: frame.cookie, identifier: identifier, kind: kind,
            deadline: deadline.flatMap { UInt64($0) } ?? .max)
    }
}
