internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns the spawner's messages into events of the core.
@LoopActor
struct SpawnerEvents {
    let core: Core
    let instances: InstanceTable
    let spawner: CurrentSpawner
    let freezer: Freezer
    let launcher: Launcher
    let appLaunches: AppLaunches
    let channels: ChannelEvents
    let ends: MemoryEnds
    let temporaryFolders: TemporaryFolders
    let learning: ImportLearning
    let sockets: ListeningSockets
    let degradations: Degradations

    func handle(_ message: SpawnerMessage) {
        switch message.subject {
        case .cleaning(let number): return temporaryFolders.received(message, about: number)
        case .inspection(let number):
            return learning.received(message, about: .inspection(number))
        case .instance, nil: break
        }
        switch message {
        case .spawned(let record):
            let instance = instances.add(record)
            instance.wasSpawned(
                scored: spawner.answered?.oomScoreAdjustment)
            channels.listen(to: instance)
            appLaunches.send(to: instance)
            core.handle(.spawned(instance.identifier))
            launcher.awaitReadiness(of: instance)
        case .spawnFailed(let number, let error):
            launcher.failed(
                InstanceIdentifier(number), SpawnFailure(stage: error.activity, errno: error.code))
        case .exited(let number, let status):
            exited(InstanceIdentifier(number), ExitStatus(status))
        case .emptied(let number): core.handle(.emptied(InstanceIdentifier(number)))
        case .failed(let number, _): core.handle(.freezeFailed(InstanceIdentifier(number)))
        case .stopped(let number): freezer.wasStopped(InstanceIdentifier(number))
        case .unguarded(let number): channels.unguarded(InstanceIdentifier(number))
        case .misfired(let number, let program):
            core.handle(.misfired(InstanceIdentifier(number), .startsPrograms(program)))
        case .executedSecurely(let number):
            core.handle(.misfired(InstanceIdentifier(number), .secureExecution))
        case .cannotGuard(let code): noteUnguarded(code)
        case .listening(let name, let socket): sockets.opened(name, .success(socket))
        case .cannotListen(let name, let error): sockets.opened(name, .failure(error))
        case .welcome, .instance, .kept, .ending: break
        }
    }

    private func noteUnguarded(_ code: CInt) {
        degradations.note(
            Control.Note(
                code: "no_guard",
                text:
                    "greenroom-spawner may not trace its children (\(SystemError.text(of: code))): "
                    + "what a library of a prewarmed app starts is not stopped"))
    }

    func exited(_ identifier: InstanceIdentifier, _ status: ExitStatus) {
        channels.drain(identifier)
        ends.examine(identifier, status)
        core.handle(.exited(identifier, status))
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
