// Held programs that own names on a message bus, and held programs that are thawed for a moment.
// Other programs find such a name and call it, and would wait for a window that is not shown. So
// each name is watched from before the program owns it (`Event.nameWatched`):
//
//   a call of the name that starts the program or brings it to the front
//       on its way to the pause  → launched as soon as it pauses
//       held                     → launched at once, on the daemon's own account, unless another app or
//                                  another instance of it is in the way: then it ends
//   another call                 → thawed for `airTime`, in which it answers
//   the watch ends               → it ends (`becameStale`), because calls could be missed
//   the supervisor has restarted → it ends: nobody has watched in the meantime
//   the name has an owner        → it ends before it asks for the name (`nameTaken`), and the
//                                  app goes only as far as `libraries` until an instance has ended;
//                                  if one has ended meanwhile, the next prewarm only waits
//
// Only one process can own a name, so such an app has one held instance. A cold launch, and the next
// instance that is to be held, wait until one that is being ended has given the name up.
//
// Airing: every held program is thawed for `airTime` after each `airInterval`, so that it reads
// what its display and its bus have sent, and when a setting of its desktop or display has changed
// (`watchSettings`; changes are told at most once a second). A hint that the app is about to be
// launched (`prepare`) airs the instance that the launch would get, unless it was aired less than
// `hintedAirInterval` ago. None of its windows is shown.

extension Lifecycle {
    /// A program in its main loop needs a few milliseconds to read what has arrived.
    static let airTime = Duration.milliseconds(200)
    /// A Wayland compositor drops a client that has left some hundred events unread.
    static let airInterval = Duration.seconds(60)
    /// A client that repeats its hints gets a held program thawed for at most a twenty-fifth of the
    /// time.
    static let hintedAirInterval = Duration.seconds(5)

    // MARK: Names

    /// The instance is about to own a name, and calls to that name are reported from now on.
    mutating func nameWatched(_ id: InstanceIdentifier) {
        guard let record = table[id]?.record, record.state == .prewarming,
            record.depth == .window, !record.wantsName
        else { return }
        update(id) { $0.wantsName = true }
        self[record.app].wantingName.insert(id)
    }

    /// Somebody calls the instance by its name on the bus, or a setting of its desktop has changed.
    mutating func called(_ id: InstanceIdentifier, isLaunch: Bool) {
        guard let record = table[id]?.record, record.wantsName || !isLaunch else { return }
        switch record.state {
        case .prewarming: if isLaunch { self[id].preparation?.isCalled = true }
        case .prewarmed:
            if isLaunch { launchCalled(id) } else if record.depth == .window { air(id) }
        // An instance that runs answers its calls itself; one that ends answers none.
        case .launching, .inactive, .active, .background, .suspended, .terminating, .notRunning:
            break
        }
    }

    /// Launches the instance that owns the name that was called. No other instance can serve the
    /// call.
    mutating func launchCalled(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard !isShuttingDown, let description = directory[record.app]?.description,
            description.generation == record.generation
        else { return discardStale(id) }
        self[record.app].lastLaunched = now
        self[record.app].hintedUntil = nil
        schedule.lastUse = now
        forgetForceQuit(of: record.app)
        beginAnew(record.app)
        clearStart(record.app)
        let launch = LaunchRequest(
            app: record.app, launchIdentifier: LaunchIdentifier("greenroom-call-\(id)"),
            environmentKey: record.environmentKey, inBackground: false)
        // If another app or another instance is in the way, this instance ends and the caller gets
        // an error. A later launch settles the conflict.
        guard isFree(launch) else { return end(id, .poolTrimmed, gently: false) }
        tellToGo(id, PendingLaunch(origin: .call, launch: launch, waiters: []))
    }

    /// Whether an instance of the app that is held, or about to be held, wants a name.
    func hasInstanceWantingName(_ app: AppIdentifier) -> Bool {
        directory[app]?.wantingName.contains { self[$0].record.state.isPrewarm } == true
    }

    /// Another instance is to be held, and could not own the name while others of the app do, so
    /// these are ended.
    ///
    /// - Returns: whether the name is free. Otherwise, the end of one of them fills the pool.
    mutating func freeName(of app: AppIdentifier) -> Bool {
        guard let wantingName = directory[app]?.wantingName, !wantingName.isEmpty else {
            return true
        }
        for id in wantingName.sorted() where self[id].record.state.isPrewarm {
            end(id, .poolTrimmed, gently: false)
        }
        return !wantingName.contains {
            let record = self[$0].record
            // One that cannot even be killed has no deadline in the end.
            return record.launchedAt == nil && record.state == .terminating
                && record.exitStatus == nil && record.deadline != nil
        }
    }

