// Running scheduled work, one task at a time:
//
//   chosen    → the app is launched in the background or thawed, unless it runs already
//   ready     → the request is removed from the pending ones, and the app is told. From now on the
//               task counts as run, whatever happens
//   shortly before its time is over → the app is told
//   completed, or its time is over, or the app has ended → the next one
//
// If the app is in the background when the time is over, and the daemon would suspend it there, it
// is ended like an app with an open background task.

extension Policy {
    func limit(of kind: ScheduledTask.Kind) -> Duration {
        switch kind {
        case .appRefresh: refreshTaskLimit
        case .processing: processingTaskLimit
        }
    }
}

extension Lifecycle {
    /// - Parameter waiter: the request that is answered when the app has been told, or cannot be
    ///   told.
    mutating func startRun(
        of task: ScheduledTask, _ app: AppIdentifier, _ waiter: RequestIdentifier?
    ) {
        schedule.current = CurrentRun(app: app, request: task, waiter: waiter)
        deadlines.remove(.schedule)
        if waiter != nil { forgetForceQuit(of: app) }
        if availability(of: app) == .ended, let refusal = launchForRun(app) {
            return giveUpRun(refusal)
        }
        continueRun()
    }

    private mutating func launchForRun(_ app: AppIdentifier) -> Refusal? {
        if let until = startLimitEnd(of: app) { return .backOff(app, until: until) }
        return startAutomatically(app, inBackground: true)
    }

    /// Tells the app of the chosen run as soon as it can be told. Costs nothing while no run is
    /// chosen.
    mutating func continueRun() {
        guard let current = schedule.current, current.instance == nil else { return }
        let running = directory[current.app]?.running ?? []
        let ready = running.filter { self[$0].record.manner == .acknowledging }
        if let id = ready.max(by: isUsedBefore) { return beginRun(on: id) }
        guard availability(of: current.app) == .ended else { return }
        giveUpRun(.notRunning(.app(current.app)))
    }

    /// The app could not be launched. The task is tried again later, because it has not begun.
    private mutating func giveUpRun(_ refusal: Refusal) {
        guard let current = schedule.current else { return }
        schedule.current = nil
        schedule.retryAt[current.app] = now.advanced(by: max(policy.taskRetry, .seconds(1)))
        schedule.needsReview = true
        if let waiter = current.waiter { refuse(waiter, refusal) }
    }

    private mutating func beginRun(on id: InstanceIdentifier) {
        let task = schedule.current!.request
        let app = schedule.current!.app
        if self[id].record.state == .suspended { thaw(id) }
        // Greater than any number that a former supervisor used.
        let number = max(now.nanoseconds, schedule.lastNumber &+ 1)
        schedule.lastNumber = number
        let limit = policy.limit(of: task.kind)
        let end = now.advanced(by: limit)
        schedule.current!.instance = id
        schedule.current!.number = number
        schedule.retryAt[app] = nil
        let run = ScheduledRun(number: number, identifier: task.identifier, kind: task.kind)
        updateTasks(app) { tasks in
            tasks.requests.removeAll { $0.identifier == task.identifier }
            tasks.run = run
        }
        updateBackground(id) {
            $0.run = BackgroundTime.RunTime(number: number, end: end)
            $0.end = nil
        }
        settleInBackground(id)
        deadlines.set(.run(id), at: end.advanced(by: .zero - policy.expirationLead(of: limit)))
        effects.append(.startRun(id, run, until: end))
        report(.runBegan(id, app, task.identifier))
        if let waiter = schedule.current!.waiter {
            schedule.current!.waiter = nil
            answer(waiter, .done(id, self[id].record.state))
        }
    }

    // MARK: Ending

    mutating func runCompleted(
        _ id: InstanceIdentifier, run number: UInt64, _ outcome: RunOutcome
    ) {
        guard table[id]?.record.background.value?.run?.number == number else { return }
        finishRun(number, of: id, outcome)
    }

    /// Ends a run whose instance goes on.
    private mutating func finishRun(
        _ number: UInt64, of id: InstanceIdentifier, _ outcome: RunOutcome
    ) {
        deadlines.remove(.run(id))
        updateBackground(id) { $0.run = nil }
        runEnded(number, of: id, outcome)
        limitTasksAfterRun(id)
        if isKeptRunning(id) { settleInBackground(id) } else { awaitSuspension(id) }
    }

    mutating func runEnded(
        _ number: UInt64, of id: InstanceIdentifier, _ outcome: RunOutcome
    ) {
        schedule.needsReview = true
        guard let current = schedule.current, current.number == number else { return }
        schedule.current = nil
        updateTasks(current.app) { $0.run = nil }
        report(.runEnded(id, current.app, current.request.identifier, outcome))
    }

