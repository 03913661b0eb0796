extension Lifecycle {
    mutating func deadlineReached() {
        while let key = deadlines.popDue(at: now) {
            switch key {
            case .instance(let id): instanceDeadlineReached(id)
            case .app(let app): wantRefill(of: app)
            case .pressure: reclaimDue()
            case .start(let app): startDue(app)
            case .step(let id): stepDeadlineReached(id)
            case .quiet: becameQuiet()
            case .conditions: refills.releaseHeld()
            // Refilling follows every event.
            case .refill: break
            case .run(let id): runDeadlineReached(id)
            case .work: work.needsReview = true
            }
        }
    }

    /// What the one deadline of each state means.
    private mutating func instanceDeadlineReached(_ id: InstanceIdentifier) {
        let record = table[id]!.record
        switch record.state {
        case .prewarming: prewarmTimedOut(id)
        case .prewarmed: expire(id)
        case .launching: record.isResuming ? resumeFailed(id) : launchTimedOut(id)
        case .background: backgroundTimeIsOver(id)
        case .suspended: wasFrozen(id)
        case .terminating: endingDeadlineReached(id)
        case .inactive, .active, .notRunning: update(id) { $0.deadline = nil }
        }
    }

    /// It did not reach the pause in time, or left it.
    mutating func prewarmTimedOut(_ id: InstanceIdentifier) {
        prewarmFailed(table[id]!.record.app, .prewarmFailed)
        end(id, .prewarmFailed, gently: false)
    }

    private mutating func launchTimedOut(_ id: InstanceIdentifier) {
        if directory[table[id]!.record.app]?.description?.acknowledges == true {
            return becameOverdue(id)
        }
        launchFailed(table[id]!.record.app)
        end(id, .launchWatchdog, gently: false)
    }

    mutating func channelLost(_ id: InstanceIdentifier) {
        guard let instance = table[id] else { return }
        switch instance.record.state {
        case .prewarming, .prewarmed: pausedChannelLost(id)
        case .launching: if instance.record.isResuming { resumeFailed(id) }
        case .inactive, .active, .background, .suspended, .terminating, .notRunning: break
        }
    }
}
