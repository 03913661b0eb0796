import GreenroomLifecycle

/// What is wrong, in words.
struct Violation: Error, Sendable {
    let words: String
    init(_ words: String) { self.words = words }
}

/// The invariants of the design, checked after every step against books of its own: what the
/// core has said (effects) and what the world knows, never what the core believes.
struct Checker: Sendable {
    /// The runtime state as the shell would have it.
    var saved: [InstanceIdentifier: InstanceRecord] = [:]
    var savedApps: [AppIdentifier: AppRecord] = [:]
    /// States as announced.
    var states: [InstanceIdentifier: ExecutionState] = [:]
    var backgroundSince: [InstanceIdentifier: Instant] = [:]
    /// Requests that are owed an answer.
    var owed: [RequestIdentifier: Event] = [:]
    var launchedBy: [RequestIdentifier: LaunchRequest] = [:]
    /// Which instance a launch name was told to be served by.
    var served: [LaunchIdentifier: InstanceIdentifier] = [:]
    var installed: [AppIdentifier: AppDescription] = [:]
    var policy: Policy
    var pressure = MemoryPressure.none
    var isShuttingDown = false
    var isAsleep = false
    /// From the death of a supervisor in the middle of an event to `restored`.
    var isRestoring = false
    var retryAt: [AppIdentifier: Instant] = [:]
    var crashes: [AppIdentifier: [Instant]] = [:]
    /// What clients had sent: an end by one of them is no crash.
    var sentSignals: [InstanceIdentifier: Set<UInt8>] = [:]
    var crashLoopUntil: [AppIdentifier: Instant] = [:]
    var tally = Tally()
    /// Prewarms of an app since somebody gave a reason for some.
    var churn: [AppIdentifier: (since: Instant, count: Int)] = [:]
    var prewarmedBytes: UInt64 = 0
    var prewarmingCount = 0
    var liveCount = 0
    var endedCount = 0
    /// Every reclaim of which there is a record.
    var reclaimed: Set<InstanceIdentifier> = []
    /// Apps of which a paused instance was reclaimed and none was paused since.
    var poolReclaimed: Set<AppIdentifier> = []
    /// By the event being handled.
    var touched: Set<InstanceIdentifier> = []
    var frontsMayDiffer = false
    /// Sent to the background by the event being handled.
    var displaced: Set<InstanceIdentifier> = []
    /// When they acknowledged willTerminate.
    var agreedAt: [InstanceIdentifier: Instant] = [:]
    /// Whose end began, and who was sent a signal.
    var ending: Set<InstanceIdentifier> = []
    var signalled: Set<InstanceIdentifier> = []
    /// Starts of an app since it was last forgiven, and the launches that began already: one that
    /// falls back to another instance is no further start.
    var starts: [AppIdentifier: [Instant]] = [:]
    var begun: Set<BegunLaunch> = []
    /// Instances that a client ended.
    var endedByClient: Set<InstanceIdentifier> = []
    /// Whose protected data is unavailable, and what was said about it to whom.
    var locked: Set<UInt32> = []
    /// Who missed a deadline: the watchdog may end it.
    var overdue: Set<InstanceIdentifier> = []
    /// The latest cookie that each was told.
    var told: [InstanceIdentifier: UInt64] = [:]
    /// Told to go, and their channel was lost; and the one that may have run, by the event being handled.
    var unheard: Set<InstanceIdentifier> = []
    var mayHaveRun: InstanceIdentifier?
    var scenes: [InstanceIdentifier: [SceneIdentifier: ActivationState]] = [:]

    var machine = MachineBooks()
    var kept = StateBooks()
    /// Whose launch screen is on the display.
    var screens: Set<InstanceIdentifier> = []
    let triggerLimit = TriggerLimit(burst: 3, interval: .seconds(30))
    var tasks = TaskBooks()

    init(policy: Policy) { self.policy = policy }

    func require(_ condition: Bool, _ words: @autoclosure () -> String) throws(Violation) {
        if !condition { throw Violation(words()) }
    }

    // MARK: Saving

    mutating func save(_ record: InstanceRecord) throws(Violation) {
        if let old = saved[record.instance] {
            count(old, -1)
            if !old.inBackground && record.inBackground { displaced.insert(record.instance) }
        }
        saved[record.instance] = record
        count(record, 1)
        touched.insert(record.instance)
        try require(
            record.progress != .toldToGo || record.state == .launching,
            "told to go but not launching")
        try require(
            (record.state == .notRunning) == (record.isEmpty && record.endedAt != nil)
                || record.state == .terminating || record.endedAt == nil,
            "\(record.instance) is \(record.state) against its end")
        try require(
            record.state != .terminating || record.endReason != nil,
            "\(record.instance) ends without a reason")
    }

    mutating func erase(_ id: InstanceIdentifier) throws(Violation) {
        guard let record = saved.removeValue(forKey: id) else {
            throw Violation("erased \(id), which was not saved")
        }
        try require(record.state == .notRunning, "erased \(id), which is \(record.state)")
        count(record, -1)
        states[id] = nil
        try require(!screens.contains(id), "the launch screen of \(id) stays for ever")
        backgroundSince[id] = nil
        sentSignals[id] = nil
    }

    private mutating func count(_ record: InstanceRecord, _ sign: Int) {
        if record.state == .notRunning { endedCount += sign } else { liveCount += sign }
        guard record.state == .prewarming || record.state == .prewarmed else { return }
        if record.state == .prewarming { prewarmingCount += sign }
        prewarmedBytes =
            sign > 0 ? prewarmedBytes + record.byteCount : prewarmedBytes - record.byteCount
    }

    /// The books of a new supervisor: what was saved, and no client.
    mutating func restart() {
        owed = [:]
        launchedBy = [:]
        isShuttingDown = false
        isAsleep = false
        isRestoring = true
        sentSignals = [:]
        pressure = .none
        machine.quietAt = nil
        machine.inspectedAt = nil
        machine.hints = [:]
        machine.stalledAt = [:]
        machine.triggered = [:]
        machine.inquiries = []
        machine.takenForOthers = []
        states = saved.mapValues(\.state)
        screens = Set(saved.values.filter(\.showsLaunchScreen).map(\.instance))
        for record in saved.values { restoreScenes(record) }
        // Saved, and perhaps told: it is told again, whatever is wanted by then.
        for record in saved.values {
            if let pending = record.conversation?.pending { told[record.instance] = pending.cookie }
        }
        for record in saved.values where record.state == .background {
            backgroundSince[record.instance] = record.since
        }
        // A failure whose record was noted but not saved is forgotten.
        retryAt = savedApps.compactMapValues(\.prewarmRetryAt)
        poolReclaimed = Set(savedApps.values.filter(\.isReclaimed).map(\.app))
        crashLoopUntil = savedApps.compactMapValues(\.crashLoopUntil)
        crashes = savedApps.mapValues(\.crashes)
        starts = savedApps.mapValues(\.starts)
        // An order that came to nothing with the supervisor binds nobody.
        endedByClient = Set(saved.values.filter(\.isEndOrdered).map(\.instance))
        kept = StateBooks()
        churn = [:]
        restartTasks()
        for record in saved.values where record.endReason == .reclaimed {
            reclaimed.insert(record.instance)
        }
    }
}
