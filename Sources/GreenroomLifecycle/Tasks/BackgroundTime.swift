// Background time (UIApplication's background tasks). An app that would be suspended in the
// background is not suspended while it has a task or a run open:
//
//   a task, in the foreground        → open, no limit
//   in the background with a task    → the time runs from when the app entered the background
//   shortly before the time is over  → the app is told; no further task begins in this stay
//   the time is over, a task is open → ended (0x2182bad2), unless a debugger holds it
//   the last task has ended          → suspended after its background grace
//   a run of scheduled work is open  → tasks have no limit of their own (`RunningTasks`)
//
// The record keeps the time, so the time goes on while the supervisor is away. The record also
// keeps the number of open tasks, but not the apps' own numbers for them. Apps count those numbers
// up. So when the app ends a task that is not open here, and its number is lower than those of all
// tasks that began since the restart, it may be a task that a former supervisor counted. Otherwise
// the end is ignored. One case remains: a task that the former supervisor refused, because the time
// was about to end, may be taken for another task of that time. But that one is about to end too.

/// What keeps an instance from being suspended.
public struct BackgroundTime: Hashable, Sendable {
    /// The number of open tasks.
    public var taskCount: UInt8 = 0
    /// When the time of the tasks is over; nil if nothing limits it.
    public var end: Instant?
    /// The app was told that the end is near.
    public var isExpiring = false
    public var run: RunTime?

    /// The time of a run of scheduled work.
    public struct RunTime: Hashable, Sendable {
        /// Never 0, and never reused.
        public var number: UInt64
        public var end: Instant
        public var isExpiring = false

        public init(number: UInt64, end: Instant, isExpiring: Bool = false) {
            self.number = number
            self.end = end
            self.isExpiring = isExpiring
        }
    }

    public init() {}

    /// An instance may have at most this many open tasks: more than any app finishes in half a
    /// minute.
    public static let taskLimit: UInt8 = 64

    var isOpen: Bool { taskCount > 0 || run != nil }
}

extension Policy {
    /// How long before the end the app is told that the end is near.
    func expirationLead(of limit: Duration) -> Duration { min(expirationLead, limit / 3) }
}

extension Lifecycle {
    mutating func backgroundTaskBegan(_ id: InstanceIdentifier, _ task: UInt64) {
        guard let record = table[id]?.record, record.state.isRunning,
            manner(of: record.app) == .acknowledging,
            record.manner == .acknowledging || record.state == .launching
        else { return }
        self[id].firstBackgroundTask = min(self[id].firstBackgroundTask, task)
        let time = record.background.value ?? BackgroundTime()
        guard !time.isExpiring, time.taskCount < BackgroundTime.taskLimit,
            self[id].openBackgroundTasks.insert(task).inserted
        else { return }
        // The app sent the message before the freezer stopped it.
        if record.state == .suspended { thaw(id) }
        updateBackground(id) { $0.taskCount += 1 }
        settleInBackground(id)
    }

    /// A task that is not open changes nothing: it was refused, has ended already, or never began.
    mutating func backgroundTaskEnded(_ id: InstanceIdentifier, _ task: UInt64) {
        guard let instance = table[id], instance.record.state.isRunning,
            let time = instance.record.background.value, time.taskCount > 0
        else { return }
        let isKnown = self[id].openBackgroundTasks.remove(task) != nil
        let mayBeFormer =
            task < instance.firstBackgroundTask
            && Int(time.taskCount) > instance.openBackgroundTasks.count
        guard isKnown || mayBeFormer else { return }
        updateBackground(id) {
            $0.taskCount -= 1
            if $0.taskCount == 0 { $0.end = nil }
        }
        if !isKeptRunning(id) { awaitSuspension(id) }
    }

    /// Whether a task or a run is open, so that the instance may not be suspended.
    func isKeptRunning(_ id: InstanceIdentifier) -> Bool {
        table[id]?.record.background.value?.isOpen == true
    }

    mutating func updateBackground(
        _ id: InstanceIdentifier, _ change: (inout BackgroundTime) -> Void
    ) {
        var time = self[id].record.background.value ?? BackgroundTime()
        change(&time)
        let rare = Boxed(time == BackgroundTime() ? nil : time)
        guard self[id].record.background != rare else { return }
        update(id) { $0.background = rare }
    }

    // MARK: The clock

    /// The instance is in the background and no step is under way: from now on its background time
    /// runs, or it waits to be suspended.
    mutating func settleInBackground(_ id: InstanceIdentifier) {
        guard self[id].record.state == .background, !self[id].record.isTravelling else {
            return
        }
        startClock(id)
        let record = self[id].record
        let isOpen = isKeptRunning(id)
        // The manifest may have changed in the meantime, and with it whether the app is suspended.
        let given = isOpen || !suspendsByItself(record) ? nil : record.deadline
        let deadline = given ?? suspensionDeadline(of: record)
        if record.deadline != deadline { update(id) { $0.deadline = deadline } }
        if !isOpen, !self[id].suspension.waiters.isEmpty { prepareSuspension(id) }
    }

    /// Nothing keeps the instance running any more. Its grace is counted from the time at which it
    /// entered the background.
    mutating func awaitSuspension(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard record.state == .background, !record.isTravelling else { return }
        if !self[id].suspension.waiters.isEmpty { return prepareSuspension(id) }
        guard suspendsByItself(record) else { return update(id) { $0.deadline = nil } }
        let grace = directory[record.app]?.description?.backgroundGrace ?? policy.backgroundGrace
        let deadline = max(record.since.advanced(by: grace), now)
        update(id) { $0.deadline = deadline }
    }

