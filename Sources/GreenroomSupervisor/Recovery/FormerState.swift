internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// What a former supervisor left with the spawner: its records, in memory that this supervisor uses
/// now.
@LoopActor
struct FormerState {
    let greeting: SpawnerLink.Greeting
    let memory: SharedMemory
    let state: RuntimeState
    private(set) var contents = RuntimeState.Contents()

    /// - Parameter files: the files of what was learned, which contain digests. If there are no
    ///   records, the secret that these files have kept makes the same digests again.
    init(_ greeting: SpawnerLink.Greeting, _ files: LearnedFiles, log: Log) throws {
        try self.init(greeting)
        if contents.instances.isEmpty, contents.apps.isEmpty, let secret = files.secret {
            state.use(KeyedDigest(secret: secret))
        }
        files.keep(state.digest)
        if contents.damagedCount > 0 {
            log.say(.error, "\(contents.damagedCount) damaged records were dropped")
        }
    }

    init(_ greeting: SpawnerLink.Greeting) throws {
        self.greeting = greeting
        memory = try SharedMemory(mapping: greeting.welcome.state)
        guard memory.byteCount >= RuntimeState.byteCount else {
            throw SpawnerLink.Unavailable(
                description:
                    "the running spawner is another version; restart greenroom-spawner.service")
        }
        try memory.reserve(0..<RuntimeState.copiesOffset)
        state = unsafe RuntimeState(
            mapping: memory.baseAddress, contents: &contents,
            reserve: { [memory] part in (try? memory.reserve(part)) != nil })
    }

    /// A core that goes on where the former supervisor's ended.
    func lifecycle(_ policy: Policy) -> Lifecycle {
        let now = Instant(nanoseconds: MonotonicClock.nanoseconds)
        return Lifecycle(
            restoring: contents.instances, apps: Self.withoutPoolKeys(contents.apps),
            nextInstance: nextInstance, policy: policy, seed: MonotonicClock.nanoseconds, at: now)
    }

    /// The number of the next instance. It is greater than those that only the spawner still knows,
    /// so that no number is ever used twice.
    private var nextInstance: InstanceIdentifier {
        let known = greeting.instances.compactMap { entry -> UInt64? in
            guard case .instance(let instance) = SpawnNumber(entry.instance) else { return nil }
            return instance.rawValue
        }
        return max(contents.nextInstance, InstanceIdentifier((known.max() ?? 0) + 1))
    }

    /// Only the former supervisor's memory had the environments that belong to these keys. An
    /// instance that is paused with one of them stays; the pool follows the session's environment
    /// until a launch brings another.
    private static func withoutPoolKeys(_ apps: [AppRecord]) -> [AppRecord] {
        apps.map { app in
            var app = app
            app.poolKey = nil
            return app
        }
    }
}
