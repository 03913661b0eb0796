internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Gives apps their credentials: before a launch, or once their user's session is unlocked. All find the
/// directory in their environment, as systemd's services do; an app made with the SDK reads them from a
/// sealed file, which comes with its launch.
@LoopActor
final class CredentialHandover {
    let directories: CredentialDirectories
    private unowned let channels: ApplicationChannels
    private var supervisor: Supervisor { channels.supervisor }
    /// Sealed, and not sent yet.
    private var files: [InstanceIdentifier: FileDescriptor] = [:]

    init(channels: ApplicationChannels, runtimeDirectory: String) {
        self.channels = channels
        directories = CredentialDirectories(runtimeDirectory: runtimeDirectory)
    }

    func forget(_ instance: InstanceIdentifier) {
        files[instance] = nil
        directories.remove(instance)
    }

    /// Before a launch: not while its user's session is locked.
    func provide(
        to instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        guard !app.credentials.isEmpty,
            supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        else { return }
        let credentials = try CredentialSet(of: app)
        let file = app.kind == .applicationKit ? try credentials.sealed() : nil
        try directories.make(credentials, for: instance, of: app)
        files[instance] = file
    }

    /// Whether they go with a launch. What a former supervisor sealed went with it; what was locked when the
    /// launch was ordered may be there now.
    func areReady(for instance: InstanceIdentifier, of app: InstalledApp) -> Bool {
        if files[instance] == nil {
            directories.remove(instance)
            say(app) { () throws(SystemError) in try provide(to: instance, of: app) }
        }
        return files[instance] != nil
    }

    /// For the message that carries it.
    func takeFile(of instance: InstanceIdentifier) -> FileDescriptor? {
        files.removeValue(forKey: instance)
    }

    /// It was launched while the session was locked.
    func handOver(to instance: InstanceIdentifier) {
        guard let name = supervisor.instances[instance]?.app, let app = channels.catalog[name],
            !app.credentials.isEmpty, !directories.has(instance)
        else { return }
        say(app) { () throws(SystemError) in try provide(to: instance, of: app) }
        if files[instance] != nil {
            channels.send(.credentials(cookie: channels.freeCookie()), to: instance)
        }
    }

    private func say(_ app: InstalledApp, _ work: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try work()
        } catch {
            supervisor.reporter.say(
                .error, "the credentials of \(app.identifier): \(error)",
                of: app.identifier.rawValue)
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