    mutating func runDeadlineReached(_ id: InstanceIdentifier) {
        guard let run = table[id]?.record.background.value?.run, let task = currentRun(run.number)
        else { return }
        if !run.isExpiring { return expireRun(of: id, task, at: run.end) }
        guard suspendsByItself(self[id].record), self[id].record.state == .background,
            !self[id].record.isTravelling
        else { return finishRun(run.number, of: id, .expired) }
        self[id].isOverdue = true
        deadlines.set(.run(id), at: now.advanced(by: Self.debuggerInterval))
        effects.append(.inspectTracer(id))
    }

    private mutating func expireRun(
        of id: InstanceIdentifier, _ task: ScheduledRun, at given: Instant
    ) {
        // A deadline in the past still needs an event of its own.
        let end = max(given, now.advanced(by: .milliseconds(1)))
        updateBackground(id) {
            $0.run!.isExpiring = true
            $0.run!.end = end
        }
        deadlines.set(.run(id), at: end)
        effects.append(.expireRun(id, task, at: end))
    }

    func currentRun(_ number: UInt64) -> ScheduledRun? {
        guard let current = schedule.current, current.number == number else { return nil }
        return ScheduledRun(
            number: number, identifier: current.request.identifier, kind: current.request.kind)
    }

    // MARK: Coming back

    /// A run continues if its instance does. The app is told again, and recognizes the run by its
    /// number.
    mutating func restoreSchedule() {
        schedule.lastUse = now
        schedule.needsReview = true
        for app in schedule.apps.keys.sorted() {
            guard let run = schedule.apps[app]!.run else { continue }
            let id = directory[app]?.members.first {
                let record = self[$0].record
                return record.state.isRunning && record.background.value?.run?.number == run.number
            }
            if let id, schedule.current == nil {
                pickUpRun(run, of: app, on: id)
            } else {
                updateTasks(app) { $0.run = nil }
            }
        }
        for id in table.keys.sorted() { restoreBackgroundTime(id) }
    }

    private mutating func pickUpRun(
        _ run: ScheduledRun, of app: AppIdentifier, on id: InstanceIdentifier
    ) {
        let time = self[id].record.background.value!.run!
        schedule.lastNumber = max(schedule.lastNumber, run.number)
        schedule.current = CurrentRun(
            app: app, request: ScheduledTask(identifier: run.identifier, kind: run.kind),
            instance: id, number: run.number)
        let lead = policy.expirationLead(of: policy.limit(of: run.kind))
        deadlines.set(
            .run(id), at: time.isExpiring ? time.end : time.end.advanced(by: .zero - lead))
        effects.append(.startRun(id, run, until: time.end))
        if time.isExpiring { effects.append(.expireRun(id, run, at: time.end)) }
    }

    private mutating func restoreBackgroundTime(_ id: InstanceIdentifier) {
        guard let time = self[id].record.background.value else { return }
        if let run = time.run, schedule.current?.number != run.number {
            updateBackground(id) { $0.run = nil }
            if !isKeptRunning(id) { awaitSuspension(id) }
        }
        tellBackgroundTimeAgain(id)
        settleInBackground(id)
    }

    // MARK: Administrators

    /// Runs a pending scheduled task now, whatever is in the way.
    mutating func runTaskRequested(
        _ request: RequestIdentifier, _ app: AppIdentifier, _ identifier: String
    ) {
        guard directory[app]?.description != nil else { return refuse(request, .noSuchApp(app)) }
        guard !isShuttingDown else { return refuse(request, .shuttingDown) }
        if let current = schedule.current { return refuse(request, .runUnderWay(current.app)) }
        guard let task = schedule.apps[app]?.requests.first(where: { $0.identifier == identifier })
        else { return refuse(request, .noSuchTask(app)) }
        requests[request] = .task
        startRun(of: task, app, request)
    }

    /// Makes the time of the app's run end shortly; if there is no run, the time of its background
    /// tasks.
    mutating func expireTaskRequested(_ request: RequestIdentifier, _ app: AppIdentifier) {
        guard directory[app]?.description != nil else { return refuse(request, .noSuchApp(app)) }
        if let current = schedule.current, current.app == app, let id = current.instance,
            let run = currentRun(current.number)
        {
            let lead = policy.expirationLead(of: policy.limit(of: run.kind))
            expireRun(of: id, run, at: now.advanced(by: lead))
            return answer(request, .done(id, self[id].record.state))
        }
        let timed = self[app].running.filter {
            self[$0].record.background.value?.end != nil
                && self[$0].record.state == .background
        }
        guard let id = timed.max(by: isUsedBefore) else {
            return refuse(request, .noSuchTask(app))
        }
        expireTasks(of: id)
        answer(request, .done(id, self[id].record.state))
    }

    /// The client of the request is gone. The run goes on.
    mutating func abandonRun(_ request: RequestIdentifier) {
        if schedule.current?.waiter == request { schedule.current!.waiter = nil }
    }
}
