// What always holds. The running daemon checks whatever costs nothing to check, so that a fault
// never reaches the records or a process: a supervisor that finds a fault in itself ends, and the
// next one starts from the records. Debug builds check the rest. The simulator checks all of it
// from outside, with books of its own.

extension Lifecycle {
    func checkEvent(_ event: Event) {
        precondition(
            isRestoring || prewarmedBytes <= policy.prewarmByteBudget,
            "\(prewarmedBytes) bytes are prewarmed, at most \(policy.prewarmByteBudget) may be")
        precondition(
            isRestoring || heldBytes <= policy.windowByteBudget,
            "\(heldBytes) bytes are held at windows, at most \(policy.windowByteBudget) may be")
        precondition(
            liveCount >= 0 && underway.count >= 0,
            "counted \(liveCount) instances, \(underway.count) launches")
        precondition(
            isRestoring || ended.count <= max(1, policy.rememberedExits),
            "\(ended.count) ends are remembered, at most \(policy.rememberedExits) may be")
        if event == .deadlineReached, let next = deadlines.soonest {
            precondition(next > now, "a deadline that has come was left over")
        }
        assert(indexFault == nil, indexFault!)
    }

    /// Checks, before an instance is made, that there may be one more.
    func checkCreation(of app: AppIdentifier, _ state: ExecutionState) {
        precondition(!isShuttingDown, "makes an instance of \(app) while shutting down")
        precondition(
            liveCount < policy.instanceLimit,
            "\(liveCount) instances exist, at most \(policy.instanceLimit) may")
        // Somebody waits for a launch. A prewarm gives way to everything.
        precondition(
            state != .prewarming || pressure < .warning && !isAsleep && !isRestoring,
            "prewarms \(app) at the wrong time")
    }

    /// Checks a record that is about to be saved.
    func checkSaved(_ record: InstanceRecord) {
        let phase = record.phase
        precondition(
            phase != .freezing || record.deadline != nil,
            "nobody awaits the freeze of \(record.instance)")
        precondition(
            phase != .arriving || record.conversation != nil,
            "\(record.instance) arrives and acknowledges nothing")
        guard let conversation = record.conversation else { return }
        precondition(
            conversation.scenes.count <= Conversation.sceneLimit,
            "\(record.instance) has \(conversation.scenes.count) scenes")
        precondition(
            record.state != .suspended || conversation.pending == nil,
            "\(record.instance) is suspended in the middle of a step")
    }

    /// Checks an order to a process at the end of the event, when all records are saved: the record
    /// must say what is about to happen, because a new supervisor goes on from it.
    func checkOrder(_ effect: Effect) {
        if case .go(let id, _, _) = effect {
            let (isDirty, phase) = (self[id].isDirty, self[id].record.phase)
            precondition(!isDirty, "tells \(id) to go before that is saved")
            precondition(
                phase == .toldToGo || phase == .ending || phase == .emptying || phase == .ended,
                "tells \(id) to go, which is \(phase)")
        }
        if case .kill(let id) = effect { checkEnding(id) }
        if case .terminate(let id) = effect { checkEnding(id) }
        if case .release(let id, _) = effect {
            let state = table[id]?.record.state ?? .notRunning
            precondition(state == .notRunning, "releases \(id), which is \(state)")
        }
    }

    private func checkEnding(_ id: InstanceIdentifier) {
        let state = table[id]?.record.state ?? .notRunning
        precondition(
            state == .terminating || state == .notRunning, "ends \(id), which is \(state)")
    }

    /// Describes an index that disagrees with the records; nil if none does. This visits all
    /// instances, so nothing is checked if there are many.
    private var indexFault: String? {
        guard table.count <= 100 else { return nil }
        let records = table.values.map(\.record)
        if records.count(where: { $0.state != .notRunning }) != liveCount { return "liveCount" }
        if Set(records.filter { $0.state == .prewarming }.map(\.instance)) != filling {
            return "filling"
        }
        if records.count(where: \.isUndecided) != underway.count { return "underway" }
        let prewarms = records.filter(\.state.isPrewarm)
        let held = prewarms.filter { $0.depth == .window }.reduce(0) { $0 + $1.byteCount }
        let bytes = prewarms.reduce(0) { $0 + $1.byteCount } - held
        if bytes != prewarmedBytes { return "prewarmedBytes" }
        if held != heldBytes { return "heldBytes" }
        for (group, ids) in fronts {
            for id in ids where table[id]?.record.isInFront != true {
                return "\(id) is not in front of \(group)"
            }
        }
        let shown = records.filter { $0.state.isRunning && $0.shellUser != nil }
        if Set(shown.map(\.instance)) != self.shown { return "shown" }
        for record in records
        where record.state != .notRunning
            && deadlines[.instance(record.instance)] != record.deadline
        {
            return "the deadline of \(record.instance)"
        }
        for (app, entry) in directory {
            let wantingName = records.filter {
                $0.app == app && $0.wantsName && $0.state != .notRunning
            }
            if Set(wantingName.map(\.instance)) != entry.wantingName {
                return "the instances of \(app) that want a name"
            }
        }
        if let ageFault { return ageFault }
        for record in records where self[record.app].members.contains(record.instance) == false {
            return "\(record.instance) is not among its app's instances"
        }
        return nil
    }
}
