internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The shell around the core: carries events in and effects out, in order, and decides nothing.
///
///     control calls, channels, exits, files, time ──> Event ──> Lifecycle.handle ──> [Effect]
///                                                                                       │
///     RuntimeState, Launcher, InstanceTable, ControlHandler, Reporter  <── perform ─────┘
///
/// An effect may cause an event at once (a channel found broken); it waits in the queue until the
/// effects before it are done.
@LoopActor
final class Supervisor {
    private(set) var lifecycle: Lifecycle
    private var state: RuntimeState
    /// What environments and generations in the records are known by.
    var digest: KeyedDigest { state.digest }
    /// Keeps `state` mapped.
    private var memory: SharedMemory
    let reporter: Reporter

    // Built by `Parts`; each gets its effects from here and sends its events back here.
    var launcher: Launcher!
    var instances: InstanceTable!
    var control: ControlHandler!
    var sockets: ListeningSockets!
    var applications: ApplicationChannels!
    var reclaimer: Reclaimer!
    var states: KeptStates!
    var screens: ShownScreens!
    var metrics: Metrics!
    var work: BackgroundWork!

    private var queue: [Event] = []
    private var isHandling = false
    private var eventTime = Instant(nanoseconds: 0)
    private var timer: EventSource?
    private var armedDeadline: Instant?
    /// Called once every instance has ended after `Event.shutdownRequested`.
    var onEmpty: (() -> Void)?
    /// Called when a user's session was locked or unlocked, whoever said so.
    var onLock: ((_ user: UInt32, _ isLocked: Bool) -> Void)?

    init(
        lifecycle: Lifecycle, state: RuntimeState, memory: SharedMemory, reporter: Reporter
    ) throws(SystemdError) {
        self.lifecycle = lifecycle
        self.state = state
        self.memory = memory
        self.reporter = reporter
        timer = try LoopActor.timer { [unowned self] in
            armedDeadline = nil
            handle(.deadlineReached)
        }
    }

    /// All that one event leads to happens at one time.
    var now: Instant {
        isHandling ? eventTime : Instant(nanoseconds: MonotonicClock.nanoseconds)
    }

    /// Takes one event to its end: decides, then acts.
    func handle(_ event: Event) {
        queue.append(event)
        guard !isHandling else { return }
        isHandling = true
        reporter.events.beganTurn()
        var next = 0
        while next < queue.count {
            let event = queue[next]
            next += 1
            eventTime = Instant(nanoseconds: MonotonicClock.nanoseconds)
            for effect in lifecycle.handle(event, at: eventTime) { perform(effect) }
            follow(event)
        }
        queue.removeAll(keepingCapacity: true)
        isHandling = false
        reporter.events.endedTurn()
        armTimer()
        if lifecycle.isShuttingDown, lifecycle.liveCount == 0, let onEmpty {
            self.onEmpty = nil
            onEmpty()
        }
    }

    /// What the shell itself keeps follows from some events, whoever they come from.
    private func follow(_ event: Event) {
        if case .lockChanged(let user, let isLocked) = event { onLock?(user, isLocked) }
        // It never comes to be released.
        if case .spawnFailed(let instance, _) = event {
            applications.forget(instance)
            launcher.forget(instance)
        }
    }

    func spawnFailed(_ instance: InstanceIdentifier, _ failure: SpawnFailure) {
        reporter.spawnFailed(lifecycle.instance(instance), failure)
        handle(.spawnFailed(instance, failure))
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .save(let record):
            if !state.save(record) { reporter.runtimeStateIsFull(record) }
        case .erase(let instance): state.erase(instance)
        case .saveApp(let record):
            if !state.save(record) { reporter.runtimeStateIsFull(record.app) }
        case .eraseApp(let app): state.erase(app)
        case .spawn(let instance, let app, let purpose):
            launcher.spawn(instance, of: app, for: purpose)
            reclaimer.pressure.instancesExist()
        case .resume(let instance, let request): launcher.resume(instance, for: request)
        case .freeze(let instance): instances.freeze(instance)
        case .thaw(let instance): instances.thaw(instance)
        case .terminate(let instance): instances.terminate(instance)
        case .kill(let instance): instances.kill(instance)
        case .release(let instance): instances.release(instance)
        case .applyPriority(let instance, let priority): instances.apply(priority, to: instance)
        case .answer(let request, let answer): self.answer(request, with: answer)
        case .record(let record): note(record)
        case .awaitConnection(let app): sockets.watch(app)
        case .ignoreConnections(let app): sockets.ignore(app)
        case .tell(let instance, let step): applications.tell(instance, step)
        case .notify(let instance, let notice): applications.notify(instance, notice)
        case .deliver(let instance, let request): applications.deliver(instance, request)
        case .inspectTracer(let instance): applications.inspectTracer(of: instance)
        case .inspectConditions: reclaimer.inspectConditions()
        case .inspectLocks(let instance): reclaimer.inspectLocks(of: instance)
        case .keepState(let instance, let app, let scene): states.keep(instance, app, scene)
        case .refuseState(let instance, let scene, let refusal):
            states.refuse(refusal, instance, scene)
        case .deleteState(let app, let scene): states.delete(app, scene)
        case .handOverState(let instance, let scene, let isThere):
            applications.handOver(scene, to: instance, isThere: isThere)
        case .keepSessions(let app, let list): states.keep(list, of: app)
        case .noteVersion(let app): states.noteVersion(of: app)
        case .pageOut(let instance): reclaimer.pageOut.begin(instance)
        case .saveTasks(let app, let tasks): work.save(tasks, of: app)
        case .tellBackgroundTime(let instance, let end):
            work.tellTime(until: end, instance)
        case .tellExpiration(let instance, let end):
            work.tellExpiration(at: end, instance)
        case .startRun(let instance, let run, let end): work.start(run, on: instance, until: end)
        case .expireRun(let instance, let run, let end): work.expire(run, on: instance, at: end)
        case .inspectTaskConditions: work.inspect()
        case .setTaskAlarm(let time): work.setAlarm(time)
        }
    }

    /// To the app or the client that asked; then to those who count.
    private func answer(_ request: RequestIdentifier, with answer: Answer) {
        if !applications.requests.take(answer, to: request) {
            control.answer(request, with: answer)
        }
        if case .launched(let outcome) = answer,
            let requestedAt = launcher.contexts[request]?.requestedAt
        {
            metrics.launched(outcome, requestedAt: requestedAt)
        }
        metrics.answered(request, answer)
        launcher.contexts.forget(request)
    }

    private func note(_ record: Record) {
        reporter.note(record)
        screens.note(record)
        metrics.note(record)
        if case .stateChanged(let instance, let app, let old, let new) = record {
            applications.traces.moved(instance, app, from: old, to: new)
        }
    }

    /// One timer for all deadlines, touched only when the soonest changes to an earlier one: a
    /// wake-up that comes too early is harmless and arms the next.
    private func armTimer() {
        guard let deadline = lifecycle.nextDeadline else { return }
        if let armedDeadline, armedDeadline <= deadline { return }
        armedDeadline = deadline
        do throws(SystemdError) {
            try timer?.setDeadline(nanoseconds: deadline.nanoseconds)
        } catch {
            reporter.failed("arming the timer", error)
        }
    }

    /// Takes over the memory of a spawner that has just been started, and writes every record anew.
    func use(_ state: RuntimeState, memory: SharedMemory) {
        state.use(digest)
        self.state = state
        self.memory = memory
        for record in lifecycle.instances { state.save(record) }
        for record in lifecycle.apps { state.save(record) }
    }
}
