// Requests to the core, and its answers. Every request is answered exactly once, unless its client
// goes away first. `requests` says what each one waits for.

/// What a client, an app or the daemon itself asks the core for (`Event.requested`).
public enum Request: Hashable, Sendable {
    case launch(LaunchRequest)
    /// Keep one more paused instance. Answered when it is paused or has failed.
    case prewarm(AppIdentifier, EnvironmentKey)
    /// The app will probably be launched soon. Answered at once.
    case prepare(AppIdentifier)
    case transition(Target, Transition)
    /// Answered with the end of the instance, at once if the instance has ended already.
    case awaitExit(Target)
    /// Forget the app's failure, its latest starts, its crashes and its failed launches.
    case resetFailed(AppIdentifier)
    case scene(AppIdentifier, SceneRequest)
    /// A path that the app waits for exists or has changed (`[Path]`): launch the app, unless it
    /// runs.
    case trigger(LaunchRequest, TriggerLimit)
    /// The app itself makes this request.
    case submitTask(AppIdentifier, ScheduledTask)
    /// Run a pending scheduled task now, even if something is in the way. Answered when the app has been
    /// told.
    case runTask(AppIdentifier, identifier: String)
    /// End the time of the app's run, or of its background tasks, now.
    case expireTask(AppIdentifier)
}

/// What a launch asks for.
public struct LaunchRequest: Hashable, Sendable {
    public var app: AppIdentifier
    public var launchIdentifier: LaunchIdentifier
    public var environmentKey: EnvironmentKey
    /// Launch the app without bringing it to the front.
    public var inBackground: Bool
    /// The app gets the client's own descriptors as its stdio, and the client waits for its end. It
    /// is always a new instance, is suspended only on request, and never displaces the app in
    /// front.
    public var isAttached: Bool
    /// The client gets the app's output, so the daemon does not see its beginning.
    public var takesOutput: Bool
    /// The app gets a terminal of the client's as its controlling terminal.
    public var takesTerminal = false
    /// Set if the launch brings something that no paused instance can take over. The app is then
    /// launched cold, for this reason.
    public var coldReason: ColdReason?
    /// Set if the launch brings something that an instance held at its first window has already
    /// read. Only other instances serve it then.
    public var reasonNotToHold: ColdReason?
    public var joining = Joining.singleInstance
    /// The same number for launches that do the same work, for example with the same arguments; 0
    /// if unknown.
    public var work: UInt64 = 0
    /// The key of the launch's environment for an instance that was paused before imports were
    /// learned, which has read fewer variables (`Booted`); nil if no such instance can serve it.
    public var bootKey: EnvironmentKey?

    /// When an instance that is already running serves the launch.
    public enum Joining: Hashable, Sendable {
        /// Only if the app may have no more than one instance.
        case singleInstance
        /// Always, because the launch only wants the app to run.
        case anyInstance
        /// Never, because the launch brings files to a program, and only another process of the
        /// program can pass them on.
        case none
    }

    public init(
        app: AppIdentifier, launchIdentifier: LaunchIdentifier, environmentKey: EnvironmentKey,
        inBackground: Bool = false, isAttached: Bool = false, takesOutput: Bool = false,
        coldReason: ColdReason? = nil, joining: Joining = .singleInstance
    ) {
        self.app = app
        self.launchIdentifier = launchIdentifier
        self.environmentKey = environmentKey
        self.inBackground = inBackground
        self.isAttached = isAttached
        self.takesOutput = takesOutput
        self.coldReason = coldReason
        self.joining = joining
    }
}

/// What a request is about. An app stands for its most recently used running instance.
public enum Target: Hashable, Sendable {
    case app(AppIdentifier)
    case instance(InstanceIdentifier)
}

/// What a client can ask of a running instance.
public enum Transition: Hashable, Sendable {
    case foreground
    case background
    case suspend
    case resume
    /// The instance stays in front and becomes inactive (`Interruptions`).
    case interrupt
    case endInterruption
    /// SIGTERM, then SIGKILL after the grace.
    case terminate
    /// SIGKILL at once, because the user force-quits the app.
    case forceQuit
}

/// The one answer to a request.
public enum Answer: Hashable, Sendable {
    case launched(LaunchOutcome, inBackground: Bool = false)
    /// The instance is paused.
    case prewarmed(InstanceIdentifier)
    /// The request was carried out, and the instance is now in this state.
    case done(InstanceIdentifier, ExecutionState)
    indirect case exited(InstanceRecord)
    case refused(Refusal)
    /// The scene session is discarded.
    case discarded(AppIdentifier, SceneIdentifier)
    /// The hint was accepted. `isReady` says whether an instance is paused already.
    case prepared(AppIdentifier, isReady: Bool)
    /// The request was carried out, and there is nothing else to say.
    case accepted
}

/// The outcome of a launch.
public struct LaunchOutcome: Hashable, Sendable {
    public var instance: InstanceIdentifier
    public var kind: LaunchKind
    /// Set for a cold launch.
    public var coldReason: ColdReason?
    /// Set for a launch that was started anew.
    public var anewReason: AnewReason?
    /// True if this repeats a recorded outcome instead of launching again.
    public var isRepeated: Bool
    public init(
        instance: InstanceIdentifier, kind: LaunchKind, coldReason: ColdReason? = nil,
        anewReason: AnewReason? = nil, isRepeated: Bool = false
    ) {
        self.instance = instance
        self.kind = kind
        self.coldReason = coldReason
        self.anewReason = anewReason
        self.isRepeated = isRepeated
    }
}

