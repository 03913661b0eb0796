internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Carries background time and scheduled work between the core and the apps: passes on what is
/// said, keeps what is scheduled, and inspects the machine when the core asks.
@LoopActor
final class BackgroundWork {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let inspector: ConditionInspector
    private let log: Log
    private let files: TaskFiles
    private var maximalLoadPercent: Int
    private var alarm: EventSource?
    /// Apps whose file of scheduled work was read.
    private var known: Set<AppIdentifier> = []

    private final class OpenTasks: InstancePart {
        /// The names of open tasks, for people to read; the core counts the tasks. Tasks that a
        /// former supervisor heard of have no names.
        var names: [(identifier: UInt64, name: String?)] = []
    }

    /// Nobody waits for these times, so the kernel may combine them with other wake-ups.
    private static let accuracy: Duration = .seconds(1)

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, messenger: AppMessenger,
        inspector: ConditionInspector, log: Log, stateDirectory: String,
        _ configuration: DaemonConfiguration
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.messenger = messenger
        self.inspector = inspector
        self.log = log
        files = TaskFiles(stateDirectory: stateDirectory)
        maximalLoadPercent = configuration.taskMaximalLoadPercent
    }

    /// Applies new settings; `update` follows.
    func reconfigure(_ configuration: DaemonConfiguration) {
        maximalLoadPercent = configuration.taskMaximalLoadPercent
    }

    // MARK: What is kept

    /// Takes over the apps as they are now, and restores what new ones had scheduled before.
    func update(_ apps: [InstalledApp]) {
        guard core.lifecycle.policy.offersScheduledWork else { return }
        known.formIntersection(apps.lazy.map(\.identifier))
        for app in apps
        where !app.description.scheduledTasks.isEmpty
            && known.insert(app.identifier).inserted
        {
            restore(app)
        }
        // Whoever reloads wants the changes to take effect, so the machine is inspected as well.
        if !known.isEmpty { core.handle(.taskAlarmRang) }
    }

    private func restore(_ app: InstalledApp) {
        let tasks = files.tasks(of: app.identifier) {
            log.sayOnce("scheduled work: \($0)")
        }
        if tasks != AppTasks() { core.handle(.tasksRestored(app.identifier, tasks)) }
    }

    func save(_ tasks: AppTasks, of app: AppIdentifier) {
        do throws(SystemError) { try files.save(tasks, of: app) } catch {
            log.sayOnce(
                "keeping the scheduled work of \(app): \(error); it is forgotten at a reboot")
        }
    }

    // MARK: The machine

    func inspect() { core.handle(.taskConditionsInspected(conditions)) }

    var conditions: TaskConditions {
        return TaskConditions(
            wallClock: WallClock.nowMicroseconds,
            isOnExternalPower: inspector.dischargingBatteryPercent == nil,
            hasNetwork: inspector.machine.hasDefaultRoute,
            isLoadLow: inspector.machine.loadPercent.map { $0 <= maximalLoadPercent } ?? true)
    }

    func setAlarm(_ time: Int64?) {
        alarm = nil
        guard let time else { return }
        do throws(SystemdError) {
            alarm = try LoopActor.timer(on: .realtime, accuracy: Self.accuracy) {
                [unowned self] in
                alarm = nil
                core.handle(.taskAlarmRang)
            }
            let (nanoseconds, overflow) = UInt64(max(0, time)).multipliedReportingOverflow(by: 1000)
            try alarm?.setDeadline(nanoseconds: overflow ? .max : nanoseconds)
        } catch {
            log.failed("arming the timer of scheduled work", error)
        }
    }

    // MARK: Telling

    private func tell(_ event: AppEvent.Background, _ instance: InstanceIdentifier) {
        messenger.send(.background(event), to: instance)
    }

    func tellTime(until end: Instant?, _ instance: InstanceIdentifier) {
        tell(.time(until: end?.nanoseconds), instance)
    }

    func tellExpiration(at end: Instant, _ instance: InstanceIdentifier) {
        tell(.timeExpires(at: end.nanoseconds), instance)
    }

    func start(_ run: ScheduledRun, on instance: InstanceIdentifier, until end: Instant) {
        tell(.run(TaskRun(run, until: end)), instance)
    }

    func expire(_ run: ScheduledRun, on instance: InstanceIdentifier, at end: Instant) {
        tell(.expire(TaskRun(run, until: end)), instance)
    }

    // MARK: Hearing

    func received(_ report: AppReport.Background, from instance: Instance) {
        let identifier = instance.identifier
        switch report {
        case .begin(let number, let name): begin(number, name, identifier)
        case .end(let number):
            instances.known(OpenTasks.self, of: identifier)?.names
                .removeAll { $0.identifier == number }
            core.handle(.backgroundTaskEnded(identifier, task: number))
        // `AppRequests` handles this one, because it knows what was asked before.
        case .submit: break
        case .query(.list, let cookie):
            let pending = core.lifecycle.tasks(of: instance.app).requests
            tell(.pendingRequests(pending.map(TaskSubmission.init), request: cookie), identifier)
        case .query(.cancel(let identifiers), _):
            core.handle(.tasksCancelled(instance.app, identifiers))
        case .query(.cancelAll, _): core.handle(.tasksCancelled(instance.app, nil))
        case .completed(let run, let completion):
            core.handle(.runCompleted(identifier, run: run, RunOutcome(completion)))
        }
    }

    private func begin(_ number: UInt64, _ name: String?, _ instance: InstanceIdentifier) {
        let before = openCount(instance)
        core.handle(.backgroundTaskBegan(instance, task: number))
        guard openCount(instance) > before else { return }
        let name = name.map { $0.printable(atMost: 100) }
        instances.part(OpenTasks.self, of: instance)?.names.append((number, name))
    }

    private func openCount(_ instance: InstanceIdentifier) -> Int {
        Int(core.lifecycle.instance(instance)?.background.value?.taskCount ?? 0)
    }

    /// The names of an instance's open tasks; a task without a name is called by its number.
    func openTasks(of instance: InstanceIdentifier) -> [String] {
        let names = instances.known(OpenTasks.self, of: instance)?.names ?? []
        let known = names.map { $0.name ?? "task \($0.identifier)" }
        let others = openCount(instance) - known.count
        return known + (0..<max(0, others)).map { "unnamed \($0 + 1)" }
    }
}

