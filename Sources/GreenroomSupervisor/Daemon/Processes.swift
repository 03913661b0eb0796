internal import GreenroomLifecycle
internal import Systemd

/// The processes of instances, from the order to spawn them until nothing of them is left.
@LoopActor
struct Processes {
    let instances: InstanceTable
    let launcher: Launcher
    let newInstances: NewInstances
    let learner: LibraryLearner
    let freezer: Freezer
    let priorities: PriorityWriter
    let pressure: PressureWatcher
    let paths: AppPaths
    let temporaryFolders: TemporaryFolders

    func spawn(
        _ instance: InstanceIdentifier, of app: AppIdentifier, for purpose: SpawnPurpose
    ) {
        newInstances.spawn(instance, of: app, for: purpose)
        pressure.instancesExist()
    }

    func apply(_ priority: Priority, to instance: InstanceIdentifier) {
        instances.apply(priority, to: instance)
        priorities.want(priority, for: instance)
    }

    /// The instance's end is recorded, and no process of it is left. The app's paths may start it
    /// again, and its temporary files can be removed.
    func release(_ instance: InstanceIdentifier, of app: AppIdentifier?) {
        instances.release(instance)
        guard let app else { return }
        if paths.has(app) { paths.look(at: app) }
        temporaryFolders.emptyFolder(of: app)
    }
}
