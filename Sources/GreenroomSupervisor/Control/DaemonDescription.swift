internal import Glibc
internal import GreenroomControl
internal import GreenroomLinux
internal import Systemd

/// What the daemon says about itself.
@LoopActor
struct DaemonDescription {
    let authorization: Authorization
    let loader: AppLoader
    let spawner: CurrentSpawner
    let degradations: Degradations
    let surroundings: Control.Surroundings

    func description(for peer: Peer) -> Control.Description {
        var description = Control.Description(
            version: productVersion, processId: getpid(),
            features: [
                "prewarm.main", "prewarm.libraries", "prewarm.runtime", "prewarm.window",
                "watch.after",
            ],
            degraded: degradations.notes)
        var surroundings = surroundings
        surroundings.spawnerProcessId = spawner.process
        description.surroundings = surroundings
        description.appDirectories = loader.places.directories
        description.desktopDirectories = loader.places.desktop.paths
        description.profileDirectories = loader.places.profileDirectories
        // Only for clients that may administer the daemon: it is another user's environment.
        if authorization.mayDo(.administer, owner: nil, peer) {
            description.environment = loader.readingEnvironment
        }
        return description
    }
}
