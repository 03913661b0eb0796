internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// What a former supervisor left with the spawner: its records, in memory that is now ours.
@LoopActor
struct Inheritance {
    let greeting: SpawnerLink.Greeting
    let memory: SharedMemory
    let state: RuntimeState
    private(set) var contents = RuntimeState.Contents()

    init(_ greeting: SpawnerLink.Greeting, log: Log) throws {
        try self.init(greeting)
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
                    "the running spawner is of another version; restart greenroom-spawner.service")
        }
        state = unsafe RuntimeState(mapping: memory.baseAddress, contents: &contents)
    }

    /// A core that goes on where the former ended.
    func lifecycle(_ policy: Policy) -> Lifecycle {
        let now = Instant(nanoseconds: MonotonicClock.nanoseconds)
        return Lifecycle(
            restoring: contents.instances, apps: Self.withoutPoolKeys(contents.apps),
            nextInstance: nextInstance, policy: policy, seed: MonotonicClock.nanoseconds, at: now)
    }

    /// Also after those that only the spawner knows any more: a number never comes twice.
    private var nextInstance: InstanceIdentifier {
        let known = greeting.instances.map(\.instance).filter { !Emptying.isOwn($0) }
        return max(contents.nextInstance, InstanceIdentifier((known.max() ?? 0) + 1))
    }

    /// The environments that belong to the keys were in the former supervisor's memory alone. What
    /// is paused with one stays; the pool follows the session's until a launch brings another.
    private static func withoutPoolKeys(_ apps: [AppRecord]) -> [AppRecord] {
        apps.map { app in
            var app = app
            app.poolKey = nil
            return app
        }
    }
}
