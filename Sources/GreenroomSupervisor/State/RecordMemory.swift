internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The records that outlive the supervisor, in memory that stays mapped as long as records are
/// written to it.
@LoopActor
final class RecordMemory {
    private var state: RuntimeState
    /// Keeps `state` mapped.
    private var memory: SharedMemory
    /// The records for which there was no room. They are saved as soon as another one could be.
    private var unsavedInstances: [InstanceIdentifier: InstanceRecord] = [:]
    private var unsavedApps: [AppIdentifier: AppRecord] = [:]

    init(_ state: RuntimeState, in memory: SharedMemory) {
        self.state = state
        self.memory = memory
    }

    /// The digest that identifies environments and generations in the records.
    var digest: KeyedDigest { state.digest }

    /// The kinds of records of which some could not be saved.
    struct Lack: Equatable {
        var instances = false
        var apps = false
    }
    var lack: Lack { Lack(instances: !unsavedInstances.isEmpty, apps: !unsavedApps.isEmpty) }

    func save(_ record: InstanceRecord) {
        guard state.save(record) else { return unsavedInstances[record.instance] = record }
        if !unsavedInstances.isEmpty { settled(record.instance) }
    }

    func save(_ record: AppRecord) {
        guard state.save(record) else { return unsavedApps[record.app] = record }
        if !unsavedApps.isEmpty { settled(record.app) }
    }

    func erase(_ instance: InstanceIdentifier) {
        state.erase(instance)
        if !unsavedInstances.isEmpty { settled(instance) }
    }

    func erase(_ app: AppIdentifier) {
        state.erase(app)
        if !unsavedApps.isEmpty { settled(app) }
    }

    /// The instance has no unsaved record any more, and there may be room for other records.
    private func settled(_ instance: InstanceIdentifier) {
        unsavedInstances[instance] = nil
        while let (other, record) = unsavedInstances.first, state.save(record) {
            unsavedInstances[other] = nil
        }
    }

    private func settled(_ app: AppIdentifier) {
        unsavedApps[app] = nil
        while let (other, record) = unsavedApps.first, state.save(record) {
            unsavedApps[other] = nil
        }
    }

    /// Continues in the memory of a spawner that has just been started, and writes every record
    /// there.
    func move(to state: RuntimeState, in memory: SharedMemory, _ lifecycle: borrowing Lifecycle) {
        state.use(digest)
        self.state = state
        self.memory = memory
        (unsavedInstances, unsavedApps) = ([:], [:])
        for record in lifecycle.instances { save(record) }
        for record in lifecycle.apps { save(record) }
    }
}