/// Why a request was not carried out.
public enum Refusal: Hashable, Sendable {
    /// No app of that name is installed.
    case noSuchApp(AppIdentifier)
    /// The app or instance that the request is about does not run.
    case notRunning(Target)
    /// The instance's state does not allow the transition, for example to suspend a terminating
    /// instance.
    case illegalTransition(InstanceIdentifier, from: ExecutionState, Transition)
    /// The app cannot be prewarmed.
    case ineligible(AppIdentifier)
    /// Prewarms or launches of the app have failed lately.
    case backOff(AppIdentifier, until: Instant)
    /// The app has crashed too often lately.
    case crashLoop(AppIdentifier, until: Instant)
    /// There is no memory for another paused instance: the budget is used up, or memory is short.
    case overBudget(AppIdentifier)
    /// The instance limit is reached. It applies to all users together.
    case tooManyInstances(limit: Int)
    /// The app's user has as many instances as the user's share allows.
    case tooManyInstancesOfUser(limit: Int)
    case spawnFailed(AppIdentifier, SpawnFailure)
    /// The instance ended before it did what was asked for.
    case ended(InstanceIdentifier, ExitReason)
    case shuttingDown
    case freezeFailed(InstanceIdentifier)
    /// The daemon no longer starts the app by itself.
    case failed(AppIdentifier, SupervisionFailure)
    /// Another app, which the app requires, could not be started.
    indirect case dependencyFailed(AppIdentifier, on: AppIdentifier, Refusal)
    /// The app ended before it was ready.
    case requiredEnded(AppIdentifier, ExitReason)
    /// An app that conflicts with it was launched.
    case conflict(AppIdentifier, with: AppIdentifier)
    /// The app supports no scenes (`noScenes`), or only one (`singleScene`).
    case noScenes(AppIdentifier)
    case singleScene(AppIdentifier)
    /// The app has no scene session of that number.
    case noSuchScene(AppIdentifier, SceneIdentifier)
    case tooManyScenes(AppIdentifier, limit: Int)
    /// A client ended the app while its launch waited for other apps.
    case cancelled(AppIdentifier)
    /// The machine's condition does not allow prewarming.
    case obstructed(AppIdentifier, PrewarmObstacle)
    /// A process of the instance holds a file lock. If it were frozen, others would wait for the
    /// lock.
    case holdsFileLock(InstanceIdentifier)
    /// The app runs already, or its triggers launched it too often.
    case notTriggered(AppIdentifier)
    /// The user force-quit the app, and the request is not the user's.
    case forceQuit(AppIdentifier)
    /// The app has as many pending requests of that kind as it may have.
    case tooManyTasks(AppIdentifier, limit: Int)
    /// No scheduled task of that name is pending, or no task is running.
    case noSuchTask(AppIdentifier)
    /// Apps may not schedule work (`Policy.offersScheduledWork`).
    case scheduledWorkIsOff
    /// The app's manifest does not name the task.
    case undeclaredTask(AppIdentifier)
    /// A run of that app's scheduled work is under way, and there is one at a time.
    case runUnderWay(AppIdentifier)
}

extension Lifecycle {
    mutating func requested(_ identifier: RequestIdentifier, _ request: Request) {
        switch request {
        case .launch(let launch): launchRequested(identifier, launch)
        case .prewarm(let app, let key): prewarmRequested(identifier, app, key)
        case .prepare(let app): prepareRequested(identifier, app)
        case .transition(let target, let transition):
            transitionRequested(identifier, target, transition)
        case .awaitExit(let target): exitAwaited(identifier, target)
        case .resetFailed(let app): resetFailedRequested(identifier, app)
        case .scene(let app, let wish): sceneRequested(identifier, app, wish)
        case .trigger(let launch, let limit): triggered(identifier, launch, limit)
        case .submitTask(let app, let task): taskSubmitted(identifier, app, task)
        case .runTask(let app, let name): runTaskRequested(identifier, app, name)
        case .expireTask(let app): expireTaskRequested(identifier, app)
        }
    }

    mutating func answer(_ request: RequestIdentifier, _ answer: Answer) {
        requests[request] = nil
        effects.append(.answer(request, answer))
    }

    mutating func refuse(_ request: RequestIdentifier, _ refusal: Refusal) {
        answer(request, .refused(refusal))
    }

    mutating func abandon(_ request: RequestIdentifier) {
        switch requests[request] {
        case .launch: return
        case .claim(let id): return clientLeft(request, claimOf: id)
        case .blocked(let app): return clientLeft(request, blocked: app)
        case .prewarm(let app): directory[app]?.prewarmWaiters.removeAll { $0 == request }
        case .end(let id): table[id]?.endWaiters.removeAll { $0.request == request }
        case .freeze(let id): table[id]?.suspension.waiters.removeAll { $0 == request }
        case .goal(let id): table[id]?.goalWaiters.removeAll { $0 == request }
        case .task: abandonRun(request)
        case nil: break
        }
        requests[request] = nil
    }
}
