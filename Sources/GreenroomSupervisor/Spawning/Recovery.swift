internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Brings the core and the world together again after a restart of the supervisor, or of the
/// spawner: the records say what should be, the spawner's table what is, and every difference
/// becomes an event.
@LoopActor
struct Recovery {
    let supervisor: Supervisor
    let events: SpawnerEvents
    let channels: ChannelEvents
    let spawner: SpawnerLink

    /// After a restart of the supervisor.
    ///
    /// - Parameters:
    ///   - restored: what the runtime state held; younger instances are not in the table yet.
    ///   - table: every instance that the spawner has not been told to release.
    func reconcile(
        _ restored: [InstanceRecord],
        with table: [TableEntry]
    ) {
        let records = restored.compactMap { supervisor.lifecycle.instance($0.instance) }
        compare(records, with: table)
        spawner.send(.reconciled)
    }

    /// After the connection to the spawner broke: it may have executed itself anew, with every
    /// instance, or be another, which knows none.
    ///
    /// - Parameter orders: what the same spawner was told and may not have heard.
    func reconnect(
        with table: [TableEntry], repeating orders: [SpawnSpecification]
    ) {
        let present = Set(table.map(\.instance))
        supervisor.instances.orphan(allBut: Set(present.map { InstanceIdentifier($0) }))
        let missing = orders.filter { !present.contains($0.instance) }
        let awaited = Set(missing.map(\.instance))
        let records = supervisor.lifecycle.instances
        compare(records, with: table, awaiting: awaited)
        let wanted = Set(records.filter { $0.state != .notRunning }.map(\.instance.rawValue))
        for order in missing where wanted.contains(order.instance) { spawner.send(.spawn(order)) }
        spawner.send(.reconciled)
    }

    /// There is no spawner: what had been ordered and not been heard of will not come.
    func failPendingOrders() { compare(supervisor.lifecycle.instances, with: []) }

    private func compare(
        _ records: [InstanceRecord],
        with table: [TableEntry], awaiting awaited: Set<UInt64> = []
    ) {
        let known = Set(records.map(\.instance))
        var news: [TableEntry] = []
        for entry in table {
            let identifier = InstanceIdentifier(entry.instance)
            guard known.contains(identifier) else {
                // Nobody remembers what it was for: end it rather than lose sight of it.
                if entry.status == nil {
                    supervisor.reporter.say(
                        .error, "what was known of process \(entry.pid) is lost: it is ended",
                        of: AppIdentifier(entry.app), identifier)
                }
                spawner.send(.kill(instance: entry.instance))
                spawner.send(.release(instance: entry.instance))
                continue
            }
            if supervisor.instances[identifier] == nil {
                supervisor.instances.adopt(entry)
                news.append(entry)
            } else {
                reportEnd(entry)
            }
        }
        for record in records
        where record.state != .notRunning && !awaited.contains(record.instance.rawValue) {
            if supervisor.instances[record.instance] == nil { vanished(record) }
        }
        for entry in news { report(entry) }
    }

    /// Recorded, but the spawner knows nothing: the order never reached it, or the spawner died too.
    private func vanished(_ record: InstanceRecord) {
        if record.state == .prewarming {
            supervisor.instances.endUnreported(record.instance, of: record.app)
            // No fault of the app's, and nothing but the record is needed to order it again. Had it
            // been made by a spawner that died since, it would have ended with its channel.
            return supervisor.launcher.spawn(
                record.instance, of: record.app, for: .prewarm(record.environmentKey))
        }
        if record.state == .launching, record.launchedAt == nil, !record.isResuming {
            if supervisor.instances.endUnreported(record.instance, of: record.app) {
                // Said to have failed, it would be launched again, and might run twice.
                supervisor.handle(.spawned(record.instance))
                return ended(record)
            }
            supervisor.handle(
                .spawnFailed(
                    record.instance,
                    SpawnFailure(stage: "reaching the spawner", errno: ECANCELED)))
        } else {
            // One that was told to go may have run, and ended before anybody could be told: said to
            // have never started, it would be launched again.
            if record.isUndecidedResume { supervisor.handle(.started(record.instance)) }
            ended(record)
        }
    }

    private func ended(_ record: InstanceRecord) {
        supervisor.handle(.exited(record.instance, .unknown))
        supervisor.handle(.emptied(record.instance))
    }

    private func report(_ entry: TableEntry) {
        let identifier = InstanceIdentifier(entry.instance)
        guard let instance = supervisor.instances[identifier] else { return }
        supervisor.applications.launches.send(to: instance)
        supervisor.handle(.spawned(identifier))
        if instance.channel == nil, entry.status == nil { withoutChannel(instance) }
        let isApplication = channels.catalog[instance.app]?.kind == .applicationKit
        let record = supervisor.lifecycle.instance(identifier)
        switch record?.state {
        case .prewarmed: channels.watchPaused(instance)
        case .prewarming: channels.resumeWatching(instance)
        case .launching where record?.isResuming == true: channels.resumeWatching(instance)
        case .launching, .inactive, .active, .background, .suspended, .terminating, .notRunning,
            nil:
            if isApplication { channels.listen(to: instance) } else { instance.closeChannel() }
            if isApplication, record?.launchedAt != nil {
                supervisor.applications.askAgain(identifier)
            }
        }
        let now = supervisor.lifecycle.instance(identifier)
        if now?.state == .launching, now?.launchedAt != nil, !isApplication {
            // READY=1 may have been sent while nobody listened; better early than killed for it.
            supervisor.handle(.becameReady(identifier))
        }
        reportEnd(entry)
    }

    /// Adopted by a spawner that came after the one that had its channel, with a supervisor that came
    /// after the one that had it. Paused, it ends by itself when it finds nobody there; one that had
    /// got its launch and goes on has closed its end, which its table of open files shows.
    private func withoutChannel(_ instance: Instance) {
        guard let record = supervisor.lifecycle.instance(instance.identifier) else { return }
        switch record.state {
        case .prewarming, .prewarmed: supervisor.handle(.channelLost(instance.identifier))
        case .launching where record.isResuming:
            supervisor.instances.awaitStart(of: instance)
        case .launching, .inactive, .active, .background, .suspended, .terminating, .notRunning:
            break
        }
    }

    private func reportEnd(_ entry: TableEntry) {
        let identifier = InstanceIdentifier(entry.instance)
        if let status = entry.status {
            events.exited(identifier, ExitStatus(status))
        }
        if entry.isEmptied { supervisor.handle(.emptied(identifier)) }
    }
}

extension InstanceRecord {
    /// Told to go, and not heard to have started.
    var isUndecidedResume: Bool { state == .launching && isResuming && launchedAt == nil }
}
