/// One client's question about a launch that is not decided yet.
struct LaunchWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// The name it gave, which may differ from the launch's where it joined a running one.
    var launchIdentifier: LaunchIdentifier
    /// It named a launch that is under way already.
    var isRepeated = false
    /// It asked for an instance that somebody else had asked for before.
    var isJoining = false
}

/// A launch between its request and its answer. It is not kept across a restart of the
/// supervisor: its clients are gone with their connections.
struct PendingLaunch: Hashable, Sendable {
    /// Whose argv, environment and descriptors are used.
    var request: RequestIdentifier
    var launch: LaunchRequest
    var waiters: [LaunchWaiter]
    /// Names of launches that joined it, to be remembered by the instance that serves it.
    var joined: [LaunchIdentifier] = []
    /// Paused instances tried so far.
    var goAttempts = 0
}

/// A further launch that an instance served after its first.
struct ServedLaunch: Hashable, Sendable {
    var launchIdentifier: LaunchIdentifier
    var outcome: LaunchOutcome
}

/// Who waits for the end of an instance, and for which words.
struct EndWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// It asked for the end itself, and is told only that it came.
    var orderedIt: Bool
}

/// An instance: what is saved of it, and what lives only as long as the supervisor.
struct Instance: Hashable, Sendable {
    var record: InstanceRecord
    var launch: PendingLaunch?
    /// The latest further launches, at most `Lifecycle.servedLaunchLimit`.
    var served: [ServedLaunch] = []
    var endWaiters: [EndWaiter] = []
    var freezeWaiters: [RequestIdentifier] = []
    /// Changed since the last save.
    var isDirty = false
    /// Who waits until every scene is where it shall be.
    var goalWaiters: [RequestIdentifier] = []
    /// Its deadline has passed; whether a debugger holds it is being looked up.
    var isOverdue = false
    /// What it could not hear while it was suspended.
    var missed: MissedNotices = []
    /// Its file locks are being looked at, and since when it has held one when it must not.
    var isAwaitingFileLocks = false
    /// A client wanted it suspended: its time in the background may not be over.
    var isSuspensionAsked = false
    var fileLockedSince: Instant?
    /// When it was last told that it stalls within its own limit.
    var stalledAt: Instant?
    /// The kernel said so before it ended: `outOfMemory`, or only probably.
    var memoryEnd: ExitReason?
    /// The signals that clients had sent to it: at most the 64 that there are.
    var sentSignals: Set<UInt8> = []
    /// What is kept for it, and how far it is with that.
    var restoration: [SceneIdentifier: RestorationPhase] = [:]
    /// What it has saved since it was told its step.
    var savedScenes: Set<SceneIdentifier> = []
    /// Told to go, and nobody will hear whether it starts: its channel was lost.
    var isUnheard = false
    /// The user has seen it.
    var hasDrawn = false
    /// Open background tasks by the app's own numbers. Those that a former supervisor counted are in the
    /// record alone.
    var openBackgroundTasks: Set<UInt64> = []
    /// The first of its tasks that this supervisor heard of. Apps count them up: what a former one counted
    /// lies below.
    var firstBackgroundTask = UInt64.max

    var isUndecided: Bool { record.isUndecided }
}

/// An app: its description while it is installed, what is saved of it, and its instances by place.
struct App: Hashable, Sendable {
    var record: AppRecord
    /// Nil once it was removed, and after a restart until it is reported again.
    var description: AppDescription?
    var isRemoved = false
    var isDirty = false
    /// Paused, oldest first.
    var pool: [InstanceIdentifier] = []
    /// On their way to the pause.
    var filling: [InstanceIdentifier] = []
    /// Launched and not being ended, the attached ones apart: a launch never lands on those.
    var running: Set<InstanceIdentifier> = []
    var attached: Set<InstanceIdentifier> = []
    /// All of the above, those being ended, and the remembered ends.
    var members: Set<InstanceIdentifier> = []
    var prewarmWaiters: [RequestIdentifier] = []
    /// When it was last launched: what a paused instance of it is worth.
    var lastLaunched = Instant(nanoseconds: 0)
    /// Its pool was discarded as stale and has not been filled since.
    var poolIsStale = false
    /// Its sockets are being watched.
    var isListening = false
    /// A hint that it will be launched is believed until then.
    var hintedUntil: Instant?
    /// The state versions of its archives, and the version that last finished a launch.
    var kept: [SceneIdentifier: UInt64] = [:]
    var launchedVersion: UInt64?

    init(record: AppRecord) { self.record = record }

    /// The environment that its paused instances are made with.
    var poolKey: EnvironmentKey? { record.poolKey ?? description?.environmentKey }
}

extension Lifecycle {
    /// An instance that there is. To ask for another is a bug of the core, and traps with its number.
    subscript(id: InstanceIdentifier) -> Instance {
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

    /// An app that there is, or of which there are instances.
    subscript(app: AppIdentifier) -> App {
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

/// Who was launched under which name. A name belongs to its app: another app's launch under the
/// same name is another launch.
struct LaunchNames: Hashable, Sendable {
    private struct Key: Hashable, Sendable {
        var app: AppIdentifier
        var name: LaunchIdentifier
    }
    private var instances: [Key: InstanceIdentifier] = [:]
    /// For those who ask by name alone: the latest, and those of other apps under the same name,
    /// of which there are hardly ever any.
    private var latest: [LaunchIdentifier: InstanceIdentifier] = [:]
    private var earlier: [LaunchIdentifier: [InstanceIdentifier]] = [:]

    /// The instances of all apps, the latest last.
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

/// Where a request waits.
enum WaitingPlace: Hashable, Sendable {
    case launch(InstanceIdentifier)
    case prewarm(AppIdentifier)
    case end(InstanceIdentifier)
    case freeze(InstanceIdentifier)
    case blocked(AppIdentifier)
    case goal(InstanceIdentifier)
    /// For the run of scheduled work that is being begun.
    case task
}
