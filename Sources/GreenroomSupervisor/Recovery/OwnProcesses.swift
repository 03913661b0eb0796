internal import GreenroomSpawner
internal import Systemd

/// Processes that the spawner runs for the daemon itself. The core does not know them.
@LoopActor
struct OwnProcesses {
    let temporaryFolders: TemporaryFolders
    let learning: ImportLearning
    let watches: BusWatches

    func received(_ message: SpawnerMessage) {
        switch message.subject {
        case .cleaning(let number): temporaryFolders.received(message, about: number)
        case .watch(let instance): watches.received(message, about: instance)
        case .inspection(let number): learning.received(message, about: .inspection(number))
        case .instance, nil: break
        }
    }

    /// Called when there is a new spawner, which runs none of these processes. (If the former one has
    /// executed itself again, `Recovery` ends those that it still has.)
    func forget() {
        temporaryFolders.forget()
        learning.forgetSpawner()
        watches.forgetSpawner()
    }
}
