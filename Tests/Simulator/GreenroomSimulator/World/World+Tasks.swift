import GreenroomLifecycle

// Background tasks and scheduled work: the machine's condition, and the actions of apps.

extension World {
    /// The wall clock, in microseconds since 1970.
    static func wallClock(at now: Instant) -> Int64 {
        1_700_000_000_000_000 + Int64(now.nanoseconds / 1000)
    }

    mutating func inspectTaskConditions(at now: Instant) {
        var dice = Dice(seed: seed, thing: now.nanoseconds ^ 0x7a5c)
        let conditions = TaskConditions(
            wallClock: Self.wallClock(at: now), isOnExternalPower: dice.percent(80),
            hasNetwork: dice.percent(80), isLoadLow: dice.percent(80))
        agenda.add(.taskConditionsInspected(conditions), at: now)
    }

    mutating func setTaskAlarm(_ time: Int64?, at now: Instant) {
        alarm = time
        guard let time else { return }
        let delay = Duration.microseconds(max(1, time - Self.wallClock(at: now)))
        agenda.add(.taskAlarmRang, at: now.advanced(by: delay))
    }

    /// The app runs its handler and reports the end, or never does.
    mutating func startRun(_ id: InstanceIdentifier, _ run: ScheduledRun, at now: Instant) {
        guard let process = processes[id], process.isAlive, !process.runs.contains(run.number)
        else { return }
        processes[id]!.runs.insert(run.number)
        guard let delay = process.behavior.runDelay else { return }
        let outcome: RunOutcome = process.behavior.hasHandler ? .succeeded : .unhandled
        agenda.add(
            .runCompleted(id, run: run.number, outcome), at: now.advanced(by: delay))
    }

    mutating func expireRun(_ id: InstanceIdentifier, _ run: ScheduledRun, at now: Instant) {
        guard let process = processes[id], process.isAlive, process.behavior.heedsExpiration else {
            return
        }
        agenda.add(
            .runCompleted(id, run: run.number, .failed),
            at: now.advanced(by: .milliseconds(20)))
    }

    mutating func tellExpiration(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive, process.behavior.heedsExpiration else {
            return
        }
        for (count, task) in process.openBackgroundTasks.enumerated() {
            agenda.add(
                .backgroundTaskEnded(id, task: task),
                at: now.advanced(by: .milliseconds(10 + count)))
        }
    }

    /// An app begins a task by itself, so it must be running.
    mutating func beginTask(_ id: InstanceIdentifier) -> Event? {
        guard let process = processes[id], process.isAlive, !process.isFrozen else { return nil }
        processes[id]!.lastTask += 1
        processes[id]!.openBackgroundTasks.append(process.lastTask + 1)
        return .backgroundTaskBegan(id, task: process.lastTask + 1)
    }

    var firstWithTasks: InstanceIdentifier? {
        processes.filter { $0.value.isAlive && !$0.value.openBackgroundTasks.isEmpty }.keys.min()
    }

    /// - Parameter isStray: whether to end a task that has ended already or never began, instead of
    ///   an open one.
    mutating func endTask(_ id: InstanceIdentifier, isStray: Bool) -> Event? {
        guard let process = processes[id], process.isAlive, !process.isFrozen else { return nil }
        if isStray {
            let ended = (1...process.lastTask + 1).first {
                !process.openBackgroundTasks.contains($0)
            }
            return ended.map { .backgroundTaskEnded(id, task: $0) }
        }
        return processes[id]!.openBackgroundTasks.popLast().map {
            .backgroundTaskEnded(id, task: $0)
        }
    }
}
