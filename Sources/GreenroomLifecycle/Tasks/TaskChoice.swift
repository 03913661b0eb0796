// When scheduled work is run. It is reviewed when something has changed, when the alarm of the wall
// clock rings, and every `taskRetry` while only the machine's condition is in the way of a task. It is not
// reviewed while nothing is pending.
//
//   any task            its earliest time has come; memory is not short; no other task is run; the
//                       app has not failed lately, and its user has not force-quit it
//   requires power      the machine is on external power
//   requires a network  the machine has a network connection
//   processing          nobody has used an app for a while, and the machine's load is low
//
// If several tasks may run, the one that has waited longest runs first.

extension Lifecycle {
    /// Why a scheduled task is not run under these conditions; `due` if it may run.
    public func obstacle(
        to task: ScheduledTask, _ app: AppIdentifier, _ conditions: TaskConditions
    ) -> TaskObstacle {
        if isAsleep || isShuttingDown { return .asleep }
        if let earliest = task.earliestBegin, earliest > conditions.wallClock {
            return .earliestBegin(earliest)
        }
        if task.requiresExternalPower, !conditions.isOnExternalPower { return .noExternalPower }
        if task.requiresNetworkConnectivity, !conditions.hasNetwork { return .noNetwork }
        if task.kind == .processing {
            let unused = schedule.lastUse.advanced(by: policy.taskIdleTime)
            if unused > now { return .inUse(until: unused) }
            if !conditions.isLoadLow { return .highLoad }
        }
        if let obstacle = failure(of: app) { return obstacle }
        if pressure >= .warning { return .memoryPressure }
        if let current = schedule.current, current.app != app || current.request != task {
            return .otherRun(current.app)
        }
        return .due
    }

    private func failure(of app: AppIdentifier) -> TaskObstacle? {
        guard let entry = directory[app] else { return .failed }
        if isForceQuit(app) { return .forceQuit }
        if entry.record.failure != nil { return .failed }
        // An app that runs already need not be started.
        if !entry.running.isEmpty { return nil }
        let times = [
            entry.record.crashLoopUntil, entry.record.launchRetryAt, schedule.retryAt[app],
            startLimitEnd(of: app),
        ]
        guard let until = times.compactMap({ $0 }).max(), until > now else { return nil }
        return .failing(until: until)
    }

    /// When the app may be started again, if it was started too often lately; otherwise nil.
    func startLimitEnd(of app: AppIdentifier) -> Instant? {
        let supervision = directory[app]?.description?.supervision.value ?? Supervision()
        guard !mayStart(app, supervision), let last = self[app].record.starts.last else {
            return nil
        }
        return last.advanced(by: supervision.startLimitInterval)
    }

    // MARK: Looking

    /// Reviews scheduled work at the end of each event.
    mutating func reviewSchedule() {
        if schedule.current != nil { continueRun() }
        guard schedule.needsReview, isRestored else { return }
        schedule.needsReview = false
        guard !schedule.isEmpty else { return rest() }
        guard schedule.current == nil, !isShuttingDown, !isAsleep, pressure == .none,
            !schedule.isInspecting
        else { return }
        schedule.isInspecting = true
        effects.append(.inspectTaskConditions)
    }

    /// Nothing is pending, so neither a timer nor an alarm is needed.
    private mutating func rest() {
        deadlines.remove(.schedule)
        setAlarm(nil)
    }

    private mutating func setAlarm(_ time: Int64?) {
        guard schedule.alarm != time else { return }
        schedule.alarm = time
        effects.append(.setTaskAlarm(time))
    }

    mutating func taskConditionsInspected(_ conditions: TaskConditions) {
        schedule.isInspecting = false
        guard isRestored, schedule.current == nil else { return }
        var next: Instant?
        var alarm: Int64?
        for (app, task) in pendingInOrder() {
            switch obstacle(to: task, app, conditions) {
            case .due: return startRun(of: task, app, nil)
            case .earliestBegin(let time): alarm = min(alarm ?? time, time)
            case .inUse(let until), .failing(let until): next = min(next ?? until, until)
            case .noExternalPower, .noNetwork, .highLoad:
                let retry = now.advanced(by: max(policy.taskRetry, .seconds(1)))
                next = min(next ?? retry, retry)
            // An event announces when each of these obstacles ends.
            case .memoryPressure, .asleep, .otherRun, .failed, .forceQuit: break
            }
        }
        deadlines.set(.schedule, at: next)
        setAlarm(alarm)
    }

    /// The pending tasks: those that may begin earliest come first; among equals, those submitted
    /// first.
    private func pendingInOrder() -> [(AppIdentifier, ScheduledTask)] {
        let all = schedule.apps.sorted { $0.key < $1.key }.flatMap { app, tasks in
            tasks.requests.enumerated().map { (app, $0.offset, $0.element) }
        }
        let sorted = all.sorted {
            ($0.2.earliestBegin ?? 0, $0.1, $0.0) < ($1.2.earliestBegin ?? 0, $1.1, $1.0)
        }
        return sorted.map { ($0.0, $0.2) }
    }

    /// The alarm of the wall clock has rung, or an administrator wants all scheduled work reviewed.
    mutating func taskAlarmRang() {
        schedule.alarm = nil
        schedule.needsReview = true
    }
}
