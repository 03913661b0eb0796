internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns what the spawner says into events of the core.
@LoopActor
final class SpawnerEvents {
    private unowned let supervisor: Supervisor
    private let channels: ChannelEvents
    private let emptying: Emptying

    init(supervisor: Supervisor, channels: ChannelEvents, emptying: Emptying) {
        self.supervisor = supervisor
        self.channels = channels
        self.emptying = emptying
    }

    func handle(_ message: SpawnerMessage) {
        if emptying.take(message) { return }
        switch message {
        case .spawned(let record):
            let instance = supervisor.instances.adopt(record)
            instance.wasSpawned(
                scored: supervisor.instances.spawner?.answered?.oomScoreAdjustment)
            channels.listen(to: instance)
            supervisor.applications.launches.send(to: instance)
            supervisor.handle(.spawned(instance.identifier))
            supervisor.launcher.awaitReadiness(of: instance)
        case .spawnFailed(let number, let error):
            supervisor.spawnFailed(
                InstanceIdentifier(number),
                SpawnFailure(stage: error.deed, errno: error.code))
        case .exited(let number, let status):
            exited(InstanceIdentifier(number), ExitStatus(status))
        case .emptied(let number): supervisor.handle(.emptied(InstanceIdentifier(number)))
        case .failed(let number, _): supervisor.handle(.freezeFailed(InstanceIdentifier(number)))
        case .stopped(let number): supervisor.instances.wasStopped(InstanceIdentifier(number))
        case .unguarded(let number): channels.unguarded(InstanceIdentifier(number))
        case .misfired(let number, let program):
            supervisor.handle(.misfired(InstanceIdentifier(number), program: program))
        case .cannotGuard(let code): noteUnguarded(code)
        case .welcome, .instance, .kept, .ending: break
        }
    }

    private func noteUnguarded(_ code: CInt) {
        let note = Control.Note(
            code: "no_guard",
            text: "greenroom-spawner may not trace its children (\(SystemError.text(of: code))): "
                + "what a library of a prewarmed app starts is not stopped")
        guard !supervisor.control.degraded.contains(where: { $0.code == note.code }) else { return }
        supervisor.control.degraded.append(note)
        supervisor.reporter.sayOnce(note.text)
    }

    func exited(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        let hadChannel = supervisor.instances[identifier]?.channel != nil
        channels.drain(identifier)
        var status = status
        let record = supervisor.lifecycle.instance(identifier)
        if record?.isUndecidedResume == true, !hadChannel {
            // Its channel was lost with a spawner and a supervisor: whether it ran cannot be known, and
            // a pause that finds nobody exits with 0. Launched again, it might run twice.
            supervisor.handle(.started(identifier))
            status = .unknown
        }
        supervisor.reclaimer.ends.examine(identifier, status)
        supervisor.handle(.exited(identifier, status))
    }
}

extension ExitStatus {
    init(_ status: TerminationStatus) {
        switch status {
        case .exited(let code): self = .exited(UInt8(truncatingIfNeeded: code))
        case .signaled(let signal, let coreDumped):
            self = .signaled(UInt8(truncatingIfNeeded: signal), coreDumped: coreDumped)
        case .unknown: self = .unknown
        }
    }
}
