import GreenroomLifecycle

extension Simulation {
    mutating func apply(_ stimulus: Stimulus) throws(Violation) {
        switch stimulus {
        case .launch(let app, let key, let inBackground, let isAttached, let repeating):
            let request = nextRequest()
            var launch = LaunchRequest(
                app: identifier(app), launchIdentifier: name(repeating),
                environmentKey: EnvironmentKey(UInt64(key)), inBackground: inBackground,
                isAttached: isAttached, takesOutput: isAttached,
                // Some callers have a state that no paused instance can take over.
                coldReason: isAttached && requestCount % 8 == 0
                    ? requestCount % 16 == 0 ? .callerState : .arguments : nil)
            launch.work = requestCount % 3
            // Some bring arguments, which a held program has read already.
            launch.reasonNotToHold = requestCount % 7 == 0 ? .arguments : nil
            // A repeated launch brings what it brought before.
            launch.takesTerminal = launch.launchIdentifier.rawValue.utf8.last! % 4 == 0
            launch.bootKey = requestCount % 5 == 0 ? nil : launch.environmentKey
            try feed(.requested(request, .launch(launch)))
        case .prewarm(let app, let key):
            let key = EnvironmentKey(UInt64(key))
            try feed(.requested(nextRequest(), .prewarm(identifier(app), key)))
        case .transition(let pick, let byApp, let transition):
            guard let target = target(pick, byApp) else { return }
            try feed(.requested(nextRequest(), .transition(target, transition)))
        case .awaitExit(let pick, let byApp):
            guard let target = target(pick, byApp) else { return }
            try feed(.requested(nextRequest(), .awaitExit(target)))
        case .awaitLaunch(let pick):
            guard !names.isEmpty else { return }
            guard let record = core.instances(of: names[pick % names.count]).last else { return }
            try feed(.requested(nextRequest(), .awaitExit(.instance(record.instance))))
        case .abandon(let pick):
            guard requestCount > 0 else { return }
            let recent = requestCount - UInt64(pick) % min(requestCount, 6)
            try feed(.requestAbandoned(RequestIdentifier(recent)))
        case .install(let app, let variation): try install(app, variation)
        case .remove(let app, let isGone):
            try feed(.appRemoved(identifier(app), isGone: isGone))
        case .logIn(let group):
            sessions.insert("seat\(group)")
            try feed(.loggedIn(foregroundGroup: "seat\(group)"))
        case .activate(let bits):
            guard activeSessions != nil else { return }
            let groups = Set((0..<2).filter { bits >> $0 & 1 == 1 }.map { "seat\($0)" })
            activeSessions = groups
            try feed(.sessionsActive(foregroundGroups: groups))
        case .plan(let bits):
            let apps = catalogue.indices.filter { bits >> $0 & 1 == 1 }
                .map { catalogue[$0].identifier }
            try feed(.planned(Set(apps)))
        case .changePolicy(let variation): try changePolicy(variation)
        case .press(let level): try feed(.pressureChanged(level))
        case .stall(let level): try feed(.stallReported(level))
        case .trigger(let app):
            try feed(
                .requested(
                    nextRequest(),
                    .trigger(
                        LaunchRequest(
                            app: identifier(app), launchIdentifier: name(nil),
                            environmentKey: EnvironmentKey(0), inBackground: true),
                        checker.triggerLimit)))
        case .forgiveTriggers: try feed(.triggersForgiven)
        case .prepare(let app): try feed(.requested(nextRequest(), .prepare(identifier(app))))
        case .wait(let duration): try wait(duration)
        case .crashSupervisor(let effect, let withSpawner):
            crashAt = effect
            spawnerDies = withSpawner
        case .crashSpawner:
            var dice = Dice(seed: seed, thing: UInt64(eventCount))
            let dies = crashAt != nil
            checker.note(.spawner, in: world)
            let losses = world.loseOrders(&dice)
            if dies { unheardLosses = Array(losses.dropFirst()) }
            for event in losses {
                try feed(event)
                // The next supervisor has compared the other records itself.
                if dies { break }
            }
            if dies { return }
            for event in world.killTraced(&dice) { try happen(event) }
        case .connect(let app):
            if let event = world.connect(identifier(app)) { try feed(event) }
        case .resetFailed(let app):
            try feed(.requested(nextRequest(), .resetFailed(identifier(app))))
        case .scene(let app, let wish, let session):
            let session = SceneIdentifier(UInt32(session))
            let all: [SceneRequest] = [
                .activate(nil), .activate(nil), .activate(session), .background(session),
                .disconnect(session), .discard(session),
            ]
            try feed(.requested(nextRequest(), .scene(identifier(app), all[wish])))
        case .lock(let user, let isLocked):
            try feed(.sessionLockChanged(user: UInt32(user), isLocked: isLocked))
        case .reportForeground(let shell, let pick, let byApp):
            let report = ForegroundReport(
                user: UInt32(shell % 2), front: pick.flatMap { target($0, byApp) })
            try feed(.foregroundReported(ShellIdentifier(UInt64(shell)), report))
        case .loseShell(let shell):
            try feed(.foregroundReported(ShellIdentifier(UInt64(shell)), nil))
        case .changeTime: try feed(.significantTimeChanged)
        case .loseState(let app): try loseState(identifier(app))
        case .logOut(let group):
            sessions.remove("seat\(group)")
            try feed(.loggedOut(foregroundGroup: "seat\(group)"))
        case .sleep(let isAsleep): try feed(.sleepChanged(isAsleep: isAsleep))
        case .shutDownInVain(let delay):
            try feed(.shutdownRequested)
            try wait(delay)
            try feed(.shutdownCancelled)
        case .task(let task): try applyTask(task)
        case .makeStale, .measure, .crash, .endBySignal, .runOutOfMemory, .stallInstance, .exit,
            .loseChannel, .repeatFact:
            try applyToInstance(stimulus)
        case .meet(let cause, let moment, let pick): try meet(cause, moment, pick)
        }
    }

