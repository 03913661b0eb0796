import GreenroomLifecycle

/// An invariant that does not hold, in words.
struct Violation: Error, Sendable {
    let words: String
    init(_ words: String) { self.words = words }
}

/// Checks the invariants of the design after every step. It keeps its own record of the core's
/// effects and of the facts of the world, and never relies on the core's own state.
struct Checker: Sendable {
    /// The records that the shell would have in the runtime state.
    var saved: [InstanceIdentifier: InstanceRecord] = [:]
    var savedApps: [AppIdentifier: AppRecord] = [:]
    /// The states as the core has announced them.
    var states: [InstanceIdentifier: ExecutionState] = [:]
    var backgroundSince: [InstanceIdentifier: Instant] = [:]
    /// Requests that must still be answered.
    var owed: [RequestIdentifier: Request] = [:]
    var launchedBy: [RequestIdentifier: LaunchRequest] = [:]
    /// The instance that serves each launch name, by the core's answer.
    var served: [LaunchIdentifier: InstanceIdentifier] = [:]
    /// The reasons to be cold that were true when the launch was asked for, by the launch's app, because
    /// another app's launch may have the same name. A launch that waits for a name keeps its reason
    /// meanwhile.
    var reasonsWhenAsked: [AppIdentifier: [LaunchIdentifier: Set<ColdReason>]] = [:]
    var installed: [AppIdentifier: AppDescription] = [:]
    /// The apps that are not installed because their manifest has an error or is masked.
    var faulty: Set<AppIdentifier> = []
    var policy: Policy
    var pressure = MemoryPressure.none
    var isShuttingDown = false
    var isAsleep = false
    /// True from the death of a supervisor in the middle of an event until `restored`.
    var isRestoring = false
    var retryAt: [AppIdentifier: Instant] = [:]
    var crashes: [AppIdentifier: [Instant]] = [:]
    /// Signals that clients have had sent to each instance. An end by one of them is not a crash.
    var sentSignals: [InstanceIdentifier: Set<UInt8>] = [:]
    var crashLoopUntil: [AppIdentifier: Instant] = [:]
    /// When a launch of a held instance first did not show its window in time, since one last did.
    var windowMissedAt: [AppIdentifier: Instant] = [:]
    var tally = Tally()
    /// The prewarms for which the shell has seen libraries that are opened after main.
    var learned: Set<LibraryLesson> = []
    /// The number of prewarms of an app since something last gave a reason for one.
    var churn: [AppIdentifier: (since: Instant, count: Int)] = [:]
    /// The apps of the last plan, and those that a client has asked to prewarm.
    var plan: Set<AppIdentifier> = []
    var wished: Set<AppIdentifier> = []
    var lull = LullBooks()
    /// The paused instances that have no age limit.
    private(set) var ageless: Set<InstanceIdentifier> = []
    var prewarmedBytes: UInt64 = 0
    var held = HeldBooks()
    var prewarmingCount = 0
    var liveCount = 0
    var endedCount = 0
    /// Every instance whose reclaim was recorded.
    var reclaimed: Set<InstanceIdentifier> = []
    /// Apps of which a paused instance was reclaimed and none has been paused since.
    var poolReclaimed: Set<AppIdentifier> = []
    /// The instances that the event being handled has changed, and their former records.
    var touched: Set<InstanceIdentifier> = []
    var former: [InstanceIdentifier: InstanceRecord] = [:]
    var frontsMayDiffer = false
    /// The instances that the event being handled has sent to the background.
    var displaced: Set<InstanceIdentifier> = []
    /// Held programs that were called, in order to start them, on their way to the pause.
    var called: Set<InstanceIdentifier> = []
    /// The time since which each held program that is being aired runs.
    var aired: [InstanceIdentifier: Instant] = [:]
    /// When each held program was last thawed for a moment.
    var lastAired: [InstanceIdentifier: Instant] = [:]
    /// When each instance acknowledged willTerminate.
    var agreedAt: [InstanceIdentifier: Instant] = [:]
    /// The instances whose end this event began, and those to which it sent a signal.
    var ending: Set<InstanceIdentifier> = []
    var signalled: Set<InstanceIdentifier> = []
    /// The starts of an app since its failures were last forgotten; and the launches that have
    /// begun, because a launch that falls back to another instance counts only once.
    var starts: [AppIdentifier: [Instant]] = [:]
    var begun: Set<BegunLaunch> = []
    /// Instances that a client ended.
    var endedByClient: Set<InstanceIdentifier> = []
    /// The running instance that the event being handled has force-quit.
    var forceQuit: InstanceRecord?
    /// Users whose protected data cannot be read.
    var locked: Set<UInt32> = []
    /// Instances that missed a deadline, so the watchdog may end them.
    var overdue: Set<InstanceIdentifier> = []
    /// The latest cookie that each instance was told.
    var told: [InstanceIdentifier: UInt64] = [:]
    /// Instances that were told to go and whose channel was lost; and those that may have run,
    /// according to the event being handled.
    var unheard: Set<InstanceIdentifier> = []
    var mayHaveRun: Set<InstanceIdentifier> = []
    /// The program that counts as ready, according to the event being handled, because nobody heard
    /// it.
    var countsAsReady: InstanceIdentifier?
    var scenes: [InstanceIdentifier: [SceneIdentifier: ActivationState]] = [:]

