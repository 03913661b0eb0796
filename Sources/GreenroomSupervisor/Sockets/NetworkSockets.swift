internal import Glibc
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Network sockets, from the order to the spawner until an app takes them. The supervisor opens
/// none itself: its unit allows it AF_UNIX alone, and gives it an empty network.
@LoopActor
final class NetworkSockets {
    private let spawner: CurrentSpawner
    private var results: [String: Result<FileDescriptor, SystemError>] = [:]
    private var waiting: [Waiting] = []

    private struct Waiting {
        let ordered: Set<String>
        /// The names of the sockets that the spawner has not answered for yet.
        var names: Set<String>
        let then: () -> Void
    }

    init(spawner: CurrentSpawner) { self.spawner = spawner }

    /// - Parameter then: called when all are answered; at once if there are none.
    func order(_ orders: [SocketOrder], then: @escaping () -> Void) {
        var names: Set<String> = []
        for order in orders {
            results[order.name] = nil
            if spawner.send(.listen(order)) {
                names.insert(order.name)
            } else {
                results[order.name] = .failure(Self.noSpawner)
            }
        }
        if names.isEmpty { return then() }
        waiting.append(Waiting(ordered: names, names: names, then: then))
    }

    func orderAtOnce(_ orders: [SocketOrder]) {
        guard !orders.isEmpty else { return }
        results.merge(spawner.listenAtOnce(orders)) { $1 }
    }

    func answered(_ name: String, _ result: Result<FileDescriptor, SystemError>) {
        results[name] = result
        for index in waiting.indices { waiting[index].names.remove(name) }
        finish()
    }

    /// Nothing that was ordered will be answered.
    func giveUp() {
        for index in waiting.indices {
            for name in waiting[index].names { results[name] = .failure(Self.noSpawner) }
            waiting[index].names = []
        }
        finish()
    }

    private func finish() {
        let done = waiting.filter(\.names.isEmpty)
        guard !done.isEmpty else { return }
        waiting.removeAll(where: \.names.isEmpty)
        for one in done { one.then() }
    }

    /// The socket that was ordered by this name.
    func take(
        _ name: String, _ socket: SocketSpecification
    ) throws(SystemError) -> FileDescriptor {
        guard let result = results.removeValue(forKey: name) else {
            // The app is an instance of a template that was made for one launch, or it came in a
            // reading that could not wait. The next reload has the socket opened.
            throw SystemError(
                code: EAGAIN, call: "opened at the next reload", subject: socket.address)
        }
        return try result.get()
    }

    /// Drops the sockets that nobody has taken, except those of an order that waits for more
    /// answers.
    func dropUntaken() {
        for (name, result) in results where !waiting.contains(where: { $0.ordered.contains(name) })
        {
            if case .success = result { spawner.send(.drop(name: name)) }
            results[name] = nil
        }
    }

    private static let noSpawner = SystemError(
        code: ENOTCONN, call: "asking greenroom-spawner for the socket")
}
