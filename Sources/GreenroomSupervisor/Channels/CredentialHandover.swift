internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Gives apps their credentials: before a launch, or once their user's session is unlocked.
@LoopActor
final class CredentialHandover {
    let directories: CredentialDirectories
    private unowned let channels: ApplicationChannels
    private var supervisor: Supervisor { channels.supervisor }

    init(channels: ApplicationChannels, runtimeDirectory: String) {
        self.channels = channels
        directories = CredentialDirectories(runtimeDirectory: runtimeDirectory)
    }

    /// Before a launch: not while its user's session is locked.
    func provide(
        to instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        guard !app.credentials.isEmpty,
            supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        else { return }
        try directories.make(for: instance, of: app)
    }

    /// It was launched while the session was locked.
    func handOver(to instance: InstanceIdentifier) {
        guard let name = supervisor.instances[instance]?.app, let app = channels.catalog[name],
            !app.credentials.isEmpty, !directories.has(instance)
        else { return }
        do throws(SystemError) {
            try provide(to: instance, of: app)
            if app.kind == .applicationKit {
                channels.send(.credentials(cookie: channels.freeCookie()), to: instance)
            }
        } catch {
            supervisor.reporter.say(.error, "the credentials of \(name): \(error)")
        }
    }

    /// Programs find their directory where they were told that it would be.
    func becameUnlocked(_ user: UInt32) {
        for app in channels.catalog.unsortedApps
        where app.kind == .program && !app.credentials.isEmpty && app.account.user == user {
            for record in supervisor.lifecycle.instances(of: app.identifier)
            where record.launchedAt != nil && record.state != .notRunning {
                handOver(to: record.instance)
            }
        }
    }
}
