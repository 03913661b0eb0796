internal import GreenroomLifecycle
internal import Systemd

/// Carries out what the core decides, in order, each effect by the room that owns its subject.
@LoopActor
final class Effects: EffectPerformer {
    private let records: Records
    private let events: EventStream
    private let reporter: Reporter
    private let instances: InstanceTable
    private let requests: Requests
    private let launcher: Launcher
    private let freezer: Freezer
    private let reclaimer: Reclaimer
    private let sockets: ListeningSockets
    private let applications: ApplicationChannels
    private let appRequests: AppRequests
    private let replies: Replies
    private let states: KeptStates
    private let work: BackgroundWork
    private let measuring: MeasuringRooms
    private let paths: AppPaths
    private let temporaryFolders: TemporaryFolders

    init(_ rooms: Rooms) {
        records = rooms.shared.records
        events = rooms.shared.events
        reporter = rooms.shared.reporter
        instances = rooms.shared.instances
        requests = rooms.shared.requests
        launcher = rooms.launching.launcher
        freezer = rooms.memory.freezer
        reclaimer = rooms.memory.reclaimer
        sockets = rooms.launching.sockets
        applications = rooms.conversation.applications
        appRequests = rooms.conversation.appRequests
        replies = rooms.control.replies
        states = rooms.conversation.states
        work = rooms.conversation.work
        measuring = rooms.measuring
        paths = rooms.machine.paths
        temporaryFolders = rooms.shared.temporaryFolders
    }

    func beganTurn() { events.beganTurn() }
    func endedTurn() { events.endedTurn() }

    func perform(_ effect: Effect) {
        switch effect {
        case .save(let record):
            if !records.save(record) { reporter.runtimeStateIsFullOfInstances() }
        case .erase(let instance): records.erase(instance)
        case .saveApp(let record):
            if !records.save(record) { reporter.runtimeStateIsFull(record.app) }
        case .eraseApp(let app): records.erase(app)
        case .spawn(let instance, let app, let purpose):
            launcher.spawn(instance, of: app, for: purpose)
            reclaimer.pressure.instancesExist()
        case .go(let instance, let request, let terms):
            launcher.go(instance, for: request, terms)
        case .awaitStart(let instance): launcher.awaitStart(of: instance)
        case .freeze(let instance): freezer.freeze(instance)
        case .thaw(let instance): freezer.thaw(instance)
        case .terminate(let instance): instances.terminate(instance)
        case .kill(let instance): instances.kill(instance)
        case .release(let instance, let app): release(instance, of: app)
        case .applyPriority(let instance, let priority):
            instances.apply(priority, to: instance)
            reclaimer.priorities.want(priority, for: instance)
        case .answer(let request, let answer): self.answer(request, with: answer)
        case .record(let record): note(record)
        case .awaitConnection(let app): sockets.watch(app)
        case .ignoreConnections(let app): sockets.ignore(app)
        case .tell(let instance, let step, let terms):
            applications.tell(instance, step, terms)
        case .notify(let instance, let notice): applications.notify(instance, notice)
        case .deliver(let instance, let request, let address):
            applications.deliver(instance, request, to: address)
        case .inspectTracer(let instance): applications.inspectTracer(of: instance)
        case .inspectConditions: reclaimer.inspectConditions()
        case .inspectFileLocks(let instance): reclaimer.inspectFileLocks(of: instance)
        case .keepState(let instance, let app, let scene): states.keep(instance, app, scene)
        case .refuseState(let instance, let scene, let refusal):
            states.refuse(refusal, instance, scene)
        case .deleteState(let app, let scene): states.delete(app, scene)
        case .handOverState(let instance, let scene, let isThere):
            states.handOver(scene, to: instance, isThere: isThere)
        case .keepSessions(let app, let list): states.keep(list, of: app)
        case .noteVersion(let app): states.noteVersion(of: app)
        case .pageOut(let instance): reclaimer.pageOut.begin(instance)
        case .saveTasks(let app, let tasks): work.save(tasks, of: app)
        case .tellBackgroundTime(let instance, let end): work.tellTime(until: end, instance)
        case .tellExpiration(let instance, let end): work.tellExpiration(at: end, instance)
        case .startRun(let instance, let run, let end): work.start(run, on: instance, until: end)
        case .expireRun(let instance, let run, let end): work.expire(run, on: instance, at: end)
        case .inspectTaskConditions: work.inspect()
        case .setTaskAlarm(let time): work.setAlarm(time)
        }
    }

    /// Answers whoever asked; then tells the metrics.
    private func answer(_ identifier: RequestIdentifier, with answer: Answer) {
        guard let request = requests.take(identifier) else { return }
        switch request.origin {
        case .client(let call): replies.answer(call, with: answer)
        case .app(let instance, let cookie?): appRequests.answer(answer, to: cookie, of: instance)
        case .app(_, nil), .daemon: break
        }
        if case .launched(let outcome, let inBackground) = answer, let context = request.context {
            measuring.metrics.launched(
                outcome, inBackground: inBackground, requestedAt: context.requestedAt)
        }
        measuring.metrics.answered(answer, foregroundRequestedAt: request.foregroundRequestedAt)
    }

    private func note(_ record: Record) {
        reporter.note(record)
        measuring.screens.note(record)
        measuring.metrics.note(record)
        if case .stateChanged(let instance, let app, let old, let new, _) = record {
            measuring.traces.moved(instance, app, from: old, to: new)
        }
    }

    /// The instance's end is recorded, and no process of it is left. Its paths may start the app
    /// again, and its temporary files can be removed.
    private func release(_ instance: InstanceIdentifier, of app: AppIdentifier?) {
        instances.release(instance)
        guard let app else { return }
        if paths.has(app) { paths.look(at: app) }
        temporaryFolders.emptyFolder(of: app)
    }
}
