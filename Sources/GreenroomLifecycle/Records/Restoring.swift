// Restoring the core after the supervisor died. The saved records yield the same instances, apps,
// pools, foreground and deadlines as before. Requests of clients are lost with their connections.
// What the former supervisor saved but perhaps did not perform is performed again on `restored`:
// all of it is idempotent.

/// The course and the end of an instance as they are saved, one field for each fact. A saved record
/// is not trusted: of facts that contradict each other, the one that comes first here counts.
public struct RecordedState: Hashable, Sendable {
    public var state: ExecutionState
    public var exitStatus: ExitStatus?
    /// Nil while nothing ends the instance.
    public var endReason: ExitReason?
    public var lastState: ExecutionState?
    public var launchedAt: Instant?
    /// The instance was told to go, and is not known to have started.
    public var isToldToGo = false
    public var endedAt: Instant?
    /// No process is left.
    public var isEmpty = false
    /// The one deadline of the state. A suspended instance has one until it is known to be frozen.
    public var deadline: Instant?
    /// Set for an app that acknowledges its states, once its launch sequence is over.
    public var conversation: Conversation?

    public init(_ state: ExecutionState) { self.state = state }

    /// - Parameter since: when the instance entered its state.
    func course(_ since: Instant) -> Course {
        switch isEnding ? lastState : state {
        case .prewarming: .prewarming
        case .prewarmed: .paused
        case .launching:
            if let launchedAt {
                .running(conversation == nil ? .starting : .arriving, since: launchedAt)
            } else {
                isToldToGo && !isEnding && exitStatus == nil ? .toldToGo : .ordered
            }
        case .inactive: .running(.inactive, since: launchedAt ?? since)
        case .active: .running(.active, since: launchedAt ?? since)
        case .background: .running(.background, since: launchedAt ?? since)
        // The deadline of an end says nothing about the freeze.
        case .suspended:
            .running(
                isEnding || deadline == nil ? .frozen : .freezing, since: launchedAt ?? since)
        // Nobody knows what ended.
        case .terminating, .notRunning, nil:
            launchedAt.map { .running(.background, since: $0) } ?? .prewarming
        }
    }

    func end(_ since: Instant) -> InstanceEnd {
        let exit = InstanceEnd.Exit(
            status: exitStatus, reason: endReason ?? .unknown, at: endedAt ?? since,
            from: lastState ?? course(since).state)
        switch state {
        case .notRunning: return .over(exit)
        // After the main process has ended, the shell reports again whether processes are left.
        case .terminating:
            if exitStatus != nil { return .rest(exit) }
            return isEmpty ? .deserted(ordered: exit.reason) : .ordered(exit.reason)
        case .prewarming, .prewarmed, .launching, .inactive, .active, .background, .suspended:
            if exitStatus != nil { return .left(exit) }
            return isEmpty ? .deserted(ordered: nil) : .none
        }
    }

    private var isEnding: Bool { state == .terminating || state == .notRunning }
}

extension Lifecycle {
    /// The state that the saved records describe, at `now`. After this the shell must send, in this
    /// order: `appInstalled` for every manifest, `sessionsActive`, `loggedIn` and `pressureChanged`
    /// where they apply, every difference between the records and the world as an event, and
    /// finally `restored`.
    public init(
        restoring instances: [InstanceRecord], apps: [AppRecord],
        nextInstance: InstanceIdentifier, policy: Policy, seed: UInt64, at now: Instant
    ) {
        self.init(policy: policy, seed: seed)
        self.now = now
        isRestoring = true
        let highest = instances.map(\.instance.rawValue).max() ?? 0
        self.nextInstance = max(nextInstance, InstanceIdentifier(highest + 1))
        for app in apps {
            directory[app.app] = Entry(App(record: app))
            deadlines.set(.start(app.app), at: app.startAt)
        }
        // Sorted by when they entered their states, because pools are in that order.
        for record in instances.sorted(by: { ($0.since, $0.instance) < ($1.since, $1.instance) }) {
            restore(record)
        }
        let ends = instances.filter { $0.state == .notRunning }
        for end in ends.sorted(by: { ($0.since, $0.instance) < ($1.since, $1.instance) }) {
            ended.append(end.instance, of: policy.administrator)
        }
    }