    var machine = MachineBooks()
    var kept = StateBooks()
    /// Instances whose launch screen is on the display.
    var screens: Set<InstanceIdentifier> = []
    let triggerLimit = TriggerLimit(burst: 3, interval: .seconds(30))
    var tasks = TaskBooks()
    var reports: [ShellIdentifier: ForegroundReport] = [:]

    init(policy: Policy) { self.policy = policy }

    func require(_ condition: Bool, _ words: @autoclosure () -> String) throws(Violation) {
        if !condition { throw Violation(words()) }
    }

    // MARK: Saving

    mutating func save(_ record: InstanceRecord) throws(Violation) {
        if let old = saved[record.instance] {
            count(old, -1)
            if !touched.contains(record.instance) { former[record.instance] = old }
            if old.launchedAt == nil, let at = record.launchedAt { noteLaunched(record, at: at) }
            if !old.inBackground && record.inBackground { displaced.insert(record.instance) }
        }
        saved[record.instance] = record
        // The program may fail to start.
        if record.launchKind == .cold, record.state == .launching { lull.missed.insert(record.app) }
        count(record, 1)
        touched.insert(record.instance)
        try require(
            (record.state == .notRunning) == (record.isEmpty && record.endedAt != nil)
                || record.state == .terminating || record.endedAt == nil,
            "\(record.instance) is \(record.state), which contradicts its end")
    }

    mutating func erase(_ id: InstanceIdentifier) throws(Violation) {
        guard let record = saved.removeValue(forKey: id) else {
            throw Violation("erased \(id), which was not saved")
        }
        try require(record.state == .notRunning, "erased \(id), which is \(record.state)")
        count(record, -1)
        states[id] = nil
        try require(!screens.contains(id), "the launch screen of \(id) was never dropped")
        backgroundSince[id] = nil
        sentSignals[id] = nil
    }

    private mutating func count(_ record: InstanceRecord, _ sign: Int) {
        if record.state == .notRunning { endedCount += sign } else { liveCount += sign }
        guard record.state == .prewarming || record.state == .prewarmed else { return }
        if record.state == .prewarming { prewarmingCount += sign }
        if sign < 0 {
            ageless.remove(record.instance)
        } else if record.state == .prewarmed, record.deadline == nil {
            ageless.insert(record.instance)
        }
        if record.depth == .window { return held.count(record, sign) }
        prewarmedBytes =
            sign > 0 ? prewarmedBytes + record.byteCount : prewarmedBytes - record.byteCount
    }

    /// Keeps only the state of a new supervisor: the saved records, and no clients.
    mutating func restart() {
        owed = [:]
        launchedBy = [:]
        reports = [:]
        called = []
        aired = [:]
        lastAired = [:]
        isShuttingDown = false
        isAsleep = false
        isRestoring = true
        sentSignals = [:]
        windowMissedAt = [:]
        pressure = .none
        machine.quietAt = nil
        lull.restart()
        machine.inspectedAt = nil
        machine.hints = [:]
        machine.stalledAt = [:]
        machine.triggered = [:]
        machine.inquiries = []
        machine.takenForOthers = []
        held.restart()
        states = saved.mapValues(\.state)
        screens = Set(saved.values.filter(\.showsLaunchScreen).map(\.instance))
        for record in saved.values { restoreScenes(record) }
        // The app may have been told a saved step. It is told again, even if the goal has changed
        // since.
        for record in saved.values {
            if let pending = record.conversation?.pending { told[record.instance] = pending.cookie }
        }
        for record in saved.values where record.state == .background {
            backgroundSince[record.instance] = record.since
        }
        // A failure that was recorded but not saved is forgotten.
        retryAt = savedApps.compactMapValues(\.prewarmRetryAt)
        poolReclaimed = Set(savedApps.values.filter(\.isReclaimed).map(\.app))
        crashLoopUntil = savedApps.compactMapValues(\.crashLoopUntil)
        crashes = savedApps.mapValues(\.crashes)
        starts = savedApps.mapValues(\.starts)
        // A client's order that was lost with the supervisor no longer counts.
        endedByClient = Set(saved.values.filter(\.isEndOrdered).map(\.instance))
        kept = StateBooks()
        churn = [:]
        plan = []
        restartTasks()
        for record in saved.values where record.endReason == .reclaimed {
            reclaimed.insert(record.instance)
        }
    }
}
