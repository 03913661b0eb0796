import Glibc
import GreenroomLifecycle
import GreenroomSimulator
import Testing

/// Compares the table at the head of States/Transitions.swift, the simulator's, and the core.
@Suite struct `The table of phases` {
    @Test(arguments: [Player.program, .acknowledging])
    func `of the simulator matches the core for every phase and event`(player: Player) {
        let expected = player == .program ? PhaseTable.program : PhaseTable.acknowledging
        let lines = player.table()
        #expect(lines == expected.lines, "\(lines.joined(separator: "\n"))")
    }

    @Test(arguments: Phase.allCases)
    func `has the steps of the core`(phase: Phase) {
        #expect(Set(phase.successors) == PhaseTable.steps[phase])
    }

    @Test func `has a row for each event that moves an instance`() throws {
        let samples = Player.rows.map(\.event) + Player.alike + Player.unmoved
        for event in samples {
            let rows = event.movement.rows
            #expect(
                rows.isEmpty || rows.contains { row in Player.rows.contains { $0.name == row } })
        }
        let names = Set(samples.map { String("\($0)".prefix { $0 != "(" }) })
        #expect(try Self.eventNames() == names)
    }

    @Test(arguments: [Player.program, .acknowledging])
    func `says that no other event moves an instance`(player: Player) {
        for event in Player.unmoved {
            #expect(event.movement.rows.isEmpty)
            for (phase, name) in player.phases {
                #expect(player.outcome(of: event, in: phase) == phase, "\(event) in \(name)")
            }
        }
    }

    /// The names of the cases of `Event`, from the source.
    private static func eventNames() throws -> Set<String> {
        var names: Set<String> = []
        let lines = try lines(of: "Sources/GreenroomLifecycle/Event.swift")
        for line in lines.drop(while: { !$0.hasPrefix("public enum Event") }) {
            if line == "}" { break }
            guard line.hasPrefix("    case ") else { continue }
            names.insert(String(line.dropFirst(9).prefix { $0.isLetter }))
        }
        return names
    }

    private static func lines(of path: String) throws -> [String] {
        let file = try #require(fopen(path, "r"), "run from the top of the sources")
        defer { fclose(file) }
        var text: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let read = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            text.append(String(read.dropLast()))
        }
        return text
    }

    @Test func `in the core's source equals the simulator's table`() throws {
        var text = try Self.lines(of: "Sources/GreenroomLifecycle/States/Transitions.swift")
            .filter { $0.hasPrefix("//   ") }.map { String($0.dropFirst(5)) }
        for table in [PhaseTable.program, .acknowledging] {
            let first = try #require(text.firstIndex(of: table.lines[0]))
            #expect(Array(text[first...].prefix(table.lines.count)) == table.lines)
            text.remove(at: first)
        }
    }
}

/// Restores one instance in each phase, and sends the core each event.
enum Player: Sendable {
    case program
    case acknowledging

    private static let id = InstanceIdentifier(1)
    private static let app = AppIdentifier("org.example.app")
    private static let start = Instant(nanoseconds: 1_000_000_000)
    fileprivate static let due = Instant(nanoseconds: 11_000_000_000)

    static let columns: [(Phase, String)] = [
        (.prewarming, "pw"), (.paused, "pa"), (.ordered, "or"), (.toldToGo, "go"),
        (.starting, "st"), (.arriving, "ar"), (.inactive, "in"), (.active, "ac"),
        (.background, "bg"), (.freezing, "fr"), (.frozen, "fz"), (.ending, "en"),
        (.emptying, "em"), (.ended, "ed"),
    ]