    private mutating func applyToInstance(_ stimulus: Stimulus) throws(Violation) {
        switch stimulus {
        case .makeStale(let pick):
            if let id = live(pick) { try feed(.becameStale(id)) }
        case .measure(let pick, let megabytes):
            guard let id = live(pick) else { return }
            try feed(.memoryMeasured(id, byteCount: UInt64(megabytes) << 20))
        case .crash(let pick):
            guard let id = live(pick) else { return }
            try happen(.exited(id, .signaled(11, coreDumped: true)))
        case .endBySignal(let pick, let signal, let isSent):
            guard let id = live(pick) else { return }
            if isSent { try feed(.signalSent(id, signal: signal)) }
            try happen(.exited(id, .signaled(signal, coreDumped: false)))
        case .runOutOfMemory(let pick, let isCertain, let isOwnLimit):
            guard let id = live(pick), world.processes[id]?.isAlive == true else { return }
            try feed(.outOfMemory(id, isCertain: isCertain, isOwnLimit: isOwnLimit))
            // If the instance is paused, the loss of its channel may be reported first.
            if pick % 2 == 0 { try happen(.channelLost(id)) }
            try happen(.exited(id, .signaled(9, coreDumped: false)))
        case .stallInstance(let pick, let level):
            if let id = live(pick) { try feed(.instanceStalled(id, level)) }
        case .exit(let pick):
            guard let id = live(pick) else { return }
            try happen(.exited(id, .exited(UInt8(pick % 3))))
        case .loseChannel(let pick):
            if let id = live(pick) { try happen(.channelLost(id)) }
        case .repeatFact(let pick): try repeatFact(pick)
        case .launch, .prewarm, .transition, .awaitExit, .awaitLaunch, .abandon, .install,
            .remove, .logIn, .activate, .plan, .changePolicy, .press, .wait, .crashSupervisor,
            .crashSpawner,
            .connect,
            .resetFailed, .scene, .lock, .reportForeground, .loseShell, .changeTime, .logOut,
            .sleep, .shutDownInVain,
            .stall, .prepare, .loseState, .trigger, .forgiveTriggers, .task, .meet:
            break
        }
    }

    /// Most programs are held by then.
    private static let patience = Duration.seconds(70)

    private mutating func meet(
        _ cause: HeldCause, _ moment: HeldMoment, _ pick: Int
    ) throws(Violation) {
        // Otherwise, what has failed once is not held again before its files change.
        if isDesktop { try feed(.requested(nextRequest(), .resetFailed(identifier(pick)))) }
        // What is frozen is released by a launch, and aired by a hint.
        let awaited = moment == .released || moment == .airing ? .frozen : moment
        let id = try pass(until: now.advanced(by: Self.patience)) { simulation in
            simulation.checker.held(in: simulation.world, cause, awaited, pick)
        }
        guard let id, let record = checker.saved[id] else { return }
        if moment == .airing { try feed(.requested(nextRequest(), .prepare(record.app))) }
        if moment == .released { try launchHeld(record) }
        switch cause {
        case .watch:
            checker.note(.watch, of: id, in: world)
            if let event = world.endWatch(of: id) { try feed(event) }
        case .display:
            checker.note(.display, of: id, in: world)
            world.endDisplay(of: id, at: now)
        case .spawner: try apply(.crashSpawner)
        case .supervisor: try restart(isClean: true)
        case .question, .call: try happen(.called(id, isLaunch: cause == .call))
        }
        try launchHeld(record)
    }

