// Scheduled work (BGTaskScheduler): tasks that apps have asked to be run later. `TaskChoice` alone
// decides when a task is run; `RunningTasks` decides how.

/// A scheduled task, as an app requests it (BGTaskRequest).
public struct ScheduledTask: Hashable, Sendable {
    /// One of the identifiers in the manifest.
    public var identifier: String
    public var kind: Kind
    /// The task is not run before this time of the wall clock, in microseconds since 1970; nil
    /// means any time.
    public var earliestBegin: Int64?
    public var requiresExternalPower: Bool
    public var requiresNetworkConnectivity: Bool

    /// Raw values are kept in files: never renumber.
    public enum Kind: UInt8, CaseIterable, Sendable {
        case appRefresh = 0
        case processing = 1

        /// An app may have at most this many pending tasks of the kind (BGTaskScheduler.submit).
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

/// The scheduled work of an app, which is kept even across a reboot.
public struct AppTasks: Hashable, Sendable {
    /// The pending requests, in the order in which they were submitted.
    public var requests: [ScheduledTask]
    /// The run that is under way. A run that is interrupted is not repeated.
    public var run: ScheduledRun?

    public init(requests: [ScheduledTask] = [], run: ScheduledRun? = nil) {
        self.requests = requests
        self.run = run
    }
}

/// A scheduled task that is being run.
public struct ScheduledRun: Hashable, Sendable {
    /// Never 0, and never reused.
    public var number: UInt64
    public var identifier: String
    public var kind: ScheduledTask.Kind

    public init(number: UInt64, identifier: String, kind: ScheduledTask.Kind) {
        self.number = number
        self.identifier = identifier
        self.kind = kind
    }
}

/// How a run ended.
public enum RunOutcome: UInt8, CaseIterable, Sendable {
    /// The app says that it succeeded.
    case succeeded
    /// The app says that it failed.
    case failed
    /// The app has no handler for the task.
    case unhandled
    /// The time of the run was over.
    case expired
    /// The app ended.
    case ended
}

/// The machine's condition when the core asks for it (`Effect.inspectTaskConditions`).
public struct TaskConditions: Hashable, Sendable {
    /// The wall clock, in microseconds since 1970.
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

/// Why a scheduled task is not run now.
public enum TaskObstacle: Hashable, Sendable {
    /// The task must not run before this time of the wall clock.
    case earliestBegin(Int64)
    case noExternalPower
    case noNetwork
    /// A user launched an app or brought one to the front a short time ago.
    case inUse(until: Instant)
    case highLoad
    case memoryPressure
    /// The machine sleeps or is shutting down.
    case asleep
    /// A task of this app runs first.
    case otherRun(AppIdentifier)
    /// The app has failed lately, or could not be launched.
    case failing(until: Instant)
    case failed
    /// The user force-quit the app.
    case forceQuit
    /// Nothing is in the way: the task is about to run.
    case due
}

/// The scheduled work of all apps.
struct Schedule: Hashable, Sendable {
    var apps: [AppIdentifier: AppTasks] = [:]
    /// The run that was chosen or is under way. There is at most one.
    var current: CurrentRun?
    /// Whether the shell is inspecting the machine, and whether something has changed, so that a
    /// task may be due.
    var isInspecting = false
    var needsReview = false
    /// When somebody last launched an app or brought one to the front.
    var lastUse = Instant(nanoseconds: 0)
    /// The number of the latest run.
    var lastNumber: UInt64 = 0
    /// When the daemon tries again to launch an app that could not be launched for its task.
    var retryAt: [AppIdentifier: Instant] = [:]
    /// The time that the shell's alarm is set to.
    var alarm: Int64?
    /// The apps whose tasks have changed since they were last saved.
    var dirtyApps: [AppIdentifier] = []

    var isEmpty: Bool { apps.allSatisfy { $0.value.requests.isEmpty } }
}

/// A run from its choice to its end.
struct CurrentRun: Hashable, Sendable {
    var app: AppIdentifier
    var request: ScheduledTask
    /// The request of an administrator who wants the run now.
    var waiter: RequestIdentifier?
    /// Set once the app has been told. Until then the app is being launched.
    var instance: InstanceIdentifier?
    var number: UInt64 = 0
}

extension Lifecycle {
    // MARK: Requests