    fileprivate static let rows: [Row] = {
        let request = RequestIdentifier(1)
        func ask(_ transition: Transition) -> Event {
            .requested(request, .transition(.instance(id), transition))
        }
        var launch = LaunchRequest(
            app: app, launchIdentifier: LaunchIdentifier("a"),
            environmentKey: AppDescription(identifier: app).environmentKey, joining: .anyInstance)
        let launched = Event.requested(request, .launch(launch))
        launch.inBackground = true
        let limit = TriggerLimit(burst: 2, interval: .seconds(1))
        let lock = Event.fileLocksInspected(id, holdsLock: true)
        var tight = Policy()
        tight.prewarmByteBudget = 0
        var changed = AppDescription(identifier: app)
        changed.generation += 1
        return [
            // Facts about the instance's processes.
            Row("spawned", .spawned(id)),
            Row("spawned, exec", .spawned(id), app: { $0.readyCondition = .exec }),
            Row("spawnFailed", .spawnFailed(id, SpawnFailure(stage: "executing", errno: 2))),
            Row("paused", .paused(id, byteCount: 1)),
            Row("started", .started(id)),
            Row("started, exec", .started(id), app: { $0.readyCondition = .exec }),
            Row("channelLost", .channelLost(id)),
            Row("becameReady", .becameReady(id)),
            Row("ready, scenes", .becameReady(id), app: { $0.scenes = .single }),
            Row("acknowledged", .acknowledged(id, cookie: 1)),
            Row("other step", .acknowledged(id, cookie: 1), record: takeOtherStep),
            Row("frozen", .frozen(id)),
            Row("freezeFailed", .freezeFailed(id)),
            Row("exited", .exited(id, .exited(0))),
            Row("exited, empty", .exited(id, .exited(0)), saved: { $0.isEmpty = true }),
            Row("emptied", .emptied(id)),
            Row("emptied, left", .emptied(id), saved: { $0.exitStatus = .exited(0) }),
            Row("deadline", .deadlineReached),
            Row("deadline, 2nd", .deadlineReached, after: [.deadlineReached]),
            // Facts that the shell has found.
            Row("found nothing", .reconciled(id, found: .nothing)),
            Row("found remains", .reconciled(id, found: .remains)),
            Row("no channel", .reconciled(id, found: .noChannel(hasEnded: false))),
            Row("unfit", .reconciled(id, found: .unfit)),
            Row("unheard", .reconciled(id, found: .unheard)),
            Row("becameStale", .becameStale(id)),
            Row("stale, read", .becameStale(id, because: .readFile)),
            Row("misfired", .misfired(id, .startsPrograms(nil))),
            Row(
                "no lock", .fileLocksInspected(id, holdsLock: false), after: [.deadlineReached],
                policy: { $0.inspectsFileLocks = true }),
            Row(
                "locked", lock, after: [.deadlineReached, lock, .deadlineReached],
                policy: { $0.inspectsFileLocks = true }),
            Row(
                "unconnected", .connectionsInspected(id, isInUse: false),
                after: [.deadlineReached, .frozen(id)], app: { $0.hasSockets = true }),
            Row(
                "connected", .connectionsInspected(id, isInUse: true),
                after: [.deadlineReached, .frozen(id)], app: { $0.hasSockets = true }),
            Row(
                "untraced", .tracerInspected(id, isTraced: false),
                after: [.deadlineReached, .deadlineReached]),
            // Memory.
            Row("pressure", .pressureChanged(.critical), app: { $0.prewarmCount = 0 }),
            Row("stall", .stallReported(.critical), app: { $0.prewarmCount = 0 }),
            Row(
                "own stall", .instanceStalled(id, .critical),
                after: [.instanceStalled(id, .critical)],
                policy: { $0.reclaimInterval = .zero }),
            Row("measured", .memoryMeasured(id, byteCount: 1 << 40)),
            // Requests.
            Row("launch", launched),
            Row("trigger", .requested(request, .trigger(launch, limit))),
            Row("connection", .connectionArrived(app), app: { $0.hasSockets = true }),
            Row(
                "called", .called(id, isLaunch: true), app: { $0.depth = .window },
                record: { $0.depth = .window },
                paused: [.nameWatched(id), .paused(id, byteCount: 1)]),
            Row("foreground", ask(.foreground)),
            Row("background", ask(.background)),
            Row("suspend", ask(.suspend)),
            Row("resume", ask(.resume)),
            Row("interrupt", ask(.interrupt)),
            Row("endInterrupt", ask(.endInterruption)),
            Row("terminate", ask(.terminate)),
            Row("forceQuit", ask(.forceQuit)),
            Row(
                "show scene", .requested(request, .scene(app, .activate(nil))),
                app: { $0.scenes = .single }),
            Row("task began", .backgroundTaskBegan(id, task: 1)),
            Row(
                "task ended", .backgroundTaskEnded(id, task: 1),
                after: [.backgroundTaskBegan(id, task: 1), ask(.suspend)]),
            // The machine, its users, and the administrator.
            Row(
                "in front",
                .foregroundReported(
                    ShellIdentifier(1), ForegroundReport(user: 0, front: .instance(id)))),
            Row(
                "not in front",
                .foregroundReported(ShellIdentifier(1), ForegroundReport(user: 0, front: nil)),
                record: { $0.shellUser = 0 }),
            Row("lock", .sessionLockChanged(user: 0, isLocked: true)),
            Row(
                "logged out", .loggedOut(foregroundGroup: "seat"),
                after: [.loggedIn(foregroundGroup: "seat")],
                app: { $0.prewarmOccasion = .login }),
            Row(
                "planned", .planned([]), after: [.planned([app])],
                app: { $0.prewarmOccasion = .auto }),
            Row(
                "active", .sessionsActive(foregroundGroups: ["seat"]),
                after: [
                    .loggedIn(foregroundGroup: "seat"), .sessionsActive(foregroundGroups: []),
                ],
                app: { $0.depth = .window }),
            Row("policy", .policyChanged(tight), record: { $0.byteCount = 1 }),
            Row("installed", .appInstalled(changed)),
            Row("removed", .appRemoved(app)),
            Row(
                "restored", .restored, record: { $0.wantsName = true }, isRestoring: true),
            Row("shutdown", .shutdownRequested),
        ]
    }()

