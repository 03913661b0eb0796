internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Gives apps their credentials: before a launch, or once their user's session is unlocked. Every
/// app finds the directory in its environment, as systemd's services do. An app made with the SDK
/// reads them from a sealed file, which comes with its launch.
@LoopActor
final class CredentialHandover {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let directories: CredentialDirectories
    private let messenger: AppMessenger
    private let log: Log

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable,
        directories: CredentialDirectories, messenger: AppMessenger, log: Log
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.directories = directories
        self.messenger = messenger
        self.log = log
    }

    private func file(of instance: InstanceIdentifier) -> FileDescriptor? {
        instances.known(SealedCredentials.self, of: instance)?.file
    }

    /// Takes the credentials away from the instance.
    func withdraw(from instance: InstanceIdentifier) {
        if let withdrawal = instances.known(Withdrawal.self, of: instance) {
            withdrawal.cookie = nil
            withdrawal.timer = nil
        }
        instances.known(SealedCredentials.self, of: instance)?.file = nil
        directories.remove(instance)
    }

    // MARK: Locks

    private final class Withdrawal: InstancePart {
        /// The cookie of the message by which the app was told that the credentials will go.
        var cookie: UInt64?
        var timer: EventSource?
    }

    /// The app was told that its protected data will become unavailable. The credentials go when
    /// the app's callbacks have returned, and at the latest when the time allowed for a step is
    /// over.
    func withdraw(from instance: InstanceIdentifier, afterAcknowledgement cookie: UInt64) {
        guard directories.has(instance), let part = instances.part(Withdrawal.self, of: instance)
        else { return }
        do throws(SystemdError) {
            let timer = try LoopActor.timer { [unowned self] in withdraw(from: instance) }
            try timer.setDeadline(after: core.lifecycle.policy.stepDeadline)
            part.timer = timer
            part.cookie = cookie
        } catch {
            withdraw(from: instance)
        }
    }

    func acknowledged(_ cookie: UInt64, by instance: InstanceIdentifier) {
        guard instances.known(Withdrawal.self, of: instance)?.cookie == cookie else { return }
        withdraw(from: instance)
    }

    /// The user's session was locked. Programs, and apps that are suspended, lose their credentials at
    /// once, because they are told nothing. An app that is launching is told after its launch.
    func becameLocked(_ user: UInt32) {
        for app in catalog.unsortedApps
        where !app.credentials.isEmpty && app.account.user == user {
            for record in core.lifecycle.instances(of: app.identifier)
            where directories.has(record.instance) {
                let isLaunching = app.kind != .program && record.state == .launching
                let isTold = instances.known(Withdrawal.self, of: record.instance)?.cookie != nil
                if !isLaunching, !isTold { withdraw(from: record.instance) }
            }
        }
    }

    /// Provides the credentials before a launch, unless the user's session is locked.
    func provide(
        to instance: InstanceIdentifier, of app: InstalledApp
    ) throws(SystemError) {
        guard !app.credentials.isEmpty,
            core.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        else { return }
        let credentials = try CredentialSet(of: app)
        let file = app.kind == .applicationKit ? try credentials.sealed() : nil
        try directories.make(credentials, for: instance, of: app)
        instances.part(SealedCredentials.self, of: instance)?.file = file
    }

    /// Whether a sealed file goes with a launch. If there is none, tries to make it: a file that a
    /// former supervisor made is gone with that supervisor, and a session that was locked when the
    /// launch was ordered may be unlocked by now.
    func areReady(for instance: InstanceIdentifier, of app: InstalledApp) -> Bool {
        if file(of: instance) == nil {
            directories.remove(instance)
            say(app) { () throws(SystemError) in try provide(to: instance, of: app) }
        }
        return file(of: instance) != nil
    }

    /// Gives out the sealed file, once, for the message that carries it.
    func takeFile(of instance: InstanceIdentifier) -> FileDescriptor? {
        instances.known(SealedCredentials.self, of: instance)?.take()
    }

    /// Hands the credentials to an instance that was launched while the login session was locked, or
    /// that lost them at the lock.
    func handOver(to instance: InstanceIdentifier) {
        // An app that was told that its credentials will go has given them up.
        if instances.known(Withdrawal.self, of: instance)?.cookie != nil {
            withdraw(from: instance)
        }
        guard let name = instances[instance]?.app, let app = catalog[name],
            !app.credentials.isEmpty, !directories.has(instance)
        else { return }
        say(app) { () throws(SystemError) in try provide(to: instance, of: app) }
        if file(of: instance) != nil {
            messenger.send(.credentials(cookie: messenger.freeCookie()), to: instance)
        }
    }

    private func say(_ app: InstalledApp, _ work: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try work()
        } catch {
            log.say(
                .error, "the credentials of \(app.identifier): \(error)",
                of: app.identifier.rawValue)
        }
    }

    /// The user's session was unlocked: makes the directories of programs, at the paths that they
    /// were given at launch.
    func becameUnlocked(_ user: UInt32) {
        for app in catalog.unsortedApps
        where app.kind == .program && !app.credentials.isEmpty && app.account.user == user {
            for record in core.lifecycle.instances(of: app.identifier)
            where record.launchedAt != nil && record.state != .notRunning {
                handOver(to: record.instance)
            }
        }
    }
}
