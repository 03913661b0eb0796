internal import GreenroomLifecycle
internal import Systemd

/// Carries out what the core decides, in order. Each effect is performed by the room that owns its
/// subject.
@LoopActor
final class Effects: EffectPerformer {
    private let events: EventStream
    private let records: RecordMemory
    private let reporter: Reporter
    private let processes: Processes
    private let instances: InstanceTable
    private let launcher: Launcher
    private let learner: LibraryLearner
    private let freezer: Freezer
    private let answers: Answers
    private let accounts: Accounts
    private let learners: Learners
    private let inspections: Inspections
    private let pageOut: PageOut
    private let sockets: ListeningSockets
    private let conversation: ConversationRooms
    private let watches: BusWatches
    private lazy var deferred = DeferredEffects { [unowned self] in performNow($0) }

    init(
        events: EventStream, records: RecordMemory, reporter: Reporter, processes: Processes,
        instances: InstanceTable, launcher: Launcher, learner: LibraryLearner, freezer: Freezer,
        answers: Answers, accounts: Accounts, learners: Learners, inspections: Inspections,
        pageOut: PageOut, sockets: ListeningSockets, conversation: ConversationRooms,
        watches: BusWatches
    ) {
        self.events = events
        self.records = records
        self.reporter = reporter
        self.processes = processes
        self.instances = instances
        self.launcher = launcher
        self.learner = learner
        self.freezer = freezer
        self.answers = answers
        self.accounts = accounts
        self.learners = learners
        self.inspections = inspections
        self.pageOut = pageOut
        self.sockets = sockets
        self.conversation = conversation
        self.watches = watches
    }

    func beganTurn() { events.beganTurn() }
    func endedTurn() { events.endedTurn() }

    private var applications: ApplicationChannels { conversation.applications }
    private var states: KeptStates { conversation.states }
    private var work: BackgroundWork { conversation.work }

    /// Effects that clients need not wait for were put off until now.
    func clientsAreServed() { deferred.end() }

    func perform(_ effect: Effect) {
        if !deferred.takes(effect) { performNow(effect) }
    }

    /// Changes the records, and reports if there is no room for some of them, or room again.
    private func keep(_ change: () -> Void) {
        change()
        reporter.runtimeStateLacks(records.lack)
    }

    private func performNow(_ effect: Effect) {
        switch effect {
        case .save(let record): keep { records.save(record) }
        case .erase(let instance): keep { records.erase(instance) }
        case .saveApp(let record): keep { records.save(record) }
        case .eraseApp(let app): keep { records.erase(app) }
        case .spawn(let instance, let app, let purpose):
            processes.spawn(instance, of: app, for: purpose)
        case .go(let instance, let origin, let terms):
            launcher.go(instance, for: origin, terms)
        case .learnLibraries(let instance, let lesson): learner.begin(instance, lesson)
        case .awaitStart(let instance): launcher.awaitStart(of: instance)
        case .freeze(let instance): freezer.freeze(instance)
        case .freezePaused(let instance): freezer.freezePaused(instance)
        case .thaw(let instance): freezer.thaw(instance)
        case .watchSettings(let instance): watches.watchSettings(of: instance)
        case .terminate(let instance): instances.terminate(instance)
        case .kill(let instance): instances.kill(instance)
        case .release(let instance, let app): processes.release(instance, of: app)
        case .applyPriority(let instance, let priority): processes.apply(priority, to: instance)
        case .answer(let request, let answer): answers.give(answer, to: request)
        case .report(let occurrence):
            accounts.note(occurrence)
            learners.note(occurrence)
        case .awaitConnection(let app): sockets.watch(app)
        case .ignoreConnections(let app): sockets.ignore(app)
        case .tell(let instance, let step, let terms):
            applications.tell(instance, step, terms)
        case .notify(let instance, let notice): applications.notify(instance, notice)
        case .deliver(let instance, let request, let address):
            applications.deliver(instance, request, to: address)
        case .inspectTracer(let instance): applications.inspectTracer(of: instance)
        case .inspectConditions: inspections.inspectConditions()
        case .inspectFileLocks(let instance): inspections.inspectFileLocks(of: instance)
        case .inspectConnections(let instance): sockets.inspectConnections(of: instance)
        case .keepState(let instance, let app, let scene): states.keep(instance, app, scene)
        case .refuseState(let instance, let scene, let refusal):
            states.refuse(refusal, instance, scene)
        case .deleteState(let app, let scene): states.delete(app, scene)
        case .handOverState(let instance, let scene, let isThere):
            states.handOver(scene, to: instance, isThere: isThere)
        case .keepSessions(let app, let list): states.keep(list, of: app)
        case .noteVersion(let app): states.noteVersion(of: app)
        case .pageOut(let instance): pageOut.begin(instance)
        case .saveTasks(let app, let tasks): work.save(tasks, of: app)
        case .tellBackgroundTime(let instance, let end): work.tellTime(until: end, instance)
        case .tellExpiration(let instance, let end): work.tellExpiration(at: end, instance)
        case .startRun(let instance, let run, let end): work.start(run, on: instance, until: end)
        case .expireRun(let instance, let run, let end): work.expire(run, on: instance, at: end)
        case .inspectTaskConditions: work.inspect()
        case .setTaskAlarm(let time): work.setAlarm(time)
        }
    }
}

