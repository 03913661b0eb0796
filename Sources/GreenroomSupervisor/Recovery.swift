internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Brings the core and the world together again after a restart: the records say what should be,
/// the spawner's table what is, and every difference becomes an event.
@LoopActor
struct Recovery {
    let supervisor: Supervisor
    let events: SpawnerEvents
    let spawner: SpawnerLink

    /// - Parameters:
    ///   - restored: what the runtime state held; younger instances are not in the table yet.
    ///   - table: every instance that the spawner has not been told to release.
    func reconcile(
        _ restored: [GreenroomLifecycle.InstanceRecord],
        with table: [GreenroomSpawner.InstanceRecord]
    ) {
        let records = restored.compactMap { supervisor.lifecycle.instance($0.instance) }
        let known = Set(records.map(\.instance))
        var present: Set<InstanceIdentifier> = []
        for entry in table {
            let identifier = InstanceIdentifier(entry.instance)
            guard known.contains(identifier) else {
                // Nobody remembers what it was for: end it rather than lose sight of it.
                spawner.send(.kill(instance: entry.instance))
                spawner.send(.release(instance: entry.instance))
                continue
            }
            present.insert(identifier)
            supervisor.instances.adopt(entry)
        }
        for record in records where record.state != .notRunning || !record.isEmpty {
            if present.contains(record.instance) { continue }
            vanished(record)
        }
        for entry in table where present.contains(InstanceIdentifier(entry.instance)) {
            report(entry)
        }
    }

    /// Recorded, but the spawner knows nothing: the order never reached it, or the spawner died too.
    private func vanished(_ record: GreenroomLifecycle.InstanceRecord) {
        let neverSpawned =
            record.launchedAt == nil && (record.state == .launching || record.state == .prewarming)
        if neverSpawned {
            supervisor.handle(
                .spawnFailed(
                    record.instance,
                    SpawnFailure(stage: "restarting the supervisor", errno: ECANCELED)))
        } else {
            supervisor.handle(.exited(record.instance, .unknown))
            supervisor.handle(.emptied(record.instance))
        }
    }

    private func report(_ entry: GreenroomSpawner.InstanceRecord) {
        let identifier = InstanceIdentifier(entry.instance)
        guard let instance = supervisor.instances[identifier] else { return }
        let record = supervisor.lifecycle.instance(identifier)
        supervisor.handle(.spawned(identifier))
        switch record?.state {
        case .prewarming, .prewarmed: events.resumeWatching(instance)
        case .launching where record?.isResuming == true: events.resumeWatching(instance)
        case .launching where record?.launchedAt != nil:
            // READY=1 may have been sent while nobody listened; better early than killed for it.
            supervisor.handle(.becameReady(identifier))
        case .launching, .inactive, .active, .background, .suspended, .terminating, .notRunning,
            nil:
            instance.closeChannel()
        }
        if let status = entry.status { supervisor.handle(.exited(identifier, ExitStatus(status))) }
        if entry.isEmptied { supervisor.handle(.emptied(identifier)) }
    }
}

extension SpawnerEvents {
    /// Listens again to an instance that was paused, or told to go, before the restart. What it
    /// said meanwhile is in its channel; what the former supervisor had read is asked for again.
    func resumeWatching(_ instance: Instance) {
        listen(to: instance)
        ping(instance)
    }
}
