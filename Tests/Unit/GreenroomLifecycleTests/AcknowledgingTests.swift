import GreenroomLifecycle
import Testing

/// Apps that are told each state and acknowledge it.
@Suite struct AcknowledgingTests {
    static let other = AppIdentifier("org.example.other")

    private func stage(_ change: (inout AppDescription) -> Void = { _ in }) -> Stage {
        Stage(.application(Stage.app, change), .application(Self.other))
    }

    @Test func `an app launched to the front is inactive until it acknowledges didBecomeActive`() {
        var stage = stage()
        let id = stage.run()
        #expect(stage.state(id) == .launching)
        stage.send(.becameReady(id))
        #expect(stage.state(id) == .inactive)
        #expect(stage.told == [.didBecomeActive])
        stage.acknowledge(id)
        #expect(stage.state(id) == .active)
    }

    @Test func `an app launched in the background gets no foreground call and is suspended`() {
        var stage = stage()
        let id = stage.run(inBackground: true)
        stage.send(.becameReady(id))
        #expect(stage.told == [.didEnterBackground])
        stage.acknowledge(id)
        #expect(stage.state(id) == .background)
        stage.wait(.seconds(10))
        #expect(stage.state(id) == .suspended)
        #expect(stage.allTold == [.didEnterBackground])
    }

    @Test func `an app that another app displaces resigns active, then enters the background`() {
        var stage = stage()
        let first = stage.activate(Stage.app)
        let second = stage.run(Self.other)
        stage.send(.becameReady(second))
        #expect(stage.told == [.willResignActive, .didBecomeActive])
        #expect(stage.state(first) == .active)
        stage.acknowledge(first)
        #expect(stage.state(first) == .inactive)
        stage.acknowledge(first)
        #expect(stage.state(first) == .background)
        #expect(stage.allTold.suffix(3).contains(.didEnterBackground))
    }