    private mutating func startClock(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard let time = record.background.value, time.taskCount > 0, time.run == nil,
            time.end == nil, suspendsByItself(record)
        else { return }
        let limit = policy.backgroundTaskLimit
        // Even if a task begins late in a stay, the app is not told about the end at once.
        let earliest = now.advanced(by: policy.expirationLead(of: limit) * 2)
        limitTasks(of: id, to: max(record.since.advanced(by: limit), earliest))
    }

    private mutating func limitTasks(of id: InstanceIdentifier, to end: Instant) {
        updateBackground(id) { $0.end = end }
        effects.append(.tellBackgroundTime(id, until: end))
    }

    /// The instance goes to the front, where nothing limits its tasks.
    mutating func stopClock(_ id: InstanceIdentifier) {
        guard let time = self[id].record.background.value else { return }
        updateBackground(id) {
            $0.end = nil
            $0.isExpiring = false
        }
        if time.end != nil || time.isExpiring {
            effects.append(.tellBackgroundTime(id, until: nil))
        }
    }

    /// A run has ended. While it lasted, tasks had no limit.
    mutating func limitTasksAfterRun(_ id: InstanceIdentifier) {
        let record = self[id].record
        guard record.background.value?.taskCount ?? 0 > 0, record.state == .background,
            !record.isTravelling, suspendsByItself(record)
        else { return }
        limitTasks(of: id, to: now.advanced(by: policy.backgroundTaskLimit))
    }

    /// The manifest has changed, and with it perhaps whether the app is suspended.
    mutating func reviseBackgroundTime(_ id: InstanceIdentifier) {
        if suspendsByItself(self[id].record) { return settleInBackground(id) }
        stopClock(id)
        update(id) { $0.deadline = nil }
    }

    func suspendsByItself(_ record: InstanceRecord) -> Bool {
        !record.isAttached && directory[record.app]?.description?.suspendsInBackground == true
    }

    /// The next deadline of an instance that keeps running in the background.
    func backgroundDeadline(_ time: BackgroundTime, _ current: Instant?) -> Instant? {
        guard time.run == nil, let end = time.end else { return nil }
        // While a debugger is attached, the deadline is the next check whether it still is.
        if time.isExpiring { return max(end, current ?? end) }
        return end.advanced(by: .zero - policy.expirationLead(of: policy.backgroundTaskLimit))
    }

    /// The instance's deadline has come while tasks are open.
    mutating func taskTimeIsOver(_ id: InstanceIdentifier) {
        guard let time = self[id].record.background.value, time.run == nil, let end = time.end
        else { return update(id) { $0.deadline = nil } }
        if time.isExpiring { return becameOutOfTime(id) }
        updateBackground(id) { $0.isExpiring = true }
        update(id) { $0.deadline = end }
        effects.append(.tellExpiration(id, at: end))
        report(.backgroundTimeExpiring(id, self[id].record.app))
    }

    /// The tasks were not ended in time. The app is ended, unless a debugger is attached to it.
    private mutating func becameOutOfTime(_ id: InstanceIdentifier) {
        self[id].isOverdue = true
        update(id) { [now] in $0.deadline = now.advanced(by: Self.debuggerInterval) }
        effects.append(.inspectTracer(id))
    }

    /// Whether the app must be ended because its background time is over. Called when no debugger
    /// is attached.
    func isOutOfTime(_ record: InstanceRecord) -> Bool {
        guard record.state == .background, !record.isTravelling,
            let time = record.background.value
        else { return false }
        if let run = time.run { return run.isExpiring && run.end <= now }
        return time.taskCount > 0 && time.isExpiring && time.end.map { $0 <= now } == true
    }

    // MARK: The ends of a stay

    /// A thawed instance begins a new stay in the background.
    mutating func beginStay(_ id: InstanceIdentifier) { stopClock(id) }

    /// Drops the background time, because the instance is about to end.
    mutating func leaveBackgroundTime(_ id: InstanceIdentifier) {
        deadlines.remove(.run(id))
        self[id].openBackgroundTasks = []
        let record = self[id].record
        update(id) { $0.background = .none }
        guard let run = record.background.value?.run else { return }
        let isExpired = record.endReason == .backgroundTaskTimeout
        runEnded(run.number, of: id, isExpired ? .expired : .ended)
    }

    /// Tells the app the background time again, because a former supervisor may not have told it.
    mutating func tellBackgroundTimeAgain(_ id: InstanceIdentifier) {
        guard let time = self[id].record.background.value, let end = time.end,
            self[id].record.state.isRunning
        else { return }
        effects.append(.tellBackgroundTime(id, until: end))
        if time.isExpiring { effects.append(.tellExpiration(id, at: end)) }
    }

    // MARK: Tests

    /// Makes the background time end shortly, as if it were nearly over.
    mutating func expireTasks(of id: InstanceIdentifier) {
        guard self[id].record.background.value?.isExpiring == false else { return }
        let lead = policy.expirationLead(of: policy.backgroundTaskLimit)
        updateBackground(id) { [now] in $0.end = now.advanced(by: lead) }
        taskTimeIsOver(id)
    }
}