    /// Events that have the row of another event.
    static let alike: [Event] = [.runCompleted(id, run: 1, .succeeded)]

    /// One event of each kind that has no row.
    static let unmoved: [Event] =
        [
            .requestAbandoned(RequestIdentifier(1)), .loggedIn(foregroundGroup: "seat"),
            .shutdownCancelled, .sleepChanged(isAsleep: true), .significantTimeChanged,
            .tasksCancelled(app, nil), .tasksRestored(app, AppTasks()),
            .taskConditionsInspected(TaskConditions(wallClock: 1)), .taskAlarmRang,
            .triggersForgiven,
            .signalSent(id, signal: 1), .drewFirstFrame(id), .opening(id, 0), .openingFailed(id, 0),
            .librariesLearned(lesson, count: 1, isComplete: true),
            .librariesRecalled(lesson, count: 1, isComplete: true),
            .timesRecalled(app, DepthTimes(basis: 1)), .nameWatched(id),
            .conditionsInspected(.lowMemory), .outOfMemory(id, isCertain: true, isOwnLimit: false),
            .pagedOut(id, byteCount: 1), .stateFound(app, KeptState()),
            .stateLost(app, .application),
            .stateReported(id, .application, .keep(byteCount: 1)),
        ]
        + [
            .prewarm(app, AppDescription(identifier: app).environmentKey), .prepare(app),
            .awaitExit(.instance(id)), .resetFailed(app), .expireTask(app),
            .submitTask(app, ScheduledTask(identifier: "a", kind: .appRefresh)),
            .runTask(app, identifier: "a"),
        ].map { Event.requested(RequestIdentifier(1), $0) }

    private static let lesson = LibraryLesson(
        app: app, generation: AppDescription(identifier: app).generation,
        environmentKey: AppDescription(identifier: app).environmentKey)

    func outcome(of event: Event, in phase: Phase) -> Phase? {
        var scene = scene(of: Row("", event), in: phase)
        scene.send(event)
        return scene.core.instance(Self.id)?.phase
    }

    fileprivate var phases: [(Phase, String)] {
        Self.columns.filter { self == .acknowledging || $0.0 != .arriving }
    }

    func table() -> [String] {
        func padded(_ text: String) -> String {
            text + String(repeating: " ", count: 14 - text.count)
        }
        let head = padded("") + phases.map(\.1).joined(separator: "  ")
        let lines =
            [head]
            + Self.rows.map { row in
                let cells = phases.map { phase, _ in cell(phase, row) }
                return padded(row.name) + cells.joined(separator: "  ")
            }
        return lines.map { line in
            String(
                line.prefix(
                    (line.lastIndex { $0 != " " }.map {
                        line.distance(from: line.startIndex, to: $0)
                    } ?? 0) + 1))
        }
    }

