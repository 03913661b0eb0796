internal import GreenroomLifecycle
internal import Systemd

/// The end of an instance, whoever reports it: the spawner now, or its table after a restart.
@LoopActor
struct InstanceEnds {
    let core: Core
    let channels: ChannelEvents
    let memoryEnds: MemoryEnds

    /// The main process has ended.
    func exited(_ instance: InstanceIdentifier, _ status: ExitStatus) {
        channels.drain(instance)
        memoryEnds.examine(instance, status)
        core.handle(.exited(instance, status))
    }
}
