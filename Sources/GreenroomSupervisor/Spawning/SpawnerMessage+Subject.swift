internal import GreenroomSpawner

extension SpawnerMessage {
    /// The process that the message is about; nil if it is about none.
    var subject: SpawnNumber? {
        switch self {
        case .instance(let entry), .spawned(let entry): SpawnNumber(entry.instance)
        case .spawnFailed(let number, _), .exited(let number, _), .emptied(let number),
            .failed(let number, _), .stopped(let number), .unguarded(let number),
            .misfired(let number, _), .executedSecurely(let number):
            SpawnNumber(number)
        case .welcome, .kept, .ending, .cannotGuard, .listening, .cannotListen: nil
        }
    }
}