    /// The phase that the event leads to; `--` for a request that is refused, `.` for no change.
    private func cell(_ phase: Phase, _ row: Row) -> String {
        var scene = scene(of: row, in: phase)
        let effects = scene.send(row.event)
        let isRefused = effects.contains {
            if case .answer(_, .refused) = $0 { true } else { false }
        }
        if isRefused { return "--" }
        let after = scene.core.instance(Self.id)?.phase ?? .ended
        guard Self.fits(effects, phase, after) else { return "!!" }
        return after == phase ? ". " : Self.columns.first { $0.0 == after }!.1
    }

    /// The instance in its phase, just before the event of the row. An event of `row.after` that
    /// would change the phase is left out.
    private func scene(of row: Row, in phase: Phase) -> PlayedScene {
        let isPausing = phase == .paused && !row.paused.isEmpty
        var scene = scene(in: isPausing ? .prewarming : phase, row)
        if isPausing { for event in row.paused { scene.send(event) } }
        precondition(scene.core.instance(Self.id)?.phase == phase, "cannot begin in \(phase)")
        for event in row.after {
            var next = scene
            next.send(event)
            next.now = next.now.advanced(by: .milliseconds(2))
            if next.core.instance(Self.id)?.phase == phase { scene = next }
        }
        return scene
    }

    /// Whether a change of phase has the effects that belong to it.
    private static func fits(_ effects: [Effect], _ before: Phase, _ after: Phase) -> Bool {
        return switch after {
        case _ where before == after: true
        case .toldToGo:
            effects.contains { if case .go(id, _, _) = $0 { true } else { false } }
        case .freezing: effects.contains(.freeze(id))
        case .background where before == .freezing || before == .frozen:
            effects.contains(.thaw(id))
        case .ending:
            effects.contains {
                switch $0 {
                case .kill(id), .terminate(id): true
                case .tell(id, let step, _): step.step == .willTerminate
                case _: false
                }
            }
        case .emptying: effects.contains(.kill(id))
        case .ended:
            effects.contains { if case .release(id, _) = $0 { true } else { false } }
        case _: true
        }
    }

    private func scene(in phase: Phase, _ row: Row) -> PlayedScene {
        var policy = Policy()
        policy.inspectsFileLocks = false
        policy.inspectsConditions = false
        row.policy(&policy)
        var app = AppDescription(identifier: Self.app, prewarmCount: 1)
        app.foregroundGroup = "seat"
        app.suspendsInBackground = true
        app.readyCondition = self == .program ? .notify : .finishedLaunching
        app.acknowledges = self == .acknowledging
        row.app(&app)
        var scene = PlayedScene(
            core: Lifecycle(
                restoring: [record(in: phase, row)], apps: [AppRecord(app: Self.app)],
                nextInstance: InstanceIdentifier(2), policy: policy, seed: 1, at: Self.start),
            now: Self.start)
        scene.send(.appInstalled(app))
        if !row.isRestoring { scene.send(.restored) }
        return scene
    }

    private func record(in phase: Phase, _ row: Row) -> InstanceRecord {
        var saved = RecordedState(state(in: phase))
        if saved.state.isRunning || saved.state == .terminating { saved.launchedAt = Self.start }
        if phase == .ordered || phase == .toldToGo { saved.launchedAt = nil }
        saved.isToldToGo = phase == .toldToGo
        if saved.state == .terminating {
            saved.endReason = .terminated
            saved.lastState = .active
        }
        if phase == .emptying || phase == .ended {
            saved.endReason = phase == .ended ? .exitedSelf : .terminated
            saved.exitStatus = .exited(0)
            saved.endedAt = Self.start
            saved.isEmpty = phase == .ended
        } else if saved.state.isPrewarm || saved.state.isRunning && saved.launchedAt != nil {
            row.saved(&saved)
        }
        saved.deadline = phase == .frozen ? nil : Self.due
        if self == .acknowledging {
            saved.conversation = conversation(in: phase)
            if phase == .arriving || phase == .inactive { saved.deadline = nil }
        }
        var record = InstanceRecord(
            instance: Self.id, app: Self.app,
            generation: AppDescription(identifier: Self.app).generation,
            environmentKey: AppDescription(identifier: Self.app).environmentKey, saved: saved,
            since: Self.start)
        record.launchKind = .cold
        record.inBackground = phase == .background || saved.state == .suspended
        // A program is inactive only during an event, unless it is interrupted.
        record.isInterrupted = phase == .inactive && self == .program
        row.record(&record)
        return record
    }

