import GreenroomLifecycle
import Testing

/// Background tasks and scheduled work, decision by decision.
@Suite struct BackgroundTimeTests {
    private func begun(_ change: (inout Policy) -> Void = { _ in }) -> (Stage, InstanceIdentifier) {
        var policy = Policy()
        change(&policy)
        var stage = Stage(policy: policy, .application())
        stage.send(.restored)
        let id = stage.activate(Stage.app)
        stage.send(.backgroundTaskBegan(id, task: 1))
        return (stage, id)
    }

    private func goBack(_ stage: inout Stage, _ id: InstanceIdentifier) {
        stage.ask(.background, id)
        stage.acknowledgeAll(id)
    }

    // MARK: Background tasks

    @Test func `background time runs from entering the background, and the app is told its end`() {
        var (stage, id) = begun()
        #expect(stage.core.instance(id)?.background.value?.end == nil)
        goBack(&stage, id)
        let end = stage.now.advanced(by: .seconds(30))
        #expect(stage.has(.tellBackgroundTime(id, until: end)))
        let told = stage.wait(.seconds(25))
        #expect(told.contains(.tellExpiration(id, at: end)))
        #expect(stage.state(id) == .background)
    }

    @Test func `an app is suspended when it ends its last task, but not before the grace is over`()
    {
        var (stage, id) = begun()
        goBack(&stage, id)
        stage.wait(.seconds(20))
        stage.send(.backgroundTaskEnded(id, task: 1))
        stage.wait(.milliseconds(1))
        #expect(stage.state(id) == .suspended)

        (stage, id) = begun()
        goBack(&stage, id)
        stage.send(.backgroundTaskEnded(id, task: 1))
        stage.wait(.seconds(9))
        #expect(stage.state(id) == .background)
        stage.wait(.seconds(1))
        #expect(stage.state(id) == .suspended)
    }