extension TaskRun {
    fileprivate init(_ run: ScheduledRun, until end: Instant) {
        self.init(
            number: run.number, identifier: run.identifier, kind: .init(run.kind),
            deadline: end.nanoseconds)
    }
}

extension TaskSubmission {
    fileprivate init(_ task: ScheduledTask) {
        self.init(task.identifier, kind: .init(task.kind))
        earliestBegin = task.earliestBegin.map { UInt64(max(0, $0)) }
        requiresExternalPower = task.requiresExternalPower
        requiresNetworkConnectivity = task.requiresNetworkConnectivity
    }
}

extension ScheduledTask {
    init(_ request: TaskSubmission) {
        self.init(
            identifier: request.identifier, kind: .init(request.kind),
            earliestBegin: request.earliestBegin.map { Int64(clamping: $0) },
            requiresExternalPower: request.requiresExternalPower,
            requiresNetworkConnectivity: request.requiresNetworkConnectivity)
    }
}

extension TaskSubmission.Kind {
    fileprivate init(_ kind: ScheduledTask.Kind) {
        switch kind {
        case .appRefresh: self = .appRefresh
        case .processing: self = .processing
        }
    }
}

extension ScheduledTask.Kind {
    fileprivate init(_ kind: TaskSubmission.Kind) {
        switch kind {
        case .appRefresh: self = .appRefresh
        case .processing: self = .processing
        }
    }
}

extension RunOutcome {
    fileprivate init(_ completion: AppReport.Completion) {
        switch completion {
        case .success: self = .succeeded
        case .failure: self = .failed
        case .noHandler: self = .unhandled
        }
    }
}

extension Refusal {
    /// The answer to an app's own request.
    var answerToApp: AppEvent.Answer {
        if case .tooManyTasks(_, let limit) = self {
            return .refused(
                code: TaskSubmission.Refusal.tooManyPendingTaskRequests.rawValue,
                reason: "\(limit) of its kind may be pending; cancel one, or wait until one ends")
        }
        if case .scheduledWorkIsOff = self {
            return .refused(code: TaskSubmission.Refusal.unavailable.rawValue, reason: words)
        }
        // This is also `TaskSubmission.Refusal.notPermitted`.
        return .refused(code: EPERM, reason: words)
    }
}
