internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomSpawner
internal import Systemd

/// An instance whose process exists: one that was spawned just now, or one of a former supervisor.
@LoopActor
struct InstanceArrivals {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let channels: ChannelEvents
    let conversations: AdoptedConversations
    let ready: ReadyConditions
    let appLaunches: AppLaunches
    let output: AppOutput

    /// - Parameter score: the OOM score adjustment that the process was made with.
    func spawned(_ entry: TableEntry, scored score: Int?) {
        let instance = instances.add(entry)
        instance.wasSpawned(scored: score)
        channels.listen(to: instance)
        appLaunches.send(to: instance)
        core.handle(.spawned(instance.identifier))
        ready.watch(instance)
        output.hearEarly(instance)
    }

    /// Adopts an instance of the former supervisor: its output, its messages and its state.
    func adopt(_ instance: Instance, hasEnded: Bool) {
        let identifier = instance.identifier
        // The app's manifest may have changed since the instance was started.
        output.adopt(instance, of: catalog[instance.app])
        ready.listen(to: instance)
        appLaunches.send(to: instance)
        core.handle(.spawned(identifier))
        if instance.channel == nil {
            // The spawner that held its channel is gone, and so is the supervisor that used it.
            core.handle(.reconciled(identifier, found: .noChannel(hasEnded: hasEnded)))
        }
        conversations.adopt(instance)
        // READY=1, for example, may have been sent while nobody listened.
        core.handle(.reconciled(identifier, found: .unheard))
    }
}
