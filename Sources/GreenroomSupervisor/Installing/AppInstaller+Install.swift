internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// Registers one app with every room that keeps something about it.
extension AppInstaller {
    /// The app's sockets come first: the core may want them watched at once.
    func install(_ app: InstalledApp) -> [Control.ManifestFault] {
        let faults = sockets.update(app)
        var description = app.description
        if !app.startOccasions.isEmpty {
            description.autostart = .some(
                Autostart(
                    atBoot: app.startOccasions.contains(.boot),
                    atLogin: app.startOccasions.contains(.login),
                    session: AppDescription.sessionGroup(ofUser: app.account.user)))
        }
        core.handle(.appInstalled(description))
        states.report(on: app)
        return faults
    }

    func remove(_ app: AppIdentifier) {
        contexts.forgetPause(of: app)
        learner.forget(app)
        core.handle(.appRemoved(app))
        sockets.forget(app)
    }
}
