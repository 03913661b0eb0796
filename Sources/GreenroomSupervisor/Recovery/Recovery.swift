internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Brings the core and the world together again after a restart of the supervisor or of the
/// spawner. The records say what should be, the spawner's table says what is, and every difference
/// becomes an event.
@LoopActor
struct Recovery {
    let core: Core
    let instances: InstanceTable
    let spawner: CurrentSpawner
    let freezer: Freezer
    let newInstances: NewInstances
    let prewarms: PrewarmReports
    let arrivals: InstanceArrivals
    let channels: ChannelEvents
    let reporter: Reporter

    /// Compares the records with the spawner's table after a restart of the supervisor.
    ///
    /// - Parameters:
    ///   - restored: the records of the runtime state. Newer records are not compared, because the
    ///     table was made before their instances.
    ///   - table: every instance that the spawner has not been told to release.
    func reconcile(
        _ restored: [InstanceRecord],
        with table: [TableEntry]
    ) {
        let records = restored.compactMap { core.lifecycle.instance($0.instance) }
        compare(records, with: table)
        spawner.send(.reconciled)
    }

    /// Compares the records with the table after the connection to the spawner broke. The spawner
    /// may have executed itself again, with every instance, or a spawner that knows no instance may
    /// have taken its place.
    ///
    /// - Parameter orders: orders to the former spawner; those for instances that the table lacks
    ///   are sent again.
    func reconnect(
        with table: [TableEntry], repeating orders: [SpawnSpecification]
    ) {
        let present = Set(table.map(\.instance))
        orphan(allBut: Set(present.map { InstanceIdentifier($0) }))
        let missing = orders.filter { !present.contains($0.instance) && isWanted($0) }
        compare(
            core.lifecycle.instances, with: table, awaiting: Set(missing.map(\.instance)))
        for order in missing where isWanted(order) { newInstances.send(order) }
        spawner.send(.reconciled)
    }

    private func isWanted(_ order: SpawnSpecification) -> Bool {
        core.lifecycle.instance(InstanceIdentifier(order.instance))?.awaitsSpawn == true
    }

    /// There is no spawner, so the orders that it has not reported will never be carried out.
    func failPendingOrders() {
        orphan(allBut: [])
        compare(core.lifecycle.instances, with: [])
    }

    private func orphan(allBut kept: Set<InstanceIdentifier>) {
        freezer.forgetOrders()
        instances.orphan(allBut: kept) { identifier, status in
            channels.ended(identifier, ExitStatus(status), isOrphan: true)
            core.handle(.emptied(identifier))
        }
    }

    private func compare(
        _ records: [InstanceRecord],
        with table: [TableEntry], awaiting awaited: Set<UInt64> = []
    ) {
        let known = Set(records.map(\.instance))
        var news: [TableEntry] = []
        for entry in table {
            let identifier = InstanceIdentifier(entry.instance)
            guard known.contains(identifier) else {
                // Nobody remembers what this instance was for. It is ended rather than forgotten.
                // The daemon's own processes are begun anew (`OwnProcesses.forget`).
                if entry.status == nil, case .instance = SpawnNumber(entry.instance) {
                    reporter.say(
                        .error, "the record of process \(entry.pid) is lost: it is killed",
                        of: AppIdentifier(entry.app), identifier)
                }
                spawner.send(.kill(instance: entry.instance))
                spawner.send(.release(instance: entry.instance))
                continue
            }
            if instances[identifier] == nil {
                instances.add(entry)
                news.append(entry)
            } else {
                // The instance is not guarded any more, which the former spawner could not report.
                if !entry.isGuarded { prewarms.unguarded(identifier) }
                reportEnd(entry)
            }
        }
        for record in records
        where record.state != .notRunning && !awaited.contains(record.instance.rawValue) {
            if instances[record.instance] == nil { vanished(record) }
        }
        for entry in news { report(entry) }
    }

    /// There is a record, but the spawner does not know the instance: either the order never
    /// reached it, or the spawner died, too.
    private func vanished(_ record: InstanceRecord) {
        let remains = instances.endUnreported(record.instance, of: record.app)
        // A prewarm is ordered again, and its new cgroup gets the same name.
        if record.phase == .prewarming { remains.remove() }
        core.handle(.reconciled(record.instance, found: remains.isEmpty ? .nothing : .remains))
        // What was found is the only sign that a launch may have run. If we are killed before that
        // is recorded, the next supervisor must find it, too.
        if record.phase != .prewarming { remains.remove() }
    }

    private func report(_ entry: TableEntry) {
        guard let instance = instances[InstanceIdentifier(entry.instance)] else { return }
        arrivals.adopt(instance, hasEnded: entry.status != nil)
        reportEnd(entry)
    }

    private func reportEnd(_ entry: TableEntry) {
        let identifier = InstanceIdentifier(entry.instance)
        if let status = entry.status { channels.ended(identifier, ExitStatus(status)) }
        if entry.isEmptied { core.handle(.emptied(identifier)) }
    }
}
