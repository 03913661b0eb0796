import GreenroomLifecycle
import Testing

/// Apps that are held at their first window.
@Suite struct `A window that is held` {
    let first = InstanceIdentifier(1)
    let second = InstanceIdentifier(2)

    private func held(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .prewarmed {
                $0.depth = .window
                $0.isSingleInstance = false
                change(&$0)
            })
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        return stage
    }

    @Test func `is frozen, and thawed before its launch`() throws {
        var stage = held()
        #expect(stage.core.instance(first)?.depth == .window)
        #expect(stage.has(.freezePaused(first)))
        stage.send(.frozen(first))
        stage.launch()
        let thaw = try #require(stage.effects.firstIndex(of: .thaw(first)))
        let go = stage.effects.firstIndex { if case .go(first, _, _) = $0 { true } else { false } }
        #expect(try thaw < #require(go))
        #expect(stage.has(.go(first, stage.origin, LaunchTerms(depth: .window))))
    }

    @Test func `ends if it cannot be frozen, and the app is not held again`() {
        var stage = held()
        stage.send(.freezeFailed(first))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .notFrozen)
        #expect(stage.core.instance(first)?.state == .terminating)
        #expect(stage.core.instance(second)?.depth == .main)
    }

    /// A held instance whose name is watched.
    private func named(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        var stage = Stage(
            .prewarmed {
                $0.depth = .window
                change(&$0)
            })
        stage.send(.nameWatched(first))
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        return stage
    }

    /// Otherwise the new process could leave its work to one that will never do it.
    @Test(arguments: [false, true])
    func `that has a name and is ended for a launch has ended before the launch starts`(
        isStale: Bool
    ) throws {
        var stage = named()
        if isStale { stage.send(.becameStale(first)) }
        let isCold = { (effect: Effect) in
            if case .spawn(_, Stage.app, .launch) = effect { true } else { false }
        }
        let key = isStale ? Stage.key : EnvironmentKey(7)
        let launch = LaunchRequest(
            app: Stage.app, launchIdentifier: LaunchIdentifier("other"), environmentKey: key,
            inBackground: false)
        let request = stage.request()
        #expect(!stage.send(.requested(request, .launch(launch))).contains(where: isCold))
        #expect(stage.core.instance(first)?.state == .terminating)
        stage.send(.exited(first, .signaled(9, coreDumped: false)))
        #expect(stage.send(.emptied(first)).contains(where: isCold))
        let cold = try #require(
            stage.core.instances(of: Stage.app).first { $0.state == .launching })
        #expect(cold.coldReason == (isStale ? .stale : .environmentMismatch))
    }

    private func isCold(_ effect: Effect) -> Bool {
        if case .spawn(_, Stage.app, .launch) = effect { true } else { false }
    }

    @Test func `that has a name and shows no window has ended before its launch goes on`() {
        var stage = named()
        stage.launch()
        let effects = stage.wait(.seconds(2))
        #expect(effects.contains(.kill(first)) && !effects.contains(where: isCold))
        stage.send(.exited(first, .signaled(9, coreDumped: false)))
        #expect(stage.send(.emptied(first)).contains(where: isCold))
    }

    /// It waits in the kernel, for example.
    @Test func `that has a name and that not even SIGKILL ends is not waited for long`() {
        var stage = named()
        stage.send(.becameStale(first))
        stage.launch()
        #expect(!stage.effects.contains(where: isCold))
        var isServed = false
        for _ in 1...200 where !isServed {
            isServed = stage.wait(.seconds(1)).contains(where: isCold)
        }
        #expect(isServed && stage.core.instance(first)?.state == .terminating)
    }

    @Test func `is launched by a call of its name, as if a client had launched it`() throws {
        var stage = named()
        stage.send(.called(first, isLaunch: true))
        let thaw = try #require(stage.effects.firstIndex(of: .thaw(first)))
        let go = stage.effects.firstIndex {
            if case .go(first, .call, _) = $0 { true } else { false }
        }
        #expect(try thaw < #require(go))
        stage.send(.started(first))
        #expect(stage.core.instance(first)?.launchKind == .prewarmed)
        // From now on, the program itself gets the calls.
        stage.send(.called(first, isLaunch: true))
        #expect(!stage.effects.contains(.thaw(first)))
    }

    @Test func `keeps the call for which it is launched if its window takes its time`() {
        var stage = named()
        stage.send(.called(first, isLaunch: true))
        let effects = stage.wait(.seconds(3))
        #expect(!effects.contains(.kill(first)) && !effects.contains(where: isCold))
        #expect(stage.core.instance(first)?.state == .active)
        stage.send(.started(first))
        #expect(stage.core.instance(first)?.launchKind == .prewarmed)
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    @Test func `that was called on its way is launched as soon as it is there`() {
        var stage = Stage(.prewarmed { $0.depth = .window })
        stage.send(.nameWatched(first))
        stage.send(.called(first, isLaunch: true))
        #expect(stage.core.instance(first)?.state == .prewarming)
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        #expect(stage.core.instance(first)?.phase == .toldToGo)
    }

    @Test func `answers a question in the moment for which it is thawed`() {
        var stage = named()
        stage.send(.called(first, isLaunch: false))
        #expect(stage.has(.thaw(first)))
        stage.send(.called(first, isLaunch: false))
        #expect(!stage.has(.thaw(first)))
        let effects = stage.wait(.milliseconds(200))
        #expect(effects.contains(.freezePaused(first)))
        #expect(stage.core.instance(first)?.state == .prewarmed)
    }

    @Test func `without a name is not launched by a call`() {
        var stage = held()
        stage.send(.frozen(first))
        stage.send(.called(first, isLaunch: true))
        #expect(stage.core.instance(first)?.state == .prewarmed)
    }

    @Test func `has its settings watched, and takes a changed one whether it has a name or not`() {
        for var stage in [held(), named()] {
            if stage.core.instance(first)?.wantsName == false { stage.send(.frozen(first)) }
            #expect(stage.has(.watchSettings(first)))
            stage.send(.called(first, isLaunch: false))
            #expect(stage.has(.thaw(first)))
            #expect(stage.wait(.milliseconds(200)).contains(.freezePaused(first)))
            // The settings are watched again, in case the watch has ended.
            stage.send(.frozen(first))
            #expect(stage.has(.watchSettings(first)))
        }
    }

    @Test func `ends when the scale changes, and the next launch says so`() {
        var stage = held()
        stage.send(.frozen(first))
        stage.send(.becameStale(first, because: .appearance))
        #expect(stage.core.instance(first)?.state == .terminating)
        #expect(
            stage.core.coldReason(
                for: Stage.app, key: stage.core.description(of: Stage.app)!.environmentKey)
                == .appearanceChanged)
    }

    @Test func `that was told to go and has read a file that changed leaves the launch cold`() {
        var stage = held()
        stage.send(.frozen(first))
        stage.launch()
        stage.send(.becameStale(first, because: .readFile))
        #expect(stage.core.instance(first)?.state == .terminating)
        let reasons = stage.core.instances(of: Stage.app).compactMap(\.coldReason)
        #expect(reasons == [.fileChanged])
        #expect(stage.core.demotion(of: Stage.app) == nil)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
    }

    /// Otherwise each launch after the end of another one would be cold.
    @Test func `is replaced when an app ends that writes its settings then`() throws {
        var stage = held()
        stage.send(.frozen(first))
        func hold(_ id: InstanceIdentifier) {
            stage.send(.paused(id, byteCount: 1, hasOtherThreads: true))
            stage.send(.frozen(id))
        }
        func end(_ id: InstanceIdentifier) {
            stage.send(.exited(id, .exited(0)))
            stage.send(.emptied(id))
        }
        func prepared() throws -> InstanceIdentifier {
            _ = stage.wait(.seconds(10))
            return try #require(
                stage.core.instances(of: Stage.app).first { $0.state == .prewarming }?.instance)
        }
        // Nobody knows yet that it does, so the held instance stays.
        stage.launch()
        stage.send(.started(first))
        let second = try prepared()
        hold(second)
        end(first)
        #expect(stage.core.instance(second)?.state == .prewarmed)
        stage.launch()
        stage.send(.becameStale(second, because: .readFile))
        end(second)
        let cold = try #require(
            stage.core.instances(of: Stage.app).first { $0.state == .launching }?.instance)
        stage.send(.spawned(cold))
        let third = try prepared()
        hold(third)
        end(cold)
        #expect(stage.core.instance(third)?.state == .terminating)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
    }

    /// One instance was launched, and the next one is on its way to its window.
    private func onItsWay() throws -> (Stage, InstanceIdentifier) {
        var stage = held()
        stage.send(.frozen(first))
        stage.launch()
        stage.send(.started(first))
        _ = stage.wait(.seconds(10))
        let next = stage.core.instances(of: Stage.app).first { $0.state == .prewarming }
        return (stage, try #require(next?.instance))
    }

    @Test func `is not held if an instance ends while it is on its way`() throws {
        var (stage, second) = try onItsWay()
        // What the program has started may run for hours.
        stage.send(.exited(first, .exited(0)))
        #expect(stage.core.instance(second)?.state == .terminating)
    }

    /// Otherwise the next one would meet the name, and the program would count as running.
    @Test func `is prepared only when one that has the name, and is ended, has ended`() throws {
        var (stage, second) = try onItsWay()
        stage.send(.nameWatched(second))
        stage.send(.exited(first, .exited(0)))
        #expect(stage.core.instance(second)?.state == .terminating)
        func isPrepared() -> Bool {
            stage.core.instances(of: Stage.app).contains { $0.state == .prewarming }
        }
        stage.wait(.seconds(1))
        #expect(!isPrepared())
        stage.send(.exited(second, .signaled(9, coreDumped: false)))
        stage.wait(.seconds(1))
        #expect(isPrepared())
    }

    @Test func `is prepared, however, if one that has the name cannot even be killed`() throws {
        var (stage, second) = try onItsWay()
        stage.send(.nameWatched(second))
        stage.send(.exited(first, .exited(0)))
        stage.wait(stage.core.policy.killPersistence + .seconds(60))
        #expect(stage.core.instance(second)?.state == .terminating)
        #expect(stage.core.instances(of: Stage.app).contains { $0.state == .prewarming })
    }

    @Test func `serves a call, even if an instance ends while it is on its way`() throws {
        var (stage, second) = try onItsWay()
        stage.send(.nameWatched(second))
        stage.send(.called(second, isLaunch: true))
        stage.send(.exited(first, .exited(0)))
        #expect(stage.core.instance(second)?.state == .prewarming)
    }

    @Test func `ends with the watch of its name, and waits before the next`() {
        var stage = named()
        stage.send(.becameStale(first))
        #expect(stage.core.instance(first)?.state == .terminating)
        #expect(stage.core.demotion(of: Stage.app) == nil)
        #expect(stage.core.instance(second) == nil)
    }

    /// Nobody has watched the name in the meantime.
    @Test func `ends with the supervisor, if it has a name`() throws {
        let stage = named()
        var core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: InstanceIdentifier(2), policy: Policy(), seed: 1, at: stage.now)
        _ = core.handle(
            .appInstalled(try #require(stage.core.description(of: Stage.app))), at: stage.now)
        let effects = core.handle(.restored, at: stage.now)
        #expect(effects.contains(.kill(first)))
        #expect(core.instance(first)?.state == .terminating)
    }

    @Test func `is the only one of an app that owns a name`() {
        let stage = named { $0.prewarmCount = 3 }
        let named = stage.core.instances(of: Stage.app).filter {
            $0.state.isPrewarm && $0.wantsName
        }
        #expect(named.count <= 1)
    }

    @Test func `is prepared again when an instance that has the name has ended`() throws {
        var stage = Stage(
            .prewarmed {
                $0.depth = .window
                $0.isSingleInstance = false
            })
        stage.send(.misfired(first, .nameTaken))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .nameTaken)
        stage.die(first, .signaled(9, coreDumped: false))
        stage.send(.paused(second, byteCount: 1))
        stage.launch()
        stage.send(.started(second))
        stage.die(second, .exited(0))
        #expect(stage.core.demotion(of: Stage.app) == nil)
        #expect(
            stage.core.instances(of: Stage.app).contains {
                $0.state == .prewarming && $0.depth == .window
            })
    }

    /// The owner's end may be told before the misfire, and no other end would tell that the name is
    /// free.
    @Test func `is tried again after a while if the name's owner has ended meanwhile`() {
        var stage = Stage(
            .prewarmed {
                $0.depth = .window
                $0.isSingleInstance = false
            })
        stage.launch()
        #expect(stage.core.instance(second)?.launchKind == .cold)
        stage.send(.spawned(second))
        stage.die(second, .exited(0))
        stage.send(.misfired(first, .nameTaken))
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(stage.core.demotion(of: Stage.app) == nil)
        stage.wait(stage.core.policy.backOffFirst * 2)
        #expect(
            stage.core.instances(of: Stage.app).contains {
                $0.state == .prewarming && $0.depth == .window
            })
    }

    @Test func `is aired once a minute, and no other app is`() {
        var stage = named()
        #expect(!stage.wait(.seconds(40)).contains(.thaw(first)))
        let effects = stage.wait(.seconds(40))
        #expect(effects.contains(.thaw(first)) && effects.contains(.freezePaused(first)))
        stage.send(.frozen(first))
        stage.launch()
        stage.send(.started(first))
        #expect(!stage.wait(.seconds(200)).contains(.freezePaused(first)))
    }

    private func hint(_ stage: inout Stage) -> [Effect] {
        stage.send(.requested(stage.request(), .prepare(Stage.app)))
    }

    @Test func `is aired by a hint, and launched from there`() {
        var stage = named()
        let effects = hint(&stage)
        #expect(effects.contains(.thaw(first)))
        #expect(effects.contains { if case .answer(_, .prepared) = $0 { true } else { false } })
        #expect(stage.core.instance(first)?.state == .prewarmed)
        stage.wait(.milliseconds(100))
        stage.launch()
        stage.send(.started(first))
        #expect(!stage.wait(.seconds(1)).contains(.freezePaused(first)))
    }

    @Test func `is frozen again after a hint without a launch, and aired by time as before`() {
        var stage = named()
        _ = hint(&stage)
        #expect(stage.wait(.milliseconds(200)).contains(.freezePaused(first)))
        stage.send(.frozen(first))
        #expect(stage.wait(.seconds(80)).contains(.thaw(first)))
    }

    @Test func `is aired by hints at most once in five seconds, however it was aired before`() {
        var stage = named()
        var count = 0
        for _ in 0..<100 {
            count += hint(&stage).count { $0 == .thaw(first) }
            if stage.wait(.milliseconds(200)).contains(.freezePaused(first)) {
                stage.send(.frozen(first))
            }
        }
        #expect(count == 4)
        stage.wait(.seconds(5))
        stage.send(.called(first, isLaunch: false))
        stage.wait(.milliseconds(200))
        stage.send(.frozen(first))
        #expect(!hint(&stage).contains(.thaw(first)))
    }

    @Test func `is not aired by a hint while everything ends`() {
        var stage = held()
        stage.send(.frozen(first))
        stage.send(.shutdownRequested)
        #expect(!hint(&stage).contains(.thaw(first)))
    }

    @Test func `of one app only is aired by a hint: what is paused before main stays frozen`() {
        var stage = Stage(.prewarmed())
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        #expect(!hint(&stage).contains(.thaw(first)))
    }

    @Test(arguments: [Misfire.ownsName, .otherDisplay, .showsNotice, .startsPrograms(nil)])
    func `is not prepared again for a program that cannot be held`(_ misfire: Misfire) throws {
        var stage = Stage(.prewarmed { $0.depth = .window })
        stage.send(.misfired(first, misfire))
        #expect(stage.core.demotion(of: Stage.app)?.isOfWindow == true)
        #expect(stage.core.misfire(of: Stage.app) == nil)
        #expect(stage.core.instance(second)?.depth == .main)
        // The libraries can still be learned.
        stage.send(.paused(second, byteCount: 1))
        stage.launch()
        stage.send(.started(second))
        let lesson = LibraryLesson(app: Stage.app, generation: 1, environmentKey: Stage.key)
        #expect(stage.has(.learnLibraries(second, lesson)))
        stage.send(.librariesLearned(lesson, count: 2, isComplete: true))
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .libraries)
        // The libraries fail as well.
        let deep = try #require(
            stage.core.instances(of: Stage.app).last {
                $0.state == .prewarming && $0.depth == .libraries
            })
        stage.send(.misfired(deep.instance, .changesProcess))
        #expect(stage.core.demotion(of: Stage.app)?.isOfWindow == false)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .main)
        #expect(stage.core.depth(of: Stage.app, EnvironmentKey(9)) == .main)
    }

    /// The faults of a held program, and what causes each. `first` is on its way to its window.
    private static var faults: [(DepthFault, (inout Stage, InstanceIdentifier) -> Void)] {
        [
            (.ended, { $0.send(.exited($1, .exited(1))) }),
            (.timedOut, { stage, _ in stage.wait(.seconds(50)) }),
            (.startsPrograms, { $0.send(.misfired($1, .startsPrograms(nil))) }),
            (.changesProcess, { $0.send(.misfired($1, .changesProcess)) }),
            (.ownsName, { $0.send(.misfired($1, .ownsName)) }),
            (.nameTaken, { $0.send(.misfired($1, .nameTaken)) }),
            (.otherDisplay, { $0.send(.misfired($1, .otherDisplay)) }),
            (.showsNotice, { $0.send(.misfired($1, .showsNotice)) }),
            (.notFrozen, { pause(&$0, $1, .freezeFailed($1)) }),
            (.endedHeld, { pause(&$0, $1, .frozen($1), .exited($1, .exited(0))) }),
        ]
    }

    private static func pause(
        _ stage: inout Stage, _ id: InstanceIdentifier, _ events: Event...
    ) {
        stage.send(.paused(id, byteCount: 1, hasOtherThreads: true))
        for event in events { stage.send(event) }
    }

    @Test func `that failed is held again when the app's files change, or a client resets it`() {
        for (fault, fail) in Self.faults {
            for isReset in [false, true] {
                let app = AppDescription.prewarmed {
                    $0.depth = .window
                    $0.isSingleInstance = false
                }
                var stage = Stage(app)
                fail(&stage, first)
                #expect(stage.core.demotion(of: Stage.app)?.fault == fault)
                #expect(stage.core.demotion(of: Stage.app)?.isOfWindow == true)
                // Nothing else makes the app be held.
                stage.wait(.seconds(2000))
                let depths = stage.core.instances.filter { $0.instance != first }.map(\.depth)
                #expect(Set(depths) == [.main], "\(fault)")

                let next = stage.core.nextInstance
                if isReset {
                    stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
                    let paused = stage.core.instances.filter { $0.state == .prewarmed }
                    for record in paused { stage.die(record.instance) }
                } else {
                    var changed = app
                    changed.generation += 1
                    stage.send(.appInstalled(changed))
                }
                #expect(stage.core.demotion(of: Stage.app) == nil)
                stage.wait(.seconds(2000))
                let isHeld = stage.core.instances.contains {
                    $0.instance >= next && $0.depth == .window
                }
                #expect(isHeld, "\(fault)")
            }
        }
    }

    @Test func `that is about to make a process ends for that reason, which is said once`() {
        var stage = held()
        stage.send(.frozen(first))
        var effects = stage.send(.misfired(first, .startsPrograms(nil)))
        #expect(stage.core.instance(first)?.state == .terminating)
        effects += stage.send(.channelLost(first))
        effects += stage.send(.exited(first, .exited(0)))
        effects += stage.send(.emptied(first))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .startsPrograms)
        let reports = effects.filter { if case .report(.demoted) = $0 { true } else { false } }
        #expect(reports.count == 1)
        #expect(stage.core.instance(second)?.depth == .main)
        #expect(stage.core.app(Stage.app)?.prewarmFailures == 0)
    }

    @Test func `of one environment that fails is still prepared in the app's own`() {
        var stage = Stage(.prewarmed { $0.depth = .window })
        stage.send(.paused(first, byteCount: 1, hasOtherThreads: true))
        let other = EnvironmentKey(9)
        stage.send(.requested(RequestIdentifier(50), .prewarm(Stage.app, other)))
        stage.send(.misfired(second, .ownsName))
        #expect(stage.core.depth(of: Stage.app, other) == .main)
        #expect(stage.core.depth(of: Stage.app, Stage.key) == .window)
    }

    @Test(arguments: [false, true])
    func `that ends is not held again, and the next prewarm does not wait`(
        isChannelFirst: Bool
    ) {
        var stage = held()
        stage.send(.frozen(first))
        if isChannelFirst { stage.send(.channelLost(first)) }
        stage.die(first, .signaled(11, coreDumped: false))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .endedHeld)
        #expect(stage.savedApps[Stage.app]?.prewarmFailures == 0)
        #expect(stage.savedApps[Stage.app]?.crashes == [])
        #expect(stage.core.instance(second)?.depth == .main)
    }

    @Test func `that failed is held at once when a client resets it`() {
        var stage = held()
        stage.send(.frozen(first))
        stage.die(first, .exited(1))
        stage.send(.paused(second, byteCount: 1))
        #expect(stage.core.instance(second)?.depth == .main)
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.core.instance(second)?.state == .terminating)
        stage.die(second)
        #expect(stage.core.instances.last?.depth == .window)
    }

    @Test func `that failed, and was reset on battery, is held when there is power`() {
        var policy = Policy()
        policy.inspectsConditions = true
        var stage = held()
        stage.send(.frozen(first))
        stage.die(first, .exited(1))
        stage.send(.paused(second, byteCount: 1))
        stage.send(.policyChanged(policy))
        stage.send(.conditionsInspected(.lowBattery))
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.core.instance(second)?.state == .prewarmed)
        for obstacle in [PrewarmObstacle.lowBattery, .lowBattery, nil] {
            #expect(stage.core.instance(second)?.state == .prewarmed)
            #expect(stage.wait(policy.conditionsRetryFirst * 8).contains(.inspectConditions))
            stage.send(.conditionsInspected(obstacle))
        }
        #expect(stage.core.instance(second)?.state == .terminating)
        stage.die(second)
        #expect(stage.core.instances.last?.depth == .window)
    }

    /// If the next supervisor finds no process, that says nothing about the program.
    @Test func `that is gone with its spawner is held again`() {
        var stage = held()
        stage.send(.reconciled(first, found: .nothing))
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    /// The display may have been busy: a client has grabbed it, for example.
    @Test func `whose window does not appear once is launched cold, and held again`() throws {
        var stage = held { $0.prewarmCount = 2 }
        stage.send(.paused(second, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        stage.send(.frozen(second))
        stage.launch()
        let told = try #require(
            stage.core.instances(of: Stage.app).first { $0.state == .launching }?.instance)
        let effects = stage.wait(.seconds(2))
        #expect(stage.core.demotion(of: Stage.app) == nil)
        #expect(stage.savedApps[Stage.app]?.prewarmFailures == 1)
        #expect(effects.contains(.kill(told)))
        // The other held instance is not tried.
        #expect(effects.contains(where: isCold))
        let other = told == first ? second : first
        #expect(stage.core.instance(other)?.state == .prewarmed)
    }

    @Test func `that meets a stall together with another launch is held again`() {
        var stage = held { $0.prewarmCount = 2 }
        stage.send(.paused(second, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        stage.send(.frozen(second))
        stage.launch()
        stage.wait(.milliseconds(500))
        stage.launch()
        stage.wait(.seconds(3))
        #expect(stage.savedApps[Stage.app]?.prewarmFailures == 2)
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    /// The library gives up if the display does not answer.
    @Test func `that meets a stall together with a launch that gives up is held again`() throws {
        var stage = held { $0.prewarmCount = 2 }
        stage.send(.paused(second, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        stage.send(.frozen(second))
        stage.launch()
        let earlier = try #require(
            stage.core.instances(of: Stage.app).first { $0.phase == .toldToGo }?.instance)
        stage.launch()
        stage.send(.channelLost(earlier == first ? second : first))
        stage.wait(.seconds(3))
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    @Test func `after a prewarm that failed is held again when its window does not appear once`()
        throws
    {
        var stage = Stage(.prewarmed { $0.depth = .window })
        stage.die(first, .signaled(9, coreDumped: false))
        #expect(stage.savedApps[Stage.app]?.prewarmFailures == 1)
        stage.awaitRetry()
        let held = try #require(stage.core.instances.last?.instance)
        stage.send(.paused(held, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(held))
        stage.launch()
        stage.wait(.seconds(3))
        #expect(stage.core.instance(held)?.state == .terminating)
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    @Test func `whose window does not appear, appears, and does not appear is held again`() throws {
        var stage = held { $0.isSingleInstance = false }
        for isShown in [false, true, false] {
            let id = try #require(stage.core.instances.last?.instance)
            stage.send(.paused(id, byteCount: 1, hasOtherThreads: true))
            stage.send(.frozen(id))
            stage.launch()
            if isShown { stage.send(.started(id)) } else { stage.wait(.seconds(3)) }
            stage.awaitRetry()
        }
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    /// A window that a call waits for in vain is not shown either.
    @Test func `that a call keeps waiting between two launches without a window is not held again`()
        throws
    {
        var stage = held { $0.isSingleInstance = false }
        for isCall in [false, true, false] {
            let id = try #require(stage.core.instances.last?.instance)
            stage.send(.nameWatched(id))
            stage.send(.paused(id, byteCount: 1, hasOtherThreads: true))
            stage.send(.frozen(id))
            if isCall { stage.send(.called(id, isLaunch: true)) } else { stage.launch() }
            stage.wait(.seconds(3))
            if isCall { stage.die(id, .exited(0)) }
            stage.awaitRetry()
        }
        #expect(stage.core.demotion(of: Stage.app)?.fault == .noWindow)
    }

    @Test func `whose window does not appear twice in a row is not held again`() throws {
        var stage = held { $0.prewarmCount = 2 }
        stage.send(.paused(second, byteCount: 1, hasOtherThreads: true))
        stage.send(.frozen(first))
        stage.send(.frozen(second))
        stage.launch()
        stage.wait(.seconds(2))
        let cold = try #require(
            stage.core.instances(of: Stage.app).first { $0.launchKind == .cold }?.instance)
        stage.send(.spawned(cold))
        stage.die(cold, .exited(0))
        stage.wait(.milliseconds(1))
        stage.launch()
        let effects = stage.wait(.seconds(2))
        #expect(stage.core.demotion(of: Stage.app)?.fault == .noWindow)
        #expect(effects.contains(where: isCold))
        #expect(
            !stage.core.instances(of: Stage.app).contains {
                $0.depth == .window && $0.state != .terminating
            })
        stage.send(.requested(stage.request(), .resetFailed(Stage.app)))
        #expect(stage.core.demotion(of: Stage.app) == nil)
    }

    @Test(arguments: [PrewarmDepth.main, .window])
    func `on its way is not waited for`(_ depth: PrewarmDepth) {
        var stage = Stage(
            .prewarmed {
                $0.depth = depth
                $0.isSingleInstance = false
            })
        stage.wait(.milliseconds(100))
        stage.send(.paused(first, byteCount: 1))
        stage.launch()
        stage.send(.started(first))
        stage.wait(.milliseconds(20))
        #expect(stage.core.instance(second)?.state == .prewarming)
        stage.launch()
        let isCold = stage.effects.contains {
            if case .spawn(_, _, .launch) = $0 { true } else { false }
        }
        #expect(isCold == (depth == .window))
    }
}

extension Stage {
    /// Lets time pass until the app may be prewarmed again.
    fileprivate mutating func awaitRetry() {
        guard let time = savedApps[Stage.app]?.prewarmRetryAt, time > now else { return }
        wait(now.duration(to: time))
    }
}