    private mutating func launchHeld(_ record: InstanceRecord) throws(Violation) {
        let launch = LaunchRequest(
            app: record.app, launchIdentifier: name(nil), environmentKey: record.environmentKey,
            inBackground: false)
        try feed(.requested(nextRequest(), .launch(launch)))
    }

    private mutating func happen(_ event: Event) throws(Violation) {
        if let event = world.realize(event, at: now) { try feed(event) }
    }

    private mutating func repeatFact(_ pick: Int) throws(Violation) {
        guard let id = live(pick), let process = world.processes[id] else { return }
        if process.isSpawned { try feed(.spawned(id)) }
        if process.hasStarted { try feed(process.start(of: id)) }
        if let status = process.exitStatus { try feed(.exited(id, status)) }
        if process.isEmpty { try feed(.emptied(id)) }
    }

    private mutating func install(_ pick: Int, _ variation: Int) throws(Violation) {
        var dice = Dice(seed: UInt64(variation))
        let index = pick % catalogue.count
        if dice.percent(30), catalogue[index].importBasis != nil {
            Self.learnImports(of: &catalogue[index])
        } else if dice.percent(70) {
            Self.vary(
                &catalogue[index], index, among: catalogue.count, isOnDesktop: isDesktop, &dice)
            catalogue[index].generation += 1
        }
        try install(catalogue[index])
    }

    /// The app's imports are learned, or what was learned is given up.
    private static func learnImports(of app: inout AppDescription) {
        app.importsLearned.toggle()
        app.bootGeneration = app.importsLearned ? app.generation : nil
        app.bootKey = app.importsLearned ? app.environmentKey : nil
        app.generation &+= app.importsLearned ? 1 << 32 : UInt64.max << 32
    }

    private mutating func changePolicy(_ variation: Int) throws(Violation) {
        var dice = Dice(seed: UInt64(variation))
        var policy = checker.policy
        policy.prewarmByteBudget = UInt64(1 + dice.below(12)) * (16 << 20)
        policy.concurrentPrewarms = 1 + dice.below(3)
        policy.rememberedExits = dice.below(30)
        policy.offersScheduledWork = dice.percent(90)
        policy.windowByteBudget = Self.windowByteBudget(&dice)
        policy.windowNeedsSession = dice.percent(90)
        try feed(.policyChanged(policy))
    }

    // MARK: The numbers of a stimulus

    /// The app that a number names; sometimes one that was never installed.
    func identifier(_ pick: Int) -> AppIdentifier {
        if pick % 50 == 49 { return AppIdentifier("org.example.unknown") }
        return catalogue[pick % catalogue.count].identifier
    }

    func live(_ pick: Int) -> InstanceIdentifier? {
        let ids = checker.saved.values.filter { $0.state != .notRunning }.map(\.instance).sorted()
        return ids.isEmpty ? nil : ids[pick % ids.count]
    }

    private func target(_ pick: Int, _ byApp: Bool) -> Target? {
        if byApp { return .app(identifier(pick)) }
        if pick % 20 == 19 {
            let ended = checker.saved.keys.sorted()
            return ended.isEmpty ? nil : .instance(ended[pick % ended.count])
        }
        return live(pick).map { .instance($0) }
    }

    mutating func nextRequest() -> RequestIdentifier {
        requestCount += 1
        return RequestIdentifier(requestCount)
    }

    /// A new launch name, or again one of the latest.
    private mutating func name(_ repeating: Int?) -> LaunchIdentifier {
        if let repeating, !names.isEmpty {
            return names[names.count - 1 - repeating % min(names.count, 10)]
        }
        names.append(LaunchIdentifier("launch-\(names.count)"))
        return names[names.count - 1]
    }
}

extension Simulation {
    /// Installs an app, and reports the state that is kept for it.
    mutating func install(_ app: AppDescription) throws(Violation) {
        let identifier = app.identifier
        try feed(.appInstalled(app))
        try feed(
            .stateFound(
                identifier,
                KeptState(
                    archives: world.states[identifier] ?? [:],
                    sessions: world.sessions[identifier] ?? SessionList(),
                    launchedVersions: world.versions[identifier].map { [$0] } ?? [])))
    }

    mutating func loseState(_ app: AppIdentifier) throws(Violation) {
        guard let scene = world.states[app]?.keys.min() else { return }
        world.states[app]![scene] = nil
        try feed(.stateLost(app, scene))
    }
}
