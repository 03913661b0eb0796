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

    @Test func `in the core's source equals the simulator's table`() throws {
        let path = "Sources/GreenroomLifecycle/States/Transitions.swift"
        let file = try #require(fopen(path, "r"), "run from the top of the sources")
        defer { fclose(file) }
        var text: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let read = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            guard read.hasPrefix("//   ") else { continue }
            text.append(String(read.dropFirst(5).dropLast()))
        }
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
    private static let due = Instant(nanoseconds: 11_000_000_000)

    static let columns: [(Phase, String)] = [
        (.prewarming, "pw"), (.paused, "pa"), (.ordered, "or"), (.toldToGo, "go"),
        (.starting, "st"), (.arriving, "ar"), (.inactive, "in"), (.active, "ac"),
        (.background, "bg"), (.freezing, "fr"), (.frozen, "fz"), (.ending, "en"),
        (.emptying, "em"), (.ended, "ed"),
    ]

    private static let rows: [(String, Event)] = {
        let request = RequestIdentifier(1)
        func ask(_ transition: Transition) -> Event {
            .requested(request, .transition(.instance(id), transition))
        }
        return [
            ("spawned", .spawned(id)),
            ("spawnFailed", .spawnFailed(id, SpawnFailure(stage: "executing", errno: 2))),
            ("paused", .paused(id, byteCount: 1)),
            ("started", .started(id)),
            ("channelLost", .channelLost(id)),
            ("becameReady", .becameReady(id)),
            ("acknowledged", .acknowledged(id, cookie: 1)),
            ("frozen", .frozen(id)),
            ("freezeFailed", .freezeFailed(id)),
            ("exited", .exited(id, .exited(0))),
            ("emptied", .emptied(id)),
            ("deadline", .deadlineReached),
            ("becameStale", .becameStale(id)),
            ("misfired", .misfired(id, .startsPrograms(nil))),
            ("found nothing", .reconciled(id, found: .nothing)),
            ("found remains", .reconciled(id, found: .remains)),
            ("no channel", .reconciled(id, found: .noChannel(hasEnded: false))),
            ("unfit", .reconciled(id, found: .unfit)),
            ("unheard", .reconciled(id, found: .unheard)),
            ("foreground", ask(.foreground)),
            ("background", ask(.background)),
            ("suspend", ask(.suspend)),
            ("resume", ask(.resume)),
            ("interrupt", ask(.interrupt)),
            ("endInterrupt", ask(.endInterruption)),
            ("terminate", ask(.terminate)),
            ("forceQuit", ask(.forceQuit)),
        ]
    }()

    private var phases: [(Phase, String)] {
        Self.columns.filter { self == .acknowledging || $0.0 != .arriving }
    }

    func table() -> [String] {
        func padded(_ text: String) -> String {
            text + String(repeating: " ", count: 14 - text.count)
        }
        let head = padded("") + phases.map(\.1).joined(separator: "  ")
        let lines =
            [head]
            + Self.rows.map { name, event in
                let cells = phases.map { phase, _ in cell(phase, event) }
                return padded(name) + cells.joined(separator: "  ")
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
    private func cell(_ phase: Phase, _ event: Event) -> String {
        var core = core(in: phase)
        precondition(core.instance(Self.id)?.phase == phase, "cannot begin in \(phase)")
        let effects = core.handle(event, at: event == .deadlineReached ? Self.due : Self.start)
        let isRefused = effects.contains {
            if case .answer(_, .refused) = $0 { true } else { false }
        }
        if isRefused { return "--" }
        let after = core.instance(Self.id)!.phase
        guard Self.fits(effects, phase, after) else { return "!!" }
        return after == phase ? ". " : Self.columns.first { $0.0 == after }!.1
    }

    /// Whether a change of phase has the effects that belong to it.
    private static func fits(_ effects: [Effect], _ before: Phase, _ after: Phase) -> Bool {
        return switch after {
        case _ where before == after: true
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

    private func core(in phase: Phase) -> Lifecycle {
        var policy = Policy()
        policy.inspectsFileLocks = false
        policy.inspectsConditions = false
        var app = AppDescription(identifier: Self.app, prewarmCount: 1)
        app.foregroundGroup = "seat"
        app.suspendsInBackground = true
        app.readyCondition = self == .program ? .notify : .finishedLaunching
        app.acknowledges = self == .acknowledging
        var core = Lifecycle(
            restoring: [record(in: phase)], apps: [AppRecord(app: Self.app)],
            nextInstance: InstanceIdentifier(2), policy: policy, seed: 1, at: Self.start)
        for event in [Event.appInstalled(app), .restored] {
            _ = core.handle(event, at: Self.start)
        }
        return core
    }

    private func record(in phase: Phase) -> InstanceRecord {
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
        }
        var record = InstanceRecord(
            instance: Self.id, app: Self.app,
            generation: AppDescription(identifier: Self.app).generation,
            environmentKey: AppDescription(identifier: Self.app).environmentKey, saved: saved,
            since: Self.start)
        record.launchKind = .cold
        record.deadline = phase == .frozen ? nil : Self.due
        record.inBackground = phase == .background || saved.state == .suspended
        // Otherwise a program is inactive only for the length of an event.
        record.isInterrupted = phase == .inactive && self == .program
        if self == .acknowledging { record.conversation = conversation(in: phase) }
        if record.conversation != nil, phase == .arriving || phase == .inactive {
            record.deadline = nil
        }
        return record
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
