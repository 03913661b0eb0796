internal import GreenroomLifecycle
internal import Systemd

/// What the supervisor keeps in memory that its spawner holds, so that the next supervisor has it.
@LoopActor
struct SpawnerMemory {
    let records: Records
    let events: EventStream

    /// Uses the memory of another spawner from now on.
    func move(to inheritance: Inheritance, _ lifecycle: Lifecycle) {
        records.move(to: inheritance.state, in: inheritance.memory, lifecycle)
        events.move(to: inheritance.memory, at: RuntimeState.byteCount)
    }
}
