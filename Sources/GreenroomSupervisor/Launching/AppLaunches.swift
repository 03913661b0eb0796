internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// Tells apps made with the SDK what they are launched with, in the first message that they get.
@LoopActor
final class AppLaunches {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let messenger: AppMessenger
    private let handover: CredentialHandover
    private let traces: LaunchTraces
    private let contents: WaitingContents
    private let dataFolders: DataFolders

    private final class Pending: InstancePart {
        /// The launch message of a cold launch whose process has not been spawned yet.
        var launch: AppLaunch?
        /// Set while the app is launching: whether it was told that protected data can be read.
        var toldAvailable: Bool?
    }

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, messenger: AppMessenger,
        handover: CredentialHandover, traces: LaunchTraces, contents: WaitingContents,
        dataFolders: DataFolders
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.messenger = messenger
        self.handover = handover
        self.traces = traces
        self.contents = contents
        self.dataFolders = dataFolders
    }

    private func noteToldAvailable(_ isAvailable: Bool, _ instance: InstanceIdentifier) {
        instances.part(Pending.self, of: instance)?.toldAvailable = isAvailable
    }

    /// The launch message. If the app has scenes, the content waits for the scene.
    func launch(
        _ instance: InstanceIdentifier, of app: InstalledApp, _ context: LaunchContext,
        _ terms: LaunchTerms
    ) -> AppLaunch {
        var launch = plainLaunch(instance, of: app, terms)
        launch.reason = context.reason
        launch.requestInstant = context.requestedAt.nanoseconds
        traces.begin(instance, requestedAt: context.requestedAt)
        if app.description.scenes == .unsupported {
            launch.content = context.content
        } else if !context.content.isEmpty {
            contents.set(context.content, for: instance, isKept: terms.inBackground)
        }
        return launch
    }

    private func plainLaunch(
        _ instance: InstanceIdentifier, of app: InstalledApp, _ terms: LaunchTerms
    ) -> AppLaunch {
        var flags: AppLaunch.Flags = terms.inBackground ? [] : [.foreground]
        if app.description.scenes != .unsupported { flags.insert(.scenes) }
        if terms.isProtectedDataAvailable { flags.insert(.protectedDataAvailable) }
        if terms.announcesState { flags.insert(.archive) }
        if terms.isFirstLaunch { flags.insert(.firstLaunch) }
        if terms.isFirstLaunchOfVersion { flags.insert(.firstLaunchOfVersion) }
        noteToldAvailable(terms.isProtectedDataAvailable, instance)
        if !app.credentials.isEmpty {
            flags.insert(.namesCredentials)
            if handover.areReady(for: instance, of: app) { flags.insert(.credentials) }
        }
        var launch = AppLaunch(
            cookie: AppCookie.launch.rawValue, flags: flags,
            requestInstant: core.now.nanoseconds,
            interface: app.interface)
        addSetup(of: app, to: &launch)
        return launch
    }

    /// Sends the launch message to a paused app, just before its GO.
    func send(
        to instance: Instance, of app: InstalledApp, _ context: LaunchContext,
        _ terms: LaunchTerms
    ) throws {
        guard let channel = instance.channel else { return }
        let launch = launch(instance.identifier, of: app, context, terms)
        let credentials =
            launch.flags.contains(.credentials)
            ? handover.takeFile(of: instance.identifier) : nil
        _ = try channel.send(
            try DaemonMessage.event(.launch(launch)).encoded().datagram,
            descriptors: credentials.map { [$0.rawValue] } ?? [])
        withExtendedLifetime(credentials) {}
    }

    /// Keeps the launch message of a cold launch until its process has been spawned.
    func prepare(_ launch: AppLaunch, for instance: InstanceIdentifier) {
        instances.part(Pending.self, of: instance)?.launch = launch
    }

    /// Sends the launch message of a cold launch whose process has been spawned. After a restart of
    /// the supervisor, what the request brought is gone with its client, and the app is launched
    /// without that.
    func send(to instance: Instance) {
        guard let app = catalog[instance.app], app.kind == .applicationKit,
            let record = core.lifecycle.instance(instance.identifier),
            record.phase == .ordered
        else { return }
        let prepared = instances.known(Pending.self, of: instance.identifier)
        defer { prepared?.launch = nil }
        var launch =
            prepared?.launch
            ?? plainLaunch(
                instance.identifier, of: app,
                core.lifecycle.launchTerms(of: instance.identifier))
        correctLock(in: &launch, for: instance.identifier, of: app)
        messenger.send(.launch(launch), to: instance.identifier)
    }

    /// The session may have been locked or unlocked since the launch was ordered.
    private func correctLock(
        in launch: inout AppLaunch, for instance: InstanceIdentifier, of app: InstalledApp
    ) {
        let isAvailable = core.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        noteToldAvailable(isAvailable, instance)
        guard launch.flags.contains(.protectedDataAvailable) != isAvailable else { return }
        if isAvailable {
            launch.flags.insert(.protectedDataAvailable)
            if handover.areReady(for: instance, of: app) {
                launch.flags.insert(.credentials)
            }
        } else {
            handover.withdraw(from: instance)
            launch.flags.subtract([.protectedDataAvailable, .credentials])
        }
    }

    private func addSetup(of app: InstalledApp, to launch: inout AppLaunch) {
        if app.hasContainer {
            launch.container = dataFolders.container(of: app.identifier.rawValue)
        }
        if !app.version.isEmpty { launch.version = app.version }
    }

    // MARK: Session locks during a launch

    /// Notes what an app that is launching was told: it is told about a change together with all
    /// other apps.
    private func noteTold(_ instance: InstanceIdentifier, isAvailable: Bool) {
        guard let prepared = instances.known(Pending.self, of: instance),
            prepared.toldAvailable != nil
        else { return }
        prepared.toldAvailable = isAvailable
    }

    /// Tells an app that has launched, if the session was locked or unlocked in the meantime and
    /// the app was not told.
    func tellLockChange(to instance: Instance) {
        guard let prepared = instances.known(Pending.self, of: instance.identifier),
            let told = prepared.toldAvailable
        else { return }
        prepared.toldAvailable = nil
        guard let owner = catalog.owner(of: instance.app)
        else { return }
        let isAvailable = core.lifecycle.isProtectedDataAvailable(toUser: owner.user)
        guard told != isAvailable else { return }
        tellLock(isAvailable, to: instance.identifier)
    }

    /// Tells an app that protected data can be read, or that it will be taken away.
    func tellLock(_ isAvailable: Bool, to instance: InstanceIdentifier) {
        let cookie = messenger.freeCookie()
        noteTold(instance, isAvailable: isAvailable)
        if isAvailable {
            handover.handOver(to: instance)
            messenger.send(
                .lifecycle(.protectedDataDidBecomeAvailable, cookie: cookie), to: instance)
        } else {
            messenger.send(
                .lifecycle(.protectedDataWillBecomeUnavailable, cookie: cookie), to: instance)
            handover.withdraw(from: instance, afterAcknowledgement: cookie)
        }
    }

    func acknowledgedLock(_ cookie: UInt64, by instance: InstanceIdentifier) {
        handover.acknowledged(cookie, by: instance)
    }
}