    /// The app is on the way to another side than usual in its phase.
    private static func takeOtherStep(_ record: inout InstanceRecord) {
        guard var conversation = record.conversation else { return }
        let step: LifecycleStep
        switch record.phase {
        case .arriving, .inactive: step = .didEnterBackground
        case .active: step = .willResignActive
        case .background: step = .willEnterForeground
        case _: return
        }
        record.inBackground = step != .willEnterForeground
        conversation.scenes[0].goal = record.inBackground ? .background : .foreground
        conversation.pending = PendingStep(
            step: step, scene: .application, cookie: 1, deadline: due)
        record.conversation = conversation
    }

    private func state(in phase: Phase) -> ExecutionState {
        switch phase {
        case .prewarming: .prewarming
        case .paused: .prewarmed
        case .ordered, .toldToGo, .starting, .arriving: .launching
        case .inactive: .inactive
        case .active: .active
        case .background: .background
        case .freezing, .frozen: .suspended
        case .ending, .emptying: .terminating
        case .ended: .notRunning
        }
    }

    /// The conversation of an app that has finished launching. On the way to the front, its last
    /// step is not acknowledged yet.
    private func conversation(in phase: Phase) -> Conversation? {
        var scene = SceneRecord(scene: .application, isConnected: true, goal: .foreground)
        var step: LifecycleStep?
        switch phase {
        case .prewarming, .paused, .ordered, .toldToGo, .starting: return nil
        case .arriving:
            scene.activation = .unattached
            step = .willEnterForeground
        case .inactive:
            scene.activation = .foregroundInactive
            step = .didBecomeActive
        case .active: scene.activation = .foregroundActive
        case .background, .freezing, .frozen:
            scene.activation = .background
            scene.goal = .background
        case .ending:
            scene.activation = .foregroundActive
            step = .willTerminate
        case .emptying, .ended: scene.activation = .foregroundActive
        }
        let pending = step.map {
            PendingStep(step: $0, scene: .application, cookie: 1, deadline: Self.due)
        }
        return Conversation(scenes: [scene], pending: pending, lastCookie: 1)
    }
}

/// A row of the table: an event, and what differs from the usual world before it.
private struct Row: Sendable {
    let name: String
    let event: Event
    /// Sent before the event, as far as they leave the phase as it is.
    var after: [Event]
    var policy: @Sendable (inout Policy) -> Void
    var app: @Sendable (inout AppDescription) -> Void
    var saved: @Sendable (inout RecordedState) -> Void
    var record: @Sendable (inout InstanceRecord) -> Void
    /// The events that pause the instance; if there are none, it is restored as paused.
    var paused: [Event]
    /// Whether the event comes while the core is being restored.
    var isRestoring: Bool

    init(
        _ name: String, _ event: Event, after: [Event] = [],
        policy: @escaping @Sendable (inout Policy) -> Void = { _ in },
        app: @escaping @Sendable (inout AppDescription) -> Void = { _ in },
        saved: @escaping @Sendable (inout RecordedState) -> Void = { _ in },
        record: @escaping @Sendable (inout InstanceRecord) -> Void = { _ in },
        paused: [Event] = [], isRestoring: Bool = false
    ) {
        self.name = name
        self.event = event
        self.after = after
        self.policy = policy
        self.app = app
        self.saved = saved
        self.record = record
        self.paused = paused
        self.isRestoring = isRestoring
    }
}

/// A core with one instance. Deadlines are sent when they are due.
private struct PlayedScene {
    var core: Lifecycle
    var now: Instant

    @discardableResult
    mutating func send(_ event: Event) -> [Effect] {
        if event == .deadlineReached { now = max(now, Player.due, core.nextDeadline ?? now) }
        return core.handle(event, at: now)
    }
}
