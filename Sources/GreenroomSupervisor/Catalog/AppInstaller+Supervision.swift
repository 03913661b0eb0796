internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomManifest
internal import Systemd

/// One app, to everybody who keeps it.
extension AppInstaller {
    /// Its sockets first: the core may want them watched at once.
    func install(_ app: InstalledApp) -> [Control.ManifestFault] {
        let faults = supervisor.sockets.update(app)
        var description = app.description
        if !app.startOccasions.isEmpty {
            description.autostart = .some(
                Autostart(
                    atBoot: app.startOccasions.contains(.boot),
                    atLogin: app.startOccasions.contains(.login),
                    session: AppDescription.sessionGroup(ofUser: app.account.user)))
        }
        supervisor.handle(.appInstalled(description))
        supervisor.states.report(on: app)
        return faults
    }

    func remove(_ app: AppIdentifier) {
        supervisor.launcher.contexts.forgetPause(of: app)
        supervisor.handle(.appRemoved(app))
        supervisor.sockets.forget(app)
    }
}
