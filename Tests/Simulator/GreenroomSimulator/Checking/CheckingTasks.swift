import GreenroomLifecycle

// The rules of background tasks and scheduled work.

/// What the checker knows of tasks and runs.
struct TaskBooks: Sendable {
    /// The files in the state directory.
    var saved: [AppIdentifier: AppTasks] = [:]
    /// The identifiers of tasks that were accepted and have not been run.
    var pending: [AppIdentifier: Set<String>] = [:]
    /// The run under way.
    var current: (instance: InstanceIdentifier, run: ScheduledRun)?
    var lastNumber: UInt64 = 0
    /// Apps of which an administrator has asked to run a task, regardless of conditions.
    var forced: Set<AppIdentifier> = []
    /// The tasks of each instance that were accepted and have not ended.
    var open: [InstanceIdentifier: OpenTasks] = [:]
}

/// The open background tasks of one instance.
struct OpenTasks: Sendable {
    var numbers: Set<UInt64> = []
    /// Tasks that a former supervisor counted. An end may belong to one of them if its number is
    /// lower than those of all tasks that began since.
    var unknown = 0
    var first = UInt64.max

    var count: Int { numbers.count + unknown }

    mutating func noteBegin(_ number: UInt64) { first = min(first, number) }

    mutating func end(_ number: UInt64) {
        if numbers.remove(number) == nil, unknown > 0, number < first { unknown -= 1 }
    }
}

extension Checker {
    mutating func noteTasks(_ event: Event) {
        switch event {
        case .requested(_, .submitTask(let app, let task)):
            guard policy.offersScheduledWork,
                installed[app]?.scheduledTasks.contains(task.identifier) == true
            else { return }
            tasks.pending[app, default: []].insert(task.identifier)
        case .policyChanged(let new):
            for description in installed.values { dropUndeclared(by: description, new) }
        case .appInstalled(let description): dropUndeclared(by: description, policy)
        case .tasksRestored(let app, _):
            if let description = installed[app] { dropUndeclared(by: description, policy) }
        case .tasksCancelled(let app, let identifiers):
            let all = tasks.pending[app] ?? []
            tasks.pending[app] = identifiers.map { all.subtracting($0) } ?? []
        case .requested(_, .runTask(let app, _)): tasks.forced.insert(app)
        case .backgroundTaskBegan(let id, let task):
            guard let record = saved[id], record.state.isRunning,
                installed[record.app]?.acknowledges == true,
                record.conversation != nil || record.state == .launching
            else { return }
            tasks.open[id, default: OpenTasks()].noteBegin(task)
            guard record.background.value?.isExpiring != true, tasks.open[id]!.count < 64
            else { return }
            tasks.open[id, default: OpenTasks()].numbers.insert(task)
        case .becameReady(let id), .started(let id, _), .spawned(let id),
            .reconciled(let id, found: _):
            // An instance whose app is gone, or is now a program, is ready at once.
            guard let record = saved[id], record.conversation == nil else { return }
            if installed[record.app]?.acknowledges != true { tasks.open[id] = nil }
        case .backgroundTaskEnded(let id, let task): tasks.open[id]?.end(task)
        case .runCompleted(let id, let run, _):
            if let current = tasks.current, current.instance == id, current.run.number == run {
                tasks.current = nil
            }
        default: break
        }
    }

    /// Drops requests that the app's manifest no longer names, because they are never run.
    private mutating func dropUndeclared(by description: AppDescription, _ policy: Policy) {
        guard policy.offersScheduledWork else { return }
        tasks.pending[description.identifier]?.formIntersection(description.scheduledTasks)
    }

    mutating func checkTasks(
        _ effect: Effect, of event: Event, in world: World, at now: Instant
    ) throws(Violation) {
        switch effect {
        case .saveTasks(let app, let saved): try save(saved, of: app)
        case .tellBackgroundTime(let id, let end):
            try checkHears(id, world)
            guard let end else { return }
            let longest = now.advanced(by: policy.backgroundTaskLimit)
            try require(end <= longest, "\(id) is given more background time than allowed")
        case .tellExpiration(let id, let end):
            try checkHears(id, world)
            // The app is told again after a restart, and a debugger may be attached.
            try require(
                end >= now || event == .restored, "\(id) is told too late that its time runs out")
        case .startRun(let id, let run, let end): try checkRun(run, on: id, end, event, world, now)
        case .expireRun(let id, let run, _):
            try checkHears(id, world)
            try require(tasks.current?.run == run, "\(id) has no run that could expire")
        case .inspectTaskConditions:
            try require(
                tasks.saved.contains { !$0.value.requests.isEmpty },
                "inspects the machine though no task is pending")
        case .setTaskAlarm(let time?):
            try require(
                tasks.saved.values.contains { $0.requests.contains { $0.earliestBegin == time } },
                "the alarm is set to a time that no task has")
        case .setTaskAlarm(nil): break
        case _: break
        }
    }

