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
            case .inactive(let group): staysInactive(group)
            case .quiet: becameQuiet()
            case .conditions:
                machineChanged()
                if !toBeHeld.isEmpty { inspectConditions() }
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
        case .prewarming: pauseDeadlineReached(id)
        case .paused: expire(id)
        case .toldToGo: goTimedOut(id)
        case .ordered, .starting, .arriving: launchTimedOut(id)
        case .background: backgroundTimeIsOver(id)
        case .freezing, .frozen: wasFrozen(id)
        case .ending, .emptying: endingDeadlineReached(id)
        case .inactive, .active, .ended: update(id) { $0.deadline = nil }
        }
    }

    /// The instance did not reach the pause point in time. If it began while it could run only when
    /// nobody else wanted to, that says nothing about the program: it gets the same time once more,
    /// now with the priority of others.
    private mutating func pauseDeadlineReached(_ id: InstanceIdentifier) {
        guard self[id].preparation?.isHurried == false else { return prewarmTimedOut(id) }
        let former = priority(in: .prewarming, self[id].record)
        self[id].preparation?.isHurried = true
        if let priority = priority(in: .prewarming, self[id].record), priority != former {
            effects.append(.applyPriority(id, priority))
        }
        update(id) { [now, policy] in $0.deadline = now.advanced(by: policy.pauseDeadline) }
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

/// Identifies a deadline. Each key has at most one.
enum DeadlineKey: Hashable, Sendable {
    /// The deadline of the state that the instance is in.
    case instance(InstanceIdentifier)
    /// When the app's back-off or crash loop is over and its pool may be filled again.
    case app(AppIdentifier)
    /// The next time that memory is reclaimed.
    case pressure
    /// When the daemon starts the app by itself.
    case start(AppIdentifier)
    /// When the instance must have acknowledged the step that it was told.
    case step(InstanceIdentifier)
    /// When a launch stops waiting for this prewarm.
    case claim(InstanceIdentifier)
    /// When a held instance is thawed for a moment, or frozen again.
    case air(InstanceIdentifier)
    /// When the programs that are held for this login group's user are ended, because the user's
    /// session is inactive.
    case inactive(group: String)
    /// The end of the quiet time, after which the pressure falls.
    case quiet
    /// When the machine is inspected again, or prewarming may begin.
    case conditions
    /// When the pools are filled even if launches are still under way.
    case refill
    /// When the pools are filled after launches.
    case lull
    /// The end of the instance's run of scheduled work; before that, the time to tell the app that
    /// the end is near.
    case run(InstanceIdentifier)
    /// When scheduled work is reviewed again.
    case schedule
    /// When no shell of this user is expected to come back any more.
    case shell(user: UInt32)
}

/// The pending deadlines, soonest first: a binary heap that knows the position of each key.
/// Setting, moving and removing a deadline therefore cost O(log n), and no stale entry is left in
/// the heap.
struct DeadlineQueue: Hashable, Sendable {
    private struct HeapEntry: Hashable, Sendable {
        var instant: Instant
        var key: DeadlineKey
    }
    private var heap: [HeapEntry] = []
    private var positions: [DeadlineKey: Int] = [:]

    var soonest: Instant? { heap.first?.instant }
    var count: Int { heap.count }

    subscript(key: DeadlineKey) -> Instant? { positions[key].map { heap[$0].instant } }

    mutating func set(_ key: DeadlineKey, at instant: Instant?) {
        guard let instant else { return remove(key) }
        if let position = positions[key] {
            heap[position].instant = instant
            restoreOrder(at: position)
        } else {
            heap.append(HeapEntry(instant: instant, key: key))
            positions[key] = heap.count - 1
            raise(heap.count - 1)
        }
    }

    mutating func remove(_ key: DeadlineKey) {
        guard let position = positions.removeValue(forKey: key) else { return }
        let last = heap.removeLast()
        guard position < heap.count else { return }
        heap[position] = last
        positions[last.key] = position
        restoreOrder(at: position)
    }

    /// Removes and returns the key with the soonest deadline, if that deadline has come.
    mutating func popDue(at now: Instant) -> DeadlineKey? {
        guard let first = heap.first, first.instant <= now else { return nil }
        remove(first.key)
        return first.key
    }

    private mutating func restoreOrder(at position: Int) {
        raise(position)
        sink(position)
    }

    private mutating func raise(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].instant < heap[parent].instant else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].instant < heap[least].instant {
                least = child
            }
            guard least != parent else { return }
            exchange(least, parent)
            parent = least
        }
    }

    private mutating func exchange(_ first: Int, _ second: Int) {
        heap.swapAt(first, second)
        positions[heap[first].key] = first
        positions[heap[second].key] = second
    }
}
