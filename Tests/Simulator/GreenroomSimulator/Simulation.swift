import GreenroomLifecycle

/// One world, with apps, clients and a kernel, made from a seed and driven by stimuli.
struct Simulation: Sendable {
    let seed: UInt64
    var world: World
    var checker: Checker
    var core: Lifecycle
    var now = Instant(nanoseconds: 1_000_000_000)
    var catalogue: [AppDescription]
    var sessions: Set<String> = []
    /// The groups whose session is active; nil in a world in which nobody follows sessions.
    var activeSessions: Set<String>?
    /// Whether this world is a desktop, in which most programs are held at their first windows.
    let isDesktop: Bool
    var requestCount: UInt64 = 0
    var names: [LaunchIdentifier] = []
    var eventCount = 0
    /// The supervisor dies before the effect of the next event that has this number.
    var crashAt: Int?
    /// Whether the spawner dies at the same time.
    var spawnerDies = false
    /// The losses of a spawner that the supervisor does not hear of, because it dies after the first.
    var unheardLosses: [Event] = []
    /// True only for a shrunk failure, because making the text takes longer than the run.
    var isTracing = false
    var trace: [String] = []

    /// More events than this within one wait mean a loop, because a world has only some dozens of
    /// instances.
    static let loopLimit = 50_000

    init(seed: UInt64) {
        var dice = Dice(seed: seed)
        self.seed = seed
        self.world = World(seed: seed)
        var policy = Policy()
        policy.prewarmByteBudget = UInt64(1 + dice.below(12)) * (16 << 20)
        policy.concurrentPrewarms = 1 + dice.below(3)
        policy.rememberedExits = 2 + dice.below(30)
        policy.instanceLimit = 6 + dice.below(40)
        policy.prewarmTimeToLive = .seconds(20 + dice.below(600))
        let count = 1 + dice.below(7)
        // A separate generator, so that the worlds of known seeds do not change.
        var machine = Dice(seed: seed, thing: 7)
        policy.inspectsConditions = machine.percent(50)
        policy.inspectsFileLocks = machine.percent(50)
        policy.prewarmStartDelay = machine.percent(30) ? .seconds(machine.below(60)) : .zero
        policy.pressureQuietTime = .seconds(1 + machine.below(20))
        policy.pagesOutSuspended = machine.percent(50)
        policy.instancesPerUser = 2 + machine.below(30)
        policy.forceQuitLasts = machine.percent(80)
        policy.refillDelay = machine.percent(50) ? .milliseconds(1 + machine.below(5000)) : .zero
        policy.processorCount = 1 + machine.below(4)
        policy.offersScheduledWork = machine.percent(90)
        policy.windowByteBudget = Self.windowByteBudget(&machine)
        policy.assumedWindowBytes = 20 << 20
        policy.windowGrace = .seconds(1 + machine.below(60))
        activeSessions = machine.percent(60) ? ["seat0", "seat1"] : nil
        isDesktop = machine.percent(30)
        if isDesktop { policy.windowByteBudget = max(policy.windowByteBudget, 128 << 20) }
        self.catalogue = (0..<count).map { [isDesktop] in
            Self.app($0, among: count, isOnDesktop: isDesktop, &dice)
        }
        self.checker = Checker(policy: policy)
        self.core = Lifecycle(policy: policy, seed: seed)
    }

    /// A budget for held programs; sometimes none, sometimes hardly enough for one program.
    static func windowByteBudget(_ dice: inout Dice) -> UInt64 {
        dice.percent(5) ? 0 : UInt64(2 + dice.below(14)) * (16 << 20)
    }

    private static func app(
        _ number: Int, among count: Int, isOnDesktop: Bool, _ dice: inout Dice
    ) -> AppDescription {
        var app = AppDescription(identifier: AppIdentifier("org.example.app\(number)"))
        app.backgroundGrace = dice.percent(50) ? .seconds(1 + dice.below(15)) : nil
        app.terminateGrace = dice.percent(30) ? .seconds(1 + dice.below(8)) : nil
        app.launchDeadline = dice.percent(30) ? .seconds(1 + dice.below(8)) : nil
        vary(&app, number, among: count, isOnDesktop: isOnDesktop, &dice)
        return app
    }

