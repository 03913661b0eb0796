internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The rooms that must know when there is another spawner, or none.
@LoopActor
struct SpawnerUsers {
    let spawner: CurrentSpawner
    let instances: InstanceTable
    let sockets: ListeningSockets
    let ownProcesses: OwnProcesses
    let priorities: PriorityWriter
    let degradations: Degradations

    /// Gives the spawner to every room that needs one.
    func use(_ link: SpawnerLink, _ greeting: SpawnerLink.Greeting) {
        spawner.use(link)
        ownProcesses.forget()
        priorities.controllersMayDiffer()
        sockets.spawnerIsAnother()
        instances.use(cgroups: greeting.welcome.cgroup.map(Cgroup.init(directory:)))
        sockets.watchAgain()
        degradations.forgetSpawners()
        if let reason = greeting.welcome.degradation {
            degradations.note(
                Control.Note(
                    code: "no_cgroups",
                    text: "\(reason); apps are suspended with SIGSTOP, and memory is not accounted")
            )
        }
    }

    func useNone(because error: any Error) {
        degradations.note(
            Control.Note(code: "no_spawner", text: "reaching the spawner: \(error)"))
        spawner.useNone()
        sockets.spawnerIsAnother()
    }
}

/// What the supervisor keeps in memory that its spawner holds, so that the next supervisor has it.
@LoopActor
struct SpawnerMemory {
    let records: RecordMemory
    let events: EventStream

    /// Uses the memory of another spawner from now on.
    func move(to left: FormerState, _ lifecycle: Lifecycle) {
        records.move(to: left.state, in: left.memory, lifecycle)
        events.move(to: left.memory, at: RuntimeState.byteCount)
    }
}