    private mutating func restore(_ saved: InstanceRecord) {
        var record = saved
        // No supervisor suspends an app in the middle of a step, and a saved record is not trusted.
        if record.state == .suspended { record.conversation?.pending = nil }
        let (id, app) = (record.instance, record.app)
        if directory[app] == nil {
            directory[app] = Entry(App(record: AppRecord(app: app)))
            self[app].isRemoved = true
        }
        table[id] = Entry(Instance(record: record))
        addToIndices(record)
        if record.state != .notRunning { deadlines.set(.instance(id), at: record.deadline) }
        if record.state == .prewarmed, record.depth == .window {
            self[app].heldByteCount = record.byteCount
        }
        guard let name = record.launchIdentifier else { return }
        launchNames.add(name, of: app, id)
        self[app].lastLaunched = max(self[app].lastLaunched, record.lastUsed)
    }

    /// Repeats the effects that follow from the records.
    mutating func finishRestoring() {
        // Apps with a faulty manifest are removed already.
        for app in directory.keys.sorted() where !self[app].isRemoved {
            if self[app].description == nil { appRemoved(app, isGone: true) }
        }
        for app in directory.keys.sorted() { limitAges(of: app) }
        ended = ended.regrouped { user(of: self[$0].record.app) }
        for id in table.keys.sorted() {
            let record = self[id].record
            switch record.state {
            case .suspended: effects.append(.freeze(id))
            case .launching where record.phase == .toldToGo:
                // The instance may or may not have received the order to go. Its channel or its
                // deadline will tell. If it were ended now, a program that runs already could run
                // twice for one launch.
                if record.otherThreads == .frozen { effects.append(.thaw(id)) }
            case .launching, .inactive, .active, .background: effects.append(.thaw(id))
            case .terminating: endAgain(record)
            case .prewarming where record.wantsName, .prewarmed where record.wantsName:
                end(id, .stale, gently: false)
            case .prewarmed where record.otherThreads == .frozen:
                effects.append(.freezePaused(id))
            case .prewarming, .prewarmed, .notRunning: break
            }
            if let priority = priority(in: record.state, record) {
                effects.append(.applyPriority(id, priority))
            }
        }
        isRestoring = false
        reviewHeld()
        enforceBudget()
        forgetOldEnds()
        isRestored = true
        forgetFormerLogins()
        if pressure >= .warning { pressureChanged(pressure) }
        for id in table.keys.sorted() { announceStateAgain(to: id) }
        // This comes after reclaiming, because an instance that was reclaimed is told about its end
        // instead.
        for id in table.keys.sorted() where self[id].record.manner == .acknowledging {
            tellStepAgain(id)
        }
        for app in directory.keys.sorted() { reviewInterruptions(of: app) }
        considerAutostart(directory.keys.sorted(), mayStart: true)
        for app in directory.keys { reviewSocket(of: app) }
        restoreSchedule()
        awaitFormerShells()
    }

    /// If the grace is not over, the instance was being ended gently, and SIGTERM may not have been
    /// sent.
    private mutating func endAgain(_ record: InstanceRecord) {
        let isGentle: Bool =
            switch record.endReason?.row.again ?? .kill {
            case .askIfLaunched: record.launchedAt != nil
            case .askInBackground: record.lastState == .background
            case .kill: false
            }
        let mayGoOn = isGentle && record.exitStatus == nil && (record.deadline ?? now) > now
        let order = mayGoOn ? record.continuedEnd : .kill
        if order != .kill { effects.append(.thaw(record.instance)) }
        switch order {
        case .kill: effects.append(.kill(record.instance))
        case .terminate, .thawAndTerminate: effects.append(.terminate(record.instance))
        case .tell: awaitOwnEndAgain(record.instance)
        }
    }
}