    static func vary(
        _ app: inout AppDescription, _ number: Int, among count: Int, isOnDesktop: Bool,
        _ dice: inout Dice
    ) {
        app.foregroundGroup = ["seat0", "seat1", nil][dice.below(3)]
        app.isSingleInstance = dice.percent(40)
        app.prewarmCount = dice.below(4)
        let occasions: [PrewarmOccasion] = [.boot, .boot, .login, .demand, .never, .auto, .auto]
        app.prewarmOccasion = occasions[dice.below(7)]
        app.isEligible = dice.percent(90)
        app.suspendsInBackground = dice.percent(60)
        let conditions: [ReadyCondition] = [.exec, .exec, .notify, .firstOutput, .listening]
        app.readyCondition = conditions[dice.below(5)]
        varySupervision(&app, number, among: count, &dice)
        app.user = UInt32(dice.below(2))
        app.launchScreen = [.none, .untilActive, .untilFirstDraw][number % 3]
        app.isColdOnTerminal = (app.generation + UInt64(number)) % 4 == 1
        app.scheduledTasks = TaskStimulus.identifiers.enumerated()
            .filter { (app.generation + UInt64(number + $0.offset)) % 6 != 0 }.map(\.element)
        guard dice.percent(50) else {
            app.acknowledges = false
            app.scenes = .unsupported
            app.depth =
                [.main, .runtime, .libraries, .runtime, .window][
                    Int((app.generation + UInt64(number)) % 5)]
            // An app whose list of imports is made, lost and made again.
            app.importBasis = app.depth == .runtime ? 1 : nil
            app.importsLearned = app.depth == .runtime && app.generation % 2 == 0
            forgetBoot(&app)
            if isOnDesktop { showWindows(&app, number) }
            return
        }
        app.acknowledges = true
        app.depth = .main
        app.importBasis = nil
        app.importsLearned = false
        forgetBoot(&app)
        app.readyCondition = .finishedLaunching
        app.version = UInt64(dice.below(2))
        app.stateVersion = app.version
        app.scenes = [.unsupported, .single, .multiple][dice.below(3)]
    }

    /// The app is a desktop program, as its profile says.
    private static func showWindows(_ app: inout AppDescription, _ number: Int) {
        (app.depth, app.importBasis, app.importsLearned) = (.window, nil, false)
        app.prewarmOccasion = [.boot, .login, .auto][number % 3]
        app.prewarmCount = 1 + number % 2
        app.isEligible = true
    }

    /// No instance that was paused before can serve the app, which has changed in other ways.
    private static func forgetBoot(_ app: inout AppDescription) {
        (app.bootGeneration, app.bootKey) = (nil, nil)
    }

    /// Runs a whole world, from installing the apps to the end of every process.
    mutating func run(_ stimuli: some Sequence<Stimulus>) throws(Violation) {
        if let groups = activeSessions {
            try feed(.sessionsActive(foregroundGroups: groups))
            sessions = groups
            for group in groups.sorted() { try feed(.loggedIn(foregroundGroup: group)) }
        }
        for app in catalogue { try install(app) }
        try feed(.restored)
        for stimulus in stimuli {
            if isTracing { trace.append(shortened("* \(stimulus)")) }
            try apply(stimulus)
        }
        crashAt = nil
        try feed(.shutdownRequested)
        try wait(.seconds(300))
        try checker.require(checker.liveCount == 0, "\(checker.liveCount) survived the shutdown")
        try checker.require(
            checker.owed.isEmpty, "never answered: \(checker.owed.values.map { "\($0)" })")
        for (id, process) in world.processes where !process.isEmpty || !process.isReleased {
            throw Violation("\(id) was left behind")
        }
    }

