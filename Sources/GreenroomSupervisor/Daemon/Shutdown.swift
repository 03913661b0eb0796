internal import GreenroomLifecycle
internal import GreenroomSpawner
internal import Systemd

/// Ends the daemon. Under systemd the apps belong to greenroom-apps.service and stay; otherwise they are
/// ours to end, and the spawner with them.
@LoopActor
final class Shutdown {
    private let parts: Parts
    private let spawner: CurrentSpawner
    private var deadline: EventSource?

    init(parts: Parts, spawner: CurrentSpawner) {
        self.parts = parts
        self.spawner = spawner
    }

    private var supervisor: Supervisor { parts.supervisor }

    func begin() {
        Notify.stopping(status: "stopping")
        supervisor.metrics.write()
        if spawner.isManaged { return LoopActor.shared.loop.exit(0) }
        // Asked a second time: now, and who has not ended is killed.
        guard !parts.isEnding else { return endSpawner(graceMilliseconds: 0) }
        parts.isEnding = true
        parts.machine.leave()
        supervisor.onEmpty = { [unowned self] in endSpawner(graceMilliseconds: 1000) }
        supervisor.handle(.shutdownRequested)
        endLater(after: supervisor.lifecycle.policy.terminateGrace * 2 + .seconds(5)) {
            [unowned self] in endSpawner(graceMilliseconds: 0)
        }
    }

    private func endSpawner(graceMilliseconds: UInt32) {
        // Not known to live, or deaf: then what it has not done, nobody can.
        guard spawner.isThere else { return LoopActor.shared.loop.exit(0) }
        spawner.link.onLost = { LoopActor.shared.loop.exit(0) }
        endLater(after: .seconds(5)) { LoopActor.shared.loop.exit(0) }
        spawner.link.send(.shutDown(graceMilliseconds: graceMilliseconds))
    }

    private func endLater(after delay: Duration, _ body: @escaping @LoopActor () -> Void) {
        deadline = try? LoopActor.timer(after: delay, body)
    }
}
