// Starts that no client asked for: restarts, autostart, and starts needed by another app
// (`BlockedLaunches`) or by a connection (`Activating`). A start is due at `AppRecord.startAt`,
// which is saved and so outlives the supervisor. It is cleared when the launch begins.
//
//   an instance ends         → startAt = the end of the back-off; or the app fails; or nothing
//   boot, login              → startAt = now, once for each app
//   startAt is reached       → launch, if no instance runs and the start limit allows it
//   a client launches it     → startAt, the failure and the counters are cleared
//   a client ends it         → startAt is cleared
//
// A crash loop (`BackingOff`) does not limit restarts. It stops only prewarms, background launches
// by clients, and runs of scheduled work. The manifest itself asks for restarts (`Restart=`), and
// its start limit bounds their number.

extension Lifecycle {
    // MARK: Ends

    /// Decides whether an app whose instance has ended for good is started again.
    mutating func supervise(_ record: InstanceRecord) {
        let app = record.app
        guard !isShuttingDown, !record.isAttached, !record.isEndOrdered,
            record.launchedAt != nil || record.isAutomatic,
            let supervision = directory[app]?.description?.supervision.value,
            availability(of: app) == .ended, supervision.restarts(after: record)
        else { return }
        if let status = record.exitStatus, supervision.preventing.contains(status) {
            return fail(app, .permanentStatus)
        }
        let lived = record.launchedAt.map { $0.duration(to: record.endedAt ?? now) } ?? .zero
        if lived >= supervision.steadyAfter { updateApp(app) { $0.restartStreak = 0 } }
        scheduleRestart(
            of: app, supervision, waitsForMemory: record.endReason?.row.restart == .memoryIsFree)
    }

    /// - Parameter waitsForMemory: the instance ended for lack of memory, or there was no room for
    ///   another instance, so the restart waits until there may be.
    private mutating func scheduleRestart(
        of app: AppIdentifier, _ supervision: Supervision, waitsForMemory: Bool = false
    ) {
        // An instance may end after the user has force-quit another one.
        guard !isForceQuit(app) else { return }
        let streak = self[app].record.restartStreak
        let delay = supervision.delay(after: streak)
        let instant = now.advanced(by: waitsForMemory ? max(delay, policy.reclaimPause) : delay)
        updateApp(app) {
            $0.startAt = instant
            $0.isRestart = true
            $0.restartStreak = streak == .max ? .max : streak + 1
        }
        deadlines.set(.start(app), at: instant)
        report(.restartScheduled(app, at: instant))
    }

    mutating func fail(_ app: AppIdentifier, _ failure: SupervisionFailure) {
        deadlines.remove(.start(app))
        updateApp(app) {
            $0.startAt = nil
            $0.failure = failure
        }
        report(.failed(app, failure))
        reviewSocket(of: app)
        availabilityChanged(of: app)
    }

    // MARK: Starts

    mutating func startDue(_ app: AppIdentifier) {
        guard let entry = directory[app], entry.record.startAt != nil, !isShuttingDown,
            entry.description != nil
        else { return }
        // If the app started now, reclaiming would soon end it.
        if pressure == .critical {
            let later = now.advanced(by: max(policy.reclaimPause, .milliseconds(1)))
            updateApp(app) { $0.startAt = later }
            deadlines.set(.start(app), at: later)
            return availabilityChanged(of: app)
        }
        if !entry.running.isEmpty { return clearStart(app) }
        if hasClaim(app) {
            replaceStartByClaim(of: app)
            return clearStart(app)
        }
        if entry.record.isRestart { updateApp(app) { $0.restartCount &+= 1 } }
        _ = startAutomatically(app, isTriedAgain: true)
    }

    /// Launches an app without a client. The app comes to the front only if no instance of its
    /// group is there.
    ///
    /// - Parameter isTriedAgain: see `PendingLaunch.isTriedAgain`.
    /// - Returns: the reason why the app cannot be launched; nil if it is launched.
    mutating func startAutomatically(
        _ app: AppIdentifier, inBackground: Bool = false, isTriedAgain: Bool = false,
        for origin: LaunchOrigin = .daemon
    ) -> Refusal? {
        guard let description = directory[app]?.description else { return .noSuchApp(app) }
        guard !isShuttingDown else { return .shuttingDown }
        let supervision = description.supervision.value ?? Supervision()
        guard mayStart(app, supervision) else {
            fail(app, .startLimit)
            return .failed(app, .startLimit)
        }
        let isDisplacing = description.foregroundGroup.map { fronts[$0] != nil } ?? false
        var launch = LaunchRequest(
            app: app, launchIdentifier: LaunchIdentifier("greenroom-\(nextInstance)"),
            environmentKey: description.environmentKey, inBackground: inBackground || isDisplacing)
        launch.bootKey = description.bootKey
        var pending = PendingLaunch(origin: origin, launch: launch, waiters: [])
        // This launch replaces the start that was scheduled.
        pending.isTriedAgain = isTriedAgain || self[app].record.startAt != nil
        admit(pending)
        return nil
    }

