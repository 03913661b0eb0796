internal import GreenroomLifecycle
internal import Systemd

/// What starts apps without a client: their timers, their paths and the work that they have
/// scheduled.
@LoopActor
struct AppTriggers {
    let core: Core
    let timers: AppTimers
    let paths: AppPaths
    let work: BackgroundWork

    /// Takes over the apps as they are now.
    func update(_ apps: [InstalledApp]) {
        timers.update(apps.compactMap { app in app.timer.map { (app.identifier, $0) } })
        paths.update(apps.compactMap { app in app.path.map { (app.identifier, $0) } })
        paths.tryAgain { core.lifecycle.areTriggersLeftAlone(of: $0) }
        core.handle(.triggersForgiven)
        work.update(apps)
    }
}
