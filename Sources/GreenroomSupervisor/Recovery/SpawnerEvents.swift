internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Turns the spawner's messages into events of the core.
@LoopActor
struct SpawnerEvents {
    let core: Core
    let freezer: Freezer
    let newInstances: NewInstances
    let prewarms: PrewarmReports
    let arrivals: InstanceArrivals
    let channels: ChannelEvents
    let ownProcesses: OwnProcesses
    let sockets: ListeningSockets
    let degradations: Degradations

    /// - Parameter order: the order that the message answers; nil if it answers none.
    func handle(_ message: SpawnerMessage, answering order: SpawnSpecification?) {
        switch message.subject {
        case .instance, nil: break
        case .cleaning, .watch, .inspection: return ownProcesses.received(message)
        }
        switch message {
        case .spawned(let entry):
            arrivals.spawned(entry, scored: order?.oomScoreAdjustment)
        case .spawnFailed(let number, let error):
            newInstances.failed(
                InstanceIdentifier(number), SpawnFailure(stage: error.activity, errno: error.code))
        case .exited(let number, let status):
            channels.ended(InstanceIdentifier(number), ExitStatus(status))
        case .emptied(let number): core.handle(.emptied(InstanceIdentifier(number)))
        case .failed(let number, _): core.handle(.freezeFailed(InstanceIdentifier(number)))
        case .stopped(let number): freezer.wasStopped(InstanceIdentifier(number))
        case .unguarded(let number): prewarms.unguarded(InstanceIdentifier(number))
        case .misfired(let number, let program):
            channels.misfired(InstanceIdentifier(number), program)
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
}

/// Processes that the spawner runs for the daemon itself. The core does not know them.
@LoopActor
struct OwnProcesses {
    let temporaryFolders: TemporaryFolders
    let learning: ImportLearning
    let watches: BusWatches

    func received(_ message: SpawnerMessage) {
        switch message.subject {
        case .cleaning(let number): temporaryFolders.received(message, about: number)
        case .watch(let instance): watches.received(message, about: instance)
        case .inspection(let number): learning.received(message, about: .inspection(number))
        case .instance, nil: break
        }
    }

    /// Called when there is a new spawner, which runs none of these processes. (If the former one has
    /// executed itself again, `Recovery` ends those that it still has.)
    func forget() {
        temporaryFolders.forget()
        learning.forgetSpawner()
        watches.forgetSpawner()
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