    mutating func feed(_ event: Event) throws(Violation) {
        eventCount += 1
        if isTracing { trace.append(shortened("  \(now.nanoseconds / 1_000_000) ms  \(event)")) }
        if case .called(let id, let isLaunch) = event {
            checker.note(isLaunch ? .call : .question, of: id, in: world)
        }
        checker.note(event, at: now)
        let effects = core.handle(event, at: now)
        if isTracing { trace += effects.map { "            → \(words($0))" } }
        var isSaving = true
        for (index, effect) in effects.enumerated() {
            if crashAt == index { return try restart(isClean: false) }
            let isSave = effect.isSave
            try checker.require(isSaving || !isSave, "saved after another effect: \(effect)")
            isSaving = isSave
            try checker.check(effect, of: event, in: world, at: now)
            perform(effect)
        }
        try checker.checkStates(event, core, world)
        try checker.checkNames(after: event)
        try checker.checkStep(event, nextDeadline: core.nextDeadline, at: now)
        for group in ["seat0", "seat1"] {
            for id in core.foreground(of: group) { try checker.checkHolder(id, of: group) }
        }
        if crashAt != nil { try restart(isClean: true) }
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .spawn(let id, let app, let purpose):
            world.spawn(id, app, purpose, at: now)
        case .go(let id, _, _): world.go(id, at: now)
        case .awaitStart(let id): world.awaitStart(id, at: now)
        case .learnLibraries(let id, let lesson): world.learnLibraries(id, lesson, at: now)
        case .freeze(let id): world.freeze(id, at: now)
        case .freezePaused(let id): world.freezePaused(id, at: now)
        case .thaw(let id): world.thaw(id, at: now)
        case .watchSettings(let id): world.watchSettings(of: id, at: now)
        case .terminate(let id): world.terminate(id, at: now)
        case .kill(let id): world.kill(id, at: now)
        case .release(let id, _): world.processes[id]?.isReleased = true
        case .awaitConnection(let app): world.awaitConnection(app, at: now)
        case .ignoreConnections(let app): world.listening.remove(app)
        case .tell(let id, let step, _): world.tell(id, step, at: now)
        case .inspectTracer(let id): world.inspectTracer(id, at: now)
        case .inspectConditions: world.inspectConditions(at: now)
        case .inspectFileLocks(let id): world.inspectFileLocks(id, at: now)
        case .inspectConnections(let id): world.inspectConnections(id, at: now)
        case .pageOut(let id): world.pageOut(id, at: now)
        case .notify, .deliver, .refuseState, .handOverState: break
        case .keepState(_, let app, let scene):
            world.states[app, default: [:]][scene] = core.description(of: app)!.stateVersion
        case .deleteState(let app, let scene): world.states[app]?[scene] = nil
        case .keepSessions(let app, let list): world.sessions[app] = list
        case .noteVersion(let app): world.versions[app] = core.description(of: app)?.version
        case .startRun(let id, let run, _): world.startRun(id, run, at: now)
        case .expireRun(let id, let run, _): world.expireRun(id, run, at: now)
        case .tellExpiration(let id, _): world.tellExpiration(id, at: now)
        case .inspectTaskConditions: world.inspectTaskConditions(at: now)
        case .setTaskAlarm(let time): world.setTaskAlarm(time, at: now)
        case .saveTasks, .tellBackgroundTime: break
        case .save, .erase, .saveApp, .eraseApp, .applyPriority, .answer, .report: break
        }
    }

    /// Lets time pass, at most until `end`: deadlines and the world's own events happen in their
    /// order. Returns what was found as soon as it is there.
    mutating func pass<Found>(
        until end: Instant, _ find: (Simulation) -> Found?
    ) throws(Violation) -> Found? {
        var count = 0
        while true {
            if let found = find(self) { return found }
            guard
                let next = [world.agenda.soonest, core.nextDeadline].compactMap({ $0 }).min(),
                next <= end
            else { return nil }
            count += 1
            try checker.require(count < Self.loopLimit, "the core loops")
            now = max(now, next)
            if let due = world.agenda.soonest, due <= now {
                if let event = world.realize(world.agenda.popFirst()!, at: now) { try feed(event) }
            } else {
                try feed(.deadlineReached)
            }
        }
    }

    mutating func wait(_ duration: Duration) throws(Violation) {
        let end = now.advanced(by: duration)
        let _: Never? = try pass(until: end) { _ in nil }
        now = end
        guard duration >= .seconds(60) else { return }
        for (identifier, request) in checker.owed {
            guard case .launch(let launch) = request,
                // A launch may have to wait for a chain of apps, each of which needs time to become
                // ready.
                checker.installed[launch.app]?.dependencies.value == nil,
                !checker.isNamed(launch.app)
            else { continue }
            throw Violation("launch \(identifier) is not answered after a minute")
        }
        for app in checker.installed.values where app.hasSockets && !core.isShuttingDown {
            let up = core.instances.filter { $0.app == app.identifier && $0.state.isRunning }
            guard !up.isEmpty, up.allSatisfy({ $0.state == .suspended }) else { continue }
            try checker.require(
                world.listening.contains(app.identifier),
                "nobody watches the sockets of suspended \(app.identifier)")
        }
    }

    /// Reports what the shell has kept of earlier launches of the app.
    private mutating func recall(_ app: AppDescription, from before: Lifecycle) throws(Violation) {
        let identifier = app.identifier
        let lessons = checker.learned.filter {
            $0.app == identifier && $0.generation == app.generation
                && before.libraryCount(of: identifier, $0.environmentKey) > 0
        }
        for lesson in lessons.sorted(by: { $0.environmentKey.rawValue < $1.environmentKey.rawValue }
        ) {
            try feed(.librariesRecalled(lesson, count: 1, isComplete: false))
        }
        // The shell keeps times when the core reports them (`depthTimed`).
        let isLearned =
            app.importBasis != nil || app.depth == .libraries || app.depth == .window
        guard isLearned, let times = before.depthTimes(of: identifier), !times.works.isEmpty else {
            return
        }
        try feed(.timesRecalled(identifier, times))
        try checker.require(
            core.depthTimes(of: identifier) == times, "what \(identifier) saves is forgotten")
    }

    /// The supervisor dies and another one begins with only the records and the spawner's table.
    mutating func restart(isClean: Bool) throws(Violation) {
        crashAt = nil
        if isTracing {
            trace.append("  ! the supervisor dies\(spawnerDies ? " with the spawner" : "")")
        }
        let before = core
        checker.note(.supervisor, in: world)
        if spawnerDies { checker.note(.spawner, in: world) }
        world.listening = []
        world.alarm = nil
        let (level, wasShuttingDown) = (checker.pressure, checker.isShuttingDown)
        let wasAsleep = checker.isAsleep
        let launchWaits = checker.owed.values.contains {
            if case .launch = $0 { true } else { false }
        }
        checker.restart()
        checker.tally.restarts += 1
        let records = checker.saved.values.sorted { $0.instance < $1.instance }
        let highest = world.processes.keys.max()?.rawValue ?? 0
        core = Lifecycle(
            restoring: records, apps: Array(checker.savedApps.values),
            nextInstance: InstanceIdentifier(highest + 1), policy: checker.policy,
            seed: seed &+ UInt64(eventCount), at: now)
        try checker.require(core.instances == records, "restored instances differ from saved")
        if isClean {
            try checker.require(before.instances == core.instances, "an instance was not saved")
            let apps = core.apps.filter { !checker.faulty.contains($0.app) }
            try checker.require(before.apps == apps, "an app was not saved")
        }
        for user in checker.locked.sorted() {
            try feed(.sessionLockChanged(user: user, isLocked: true))
        }
        if level != .none { try feed(.pressureChanged(level)) }
        if wasAsleep { try feed(.sleepChanged(isAsleep: true)) }
        for app in checker.installed.values.sorted(by: { $0.identifier < $1.identifier }) {
            try install(app)
            try recall(app, from: before)
        }
        for app in checker.faulty.sorted() { try feed(.appRemoved(app, isGone: false)) }
        for (app, tasks) in checker.tasks.saved.sorted(by: { $0.key < $1.key }) {
            try feed(.tasksRestored(app, tasks))
        }
        if let groups = activeSessions { try feed(.sessionsActive(foregroundGroups: groups)) }
        for group in sessions.sorted() { try feed(.loggedIn(foregroundGroup: group)) }
        if spawnerDies {
            var dice = Dice(seed: seed, thing: UInt64(eventCount))
            world.loseChannels(at: now, &dice)
            for event in world.loseOrders(&dice) { try feed(event) }
        }
        let report = world.report(about: records)
        for event in report { try feed(event) }
        try feed(.restored)
        if isClean && level == .none && !wasShuttingDown && !spawnerDies {
            try compare(
                with: before,
                afterHearing: report.filter { $0.isUnheard || unheardLosses.contains($0) },
                launchWaits: launchWaits)
        }
        spawnerDies = false
        unheardLosses = []
        if wasShuttingDown { try feed(.shutdownRequested) }
    }

    /// Checks that everything decided before the crash is the same after it, and that the former
    /// core, if it had lived on, would have decided the same about events that nobody heard.
    /// Instances that a shell has named are left out: the new core protects them until it is
    /// certain that no shell comes back, which the former one may have known.
    private func compare(
        with before: Lifecycle, afterHearing unheard: [Event], launchWaits: Bool
    ) throws(Violation) {
        let former = before
        var before = before
        for event in unheard { _ = before.handle(event, at: now) }
        // Some instances became ready only now.
        let shown = Set(
            (former.instances + before.instances).filter { $0.shellUser != nil }.map(\.instance))
        var notCompared = shown
        // An instance that a shell has named came to the front just now. If another shell of the user
        // was there, which names it no more, it displaced more than under a shell's protection.
        for group in ["seat0", "seat1"] {
            let (formerFront, front) = (former.foreground(of: group), before.foreground(of: group))
            if !front.subtracting(formerFront).isDisjoint(with: shown) {
                notCompared.formUnion(formerFront.subtracting(front))
            }
        }
        let known = former.instances.map(\.instance).filter { !notCompared.contains($0) }
        for old in known.compactMap({ before.instance($0) })
        where old.state != .launching || old.launchedAt != nil {
            // The former supervisor's last event may have shown that a depth saves nothing. The
            // next supervisor does not know what the launch was asked to do, and cannot compare.
            if before.demotion(of: old.app) != former.demotion(of: old.app) { continue }
            // A client's launch that waited for that event goes on now: it takes the place of a
            // paused instance, ends what conflicts with it, and with that what requires it, or
            // thaws the app's instance. The next supervisor does not know the client.
            if launchWaits, let former = former.instance(old.instance),
                old.state == .terminating
                    ? former.state.isPrewarm
                        || former.endReason == nil
                            && (old.endReason == .conflict || old.endReason == .dependencyEnded)
                    : former.state == .suspended && old.state != .suspended
            {
                notCompared.insert(old.instance)
                continue
            }
            // A refill takes the place of a paused instance. The next supervisor refills the pools
            // only after it has inspected the machine.
            if old.endReason == .poolTrimmed,
                former.instance(old.instance)?.state == .prewarmed
            {
                continue
            }
            guard let new = core.instance(old.instance) else { continue }
            // The order to spawn it was lost with the spawner, and only the next supervisor has looked.
            if old.state == .terminating, new.state == .notRunning,
                world.processes[old.instance] == nil
            {
                continue
            }
            // The name of this instance has not been watched in the meantime.
            if old.state.isPrewarm, old.wantsName {
                try checker.require(
                    new.state == .terminating || new.state == .notRunning,
                    "nobody watches the name of \(old.instance)")
                continue
            }
            try checker.require(
                old.state == new.state, "\(old.instance) was \(old.state), now \(new.state)")
            // Until its first plan, the next supervisor does not know what a plan keeps.
            if old.state == .prewarmed, old.deadline == nil { continue }
            try checker.require(
                old.deadline == new.deadline, "the deadline of \(old.instance) changed")
        }
        for group in ["seat0", "seat1"] {
            let fronts = [before, core].map {
                $0.foreground(of: group).subtracting(notCompared).sorted()
            }
            try checker.require(
                fronts[0] == fronts[1],
                "\(fronts[0]) was in front of \(group), now \(fronts[1])")
        }
    }
}

extension Event {
    fileprivate var isUnheard: Bool {
        if case .reconciled(_, found: .unheard) = self { true } else { false }
    }
}

extension Effect {
    fileprivate var isSave: Bool {
        switch self {
        case .save, .saveApp, .saveTasks: true
        case .erase, .eraseApp, .spawn, .go, .awaitStart, .learnLibraries, .freeze, .freezePaused,
            .thaw, .watchSettings,
            .terminate, .kill, .release,
            .applyPriority, .answer, .report, .awaitConnection, .ignoreConnections, .tell,
            .notify, .deliver, .inspectTracer, .inspectConditions, .inspectFileLocks,
            .inspectConnections, .keepState, .refuseState, .deleteState, .handOverState,
            .keepSessions, .noteVersion,
            .pageOut,
            .tellBackgroundTime, .tellExpiration, .startRun, .expireRun,
            .inspectTaskConditions, .setTaskAlarm:
            false
        }
    }
}
