internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Enters one app into every room that keeps something about it, and takes it out again.
@LoopActor
struct AppRegistration {
    let core: Core
    let sockets: ListeningSockets
    let states: KeptStates
    let contexts: LaunchContexts
    let learner: LibraryLearner
    let lists: ImportLists

    /// The app's sockets come first: the core may want them watched at once.
    func add(_ app: InstalledApp) -> [Control.ManifestFault] {
        let faults = sockets.update(app)
        var description = app.description
        if !app.startOccasions.isEmpty {
            description.autostart = .some(
                Autostart(
                    atBoot: app.startOccasions.contains(.boot),
                    atLogin: app.startOccasions.contains(.login),
                    loginGroup: AppDescription.loginGroup(ofUser: app.account.user)))
        }
        core.handle(.appInstalled(description))
        recall(app)
        states.report(on: app)
        return faults
    }

    /// Tells the core what launches of the app have taught, if an earlier daemon has kept that.
    private func recall(_ app: InstalledApp) {
        learner.recall(app)
        if let learning = app.program.depth.learning,
            let times = lists.times(of: app.identifier, learning.basis)
        {
            core.handle(.timesRecalled(app.identifier, times))
        }
    }

    /// - Parameters:
    ///   - isGone: whether its manifest is gone, and not just faulty or masked for a while.
    /// - wasInstalled: whether this daemon has installed the app. If not, the app's files are
    ///   searched for in the folders of all users.
    func remove(_ app: AppIdentifier, isGone: Bool, wasInstalled: Bool = true) {
        contexts.forgetPause(of: app)
        if isGone {
            learner.remove(app, wasInstalled: wasInstalled)
            lists.remove(app, wasInstalled: wasInstalled)
        }
        core.handle(.appRemoved(app, isGone: isGone))
        sockets.forget(app)
    }
}