    /// Has a cold launch wait until held instances of the app that own a name have ended, if any are
    /// being ended. Otherwise the new process could find the name in use, leave its work to a process
    /// that will never do it, and show no window. On a busy machine, a held process takes its time to
    /// end, because it has the least priority.
    ///
    /// - Returns: false if there is nothing to wait for.
    mutating func awaitNameHolders(_ pending: PendingLaunch, _ reason: ColdReason) -> Bool {
        guard pending.coldReason == nil, let entry = directory[pending.launch.app] else {
            return false
        }
        let ending = entry.wantingName.filter {
            let record = self[$0].record
            // An instance that was told to go, and whose launch this is now, is ended next.
            let isEnding = record.state == .terminating && record.deadline != nil
            return (isEnding || record.phase == .ordered) && record.exitStatus == nil
                && record.launchedAt == nil
        }
        guard !ending.isEmpty else { return false }
        var pending = pending
        pending.coldReason = reason
        // A restart of the supervisor forgets what is blocked.
        if pending.isTriedAgain { updateApp(pending.launch.app) { [now] in $0.startAt = now } }
        awaitEnd(of: ending.sorted(), pending)
        return true
    }

    /// Whether a launched instance of the app has ended since this prewarm began. The prewarm may have
    /// met its name, and no later end would tell that the name is free.
    func mayHaveFreedName(since prewarm: InstanceRecord) -> Bool {
        directory[prewarm.app]?.members.contains {
            let record = self[$0].record
            guard record.launchedAt != nil, let exit = record.end.exit else { return false }
            return exit.at >= prewarm.since
        } == true
    }

    /// The program of an instance has ended. What it started may still run.
    mutating func programEnded(_ record: InstanceRecord) {
        nameMayBeFree(record)
        settingsMayBeWritten(record)
    }

    /// An instance of the app has ended, and may have given the name up.
    mutating func nameMayBeFree(_ record: InstanceRecord) {
        if record.wantsName { wantRefill(of: record.app) }
        guard record.launchedAt != nil, demotion(of: record.app)?.fault == .nameTaken else {
            return
        }
        updateApp(record.app) { $0.depth.demotion = nil }
        holdInstead(of: [record.app])
    }

    /// A launched instance of the app has ended, and may have written its settings. An instance that
    /// was held before has read the former ones, and would refuse its launch; one that is on its way
    /// may have read them, and would not notice. But only that one can serve a call to its name.
    private mutating func settingsMayBeWritten(_ record: InstanceRecord) {
        guard record.launchedAt != nil, let entry = directory[record.app] else { return }
        for id in entry.filling
        where self[id].record.depth == .window && self[id].preparation?.isCalled != true {
            end(id, .stale, gently: false)
        }
        for id in entry.writesSettings ? entry.pool : [] where self[id].record.depth == .window {
            discardStale(id, .readFile)
        }
    }

    // MARK: Airing

    mutating func air(_ id: InstanceIdentifier) {
        guard let instance = table[id], instance.record.state == .prewarmed,
            instance.record.otherThreads == .frozen, !instance.isAiring
        else { return }
        let airing = PrewarmProgress.Airing.underWay(since: now)
        self[id].pause?.airing = airing
        effects.append(.thaw(id))
        deadlines.set(.air(id), at: now.advanced(by: Self.airTime))
    }

    /// The instance is about to be launched. What it does now, its launch need not wait for.
    mutating func airForHint(_ id: InstanceIdentifier) {
        let airedAt = self[id].pause?.airing.since
        let mayAir = airedAt.map { $0.advanced(by: Self.hintedAirInterval) <= now } ?? true
        if self[id].record.depth == .window, mayAir { air(id) }
    }

    mutating func airingDue(_ id: InstanceIdentifier) {
        guard let instance = table[id], instance.record.state == .prewarmed else { return }
        guard case .underWay(let since) = instance.pause?.airing else { return air(id) }
        self[id].pause?.airing = .over(since: since)
        effects.append(.freezePaused(id))
    }

    /// The held instance has been frozen, for the first time or after it was aired.
    mutating func wasFrozenHeld(_ id: InstanceIdentifier) {
        deadlines.set(.air(id), at: now.advanced(by: jitter.spread(Self.airInterval)))
        effects.append(.watchSettings(id))
    }
}
