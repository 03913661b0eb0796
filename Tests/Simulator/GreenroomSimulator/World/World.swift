import GreenroomLifecycle

/// The events that the world will cause by itself, soonest first.
struct Agenda: Sendable {
    private var entries: [(instant: Instant, order: Int, event: Event)] = []
    private var order = 0

    var soonest: Instant? { entries.last?.instant }

    mutating func add(_ event: Event, at instant: Instant) {
        // The entries are in descending order. Worlds are small, so a search is fast enough.
        let place =
            entries.lastIndex { ($0.instant, $0.order) > (instant, order) }.map { $0 + 1 } ?? 0
        entries.insert((instant, order, event), at: place)
        order += 1
    }

    mutating func popFirst() -> Event? { entries.popLast()?.event }
}

/// A simulated kernel, spawner and channels. It performs effects, and reports facts some time
/// later.
struct World: Sendable {
    let seed: UInt64
    var processes: [InstanceIdentifier: FakeProcess] = [:]
    var agenda = Agenda()
    /// Apps whose sockets the supervisor watches, and apps to whose sockets a client has connected.
    var listening: Set<AppIdentifier> = []
    var connected: Set<AppIdentifier> = []
    /// The files that survive a reboot: state versions by session, the sessions, and the versions
    /// that were launched.
    var states: [AppIdentifier: [SceneIdentifier: UInt64]] = [:]
    var sessions: [AppIdentifier: SessionList] = [:]
    var versions: [AppIdentifier: UInt64] = [:]
    /// The time of the wall clock for which the supervisor's alarm is set.
    var alarm: Int64?

    init(seed: UInt64) { self.seed = seed }

    /// Whether no held program can show its window in this world.
    private var isDisplaySilent: Bool {
        var dice = Dice(seed: seed, thing: 1 << 43)
        return dice.percent(10)
    }

    mutating func spawn(
        _ id: InstanceIdentifier, _ app: AppIdentifier, _ purpose: SpawnPurpose, at now: Instant
    ) {
        let behavior = Behavior(seed: seed, instance: id)
        processes[id] = FakeProcess(app: app, purpose, behavior: behavior)
        let then = now.advanced(by: behavior.spawnDelay)
        if behavior.spawnFails {
            agenda.add(.spawnFailed(id, SpawnFailure(stage: "executing", errno: 2)), at: then)
        } else {
            agenda.add(.spawned(id), at: then)
        }
    }

    mutating func go(_ id: InstanceIdentifier, at now: Instant) {
        if processes[id]?.behavior.isUnfit == true {
            return agenda.add(.reconciled(id, found: .unfit), at: now)
        }
        processes[id]?.wasToldToGo = true
        guard let process = processes[id], process.isAlive else { return }
        // A few held programs have read settings that have changed since, and a few show no window.
        switch process.depth != .window ? 0 : isDisplaySilent ? 6 : id.rawValue % 8 {
        case 3:
            let staleness = Event.becameStale(id, because: .readFile)
            return agenda.add(staleness, at: now.advanced(by: .milliseconds(1)))
        case 6: return
        case _: break
        }
        switch process.behavior.start {
        case .after(let delay):
            processes[id]!.anewReason = process.isDeep ? process.behavior.anew : nil
            agenda.add(processes[id]!.start(of: id), at: now.advanced(by: delay))
        case .never: break
        case .exits: agenda.add(.exited(id, .exited(1)), at: now.advanced(by: .milliseconds(2)))
        case .losesChannel: agenda.add(.channelLost(id), at: now.advanced(by: .milliseconds(2)))
        }
    }

    mutating func freeze(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive else { return }
        switch process.behavior.freeze {
        case .after(let delay):
            processes[id]!.isFrozen = true
            agenda.add(.frozen(id), at: now.advanced(by: delay))
        case .silent: processes[id]!.isFrozen = true
        case .fails: agenda.add(.freezeFailed(id), at: now.advanced(by: .milliseconds(1)))
        }
    }

    mutating func freezePaused(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive else { return }
        if case .fails = process.behavior.freeze {
            agenda.add(.freezeFailed(id), at: now)
        } else {
            // A process with many threads may take its time.
            processes[id]!.isFreezing = true
            let delay = Duration.milliseconds(1 + id.rawValue % 30)
            agenda.add(.frozen(id), at: now.advanced(by: delay))
        }
    }

    /// A few desktops change a setting while a program is held, and a few their scale.
    mutating func watchSettings(of id: InstanceIdentifier, at now: Instant) {
        processes[id]?.hasWatch = true
        switch id.rawValue % 4 {
        case 0: agenda.add(.called(id, isLaunch: false), at: now.advanced(by: .seconds(7)))
        case 1:
            let then = now.advanced(by: .milliseconds(300))
            agenda.add(.becameStale(id, because: .appearance), at: then)
        case _: break
        }
    }

