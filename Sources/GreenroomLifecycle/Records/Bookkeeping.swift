/// A further launch that an instance served after its first.
struct ServedLaunch: Hashable, Sendable {
    var launchIdentifier: LaunchIdentifier
    var outcome: LaunchOutcome
}

/// A request that waits for the end of an instance, and the kind of answer that it gets.
struct EndWaiter: Hashable, Sendable {
    var request: RequestIdentifier
    /// The request asked for the end, and is told only that the instance has ended.
    var orderedIt: Bool
}

/// An instance: its saved record, and what is kept only as long as the supervisor runs.
struct Instance: Hashable, Sendable {
    var record: InstanceRecord
    /// Nil once the instance runs, and for a cold launch.
    var prewarm: PrewarmProgress?
    var launch: PendingLaunch?
    /// When the instance was told to go for its launch, or ordered for it.
    var toldAt: Instant?
    /// The launch that waits for this prewarm to pause (`Claiming`).
    var claim: PendingLaunch?
    /// The latest further launches; at most `Lifecycle.servedLaunchLimit`.
    var served: [ServedLaunch] = []
    var endWaiters: [EndWaiter] = []
    /// The record has changed since it was last saved.
    var isDirty = false
    /// Requests that wait until every scene has reached its goal.
    var goalWaiters: [RequestIdentifier] = []
    /// A deadline of the app has passed, and the shell was asked whether a debugger is attached.
    var isOverdue = false
    /// The notices that the instance missed while it was suspended.
    var missed: MissedNotices = []
    var suspension = SuspensionProgress()
    /// When the instance was last warned that it stalls within its own limit.
    var stalledAt: Instant?
    /// What the kernel said before the instance ended: `outOfMemory` or `probablyOutOfMemory`.
    var memoryEnd: ExitReason?
    /// The signals that clients had sent to the instance. There are only 64 signals.
    var sentSignals: Set<UInt8> = []
    /// How far the restoration from each archive that is kept for the instance has got.
    var restoration: [SceneIdentifier: RestorationPhase] = [:]
    /// The scenes whose state the app has saved since it was told its current step.
    var savedScenes: Set<SceneIdentifier> = []
    /// The app has drawn its first frame.
    var hasDrawn = false
    /// The work of the launch, if the instance counts as ready at once: the time to its end is then
    /// the time that the work took.
    var work: UInt64 = 0
    /// Open background tasks, by the app's own numbers. Tasks that a former supervisor counted are
    /// only in the record.
    var openBackgroundTasks: Set<UInt64> = []
    /// The lowest task number that this supervisor was told. Apps count up, so tasks that a former
    /// supervisor counted have lower numbers.
    var firstBackgroundTask = UInt64.max

    init(record: InstanceRecord) {
        self.record = record
        prewarm = PrewarmProgress(beginning: record.course)
    }

    var isUndecided: Bool { record.isUndecided }
}

/// An app: its description while it is installed, its saved record, and its instances by place.
struct App: Hashable, Sendable {
    var record: AppRecord
    /// Nil after the app was removed, and after a restart until the app is installed again.
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
    /// Instances that have not ended and want a name on the bus (`HeldNames`).
    var wantingName: Set<InstanceIdentifier> = []
    /// All of the above, paused instances that are being ended, and ended instances that are
    /// remembered.
    var members: Set<InstanceIdentifier> = []
    var prewarmWaiters: [RequestIdentifier] = []
    /// How many prewarms in a row were killed, without an order, before their pause.
    var unorderedKillCount = 0
    /// When a launch of a held instance first did not show its window in time. Nil again once such a
    /// launch has shown one.
    var windowMissedAt: Instant?
    /// A held instance had read settings that changed before its launch. Programs write them when
    /// they end, so held instances are replaced at each such end from then on.
    var writesSettings = false
    /// How long the latest prewarm took, from its order to its pause.
    var prewarmTime: Duration?
    /// The memory of the app's latest held instance, in bytes; 0 before this supervisor has seen
    /// one.
    var heldByteCount: UInt64 = 0
    /// When the app was last launched. The value of its paused instances depends on this.
    var lastLaunched = Instant(nanoseconds: 0)
    /// Why the pool was discarded as stale; nil once it has been filled again.
    var poolStaleness: Staleness?
    /// The app's sockets are being watched.
    var isListening = false
    /// Until when a hint that the app will be launched is valid.
    var hintedUntil: Instant?
    /// The state versions of the app's archives, and the versions of the app that have finished a
    /// launch, the latest first.
    var kept: [SceneIdentifier: UInt64] = [:]
    var launchedVersions: [UInt64] = []

    init(record: AppRecord) { self.record = record }

    /// The environment that the app's paused instances are made with.
    var poolKey: EnvironmentKey? { record.poolKey ?? description?.environmentKey }
    /// The environments of former launches, latest first. One paused instance with each is kept.
    var formerKeys: [EnvironmentKey] = []
    /// A launch has brought the pool's environment. An environment that no launch has brought does
    /// not become a former one.
    var isPoolKeyUsed = false
    /// What was learned about the libraries that the app opens after main.
    var libraries = Boxed<LearnedLibraries>.none
    /// How long launches from the app's pool took (`DepthTimes`).
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

/// The instances by launch name. Names are per app: if another app has a launch of the same name,
/// that is a different launch.
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

    /// The instances of all apps that were launched under this name, the latest last.
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

/// The instances that have ended and are remembered. Their records tell the names of their launches
/// and how they ended.
///
/// All users share one limit. Beyond it, the user with the most ends loses the oldest one, so
/// nobody can make the daemon forget what others launched. If a client repeats a launch whose end
/// was forgotten, the app is launched twice.
struct RememberedEnds: Hashable, Sendable {
    private struct End: Hashable {
        let number: UInt64
        let instance: InstanceIdentifier
    }

    /// The remembered ends of each user, the oldest first.
    private var ends: [UInt32: [End]] = [:]
    private var latest: UInt64 = 0
    private(set) var count = 0

    mutating func append(_ instance: InstanceIdentifier, of user: UInt32) {
        latest += 1
        count += 1
        ends[user, default: []].append(End(number: latest, instance: instance))
    }

    /// Removes the end that is to be forgotten first. The latest end of all is removed only if
    /// there is no other.
    mutating func popFirst() -> InstanceIdentifier? {
        let most = ends.max { one, other in
            (one.value.count, other.value[0].number) < (other.value.count, one.value[0].number)
        }
        guard let user = most?.key, let end = ends[user]?.removeFirst() else { return nil }
        if ends[user]?.isEmpty == true { ends[user] = nil }
        count -= 1
        return end.instance
    }

    /// The same ends, grouped again once the users of apps are known.
    func regrouped(by user: (InstanceIdentifier) -> UInt32) -> RememberedEnds {
        var regrouped = self
        let all = ends.values.joined().sorted { $0.number < $1.number }
        regrouped.ends = Dictionary(grouping: all) { user($0.instance) }
        return regrouped
    }
}
