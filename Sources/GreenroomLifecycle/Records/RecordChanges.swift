// How records change. Every change of a record goes through `update`, so that it is saved and its
// deadline is set. The indices say which instances of an app are in which state; `move` removes an
// instance from the indices of its former state and adds it to those of the new one.

extension Lifecycle {
    /// Makes a new instance in its first state.
    mutating func create(
        _ app: AppIdentifier, key: EnvironmentKey, state: ExecutionState, deadline: Instant,
        _ configure: (inout InstanceRecord) -> Void
    ) -> InstanceIdentifier {
        checkCreation(of: app, state)
        let id = nextInstance
        nextInstance = InstanceIdentifier(id.rawValue + 1)
        let description = self[app].description!
        var record = InstanceRecord(
            instance: id, app: app, generation: description.generation, environmentKey: key,
            saved: RecordedState(state), since: now)
        record.user = description.user
        record.isKeptFromControl = description.isKeptFromControl
        configure(&record)
        table[id] = Entry(Instance(record: record))
        update(id) { $0.deadline = deadline }
        addToIndices(record)
        reviewSocket(of: app)
        report(.stateChanged(id, app, from: .notRunning, to: state, inBackground: false))
        return id
    }

    /// Changes a record. The record is saved before the effects of this event are performed, and
    /// its deadline is entered into the queue. What was known only on the former course is
    /// dropped (`PrewarmProgress`). Only `move` changes the state.
    mutating func update(_ id: InstanceIdentifier, _ change: (inout InstanceRecord) -> Void) {
        // The instance is looked up only once, because each launch comes here several times.
        let place = table.index(forKey: id)!
        let before = table.values[place].record.deadline
        let former = table.values[place].record.phase
        let course = table.values[place].record.course
        change(&table.values[place].record)
        if table.values[place].record.course != course {
            let next = PrewarmProgress(beginning: table.values[place].record.course)
            table.values[place].prewarm = next
        }
        var after = table.values[place].record.deadline
        if after != before || deadlines[.instance(id)] != after {
            // A deadline in the past still needs an event of its own, or the core could loop.
            if let deadline = after, deadline <= now {
                after = Instant(nanoseconds: now.nanoseconds + 1)
                table.values[place].record.deadline = after
            }
            deadlines.set(.instance(id), at: after)
        }
        assert(
            former.allows(table.values[place].record.phase),
            "illegal: \(former) to \(table.values[place].record.phase) of \(id)")
        guard !table.values[place].isDirty else { return }
        table.values[place].isDirty = true
        dirtyInstances.append(id)
    }

    mutating func updateApp(_ app: AppIdentifier, _ change: (inout AppRecord) -> Void) {
        guard directory[app] != nil else { return }
        change(&self[app].record)
        guard !self[app].isDirty, !self[app].isRemoved else { return }
        self[app].isDirty = true
        dirtyApps.append(app)
    }

    /// Changes the memory that an instance holds. For a prewarmed instance, this also changes what
    /// counts against the budget.
    mutating func resize(_ id: InstanceIdentifier, to byteCount: UInt64) {
        let record = self[id].record
        let byteCount = min(byteCount, Self.byteCountLimit)
        if record.state.isPrewarm {
            discount(record)
            count(byteCount, record.depth)
        }
        update(id) { $0.byteCount = byteCount }
    }

    /// Counts a prewarmed instance's memory against the budget of its depth.
    private mutating func count(_ byteCount: UInt64, _ depth: PrewarmDepth) {
        if depth == .window { heldBytes += byteCount } else { prewarmedBytes += byteCount }
    }

    private mutating func discount(_ record: InstanceRecord) {
        if record.depth == .window {
            heldBytes -= record.byteCount
        } else {
            prewarmedBytes -= record.byteCount
        }
    }

    /// Puts an instance into the indices of its state.
    mutating func addToIndices(_ record: InstanceRecord) {
        let id = record.instance
        self[record.app].members.insert(id)
        if record.state != .notRunning {
            liveCount += 1
            if record.wantsName { self[record.app].wantingName.insert(id) }
        }
        if record.isUndecided { launchGotUnderway() }
        switch record.state {
        case .prewarming:
            self[record.app].filling.append(id)
            filling.insert(id)
            count(record.byteCount, record.depth)
        case .prewarmed:
            self[record.app].pool.append(id)
            count(record.byteCount, record.depth)
        case .launching, .inactive, .active, .background, .suspended:
            if record.isAttached {
                self[record.app].attached.insert(id)
            } else {
                self[record.app].running.insert(id)
                enterFront(record)
            }
            if record.shellUser != nil { shown.insert(id) }
        case .terminating:
            if record.lastState?.isRunning == true { self[record.app].ending.insert(id) }
        case .notRunning: break
        }
    }

    /// Takes an instance out of the indices of its state.
    mutating func removeFromIndices(_ record: InstanceRecord) {
        let id = record.instance
        if record.state != .notRunning {
            liveCount -= 1
            if record.wantsName { self[record.app].wantingName.remove(id) }
        }
        if record.isUndecided { launchIsDecided() }
        switch record.state {
        case .prewarming:
            self[record.app].filling.removeAll { $0 == id }
            filling.remove(id)
            discount(record)
        case .prewarmed:
            self[record.app].pool.removeAll { $0 == id }
            discount(record)
        case .launching, .inactive, .active, .background, .suspended:
            self[record.app].attached.remove(id)
            self[record.app].running.remove(id)
            leaveFront(record)
            shown.remove(id)
        case .terminating: self[record.app].ending.remove(id)
        case .notRunning: break
        }
    }
}