    mutating func thaw(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id] else { return }
        processes[id]!.isFrozen = false
        processes[id]!.isFreezing = false
        if !process.hasDisplay { agenda.add(.exited(id, .exited(1)), at: now) }
        if process.behavior.accepts { connected.remove(process.app) }
    }

    mutating func terminate(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], process.isAlive, !process.isFrozen,
            !process.behavior.ignoresTerm
        else { return }
        agenda.add(.exited(id, .exited(0)), at: now.advanced(by: process.behavior.dieDelay))
    }

    /// The app takes the step and acknowledges it.
    mutating func tell(_ id: InstanceIdentifier, _ step: PendingStep, at now: Instant) {
        guard let process = processes[id], process.isAlive,
            let delay = process.behavior.acknowledgement
        else { return }
        let then = now.advanced(by: delay)
        for wish in process.behavior.wishes(at: step) {
            agenda.add(.stateReported(id, step.scene, wish), at: then)
        }
        agenda.add(.acknowledged(id, cookie: step.cookie), at: then)
        // Some apps exit at once, some take their time, and some wait for the signal.
        if step.step == .willTerminate, process.behavior.dieDelay < .milliseconds(250) {
            agenda.add(
                .exited(id, .exited(0)), at: then.advanced(by: process.behavior.dieDelay * 3))
        }
    }

    mutating func inspectTracer(_ id: InstanceIdentifier, at now: Instant) {
        let isTraced = processes[id]?.behavior.isTraced ?? false
        // The debugger is gone when the shell looks for it again.
        processes[id]?.behavior.isTraced = false
        agenda.add(.tracerInspected(id, isTraced: isTraced), at: now)
    }

    mutating func kill(_ id: InstanceIdentifier, at now: Instant) {
        guard let process = processes[id], !process.isEmpty else { return }
        if process.behavior.deafKills > 0 {
            processes[id]!.behavior.deafKills -= 1
            return
        }
        let then = now.advanced(by: .milliseconds(1))
        if process.exitStatus == nil {
            agenda.add(.exited(id, .signaled(9, coreDumped: false)), at: then)
        }
        agenda.add(.emptied(id), at: then)
    }

    /// The shell looks for a while, or until the process ends.
    mutating func learnLibraries(
        _ id: InstanceIdentifier, _ lesson: LibraryLesson, at now: Instant
    ) {
        guard let process = processes[id] else { return }
        let isComplete = process.behavior.dieDelay > .milliseconds(100)
        agenda.add(
            .librariesLearned(
                lesson, count: process.behavior.libraryCount, isComplete: isComplete),
            at: now.advanced(by: process.behavior.dieDelay * 10))
    }

    /// Makes an event of the agenda happen. Returns nil if it can no longer happen.
    mutating func realize(_ event: Event, at now: Instant) -> Event? {
        switch event {
        case .spawned(let id): return spawned(id, at: now)
        case .spawnFailed(let id, _):
            guard let process = processes[id], !process.isEmpty else { return nil }
            processes[id]!.spawnFailed = true
            processes[id]!.isEmpty = true
            processes[id]!.exitStatus = .unknown
        case .paused(let id, _, _, _):
            guard let process = processes[id], process.isAlive, !process.wasToldToGo else {
                return nil
            }
            processes[id]!.isPaused = true
        case .started(let id, _):
            guard let process = processes[id], process.isAlive else { return nil }
            if process.hasStarted, process.isWatched { return event }
            guard process.isPaused, process.hasDisplay else { return nil }
            processes[id]!.isPaused = false
            processes[id]!.hasStarted = true
            expectReadiness(id, at: now)
            if !process.hasChannel, !process.isWatched { return nil }
        case .becameReady(let id):
            guard processes[id]?.isAlive == true, processes[id]?.isFrozen == false else {
                return nil
            }
            processes[id]!.isReady = true
        case .exited(let id, let status):
            guard let process = processes[id], process.isAlive else { return nil }
            processes[id]!.exitStatus = status
            if !process.behavior.leavesChildren { agenda.add(.emptied(id), at: now) }
        case .emptied(let id):
            guard let process = processes[id], !process.isEmpty, process.exitStatus != nil else {
                return nil
            }
            processes[id]!.isEmpty = true
        case .acknowledged(let id, _), .stateReported(let id, _, _), .drewFirstFrame(let id):
            guard let process = processes[id], process.isAlive, !process.isFrozen else {
                return nil
            }
        case .frozen(let id):
            guard let process = processes[id], process.isFrozen || process.isFreezing else {
                return nil
            }
            processes[id]!.isFreezing = false
            processes[id]!.isFrozen = true
        case .becameStale(let id, .program):
            guard processes[id]?.isAlive == true else { return nil }
            return endWatch(of: id)
        case .called(let id, _), .becameStale(let id, .appearance):
            guard let process = processes[id], process.isAlive, process.hasWatch else { return nil }
        case .freezeFailed(let id), .channelLost(let id), .misfired(let id, _),
            .nameWatched(let id), .becameStale(let id, .readFile), .opening(let id, _),
            .openingFailed(let id, _):
            guard processes[id]?.isAlive == true else { return nil }
        case .runCompleted(let id, _, _):
            guard processes[id]?.isAlive == true, processes[id]?.isFrozen == false else {
                return nil
            }
        case .backgroundTaskEnded(let id, let task):
            // The app itself may have ended the task in the meantime.
            guard let process = processes[id], process.isAlive, !process.isFrozen else {
                return nil
            }
            processes[id]!.openBackgroundTasks.removeAll { $0 == task }
        case .taskAlarmRang:
            guard let time = alarm, time <= Self.wallClock(at: now) else { return nil }
            alarm = nil
        case .connectionArrived(let app):
            guard listening.remove(app) != nil else { return nil }
        default: break
        }
        return event
    }

    private mutating func spawned(_ id: InstanceIdentifier, at now: Instant) -> Event? {
        guard let process = processes[id], process.exitStatus == nil, !process.isEmpty else {
            return nil
        }
        processes[id]!.isSpawned = true
        if process.behavior.accepts { connected.remove(process.app) }
        guard process.isPrewarm else {
            expectReadiness(id, at: now)
            return .spawned(id)
        }
        if process.depth == .window, process.behavior.wantsName {
            ownName(id, process.behavior, at: now)
        }
        if process.depth == .libraries { openLibraries(id, at: now) }
        switch process.depth == .main ? process.behavior.pause : process.behavior.deepPause {
        case .after(let delay):
            agenda.add(process.pause(of: id), at: now.advanced(by: delay))
        case .never: break
        case .exits(let delay):
            agenda.add(.exited(id, .exited(3)), at: now.advanced(by: delay))
        case .misfires(let delay):
            let then = now.advanced(by: delay)
            agenda.add(.misfired(id, process.misfire), at: then)
            agenda.add(.exited(id, .signaled(9, coreDumped: false)), at: then)
        }
        return .spawned(id)
    }

    /// Some instances are at a library when they fail, some past all of them, and some say nothing,
    /// like those of which a former supervisor was told.
    private mutating func openLibraries(_ id: InstanceIdentifier, at now: Instant) {
        let number = Int(id.rawValue)
        let then = now.advanced(by: .milliseconds(1))
        if number % 4 > 0 { agenda.add(.opening(id, number % 3), at: then) }
        if number % 5 == 0 { agenda.add(.openingFailed(id, 1), at: then) }
        if number % 3 == 0 { agenda.add(.opening(id, nil), at: then) }
    }

    private mutating func ownName(_ id: InstanceIdentifier, _ behavior: Behavior, at now: Instant) {
        processes[id]!.hasWatch = true
        agenda.add(.nameWatched(id), at: now.advanced(by: .milliseconds(1)))
        for call in behavior.calls {
            agenda.add(.called(id, isLaunch: call.isLaunch), at: now.advanced(by: call.delay))
        }
        if let end = behavior.watchEnd { agenda.add(.becameStale(id), at: now.advanced(by: end)) }
    }

    private mutating func expectReadiness(_ id: InstanceIdentifier, at now: Instant) {
        guard let delay = processes[id]!.behavior.readyDelay else { return }
        agenda.add(.becameReady(id), at: now.advanced(by: delay))
        // Some apps draw before they are ready, some long after, and some never.
        switch id.rawValue % 3 {
        case 0: agenda.add(.drewFirstFrame(id), at: now.advanced(by: delay / 2))
        case 1: agenda.add(.drewFirstFrame(id), at: now.advanced(by: delay * 3))
        case _: break
        }
    }

    /// The events from comparing the records of a new supervisor with the spawner's table.
    func report(about records: [InstanceRecord]) -> [Event] {
        var events: [Event] = []
        let known = Set(records.map(\.instance))
        for record in records where processes[record.instance]?.isLost ?? true {
            guard record.state != .notRunning else { continue }
            events.append(.reconciled(record.instance, found: .nothing))
        }
        for (id, process) in processes.sorted(by: { $0.key < $1.key }) where !process.isReleased {
            guard known.contains(id) || process.isSpawned else { continue }
            if process.spawnFailed {
                events.append(.spawnFailed(id, SpawnFailure(stage: "executing", errno: 2)))
                events.append(.emptied(id))
                continue
            }
            if process.isSpawned { events.append(.spawned(id)) }
            if !process.hasChannel {
                let hasEnded = process.exitStatus != nil
                events.append(.reconciled(id, found: .noChannel(hasEnded: hasEnded)))
            } else if process.isPaused && process.exitStatus == nil {
                events.append(process.pause(of: id))
            }
            if process.hasStarted, process.hasChannel { events.append(process.start(of: id)) }
            if process.isSpawned { events.append(.reconciled(id, found: .unheard)) }
            // Apps that acknowledge their states are asked again.
            if process.isReady && process.isAlive { events.append(.becameReady(id)) }
            if let status = process.exitStatus { events.append(.exited(id, status)) }
            if process.isEmpty { events.append(.emptied(id)) }
        }
        return events
    }
}
