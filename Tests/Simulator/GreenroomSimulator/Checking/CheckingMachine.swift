import GreenroomLifecycle

/// What the checker knows of the machine: memory, conditions, file locks.
struct MachineBooks: Sendable {
    /// When the level falls, unless the kernel reports it again.
    var quietAt: Instant?
    var obstacle: PrewarmObstacle?
    var inspectedAt: Instant?
    /// The time until which each hint counts.
    var hints: [AppIdentifier: Instant] = [:]
    /// Instances whose file locks are being looked at, and when the first lock was found.
    var inquiries: Set<InstanceIdentifier> = []
    var fileLockedSince: [InstanceIdentifier: Instant] = [:]
    /// Instances that the kernel is said to have killed to free memory.
    var outOfMemory: Set<InstanceIdentifier> = []
    var overOwnLimit: Set<InstanceIdentifier> = []
    /// Instances that the kernel killed to free memory for others, as far as this supervisor was
    /// told.
    var takenForOthers: Set<InstanceIdentifier> = []
    /// The app of which a paused instance was killed in this way by the event being handled.
    var poolTaken: AppIdentifier?
    /// When each instance was last warned that it stalls within its own limit.
    var stalledAt: [InstanceIdentifier: Instant] = [:]
    /// Launches that triggers caused.
    var triggered: [AppIdentifier: [Instant]] = [:]
}

extension Checker {
    mutating func noteMachine(_ event: Event, at now: Instant) {
        machine.poolTaken = nil
        switch event {
        case .stallReported(.none):
            pressure = .none
            machine.quietAt = nil
        case .stallReported(let level):
            if level >= pressure { machine.quietAt = now.advanced(by: policy.pressureQuietTime) }
            pressure = max(pressure, level)
        case .pressureChanged(let level):
            pressure = level
            machine.quietAt = nil
        case .deadlineReached: becomeQuiet(at: now)
        case .conditionsInspected(let obstacle):
            machine.obstacle = obstacle
            machine.inspectedAt = now
        case .requested(_, .prepare(let app)):
            machine.hints[app] = now.advanced(by: policy.hintLifetime)
        case .fileLocksInspected(let id, true):
            if states[id] == .background, machine.fileLockedSince[id] == nil {
                machine.fileLockedSince[id] = now
            }
        case .fileLocksInspected(let id, false): machine.fileLockedSince[id] = nil
        case .outOfMemory(let id, _, let isOwnLimit):
            machine.outOfMemory.insert(id)
            if isOwnLimit {
                machine.overOwnLimit.insert(id)
                machine.takenForOthers.remove(id)
            } else {
                machine.overOwnLimit.remove(id)
                machine.takenForOthers.insert(id)
            }
        case .triggersForgiven: machine.triggered = [:]
        case .appInstalled(let description): machine.triggered[description.identifier] = nil
        case .requested(_, .resetFailed(let app)), .appRemoved(let app, _):
            machine.triggered[app] = nil
        default: break
        }
    }

    private mutating func becomeQuiet(at now: Instant) {
        guard let at = machine.quietAt, at <= now else { return }
        pressure = pressure == .critical ? .warning : .none
        machine.quietAt = pressure == .none ? nil : now.advanced(by: policy.pressureQuietTime)
    }

    /// Checks a prewarm that is about to be ordered: the machine must have been inspected and must
    /// allow it.
    func checkConditions(_ app: AppIdentifier, _ now: Instant) throws(Violation) {
        let isWish = owed.values.contains {
            if case .prewarm(app, _) = $0 { true } else { false }
        }
        let isHinted = machine.hints[app].map { $0 > now } ?? false
        let starts = Instant(nanoseconds: 0).advanced(by: policy.prewarmStartDelay)
        try require(isWish || isHinted || starts <= now, "prewarmed \(app) before its time")
        guard policy.inspectsConditions else { return }
        let last = machine.inspectedAt?.advanced(by: policy.conditionsLifetime)
        try require(last.map { $0 > now } ?? false, "prewarmed \(app) before an inspection")
        let allows = machine.obstacle == nil || (isWish && machine.obstacle != .lowMemory)
        try require(allows, "prewarmed \(app) in spite of \(machine.obstacle!)")
    }

    /// Checks that triggers launch no app more often than their limit allows.
    mutating func checkTriggered(_ event: Event, _ effect: Effect, _ now: Instant) throws(Violation)
    {
        guard case .requested(_, .trigger(let launch, let limit)) = event,
            case .spawn(_, launch.app, .launch(_, _)) = effect
        else { return }
        var recent = machine.triggered[launch.app] ?? []
        recent.removeAll { $0.duration(to: now) >= limit.interval }
        recent.append(now)
        machine.triggered[launch.app] = recent
        try require(recent.count <= limit.burst, "\(launch.app) was triggered too often")
    }

    /// Checks the end of an instance that stalls alone: it must have been warned before, and be in
    /// the background.
    func checkStalledEnd(_ id: InstanceIdentifier, _ now: Instant) throws(Violation) {
        let since = machine.stalledAt[id]
        try require(
            since.map { $0.advanced(by: policy.reclaimInterval) <= now } ?? false,
            "reclaimed stalling \(id) without a warning")
        try require(states[id] == .background, "reclaimed stalling \(id) in \(states[id]!)")
        try require(saved[id]?.isAttached == false, "reclaimed attached \(id)")
    }

    func checkMachineEnd(_ record: InstanceRecord, _ now: Instant) throws(Violation) {
        switch record.endReason {
        case .suspendedWithLockedFile?:
            let since = machine.fileLockedSince[record.instance]
            let isOver = since.map { $0.advanced(by: policy.fileLockGrace) <= now } ?? false
            try require(isOver, "\(record.instance) was ended during its lock grace")
        case .outOfMemory?, .probablyOutOfMemory?:
            try require(
                machine.outOfMemory.contains(record.instance), "no OOM kill of \(record.instance)")
        default: break
        }
    }
}
