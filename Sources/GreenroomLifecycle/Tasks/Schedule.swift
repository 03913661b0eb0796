// Scheduled work (BGTaskScheduler): what apps have asked to be run later. When it is run is decided in
// one place, `TaskChoice`; how, in `RunningTasks`.

/// A request of an app (BGTaskRequest).
public struct ScheduledTask: Hashable, Sendable {
    /// One of the manifest's.
    public var identifier: String
    public var kind: Kind
    /// Not before: microseconds since 1970, of the wall clock; nil for any time.
    public var earliestBegin: Int64?
    public var requiresExternalPower: Bool
    public var requiresNetworkConnectivity: Bool

    /// Raw values are kept in files: never renumber.
    public enum Kind: UInt8, CaseIterable, Sendable {
        case appRefresh = 0
        case processing = 1

        /// How many of it an app may have pending (BGTaskScheduler.submit).
        public var limit: Int {
            switch self {
            case .appRefresh: 1
            case .processing: 10
            }
        }
    }

    public init(
        identifier: String, kind: Kind, earliestBegin: Int64? = nil,
        requiresExternalPower: Bool = false, requiresNetworkConnectivity: Bool = false
    ) {
        self.identifier = identifier
        self.kind = kind
        self.earliestBegin = earliestBegin
        self.requiresExternalPower = requiresExternalPower
        self.requiresNetworkConnectivity = requiresNetworkConnectivity
    }
}

/// What must be remembered of an app's scheduled work, across a reboot as well.
public struct AppTasks: Hashable, Sendable {
    /// In the order in which they were submitted.
    public var requests: [ScheduledTask]
    /// Under way. It is not run again.
    public var run: ScheduledRun?

    public init(requests: [ScheduledTask] = [], run: ScheduledRun? = nil) {
        self.requests = requests
        self.run = run
    }
}

/// A request that is being run.
public struct ScheduledRun: Hashable, Sendable {
    /// Never 0, and used once.
    public var number: UInt64
    public var identifier: String
    public var kind: ScheduledTask.Kind

    public init(number: UInt64, identifier: String, kind: ScheduledTask.Kind) {
        self.number = number
        self.identifier = identifier
        self.kind = kind
    }
}

/// What became of a run.
public enum RunOutcome: UInt8, CaseIterable, Sendable {
    /// The app says that it is done.
    case succeeded
    /// It says that it is not.
    case failed
    /// It has no handler for it.
    case unhandled
    /// Its time was over.
    case expired
    /// The app ended.
    case ended
}

/// What the shell sees of the machine when the core asks (`Effect.inspectTaskConditions`).
public struct TaskConditions: Hashable, Sendable {
    /// Microseconds since 1970.
    public var wallClock: Int64
    public var isOnExternalPower: Bool
    public var hasNetwork: Bool
    public var isLoadLow: Bool

    public init(
        wallClock: Int64, isOnExternalPower: Bool = true, hasNetwork: Bool = true,
        isLoadLow: Bool = true
    ) {
        self.wallClock = wallClock
        self.isOnExternalPower = isOnExternalPower
        self.hasNetwork = hasNetwork
        self.isLoadLow = isLoadLow
    }
}

/// Why a request is not run now.
public enum TaskHold: Hashable, Sendable {
    /// Not before this time of the wall clock.
    case earliestBegin(Int64)
    case noExternalPower
    case noNetwork
    /// Somebody has used an app until a moment ago.
    case inUse(until: Instant)
    case highLoad
    case memoryPressure
    /// The machine sleeps, or shuts down.
    case asleep
    /// Another is run first.
    case otherRun(AppIdentifier)
    /// The app fails to start.
    case failing(until: Instant)
    case failed
    /// Nothing: it is about to run.
    case due
}

/// The scheduled work of all apps.
struct Schedule: Hashable, Sendable {
    var apps: [AppIdentifier: AppTasks] = [:]
    /// The one that is being run: there is one at a time.
    var current: CurrentRun?
    /// The shell is looking at the machine; something has changed that may let a request be run.
    var isInspecting = false
    var needsReview = false
    /// When somebody last launched an app or brought one to the front.
    var lastUse = Instant(nanoseconds: 0)
    /// Of the latest run.
    var lastNumber: UInt64 = 0
    /// When an app is tried again that could not be launched for it.
    var retryAt: [AppIdentifier: Instant] = [:]
    /// What the shell's alarm is set to.
    var alarm: Int64?
    /// Changed since the last save.
    var dirtyApps: [AppIdentifier] = []

