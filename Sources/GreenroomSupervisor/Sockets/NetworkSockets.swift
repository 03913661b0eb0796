internal import Glibc
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Sockets of networks, between the order to the spawner and the app that takes them. The
/// supervisor opens none: its unit allows it AF_UNIX alone, and gives it an empty network.
@LoopActor
final class NetworkSockets {
    private let spawner: CurrentSpawner
    private var results: [String: Result<FileDescriptor, SystemError>] = [:]
    private var waiting: [Waiting] = []

    private struct Waiting {
        let ordered: Set<String>
        /// Those that are not answered yet.
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
            // An instance of a template that is made for one launch, or an app that came in a
            // reading that could not wait: the next reload has it opened.
            throw SystemError(
                code: EAGAIN, call: "opened at the next reload", subject: socket.address)
        }
        return try result.get()
    }

    /// Drops what was answered and is not taken, unless it belongs to an order that waits for
    /// more.
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
