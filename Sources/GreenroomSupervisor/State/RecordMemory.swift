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

    init(_ state: RuntimeState, in memory: SharedMemory) {
        self.state = state
        self.memory = memory
    }

    /// The digest that identifies environments and generations in the records.
    var digest: KeyedDigest { state.digest }

    /// Returns false if there is no room.
    func save(_ record: InstanceRecord) -> Bool { state.save(record) }
    func save(_ record: AppRecord) -> Bool { state.save(record) }
    func erase(_ instance: InstanceIdentifier) { state.erase(instance) }
    func erase(_ app: AppIdentifier) { state.erase(app) }

    /// Continues in the memory of a spawner that has just been started, and writes every record
    /// there.
    func move(to state: RuntimeState, in memory: SharedMemory, _ lifecycle: borrowing Lifecycle) {
        state.use(digest)
        self.state = state
        self.memory = memory
        for record in lifecycle.instances { state.save(record) }
        for record in lifecycle.apps { state.save(record) }
    }
}
