internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The records that outlive the supervisor, in memory that stays mapped for as long as it is written to.
@LoopActor
final class Records {
    private var state: RuntimeState
    /// Keeps `state` mapped.
    private var memory: SharedMemory

    init(_ state: RuntimeState, in memory: SharedMemory) {
        self.state = state
        self.memory = memory
    }

    /// What environments and generations in the records are known by.
    var digest: KeyedDigest { state.digest }

    /// False when there is no room.
    func save(_ record: InstanceRecord) -> Bool { state.save(record) }
    func save(_ record: AppRecord) -> Bool { state.save(record) }
    func erase(_ instance: InstanceIdentifier) { state.erase(instance) }
    func erase(_ app: AppIdentifier) { state.erase(app) }

    /// Goes on in the memory of a spawner that has just been started, where every record is written anew.
    func move(to state: RuntimeState, in memory: SharedMemory, _ lifecycle: borrowing Lifecycle) {
        state.use(digest)
        self.state = state
        self.memory = memory
        for record in lifecycle.instances { state.save(record) }
        for record in lifecycle.apps { state.save(record) }
    }
}
