extension Lifecycle {
    mutating func deadlineReached() {
        while let key = deadlines.popDue(at: now) {
            switch key {
            case .instance(let id): instanceDeadlineReached(id)
            case .app(let app): wantRefill(of: app)
            case .pressure: reclaimDue()
            case .start(let app): startDue(app)
            case .step(let id): stepDeadlineReached(id)
            case .claim(let id): claimTimedOut(id)
            case .air(let id): airingDue(id)
            case .quiet: becameQuiet()
            case .conditions: machineChanged()
            // Every event ends with refilling.
            case .refill, .lull: break
            case .run(let id): runDeadlineReached(id)
            case .schedule: schedule.needsReview = true
            case .shell(let user): shellIsAbsent(of: user)
            }
        }
    }

    /// Each phase has at most one deadline; this says what it means.
    private mutating func instanceDeadlineReached(_ id: InstanceIdentifier) {
        switch self[id].record.phase {
        case .prewarming: prewarmTimedOut(id)
        case .paused: expire(id)
        case .toldToGo: goTimedOut(id)
        case .ordered, .starting, .arriving: launchTimedOut(id)
        case .background: backgroundTimeIsOver(id)
        case .freezing, .frozen: wasFrozen(id)
        case .ending, .emptying: endingDeadlineReached(id)
        case .inactive, .active, .ended: update(id) { $0.deadline = nil }
        }
    }

    /// The instance did not reach the pause point in time, or lost its channel before its launch.
    mutating func prewarmTimedOut(_ id: InstanceIdentifier, _ fault: DepthFault = .timedOut) {
        if !demote(self[id].record, fault) {
            prewarmFailed(self[id].record.app, .prewarmFailed)
        }
        end(id, .prewarmFailed, gently: false)
    }

    mutating func channelLost(_ id: InstanceIdentifier) {
        switch table[id]?.record.phase {
        case .prewarming, .paused: pausedChannelLost(id, isOwnDoing: true)
        case .toldToGo: goFailed(id)
        case .ordered, .starting, .arriving, .inactive, .active, .background, .freezing, .frozen,
            .ending, .emptying, .ended, nil:
            break
        }
    }
}
