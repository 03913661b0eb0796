internal import GreenroomLifecycle
internal import GreenroomSpawner
internal import Systemd

/// Ends the daemon. Under systemd the apps belong to greenroom-apps.service and stay. Otherwise the
/// daemon ends them, and the spawner with them.
@LoopActor
final class Shutdown {
    private let core: Core
    private let unwritten: Unwritten
    private let machine: MachineEvents
    private let temporaryFolders: TemporaryFolders
    private let reconnection: Reconnection
    private var hasBegun = false
    private var deadline: EventSource?

    init(
        core: Core, unwritten: Unwritten, machine: MachineEvents,
        temporaryFolders: TemporaryFolders,
        reconnection: Reconnection
    ) {
        self.core = core
        self.unwritten = unwritten
        self.machine = machine
        self.temporaryFolders = temporaryFolders
        self.reconnection = reconnection
    }

    func begin() {
        if reconnection.isManaged { return Reconnection.endDaemon() }
        Notify.stopping(status: "stopping")
        unwritten.write()
        // If asked a second time, ends now: apps that have not ended are killed.
        guard !hasBegun else { return endSpawner(graceMilliseconds: 0) }
        hasBegun = true
        temporaryFolders.end()
        machine.leave()
        endLater(after: core.lifecycle.policy.terminateGrace * 2 + .seconds(5)) {
            [unowned self] in endSpawner(graceMilliseconds: 0)
        }
        core.shutDown { [unowned self] in endSpawner(graceMilliseconds: 1000) }
    }

    private func endSpawner(graceMilliseconds: UInt32) {
        endLater(after: .seconds(5)) { LoopActor.shared.loop.exit(0) }
        reconnection.end(graceMilliseconds: graceMilliseconds) { LoopActor.shared.loop.exit(0) }
    }

    private func endLater(after delay: Duration, _ body: @escaping @LoopActor () -> Void) {
        deadline = try? LoopActor.timer(after: delay, body)
    }
}