/// The effects on an instance's processes that several rooms carry out together.
@LoopActor
struct Processes {
    let instances: InstanceTable
    let newInstances: NewInstances
    let priorities: PriorityWriter
    let pressure: PressureWatcher
    let paths: AppPaths
    let temporaryFolders: TemporaryFolders

    func spawn(
        _ instance: InstanceIdentifier, of app: AppIdentifier, for purpose: SpawnPurpose
    ) {
        newInstances.spawn(instance, of: app, for: purpose)
        pressure.instancesExist()
    }

    func apply(_ priority: Priority, to instance: InstanceIdentifier) {
        instances.apply(priority, to: instance)
        priorities.want(priority, for: instance)
    }

    /// The instance's end is recorded, and no process of it is left. The app's paths may start it
    /// again, and its temporary files can be removed.
    func release(_ instance: InstanceIdentifier, of app: AppIdentifier?) {
        instances.release(instance)
        guard let app else { return }
        if paths.has(app) { paths.review(app) }
        temporaryFolders.emptyFolder(of: app)
    }
}

/// The core's answers, on their way to whoever asked.
@LoopActor
struct Answers {
    let requests: Requests
    let replies: Replies
    let appRequests: AppRequests
    let metrics: Metrics
    let accounts: LaunchAccounts

    /// Answers whoever asked, then tells the parts that keep accounts.
    func give(_ answer: Answer, to identifier: RequestIdentifier) {
        guard let request = requests.take(identifier) else { return }
        switch request.origin {
        case .client(let call): replies.answer(call, with: answer, request.context)
        case .app(let instance, let cookie?): appRequests.answer(answer, to: cookie, of: instance)
        case .app(_, nil), .daemon: break
        }
        if case .launched(let outcome, let inBackground) = answer, let context = request.context {
            accounts.answered(identifier, request, outcome)
            metrics.launched(
                outcome, inBackground: inBackground, requestedAt: context.requestedAt)
        }
        metrics.answered(answer, foregroundRequestedAt: request.foregroundRequestedAt)
    }
}

/// The parts that keep account of what has happened.
@LoopActor
struct Accounts {
    let launches: LaunchAccounts
    let pauses: PauseAccounts
    let planning: WarmPlanning
    let reporter: Reporter
    let screens: ShownScreens
    let metrics: Metrics
    let traces: LaunchTraces

    func note(_ occurrence: Occurrence) {
        reporter.report(occurrence, launches.note(occurrence))
        pauses.note(occurrence)
        planning.note(occurrence)
        screens.note(occurrence)
        metrics.note(occurrence)
        if case .stateChanged(let instance, let app, let old, let new, _) = occurrence {
            traces.moved(instance, app, from: old, to: new)
        }
    }
}

/// The parts that learn from what has happened, and change what later prewarms begin with.
@LoopActor
struct Learners {
    let learning: ImportLearning
    let learner: LibraryLearner

    func note(_ occurrence: Occurrence) {
        learning.note(occurrence)
        learner.note(occurrence)
    }
}