    /// - Parameter request: the app's own request, which is answered.
    mutating func taskSubmitted(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ task: ScheduledTask
    ) {
        guard let declared = directory[app]?.description?.scheduledTasks else {
            return refuse(request, .noSuchApp(app))
        }
        guard policy.offersScheduledWork else { return refuse(request, .scheduledWorkIsOff) }
        guard declared.contains(task.identifier) else {
            return refuse(request, .undeclaredTask(app))
        }
        var requests = schedule.apps[app]?.requests ?? []
        requests.removeAll { $0.identifier == task.identifier }
        guard requests.count(where: { $0.kind == task.kind }) < task.kind.limit else {
            return refuse(request, .tooManyTasks(app, limit: task.kind.limit))
        }
        requests.append(task)
        updateTasks(app) { [requests] in $0.requests = requests }
        answer(request, .accepted)
    }

    /// - Parameter identifiers: the tasks to cancel; nil for all. A run that is under way goes on.
    mutating func tasksCancelled(_ app: AppIdentifier, _ identifiers: [String]?) {
        guard schedule.apps[app] != nil else { return }
        updateTasks(app) { tasks in
            tasks.requests.removeAll { identifiers?.contains($0.identifier) ?? true }
        }
        // A cancelled task may have been chosen already without having begun.
        guard let current = schedule.current, current.app == app, current.instance == nil,
            identifiers?.contains(current.request.identifier) ?? true
        else { return }
        schedule.current = nil
        if let waiter = current.waiter { refuse(waiter, .cancelled(app)) }
    }

    /// Takes over the tasks that the app had scheduled before.
    mutating func tasksRestored(_ app: AppIdentifier, _ tasks: AppTasks) {
        guard schedule.apps[app] == nil, directory[app]?.description != nil else { return }
        schedule.apps[app] = tasks
        schedule.needsReview = true
        if isRestored { forgetFormerRun(of: app) }
        cancelUndeclaredTasks(of: app)
    }

    /// Cancels tasks that the app scheduled under a former manifest and that the present manifest
    /// does not name.
    mutating func cancelUndeclaredTasks(of app: AppIdentifier) {
        guard policy.offersScheduledWork, let pending = schedule.apps[app]?.requests,
            let declared = directory[app]?.description?.scheduledTasks
        else { return }
        let undeclared = pending.map(\.identifier).filter { !declared.contains($0) }
        if !undeclared.isEmpty { tasksCancelled(app, undeclared) }
    }

    /// The app's former run has ended with its instance.
    private mutating func forgetFormerRun(of app: AppIdentifier) {
        guard let run = schedule.apps[app]?.run, schedule.current?.number != run.number else {
            return
        }
        updateTasks(app) { $0.run = nil }
    }

    /// The app is gone. The shell keeps its scheduled tasks, which return if the app does.
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

    /// The run of the app that is under way. It goes on while the app is removed and installed
    /// again.
    private func runUnderWay(of app: AppIdentifier) -> ScheduledRun? {
        guard let current = schedule.current, current.app == app, current.number != 0 else {
            return nil
        }
        return currentRun(current.number)
    }

    // MARK: Reading

    /// The scheduled tasks of an app, and its run.
    public func tasks(of app: AppIdentifier) -> AppTasks { schedule.apps[app] ?? AppTasks() }

    /// The instance that runs a task of the app; nil while the app is being launched for the task,
    /// or if no task is run.
    public func taskInstance(of app: AppIdentifier) -> InstanceIdentifier? {
        schedule.current.flatMap { $0.app == app ? $0.instance : nil }
    }

    /// Whether the app is being launched to run a task.
    public func isLaunchedForTask(_ app: AppIdentifier) -> Bool {
        schedule.current.map { $0.app == app && $0.instance == nil } ?? false
    }
}