    func mayStart(_ app: AppIdentifier, _ supervision: Supervision) -> Bool {
        guard supervision.hasStartLimit else { return true }
        let limit = TriggerLimit(
            burst: supervision.startLimitBurst, interval: supervision.startLimitInterval)
        return limit.admits(self[app].record.starts, at: now)
    }

    mutating func countStart(_ app: AppIdentifier, _ supervision: Supervision) {
        let limits = supervision.activationLimit
        updateApp(app) { [now] in
            $0.starts.removeAll { $0.duration(to: now) >= limits.startLimitInterval }
            $0.starts.append(now)
            let limit = min(limits.startLimitBurst, Supervision.startLimitBurstMaximum)
            $0.starts.removeFirst(max(0, $0.starts.count - limit))
        }
    }

    /// Drops the pending start, because an automatic launch begins or has become pointless.
    mutating func clearStart(_ app: AppIdentifier) {
        deadlines.remove(.start(app))
        guard directory[app]?.record.startAt != nil else { return }
        updateApp(app) { $0.startAt = nil }
        reviewSocket(of: app)
        availabilityChanged(of: app)
    }

    /// Refuses a launch that got no instance. A start that the daemon wants is tried again later.
    mutating func giveUp(_ pending: PendingLaunch, _ refusal: Refusal) {
        let app = pending.launch.app
        refuseAll(pending, refusal)
        if pending.isTriedAgain, !isShuttingDown,
            let description = directory[app]?.description
        {
            let supervision = description.supervision.value ?? Supervision()
            if supervision.restart != .never || description.hasSockets {
                scheduleRestart(of: app, supervision, waitsForMemory: true)
            }
        }
        availabilityChanged(of: app)
    }

    // MARK: Clients

    /// A client launches the app: failures and restart counters are cleared.
    mutating func beginAnew(_ app: AppIdentifier) {
        clearStart(app)
        let record = self[app].record
        guard record.failure != nil || record.restartCount > 0 || record.restartStreak > 0 else {
            return
        }
        schedule.needsReview = true
        updateApp(app) {
            $0.failure = nil
            $0.restartCount = 0
            $0.restartStreak = 0
        }
    }

    /// A client ends the app: its pending start and its blocked launches are dropped.
    ///
    /// - Parameter isAll: whether to drop the blocked launches of clients too, not only the
    ///   daemon's own.
    mutating func cancelStart(_ app: AppIdentifier, isAll: Bool) {
        clearStart(app)
        if isAll { refuseBlocked(app, .cancelled(app)) } else { dropAutomaticBlocked(app) }
        refuseClaims(of: app, .cancelled(app), isAll: isAll)
        availabilityChanged(of: app)
    }

    mutating func resetFailedRequested(_ request: RequestIdentifier, _ app: AppIdentifier) {
        guard directory[app]?.description != nil else { return refuse(request, .noSuchApp(app)) }
        giveNewChance(app)
        forgetForceQuit(of: app)
        answer(request, .accepted)
        // An instance that is paused before main would be in the way of one that is held.
        holdInstead(of: [app])
        wantRefill(of: app)
    }

    // MARK: Boot and login

    /// Considers each app once after the boot and once after its user's login. An app that is
    /// installed later is not started until the next boot or login (as with systemctl enable). Nor
    /// is an app that a client has ended.
    mutating func considerAutostart(_ apps: some Sequence<AppIdentifier>, mayStart: Bool) {
        var due: [AppIdentifier] = []
        for app in apps {
            // Apps without autostart are not marked, because a record would then be kept of every
            // app.
            guard let entry = directory[app], let autostart = entry.description?.autostart.value
            else { continue }
            let hasSession = loginGroups.contains(autostart.loginGroup)
            let isNewBoot = !entry.record.hasSeenBoot
            let isNewLogin = hasSession && !entry.record.hasSeenLogin
            guard isNewBoot || isNewLogin else { continue }
            updateApp(app) {
                $0.hasSeenBoot = true
                if hasSession { $0.hasSeenLogin = true }
            }
            guard mayStart, entry.running.isEmpty, entry.record.startAt == nil,
                (autostart.atBoot && isNewBoot) || (autostart.atLogin && isNewLogin)
            else { continue }
            updateApp(app) { [now] in
                $0.startAt = now
                $0.isRestart = false
            }
            forgetForceQuit(of: app)
            due.append(app)
        }
        // All apps are marked before the first one starts, because After= asks which others are
        // being started.
        for app in due { startDue(app) }
    }
}

extension Supervision {
    /// The table at `RestartPolicy`.
    fileprivate func restarts(after end: InstanceRecord) -> Bool {
        switch end.endReason?.row.restart ?? .abnormal {
        case .byStatus:
            let status = end.exitStatus ?? .unknown
            if ExitStatusSet.clean.contains(status) || success.contains(status) {
                return restart == .always
            }
            if case .exited = status { return restart == .onFailure || restart == .always }
            return restart != .never
        case .failure: return restart == .onFailure || restart == .always
        case .abnormal: return restart != .never
        case .memoryIsFree: return restart == .always
        case .never: return false
        }
    }
}