    private mutating func save(_ saved: AppTasks, of app: AppIdentifier) throws(Violation) {
        for kind in ScheduledTask.Kind.allCases {
            let count = saved.requests.count { $0.kind == kind }
            try require(count <= kind.limit, "\(app) has \(count) pending \(kind) requests")
        }
        let identifiers = Set(saved.requests.map(\.identifier))
        try require(identifiers.count == saved.requests.count, "\(app) has a request twice")
        tasks.saved[app] = saved == AppTasks() ? nil : saved
    }

    private func checkHears(_ id: InstanceIdentifier, _ world: World) throws(Violation) {
        // Uses the announced state, because the instance may be ended later in the same event.
        try require(states[id]?.isRunning == true, "told \(id) its time, but it does not run")
        try require(world.processes[id]?.isFrozen == false, "told frozen \(id) its time")
    }

    private mutating func checkRun(
        _ run: ScheduledRun, on id: InstanceIdentifier, _ end: Instant, _ event: Event,
        _ world: World, _ now: Instant
    ) throws(Violation) {
        try checkHears(id, world)
        let app = saved[id]!.app
        try require(tasks.saved[app]?.run == run, "run \(run.number) of \(app) is not saved")
        try require(
            saved[id]!.background.value?.run?.number == run.number, "\(id) is told another run")
        if event == .restored {
            tasks.current = (id, run)
            return
        }
        tally.runs += 1
        try require(tasks.current == nil, "\(id) runs \(run.identifier) during another run")
        try require(run.number > tasks.lastNumber, "run \(run.number) is not new")
        tasks.lastNumber = run.number
        try require(
            tasks.pending[app]?.remove(run.identifier) != nil,
            "\(run.identifier) of \(app) is run, but was not scheduled")
        let limit =
            run.kind == .appRefresh ? policy.refreshTaskLimit : policy.processingTaskLimit
        try require(end <= now.advanced(by: limit), "\(run.identifier) has too much time")
        if tasks.forced.remove(app) == nil, case .taskConditionsInspected = event {
            try require(pressure == .none, "runs \(run.identifier) under pressure")
            try require(!isAsleep, "runs \(run.identifier) on the way to sleep")
        }
        tasks.current = (id, run)
    }

    mutating func noteEnded(
        _ id: InstanceIdentifier, _ identifier: String, _ outcome: RunOutcome
    ) throws(Violation) {
        tally.runOutcomes[outcome, default: 0] += 1
        if tasks.current?.instance == id { tasks.current = nil }
    }

    /// Checks that an instance about to be frozen has no task and no run open.
    func checkNothingOpen(_ id: InstanceIdentifier) throws(Violation) {
        try require(tasks.open[id]?.count ?? 0 == 0, "suspended \(id) while a task is open")
        try require(tasks.current?.instance != id, "suspended \(id) in the middle of a run")
    }

    /// Checks the time limits after every event.
    func checkTime(at now: Instant) throws(Violation) {
        // A debugger may keep an instance alive for one or two inspections.
        let patience: Duration = .seconds(3)
        for (id, open) in tasks.open where open.count > 0 {
            guard let record = saved[id], record.state.isRunning else { continue }
            try require(
                record.background.value?.taskCount == UInt8(open.count),
                "\(id) has \(open.count) open tasks, not \(record.background.value?.taskCount ?? 0)"
            )
            guard record.state == .background, !record.inFlight,
                let end = record.background.value?.end
            else { continue }
            try require(now <= end.advanced(by: patience), "\(id) outlives its background time")
        }
        if let (id, _) = tasks.current, let run = saved[id]?.background.value?.run {
            try require(now <= run.end.advanced(by: patience), "a run of \(id) outlives its time")
        }
    }

    /// In a new supervisor, a request that was not saved counts as never made.
    mutating func restartTasks() {
        tasks.forced = []
        tasks.current = nil
        tasks.pending = tasks.saved.mapValues { Set($0.requests.map(\.identifier)) }
        for (id, record) in saved {
            tasks.open[id] = OpenTasks(unknown: Int(record.background.value?.taskCount ?? 0))
        }
    }
}

extension InstanceRecord {
    /// Whether a step is under way, or the instance is about to come to the front.
    fileprivate var inFlight: Bool {
        guard let conversation else { return false }
        return conversation.pending != nil
            || conversation.scenes.contains { $0.goal == .foreground }
    }
}