    @Test func `a request is answered when the app has reached its goal`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        #expect(stage.answers.isEmpty)
        stage.acknowledge(id)
        #expect(stage.answers.isEmpty)
        stage.acknowledge(id)
        #expect(stage.answers == [.done(id, .background)])
    }

    @Test func `an app that is sent to the background while it launches goes there`() {
        var stage = stage()
        let id = stage.run()
        stage.ask(.background, id)
        #expect(stage.answers.isEmpty)
        stage.send(.becameReady(id))
        #expect(stage.told == [.didEnterBackground])
        #expect(stage.answers.isEmpty)
        stage.acknowledge(id)
        #expect(stage.answers == [.done(id, .background)])
    }

    @Test func `content for an app that comes back is delivered after willEnterForeground`() {
        var stage = Stage(.application(Stage.app) { $0.isSingleInstance = true })
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        stage.acknowledge(id)
        // The app is still leaving the front.
        stage.launch(name: "again")
        #expect(stage.deliveries.map(\.awaitsReturn) == [true])
        stage.acknowledge(id)
        #expect(stage.told == [.willEnterForeground])
        stage.launch(name: "and again")
        #expect(stage.deliveries.map(\.awaitsReturn) == [false])
    }

    @Test
    func `an active app is frozen only after it has acknowledged each step to the background`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.suspend, id)
        stage.acknowledge(id)
        #expect(!stage.has(.freeze(id)))
        stage.acknowledge(id)
        #expect(stage.has(.freeze(id)))
        stage.send(.frozen(id))
        #expect(stage.answers == [.done(id, .suspended)])
    }

    @Test
    func `a slow step is recorded at half its time limit, and the app is killed at the limit`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        stage.wait(.milliseconds(2499))
        #expect(stage.effects.isEmpty)
        stage.wait(.milliseconds(1))
        #expect(
            stage.has(.report(.slowStep(id, Stage.app, .willResignActive, .application))))
        stage.wait(.milliseconds(2500))
        #expect(stage.has(.inspectTracer(id)))
        stage.send(.tracerInspected(id, isTraced: false))
        #expect(stage.has(.kill(id)))
        #expect(
            stage.has(.report(.missedStep(id, Stage.app, .willResignActive, .application))))
        stage.die(id, .signaled(9, coreDumped: false))
        #expect(stage.core.instance(id)?.endReason == .watchdog)
    }

    @Test func `the watchdog waits until the debugger is detached`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        stage.wait(.seconds(5))
        stage.send(.tracerInspected(id, isTraced: true))
        #expect(!stage.has(.kill(id)))
        stage.wait(.seconds(1))
        #expect(stage.has(.inspectTracer(id)))
        stage.send(.tracerInspected(id, isTraced: false))
        #expect(stage.has(.kill(id)))
    }

    @Test
    func `the watchdog ends an app that never finishes launching, unless a debugger is attached`() {
        var stage = stage()
        let id = stage.run()
        stage.wait(.seconds(20))
        #expect(stage.has(.inspectTracer(id)))
        stage.send(.tracerInspected(id, isTraced: true))
        #expect(stage.state(id) == .launching)
        stage.wait(.seconds(1))
        stage.send(.tracerInspected(id, isTraced: false))
        #expect(stage.core.instance(id)?.endReason == .launchWatchdog)
    }

    @Test func `an app that is asked to end is told before SIGTERM`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.terminate, id)
        #expect(stage.told == [.willTerminate])
        #expect(!stage.has(.terminate(id)))
        stage.acknowledge(id)
        #expect(!stage.has(.terminate(id)))
        // The app has half a second to end by itself.
        #expect(!stage.wait(.milliseconds(499)).contains(.terminate(id)))
        #expect(stage.wait(.milliseconds(1)).contains(.terminate(id)))
    }

    @Test func `an app that acknowledged willTerminate and exited gets no signal`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.terminate, id)
        stage.acknowledge(id)
        stage.send(.exited(id, .exited(0)))
        #expect(!stage.wait(.milliseconds(400)).contains(.terminate(id)))
        #expect(!stage.wait(.milliseconds(200)).contains(.terminate(id)))
    }

    @Test func `after a restart an app is told willTerminate again and gets the exit grace again`()
    {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.terminate, id)
        stage.restart(.application(Stage.app), .application(Self.other))
        #expect(stage.told == [.willTerminate] && !stage.has(.terminate(id)))
        stage.acknowledge(id)
        stage.restart(.application(Stage.app), .application(Self.other))
        #expect(!stage.has(.terminate(id)) && stage.told == [])
        #expect(stage.wait(.milliseconds(500)).contains(.terminate(id)))
    }

    @Test func `an app without scenes reports no changes of scenes`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        stage.acknowledge(id)
        #expect(
            !stage.effects.contains {
                if case .report(.sceneChanged) = $0 { true } else { false }
            })
    }

    @Test func `an app that does not acknowledge willTerminate is killed after the grace`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.terminate, id)
        #expect(stage.wait(.seconds(5)).contains(.kill(id)))
    }

    private func suspended(in stage: inout Stage) -> InstanceIdentifier {
        let id = stage.activate(Stage.app)
        stage.ask(.suspend, id)
        stage.acknowledge(id)
        stage.acknowledge(id)
        stage.send(.frozen(id))
        return id
    }

    /// Only a program passes its launch on to another instance.
    @Test func `a suspended app stays suspended when another instance of it is launched`() {
        var stage = stage()
        let first = suspended(in: &stage)
        _ = stage.run(name: "second")
        #expect(stage.state(first) == .suspended)
    }

    @Test func `a suspended app is killed without a callback`() {
        var stage = stage()
        let id = suspended(in: &stage)
        stage.ask(.terminate, id)
        #expect(stage.told == [])
        #expect(stage.has(.kill(id)) && !stage.has(.thaw(id)))
    }

    @Test func `a new supervisor tells the app its pending step again, with the same cookie`()
        throws
    {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.background, id)
        let told = try #require(stage.pending(id))
        stage.restart(.application(Stage.app), .application(Self.other))
        let again = try #require(stage.pending(id))
        #expect(again.cookie == told.cookie && again.step == told.step)
        #expect(stage.told == [.willResignActive])
        stage.acknowledge(id)
        stage.acknowledge(id)
        #expect(stage.state(id) == .background)
    }

    @Test func `an acknowledgement with a wrong cookie or instance changes nothing`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.send(.acknowledged(id, cookie: 1))
        stage.ask(.background, id)
        stage.send(.acknowledged(id, cookie: 1))
        stage.send(.acknowledged(id, cookie: 99))
        stage.send(.acknowledged(InstanceIdentifier(77), cookie: 2))
        #expect(stage.state(id) == .active)
    }

    @Test func `a second launch is delivered to the running app before it is answered`() throws {
        var stage = stage { $0.isSingleInstance = true }
        let id = stage.activate(Stage.app)
        let effects = stage.launch()
        let delivery = try #require(
            effects.firstIndex(
                of: .deliver(id, stage.last, DeliveryAddress(scene: .application))))
        let answer = try #require(
            effects.firstIndex { if case .answer = $0 { true } else { false } })
        #expect(delivery < answer)
    }

    // MARK: Notices

    @Test
    func `running apps are told about a session lock at once, suspended apps when they run again`()
    {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.send(.sessionLockChanged(user: 0, isLocked: true))
        #expect(stage.has(.notify(id, .protectedDataWillBecomeUnavailable)))
        stage.acknowledge(id)
        #expect(!stage.core.isProtectedDataAvailable(toUser: 0))
        #expect(stage.core.isProtectedDataAvailable(toUser: 1))
        stage.ask(.suspend, id)
        stage.acknowledge(id)
        stage.send(.sessionLockChanged(user: 0, isLocked: false))
        #expect(stage.notices == [])
        stage.ask(.resume, id)
        #expect(stage.notices == [.protectedDataDidBecomeAvailable])
    }

    @Test func `a suspended app gets its data again if they were locked away in the meantime`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.ask(.suspend, id)
        stage.acknowledge(id)
        stage.acknowledge(id)
        stage.send(.sessionLockChanged(user: 0, isLocked: true))
        stage.send(.sessionLockChanged(user: 0, isLocked: false))
        stage.ask(.resume, id)
        #expect(stage.notices == [.protectedDataDidBecomeAvailable])
    }

    @Test func `running apps are told about memory pressure and of a changed time`() {
        var stage = stage()
        let id = stage.activate(Stage.app)
        stage.send(.pressureChanged(.warning))
        #expect(stage.has(.notify(id, .didReceiveMemoryWarning)))
        stage.send(.significantTimeChanged)
        #expect(stage.has(.notify(id, .significantTimeChange)))
    }
}
