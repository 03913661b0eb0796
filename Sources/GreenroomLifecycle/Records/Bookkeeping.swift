/// One client's request for a launch that is not decided yet.
struct LaunchWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// The launch name that the client gave. It differs from the launch's own name if the client
    /// joined a running launch.
    var launchIdentifier: LaunchIdentifier
    /// The client repeated the name of a launch that is under way.
    var isRepeated = false
    /// The client asked for an instance that another launch had asked for before.
    var isJoining = false
}

/// A launch from its request to its answer. It is not kept across a restart of the supervisor,
/// because the connections of its clients are lost then.
struct PendingLaunch: Hashable, Sendable {
    /// The request whose arguments, environment and descriptors are used.
    var request: RequestIdentifier
    var launch: LaunchRequest
    var waiters: [LaunchWaiter]
    /// Names of launches that joined this one. The instance that serves it remembers them.
    var joined: [LaunchIdentifier] = []
    /// The number of paused instances tried so far.
    var goAttempts = 0
    /// It has waited for a prewarm that was under way, and does not do so again.
    var hasClaimed = false
    /// The daemon wants the app itself to run, and tries again if the launch is refused. An app
    /// that requires it, or whose task is due, asks again by itself if it still does.
    var isTriedAgain = false
    /// Somebody has called the held instance by its name (`HeldNames`). No client waits, and yet the
    /// daemon has not started the app by itself.
    var isCall = false
}

/// A further launch that an instance served after its first.
struct ServedLaunch: Hashable, Sendable {
    var launchIdentifier: LaunchIdentifier
    var outcome: LaunchOutcome
}

/// A request that waits for the end of an instance, and the kind of answer that it gets.
struct EndWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// The request asked for the end itself, and is told only that the end has come.
    var orderedIt: Bool
}

/// An instance: its saved record, and what is kept only as long as the supervisor runs.
struct Instance: Hashable, Sendable {
    var record: InstanceRecord
    var launch: PendingLaunch?
    /// The launch that waits for this prewarm to pause (`Claiming`).
    var claim: PendingLaunch?
    /// The latest further launches; at most `Lifecycle.servedLaunchLimit`.
    var served: [ServedLaunch] = []
    var endWaiters: [EndWaiter] = []
    var freezeWaiters: [RequestIdentifier] = []
    /// Changed since the last save.
    var isDirty = false
    /// Requests that wait until every scene has reached its goal.
    var goalWaiters: [RequestIdentifier] = []
    /// A deadline of the app has passed, and the shell is asked whether a debugger is attached to
    /// it.
    var isOverdue = false
    /// The notices that it missed while it was suspended.
    var missed: MissedNotices = []
    /// The shell is looking at its file locks.
    var isAwaitingFileLocks = false
    /// The shell is looking at its connections.
    var isAwaitingConnections = false
    /// Since when it has held a file lock although it should be suspended.
    var fileLockedSince: Instant?
    /// A client wants it suspended, possibly before its time in the background is over.
    var isSuspensionAsked = false
    /// When it was last warned that it stalls within its own limit.
    var stalledAt: Instant?
    /// What the kernel said before the instance ended: `outOfMemory` or `probablyOutOfMemory`.
    var memoryEnd: ExitReason?
    /// The signals that clients had sent to the instance; at most the 64 that exist.
    var sentSignals: Set<UInt8> = []
    /// The archives that are kept for the instance, and how far its restoration is.
    var restoration: [SceneIdentifier: RestorationPhase] = [:]
    /// The scenes whose state the app has saved since it was told its step.
    var savedScenes: Set<SceneIdentifier> = []
    /// The instance was told to go, but its channel was lost and will not tell whether it starts.
    var isUnheard = false
    /// The app has drawn its first frame.
    var hasDrawn = false
    /// The work that it was launched for, if it counts as ready at once: then its end tells how long
    /// that took.
    var work: UInt64 = 0
    /// Open background tasks, by the app's own numbers. Tasks that a former supervisor counted are
    /// only in the record.
    var openBackgroundTasks: Set<UInt64> = []
    /// The lowest task number that this supervisor was told. Apps count up, so tasks that a former
    /// supervisor counted have lower numbers.
    var firstBackgroundTask = UInt64.max

    /// Somebody has called it by its name on the bus, and waits until it can be launched.
    var isCalled = false
    /// It is held, and thawed for a moment.
    var isAiring = false
    /// It was frozen at its pause before.
    var wasFrozen = false

    var isUndecided: Bool { record.isUndecided }
}

