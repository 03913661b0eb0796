internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// The spawner that is in use now, for every room that has orders for it.
@LoopActor
final class CurrentSpawner {
    /// The link to the latest spawner. While that spawner is lost, the link remembers what the next
    /// one is to start.
    private var link: SpawnerLink?

    func use(_ link: SpawnerLink) { self.link = link }

    /// The spawner is lost, and no other could be reached. Orders are refused until one is.
    func useNone() { link = nil }

    var isThere: Bool { link.map { !$0.isLost } ?? false }
    /// Whether the spawner is ending or has ended, even if nobody has noticed yet.
    var isEnding: Bool {
        guard let link, !link.isLost else { return true }
        guard let process = link.process else { return false }
        return (try? link.processDescriptor?.send(signal: 0)) == false
            || ProcessTable.entry(of: process)?.isEnding == true
    }
    /// Whether orders are carried out now, or by a spawner that is expected at once.
    var takesOrders: Bool { link != nil }
    /// Nil while the spawner is lost.
    var process: pid_t? { isThere ? link?.process : nil }
    /// The apps of orders that are not answered yet.
    var orderedApps: [AppIdentifier] { link?.orderedApps ?? [] }

    /// Returns false if there is no spawner.
    @discardableResult
    func send(_ request: SpawnerRequest) -> Bool {
        guard let link, !link.isLost else { return false }
        return link.send(request)
    }

    /// Opens sockets and waits for them, at the start of the daemon alone.
    func listenAtOnce(_ orders: [SocketOrder]) -> [String: Result<FileDescriptor, SystemError>] {
        link?.listenAtOnce(orders) ?? [:]
    }

    /// Returns false if no spawner can be told to start the instance, now or soon.
    func send(_ specification: SpawnSpecification) -> Bool { link?.send(specification) ?? false }
}
