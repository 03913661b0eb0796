// Starts that nobody asked for: restarts, autostart, and (see BlockedLaunches, Activating) what another
// app or a connection needs. One is due at `AppRecord.startAt`, which is saved, so that it outlives
// the supervisor; it is cleared when the launch begins.
//
//   an instance ends       → startAt = the back-off's instant, or failed, or nothing
//   boot, login            → startAt = now, once for each app
//   startAt has come       → launch, if nothing of the app runs and the start limit allows
//   a client launches it   → startAt, failure and counters are cleared: that is a new beginning
//   a client ends it       → startAt is cleared
//
// The crash loop of `Pool` stays what it is, a reason not to prewarm and not to launch in the
// background for a client; `Restart=` is the manifest's own word and bounded by the start limit.

extension Lifecycle {
    // MARK: Ends

    /// An instance has ended for good: is it to come back?
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
            of: app, supervision, isPatient: record.endReason?.row.restart == .memoryIsFree)
    }

    /// - Parameter isPatient: memory or room was wanting, so it waits until some may be free again.
    private mutating func scheduleRestart(
        of app: AppIdentifier, _ supervision: Supervision, isPatient: Bool = false
    ) {
        let streak = self[app].record.restartStreak
        let delay = supervision.delay(after: streak)
        let instant = now.advanced(by: isPatient ? max(delay, policy.reclaimPause) : delay)
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
        // What starts now would be the next to go.
        if pressure == .critical {
            let later = now.advanced(by: max(policy.reclaimPause, .milliseconds(1)))
            updateApp(app) { $0.startAt = later }
            deadlines.set(.start(app), at: later)
            return availabilityChanged(of: app)
        }
        guard entry.running.isEmpty else { return clearStart(app) }
        if entry.record.isRestart { updateApp(app) { $0.restartCount &+= 1 } }
        _ = startAutomatically(app)
    }

    /// Launches an app because the daemon itself wants it. It comes to the front only where nobody
    /// stands.
    ///
    /// - Returns: why not.
    mutating func startAutomatically(
        _ app: AppIdentifier, inBackground: Bool = false
    ) -> Refusal? {
        guard let description = directory[app]?.description else { return .noSuchApp(app) }
        guard !isShuttingDown else { return .shuttingDown }
        let supervision = description.supervision.value ?? Supervision()
        guard mayStart(app, supervision) else {
            fail(app, .startLimit)
            return .failed(app, .startLimit)
        }
        let isDisplacing = description.foregroundGroup.map { fronts[$0] != nil } ?? false
        let launch = LaunchRequest(
            app: app, launchIdentifier: LaunchIdentifier("greenroom-\(nextInstance)"),
            environmentKey: description.environmentKey, inBackground: inBackground || isDisplacing)
        admit(PendingLaunch(request: .automatic, launch: launch, waiters: []))
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

    /// An automatic launch begins, or is pointless.
    mutating func clearStart(_ app: AppIdentifier) {
        deadlines.remove(.start(app))
        guard directory[app]?.record.startAt != nil else { return }
        updateApp(app) { $0.startAt = nil }
        reviewSocket(of: app)
        availabilityChanged(of: app)
    }

    /// A launch does not get as far as an instance. The daemon's own is tried again.
    mutating func giveUp(_ pending: PendingLaunch, _ refusal: Refusal) {
        let app = pending.launch.app
        refuseAll(pending, refusal)
        if pending.request == .automatic, !isShuttingDown,
            let description = directory[app]?.description
        {
            let supervision = description.supervision.value ?? Supervision()
            if supervision.restart != .never || description.hasSockets {
                scheduleRestart(of: app, supervision, isPatient: true)
            }
        }
        availabilityChanged(of: app)
    }

    // MARK: Clients

    /// A client launches it: a new beginning.
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

    /// A client ends it: what is due and what waits is dropped.
    ///
    /// - Parameter isAll: what waits for clients too, not only for the daemon.
    mutating func cancelStart(_ app: AppIdentifier, isAll: Bool) {
        clearStart(app)
        if isAll { refuseBlocked(app, .cancelled(app)) } else { dropAutomaticBlocked(app) }
        availabilityChanged(of: app)
    }

    mutating func resetFailedRequested(_ request: RequestIdentifier, _ app: AppIdentifier) {
        guard directory[app]?.description != nil else { return refuse(request, .noSuchApp(app)) }
        giveNewChance(app)
        answer(request, .reset(app))
        wantRefill(of: app)
    }

    // MARK: Boot and login

    /// Looks at each app once for the boot and once for its user's login; one that is installed
    /// later is not started by that (as with systemctl enable), nor one that a client has ended.
    mutating func considerAutostart(_ apps: some Sequence<AppIdentifier>, mayStart: Bool) {
        var due: [AppIdentifier] = []
        for app in apps {
            // Others are not marked: a record would be kept of every app there is.
            guard let entry = directory[app], let autostart = entry.description?.autostart.value
            else { continue }
            let hasSession = sessions.contains(autostart.session)
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
            due.append(app)
        }
        // All are marked before the first starts: After= asks who else is being started.
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
