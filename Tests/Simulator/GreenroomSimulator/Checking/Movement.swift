public import GreenroomLifecycle

/// Which instances an event may move, and how.
public struct Movement: Sendable {
    /// The rows of `PhaseTable`.
    public var rows: [String]
    /// The instance, or the app's instances, to which the rows apply; nil if they apply to all.
    var subject: Target?
    /// Whether other instances may move, too, and whether instances may move further
    /// (`PhaseTable.followers`).
    public var isFollowed: Bool

    /// Moves no instance.
    static let none = Movement(rows: [], isFollowed: false)
    /// May serve a launch that waits, or begin one.
    static let launches = Movement(rows: [], isFollowed: true)

    static func rows(
        _ rows: String..., of instance: InstanceIdentifier? = nil, isFollowed: Bool = true
    ) -> Movement {
        Movement(rows: rows, subject: instance.map { .instance($0) }, isFollowed: isFollowed)
    }

    /// The phases in which an instance may be after the event.
    func reach(of record: InstanceRecord) -> Set<Phase> {
        var reach: Set<Phase> = [record.phase]
        if isAbout(record) {
            for row in rows { reach.formUnion(PhaseTable.cells[row]?[record.phase] ?? []) }
        }
        let followers = isFollowed ? PhaseTable.followers : PhaseTable.trimmed
        var next = Array(reach)
        while let phase = next.popLast() {
            for follower in followers[phase] ?? [] where reach.insert(follower).inserted {
                next.append(follower)
            }
        }
        // If only the rest of an instance is left, the end of the main process is over.
        if reach.contains(.ending), record.exitStatus != nil { reach.insert(.emptying) }
        return reach
    }

    private func isAbout(_ record: InstanceRecord) -> Bool {
        switch subject {
        case nil: true
        case .instance(let id): record.instance == id
        case .app(let app): record.app == app
        }
    }
}

extension Event {
    public var movement: Movement {
        switch self {
        case .spawned(let id): .rows("spawned", "spawned, exec", of: id)
        case .spawnFailed(let id, _): .rows("spawnFailed", of: id)
        case .paused(let id, _, _, _): .rows("paused", of: id)
        case .started(let id, _): .rows("started", "started, exec", of: id)
        case .channelLost(let id): .rows("channelLost", of: id)
        case .becameReady(let id): .rows("becameReady", "ready, scenes", of: id)
        case .acknowledged(let id, _): .rows("acknowledged", "other step", of: id)
        case .frozen(let id): .rows("frozen", of: id, isFollowed: false)
        case .freezeFailed(let id): .rows("freezeFailed", of: id, isFollowed: false)
        // An instance that was told to go and is unheard counts as started first.
        case .exited(let id, _):
            .rows("exited", "exited, empty", "started", "started, exec", of: id)
        case .emptied(let id): .rows("emptied", "emptied, left", of: id)
        case .deadlineReached: .rows("deadline", "deadline, 2nd", "started", "started, exec")
        case .reconciled(let id, let finding): .rows(finding.row, of: id)
        case .becameStale(let id, _): .rows("becameStale", "stale, read", of: id)
        case .misfired(let id, _): .rows("misfired", of: id)
        case .fileLocksInspected(let id, _): .rows("no lock", "locked", of: id)
        case .connectionsInspected(let id, _):
            .rows("unconnected", "connected", of: id, isFollowed: false)
        case .tracerInspected(let id, _): .rows("untraced", of: id)
        case .pressureChanged: .rows("pressure")
        case .stallReported: .rows("stall")
        case .instanceStalled(let id, _): .rows("own stall", of: id)
        case .memoryMeasured(let id, _): .rows("measured", of: id)
        case .requested(_, let request): request.movement
        case .connectionArrived: .rows("connection")
        case .called(let id, _): .rows("called", of: id)
        case .backgroundTaskBegan(let id, _): .rows("task began", of: id, isFollowed: false)
        case .backgroundTaskEnded(let id, _): .rows("task ended", of: id, isFollowed: false)
        case .runCompleted(let id, _, _): .rows("task ended", of: id)
        case .foregroundReported: .rows("in front", "not in front")
        case .sessionLockChanged: .rows("lock")
        case .loggedOut: .rows("logged out")
        case .sessionsActive: .rows("active")
        case .planned: .rows("planned")
        case .policyChanged: .rows("policy")
        case .appInstalled: .rows("installed")
        case .appRemoved: .rows("removed")
        case .restored: .rows("restored")
        case .shutdownRequested: .rows("shutdown")
        case .requestAbandoned, .loggedIn, .shutdownCancelled, .sleepChanged,
            .significantTimeChanged, .tasksCancelled, .tasksRestored, .taskConditionsInspected,
            .taskAlarmRang:
            .launches
        case .triggersForgiven, .signalSent, .drewFirstFrame, .opening, .openingFailed,
            .librariesLearned, .librariesRecalled, .timesRecalled, .nameWatched,
            .conditionsInspected, .outOfMemory, .pagedOut, .stateFound, .stateLost, .stateReported:
            .none
        }
    }
}

extension Request {
    fileprivate var movement: Movement {
        switch self {
        case .launch: .rows("launch")
        case .trigger: .rows("trigger")
        case .transition(let target, let transition):
            Movement(rows: [transition.row], subject: target, isFollowed: true)
        case .scene: .rows("show scene")
        case .submitTask, .runTask, .expireTask: .launches
        // With another environment, it ends the pool, also the instance that a launch waits for.
        case .prewarm: .launches
        case .prepare, .awaitExit, .resetFailed: .none
        }
    }
}

extension Transition {
    fileprivate var row: String {
        switch self {
        case .foreground: "foreground"
        case .background: "background"
        case .suspend: "suspend"
        case .resume: "resume"
        case .interrupt: "interrupt"
        case .endInterruption: "endInterrupt"
        case .terminate: "terminate"
        case .forceQuit: "forceQuit"
        }
    }
}

extension ReconciledFinding {
    fileprivate var row: String {
        switch self {
        case .nothing: "found nothing"
        case .remains: "found remains"
        case .noChannel: "no channel"
        case .unfit: "unfit"
        case .unheard: "unheard"
        }
    }
}

extension Checker {
    /// Checks the change of an instance's phase in an event.
    func checkPhase(
        _ record: InstanceRecord, _ former: InstanceRecord?, _ event: Event
    ) throws(Violation) {
        let movement = event.movement
        guard let former else {
            // A launch may have been given up in the event that began it. Any event may begin one: at
            // its end the pools are trimmed, and a launch that waits for what they end goes cold.
            return try require(
                [.prewarming, .ordered, .ending].contains(record.phase),
                "\(record.instance) began as \(record.phase)")
        }
        guard former.phase != record.phase else { return }
        try require(
            movement.reach(of: former).contains(record.phase),
            "an event took \(record.instance) from \(former.phase) to \(record.phase): \(event)")
    }
}