/// An app: its description while it is installed, its saved record, and its instances by place.
struct App: Hashable, Sendable {
    var record: AppRecord
    /// Nil once the app was removed, and after a restart until the app is reported again.
    var description: Entry<AppDescription>?
    var isRemoved = false
    var isDirty = false
    /// The paused instances, oldest first.
    var pool: [InstanceIdentifier] = []
    /// The instances on their way to the pause.
    var filling: [InstanceIdentifier] = []
    /// Instances that were launched and are not being ended. Attached ones are kept apart, because
    /// no launch may join them.
    var running: Set<InstanceIdentifier> = []
    var attached: Set<InstanceIdentifier> = []
    /// Instances that have run, or may have, and are being ended.
    var ending: Set<InstanceIdentifier> = []
    /// All of the above, instances that are being ended, and the remembered ends.
    var members: Set<InstanceIdentifier> = []
    var prewarmWaiters: [RequestIdentifier] = []
    /// How long the latest prewarm took, from its order to its pause.
    var prewarmTime: Duration?
    /// When the app was last launched. It decides what a paused instance of the app is worth.
    var lastLaunched = Instant(nanoseconds: 0)
    /// The pool was discarded as stale and has not been filled since.
    var poolIsStale = false
    /// The app's sockets are being watched.
    var isListening = false
    /// A hint that the app will be launched counts until then.
    var hintedUntil: Instant?
    /// The state versions of the app's archives, and the versions of the app that have finished a
    /// launch, the latest first.
    var kept: [SceneIdentifier: UInt64] = [:]
    var launchedVersions: [UInt64] = []

    init(record: AppRecord) { self.record = record }

    /// The environment that the app's paused instances are made with.
    var poolKey: EnvironmentKey? { record.poolKey ?? description?.environmentKey }
    /// The environments of launches before, latest first. A paused instance of each is kept.
    var formerKeys: [EnvironmentKey] = []
    /// A launch has brought the pool's environment. One that nobody has brought is not kept.
    var isPoolKeyUsed = false
    /// What was learned of the libraries that the app opens after main.
    var libraries = Boxed<LearnedLibraries>.none
    /// How long launches from the pool took (`DepthTimes`).
    var times = Boxed<DepthTimes>.none

    func knows(_ key: EnvironmentKey) -> Bool { key == poolKey || formerKeys.contains(key) }
}

extension Lifecycle {
    /// An existing instance. Asking for any other is a bug of the core, and traps with the
    /// identifier.
    subscript(id: InstanceIdentifier) -> Entry<Instance> {
        get {
            guard let instance = table[id] else {
                preconditionFailure("there is no instance \(id)")
            }
            return instance
        }
        _modify {
            precondition(table.index(forKey: id) != nil, "there is no instance \(id)")
            yield &table[id]!
        }
    }

    /// An app that is installed or still has instances.
    subscript(app: AppIdentifier) -> Entry<App> {
        get {
            guard let entry = directory[app] else { preconditionFailure("there is no app \(app)") }
            return entry
        }
        _modify {
            precondition(directory.index(forKey: app) != nil, "there is no app \(app)")
            yield &directory[app]!
        }
    }
}

/// The instances by launch name. A name belongs to its app: another app's launch of the same name
/// is another launch.
struct LaunchNames: Hashable, Sendable {
    private struct Key: Hashable, Sendable {
        var app: AppIdentifier
        var name: LaunchIdentifier
    }
    private var instances: [Key: InstanceIdentifier] = [:]
    /// For lookups by name alone: the latest instance, and those of other apps with the same name,
    /// which are rare.
    private var latest: [LaunchIdentifier: InstanceIdentifier] = [:]
    private var earlier: [LaunchIdentifier: [InstanceIdentifier]] = [:]

    /// The instances of all apps, the latest one last.
    subscript(name: LaunchIdentifier) -> [InstanceIdentifier] {
        guard let latest = latest[name] else { return [] }
        return (earlier[name] ?? []) + [latest]
    }
    subscript(app: AppIdentifier, name: LaunchIdentifier) -> InstanceIdentifier? {
        instances[Key(app: app, name: name)]
    }

    mutating func add(_ name: LaunchIdentifier, of app: AppIdentifier, _ id: InstanceIdentifier) {
        instances[Key(app: app, name: name)] = id
        if let other = latest.updateValue(id, forKey: name), other != id {
            earlier[name, default: []].append(other)
        }
    }

    mutating func remove(
        _ name: LaunchIdentifier, of app: AppIdentifier, _ id: InstanceIdentifier
    ) {
        let key = Key(app: app, name: name)
        if instances[key] == id { instances[key] = nil }
        guard latest[name] == id else {
            earlier[name]?.removeAll { $0 == id }
            if earlier[name]?.isEmpty == true { earlier[name] = nil }
            return
        }
        latest[name] = earlier[name]?.popLast()
        if earlier[name]?.isEmpty == true { earlier[name] = nil }
    }
}

/// What a request waits for.
enum WaitingPlace: Hashable, Sendable {
    case launch(InstanceIdentifier)
    /// A launch that waits for a prewarm to pause.
    case claim(InstanceIdentifier)
    case prewarm(AppIdentifier)
    case end(InstanceIdentifier)
    case freeze(InstanceIdentifier)
    case blocked(AppIdentifier)
    case goal(InstanceIdentifier)
    /// The run of scheduled work that is about to begin.
    case task
}
