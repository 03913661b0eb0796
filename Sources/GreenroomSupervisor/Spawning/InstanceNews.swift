internal import GreenroomSpawner
internal import Systemd

/// What the spawner tells of instances that it was not just asked to start. It waits behind what else has
/// arrived: whoever awaits a launch is not kept waiting by others' ends, of which a thousand can come at
/// once. The order stays.
@LoopActor
final class InstanceNews {
    private var deliver: ((SpawnerMessage) -> Void)?
    private var turn: PatientTurn?
    private var waiting = Fifo<SpawnerMessage>()

    /// Behind launches, before watchers.
    private static let priority: Int64 = 2
    /// Events that go before, at most: some tens of milliseconds' work.
    private static let patience: UInt64 = 1024
    /// Handed out in a turn…
    private static let leastPerTurn = 8
    /// …and of many so large a share: where ends go on coming, at last as many are handed out as come.
    private static let share = 4

    func activate(_ deliver: @escaping (SpawnerMessage) -> Void) throws(SystemdError) {
        self.deliver = deliver
        turn = try PatientTurn(priority: Self.priority, patience: Self.patience) {
            [unowned self] in takeTurn()
        }
        if !waiting.isEmpty { turn?.request() }
    }

    func deactivate() { turn = nil }

    /// - Returns: false for what is not news, and is handed out at once.
    func take(_ message: SpawnerMessage) -> Bool {
        guard message.isNewsOfInstance else { return false }
        waiting.append(message)
        turn?.request()
        return true
    }

    func deliverAll() {
        while !waiting.isEmpty { deliverNext() }
    }

    private func takeTurn() {
        for _ in 0..<max(Self.leastPerTurn, waiting.count / Self.share) { deliverNext() }
        if !waiting.isEmpty { turn?.request() }
    }

    /// One by one: handing one out may find the spawner gone, and all of them are handed out then.
    private func deliverNext() {
        if let message = waiting.popFirst() { deliver?(message) }
    }
}

extension SpawnerMessage {
    fileprivate var isNewsOfInstance: Bool {
        switch self {
        case .exited, .emptied, .failed, .stopped: true
        case .welcome, .instance, .spawned, .spawnFailed, .kept, .ending: false
        }
    }
}