    @Test func `an app that does not end its tasks is ended, unless a debugger is attached`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        #expect(stage.wait(.seconds(30)).contains(.inspectTracer(id)))
        stage.send(.tracerInspected(id, isTraced: true))
        #expect(stage.state(id) == .background)
        stage.wait(.seconds(1))
        stage.send(.tracerInspected(id, isTraced: false))
        #expect(stage.has(.kill(id)))
        #expect(stage.core.instance(id)?.endReason == .backgroundTaskTimeout)
    }

    @Test func `a request to suspend waits until the last task has ended`() {
        var (stage, id) = begun()
        stage.ask(.suspend, id)
        stage.acknowledgeAll(id)
        #expect(!stage.has(.freeze(id)) && stage.state(id) == .background)
        stage.send(.backgroundTaskEnded(id, task: 1))
        #expect(stage.has(.freeze(id)))
    }

    @Test func `a task that began just before the freeze thaws the app`() {
        var (stage, id) = begun()
        stage.send(.backgroundTaskEnded(id, task: 1))
        stage.ask(.suspend, id)
        stage.acknowledgeAll(id)
        #expect(stage.state(id) == .suspended)
        stage.send(.backgroundTaskBegan(id, task: 1))
        #expect(stage.has(.thaw(id)) && stage.state(id) == .background)
    }

    @Test
    func `after an app was told that its time ends, no task begins until it is in front again`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        stage.wait(.seconds(25))
        stage.send(.backgroundTaskBegan(id, task: 2))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        stage.ask(.foreground, id)
        #expect(stage.has(.tellBackgroundTime(id, until: nil)))
        stage.acknowledgeAll(id)
        stage.send(.backgroundTaskBegan(id, task: 3))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 2)
    }

    @Test func `the end of a task that is not open ends no other task`() {
        var (stage, id) = begun()
        stage.send(.backgroundTaskBegan(id, task: 2))
        stage.send(.backgroundTaskEnded(id, task: 2))
        goBack(&stage, id)
        stage.wait(.seconds(25))
        // Task 3 is refused because the time is about to end, so its end counts for nothing.
        stage.send(.backgroundTaskBegan(id, task: 3))
        for stray: UInt64 in [2, 3, 77] { stage.send(.backgroundTaskEnded(id, task: stray)) }
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        #expect(stage.wait(.seconds(1)).isEmpty && stage.state(id) == .background)
        stage.send(.backgroundTaskEnded(id, task: 1))
        stage.wait(.milliseconds(1))
        #expect(stage.state(id) == .suspended)
    }

    @Test func `a second task with the number of an open one does not begin`() {
        var (stage, id) = begun()
        stage.send(.backgroundTaskBegan(id, task: 1))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
    }

    @Test func `an unknown number ends a task that a former supervisor counted`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        stage.restart(.application())
        stage.send(.backgroundTaskBegan(id, task: 2))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 2)
        stage.send(.backgroundTaskEnded(id, task: 1))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        stage.send(.backgroundTaskEnded(id, task: 1))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        stage.send(.backgroundTaskEnded(id, task: 2))
        #expect(stage.core.instance(id)?.background.value?.taskCount ?? 0 == 0)
    }

    @Test func `the end of a refused task does not end one that a former supervisor counted`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        stage.wait(.seconds(26))
        stage.restart(.application())
        stage.send(.backgroundTaskBegan(id, task: 2))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        stage.send(.backgroundTaskEnded(id, task: 2))
        #expect(stage.core.instance(id)?.background.value?.taskCount == 1)
        stage.send(.backgroundTaskEnded(id, task: 1))
        #expect(stage.core.instance(id)?.background.value?.taskCount ?? 0 == 0)
    }

    @Test func `background time goes on across a restart of the supervisor`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        let end = stage.now.advanced(by: .seconds(30))
        stage.wait(.seconds(26))
        stage.restart(.application())
        #expect(stage.has(.tellExpiration(id, at: end)))
        #expect(stage.wait(.seconds(4)).contains(.inspectTracer(id)))
    }

    @Test func `after a restart, an app with a debugger keeps the time that it was given`() {
        var (stage, id) = begun()
        goBack(&stage, id)
        stage.wait(.seconds(30))
        stage.send(.tracerInspected(id, isTraced: true))
        let given = stage.core.instance(id)?.deadline
        stage.wait(.milliseconds(200))
        stage.restart(.application())
        #expect(given != nil && stage.core.instance(id)?.deadline == given)
    }

    @Test func `an app that is never suspended has no background time limit`() {
        var stage = Stage(.application { $0.suspendsInBackground = false })
        let id = stage.activate(Stage.app)
        stage.send(.backgroundTaskBegan(id, task: 1))
        goBack(&stage, id)
        #expect(stage.wait(.seconds(600)).isEmpty)
    }

    // MARK: Scheduled work

    private static let fine = TaskConditions(wallClock: 1_000_000)

    private func scheduled(
        _ task: ScheduledTask, _ change: (inout Policy) -> Void = { _ in }
    ) -> Stage {
        var policy = Policy()
        policy.taskIdleTime = .zero
        change(&policy)
        var stage = Stage(policy: policy, .application())
        stage.send(.restored)
        stage.send(.requested(stage.request(), .submitTask(Stage.app, task)))
        return stage
    }

    private static func refresh(_ earliest: Int64? = nil) -> ScheduledTask {
        ScheduledTask(identifier: "r", kind: .appRefresh, earliestBegin: earliest)
    }

    private func begunRun(_ stage: Stage) -> (InstanceIdentifier, ScheduledRun)? {
        for case .startRun(let id, let run, _) in stage.effects { return (id, run) }
        return nil
    }

    @Test
    func `scheduled work launches the app in the background and begins when the app is ready`()
        throws
    {
        var stage = scheduled(Self.refresh())
        #expect(stage.has(.inspectTaskConditions))
        let id = stage.core.nextInstance
        stage.send(.taskConditionsInspected(Self.fine))
        #expect(stage.state(id) == .launching)
        #expect(stage.core.isLaunchedForTask(Stage.app))
        let terms = stage.effects.lazy.compactMap {
            if case .spawn(id, _, .launch(.daemon, let terms)) = $0 { terms } else { nil }
        }.first
        #expect(terms?.isForTask == true)
        stage.send(.spawned(id))
        #expect(begunRun(stage) == nil)
        stage.send(.becameReady(id))
        let (_, run) = try #require(begunRun(stage))
        #expect(stage.core.tasks(of: Stage.app) == AppTasks(run: run))
        stage.acknowledgeAll(id)
        stage.wait(.seconds(20))
        #expect(stage.state(id) == .background, "not suspended in the middle of a run")
        stage.send(.runCompleted(id, run: run.number, .succeeded))
        stage.wait(.milliseconds(1))
        #expect(stage.state(id) == .suspended)
        #expect(stage.core.tasks(of: Stage.app) == AppTasks())
    }

    @Test func `a scheduled run goes on while its app is removed and installed again`() throws {
        var stage = scheduled(Self.refresh())
        let id = stage.core.nextInstance
        stage.send(.taskConditionsInspected(Self.fine))
        stage.send(.spawned(id))
        stage.send(.becameReady(id))
        let (_, run) = try #require(begunRun(stage))
        stage.acknowledgeAll(id)
        stage.send(.appRemoved(Stage.app))
        stage.send(.appInstalled(.application()))
        stage.send(.requested(stage.request(), .submitTask(Stage.app, Self.refresh())))
        #expect(stage.has(.saveTasks(Stage.app, AppTasks(requests: [Self.refresh()], run: run))))
    }

    @Test func `work that the app's manifest does not name is refused`() {
        var stage = Stage(.application())
        let task = ScheduledTask(identifier: "other", kind: .appRefresh)
        stage.send(.requested(stage.request(), .submitTask(Stage.app, task)))
        #expect(stage.refusals == [.undeclaredTask(Stage.app)])
        #expect(stage.core.tasks(of: Stage.app) == AppTasks())
    }

    @Test func `no app may schedule work where the administrator has turned it off`() {
        let stage = scheduled(Self.refresh()) { $0.offersScheduledWork = false }
        #expect(stage.refusals == [.scheduledWorkIsOff])
        #expect(stage.core.tasks(of: Stage.app) == AppTasks())
    }

    @Test func `work that a new manifest does not name any more is cancelled`() {
        var stage = scheduled(Self.refresh(5_000_000))
        stage.send(.appInstalled(.application { $0.scheduledTasks = ["p"] }))
        #expect(stage.core.tasks(of: Stage.app) == AppTasks())
        #expect(stage.has(.saveTasks(Stage.app, AppTasks())))
    }

    @Test func `work that is restored and that the manifest does not name is cancelled`() {
        var stage = Stage(.application { $0.scheduledTasks = ["p"] })
        stage.send(.restored)
        let kept = ScheduledTask(identifier: "p", kind: .processing)
        stage.send(.tasksRestored(Stage.app, AppTasks(requests: [Self.refresh(), kept])))
        #expect(stage.core.tasks(of: Stage.app) == AppTasks(requests: [kept]))
    }

    @Test
    func `work for a later time sets an alarm, not a timer, and cancelling it clears the alarm`() {
        var stage = scheduled(Self.refresh(5_000_000))
        stage.send(.taskConditionsInspected(Self.fine))
        #expect(stage.effects == [.setTaskAlarm(5_000_000)])
        #expect(stage.core.nextDeadline == nil)
        stage.send(.tasksCancelled(Stage.app, nil))
        #expect(stage.has(.setTaskAlarm(nil)))
        #expect(stage.core.nextDeadline == nil)
    }

    @Test func `work that the machine's conditions hold back is checked again after a minute`() {
        var task = ScheduledTask(identifier: "p", kind: .processing)
        task.requiresExternalPower = true
        task.requiresNetworkConnectivity = true
        var stage = scheduled(task)
        var conditions = Self.fine
        conditions.isOnExternalPower = false
        conditions.hasNetwork = false
        conditions.isLoadLow = false
        func obstacle() -> TaskObstacle { stage.core.obstacle(to: task, Stage.app, conditions) }
        #expect(obstacle() == .noExternalPower)
        stage.send(.taskConditionsInspected(conditions))
        #expect(stage.effects.isEmpty)
        conditions.isOnExternalPower = true
        #expect(obstacle() == .noNetwork)
        conditions.hasNetwork = true
        #expect(obstacle() == .highLoad)
        conditions.isLoadLow = true
        #expect(obstacle() == .due)
        #expect(stage.wait(.seconds(60)).contains(.inspectTaskConditions))
        stage.send(.pressureChanged(.warning))
        #expect(obstacle() == .memoryPressure)
    }

    @Test func `a task whose app could not be launched is tried again`() {
        var stage = scheduled(Self.refresh())
        let id = stage.core.nextInstance
        stage.send(.taskConditionsInspected(Self.fine))
        stage.send(.spawnFailed(id, SpawnFailure(stage: "executing", errno: 2)))
        #expect(stage.core.tasks(of: Stage.app).requests.count == 1)
        stage.send(.taskConditionsInspected(Self.fine))
        #expect(stage.core.nextInstance.rawValue == id.rawValue + 1)
        #expect(stage.wait(.seconds(61)).contains(.inspectTaskConditions))
        stage.send(.taskConditionsInspected(Self.fine))
        #expect(stage.core.nextInstance.rawValue == id.rawValue + 2)
    }

    @Test func `after a restart a run is told again with the same number and does not begin again`()
        throws
    {
        var stage = scheduled(Self.refresh())
        let id = stage.core.nextInstance
        stage.send(.taskConditionsInspected(Self.fine))
        stage.send(.spawned(id))
        stage.send(.becameReady(id))
        let (_, first) = try #require(begunRun(stage))
        let tasks = stage.core.tasks(of: Stage.app)
        // The next supervisor, as the shell makes it.
        stage.core = Lifecycle(
            restoring: Array(stage.saved.values), apps: Array(stage.savedApps.values),
            nextInstance: stage.core.nextInstance, policy: stage.core.policy, seed: 2,
            at: stage.now)
        stage.send(.appInstalled(.application()))
        stage.send(.tasksRestored(Stage.app, tasks))
        stage.send(.restored)
        let (again, second) = try #require(begunRun(stage))
        #expect(again == id && second == first)
        stage.die(id)
        #expect(stage.core.tasks(of: Stage.app) == AppTasks())
    }

    @Test func `after a reboot pending tasks are run, but the task that was under way is not`() {
        var stage = Stage(.application())
        let run = ScheduledRun(number: 7, identifier: "x", kind: .processing)
        stage.send(.tasksRestored(Stage.app, AppTasks(requests: [Self.refresh()], run: run)))
        stage.send(.restored)
        #expect(stage.core.tasks(of: Stage.app) == AppTasks(requests: [Self.refresh()]))
        #expect(stage.has(.inspectTaskConditions))
    }
}
