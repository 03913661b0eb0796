internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomSpawner
internal import Systemd

/// The spawner that there is now, for every room that has orders for it.
@LoopActor
final class CurrentSpawner {
    /// The latest one. While it is lost, it remembers what the next one is to start.
    private var link: SpawnerLink?

    func use(_ link: SpawnerLink) { self.link = link }

    /// It is lost, and no other could be reached: orders are refused until one is.
    func useNone() { link = nil }

    var isThere: Bool { link.map { !$0.isLost } ?? false }
    /// Nil while it is lost.
    var process: pid_t? { isThere ? link?.process : nil }
    /// The apps of orders that are not answered yet.
    var orderedApps: [AppIdentifier] { link?.orderedApps ?? [] }
    /// The order that the message being handed out answers.
    var answered: SpawnSpecification? { link?.answered }

    /// False if there is no spawner.
    @discardableResult
    func send(_ request: SpawnerRequest) -> Bool {
        guard let link, !link.isLost else { return false }
        return link.send(request)
    }

    /// False if nobody can be told to start it, now or soon.
    func send(_ specification: SpawnSpecification) -> Bool { link?.send(specification) ?? false }
}