    var isEmpty: Bool { apps.allSatisfy { $0.value.requests.isEmpty } }
}

/// A run from its choice to its end.
struct CurrentRun: Hashable, Sendable {
    var app: AppIdentifier
    var request: ScheduledTask
    /// The administrator who wants it now.
    var waiter: RequestIdentifier?
    /// Once the app has been told: until then it is being launched.
    var instance: InstanceIdentifier?
    var number: UInt64 = 0
}

extension Lifecycle {
    // MARK: Requests

    /// - Parameter request: of the app, to be answered.
    mutating func taskSubmitted(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ task: ScheduledTask
    ) {
        guard directory[app]?.description != nil else { return refuse(request, .noSuchApp(app)) }
        var requests = schedule.apps[app]?.requests ?? []
        requests.removeAll { $0.identifier == task.identifier }
        guard requests.count(where: { $0.kind == task.kind }) < task.kind.limit else {
            return refuse(request, .tooManyTasks(app, limit: task.kind.limit))
        }
        requests.append(task)
        updateTasks(app) { [requests] in $0.requests = requests }
        answer(request, .scheduled(app))
    }

    /// - Parameter identifiers: nil for all of them. What runs goes on.
    mutating func tasksCancelled(_ app: AppIdentifier, _ identifiers: [String]?) {
        guard schedule.apps[app] != nil else { return }
        updateTasks(app) { tasks in
            tasks.requests.removeAll { identifiers?.contains($0.identifier) ?? true }
        }
        // Chosen, and not begun.
        guard let current = schedule.current, current.app == app, current.instance == nil,
            identifiers?.contains(current.request.identifier) ?? true
        else { return }
        schedule.current = nil
        if let waiter = current.waiter { refuse(waiter, .cancelled(app)) }
    }

    /// What an app had asked for when the daemon last knew it.
    mutating func tasksRestored(_ app: AppIdentifier, _ tasks: AppTasks) {
        guard schedule.apps[app] == nil, directory[app]?.description != nil else { return }
        schedule.apps[app] = tasks
        schedule.needsReview = true
        if isRestored { forgetFormerRun(of: app) }
    }

    /// Its run ended with the instance that it was on.
    private mutating func forgetFormerRun(of app: AppIdentifier) {
        guard let run = schedule.apps[app]?.run, schedule.current?.number != run.number else {
            return
        }
        updateTasks(app) { $0.run = nil }
    }

    /// The app is gone. What it asked for comes back with it: the shell keeps that.
    mutating func forgetTasks(of app: AppIdentifier) {
        schedule.apps[app] = nil
        schedule.retryAt[app] = nil
        guard let current = schedule.current, current.app == app, current.instance == nil else {
            return
        }
        schedule.current = nil
        if let waiter = current.waiter { refuse(waiter, .noSuchApp(app)) }
        schedule.needsReview = true
    }

    mutating func updateTasks(_ app: AppIdentifier, _ change: (inout AppTasks) -> Void) {
        guard directory[app]?.description != nil else { return }
        let before = schedule.apps[app] ?? AppTasks(run: runUnderWay(of: app))
        var tasks = before
        change(&tasks)
        guard tasks != before else { return }
        schedule.apps[app] = tasks == AppTasks() ? nil : tasks
        schedule.needsReview = true
        if !schedule.dirtyApps.contains(app) { schedule.dirtyApps.append(app) }
    }

    /// It goes on while its app is removed and installed again.
    private func runUnderWay(of app: AppIdentifier) -> ScheduledRun? {
        guard let current = schedule.current, current.app == app, current.number != 0 else {
            return nil
        }
        return currentRun(current.number)
    }

    // MARK: Reading

    /// What an app has asked for and what is run of it.
    public func tasks(of app: AppIdentifier) -> AppTasks { schedule.apps[app] ?? AppTasks() }

    /// The instance that runs a task of the app; nil while it is being launched for it, or nothing is.
    public func taskInstance(of app: AppIdentifier) -> InstanceIdentifier? {
        schedule.current.flatMap { $0.app == app ? $0.instance : nil }
    }

    /// It is being launched to run one.
    public func isLaunchedForTask(_ app: AppIdentifier) -> Bool {
        schedule.current.map { $0.app == app && $0.instance == nil } ?? false
    }
}
