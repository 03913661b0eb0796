internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// What apps are launched with: the first thing that they hear.
@LoopActor
final class AppLaunches {
    private unowned let channels: ApplicationChannels
    private var supervisor: Supervisor { channels.supervisor }
    /// Of cold launches whose process is not there yet.
    private var launches: [InstanceIdentifier: AppLaunch] = [:]
    /// Of those in their launch sequence: whether they were told that protected data can be read.
    private var toldAvailable: [InstanceIdentifier: Bool] = [:]

    init(channels: ApplicationChannels) { self.channels = channels }

    func forget(_ instance: InstanceIdentifier) {
        launches[instance] = nil
        toldAvailable[instance] = nil
    }

    /// What an app is launched with; its scene's share of it waits for the scene.
    func launch(
        _ instance: InstanceIdentifier, of app: InstalledApp, _ context: LaunchContext
    ) -> AppLaunch {
        let inBackground = supervisor.lifecycle.instance(instance)?.inBackground ?? false
        var launch = plainLaunch(instance, of: app, inBackground: inBackground)
        launch.reason = context.reason
        launch.requestInstant = context.requestedAt.nanoseconds
        channels.traces.begin(instance, requestedAt: context.requestedAt)
        if app.description.scenes == .unsupported {
            launch.content = context.content
        } else if !context.content.isEmpty {
            channels.contents.set(context.content, for: instance, isKept: inBackground)
        }
        return launch
    }

    private func plainLaunch(
        _ instance: InstanceIdentifier, of app: InstalledApp, inBackground: Bool
    ) -> AppLaunch {
        var flags: AppLaunch.Flags = inBackground ? [] : [.foreground]
        if app.description.scenes != .unsupported { flags.insert(.scenes) }
        let isAvailable = supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        if isAvailable { flags.insert(.protectedDataAvailable) }
        flags.formUnion(setupFlags(instance, app))
        toldAvailable[instance] = isAvailable
        if !app.credentials.isEmpty {
            flags.insert(.namesCredentials)
            if channels.handover.areReady(for: instance, of: app) { flags.insert(.credentials) }
        }
        var launch = AppLaunch(
            cookie: ApplicationChannels.launchCookie, flags: flags,
            requestInstant: supervisor.now.nanoseconds,
            interface: app.interface)
        addSetup(of: app, to: &launch)
        return launch
    }

    /// Of a paused app: just before its GO.
    func send(
        to instance: Instance, of app: InstalledApp, _ context: LaunchContext
    ) throws {
        guard let channel = instance.channel else { return }
        let launch = launch(instance.identifier, of: app, context)
        let credentials =
            launch.flags.contains(.credentials)
            ? channels.handover.takeFile(of: instance.identifier) : nil
        _ = try channel.send(
            try DaemonMessage.event(.launch(launch)).encoded().datagram,
            descriptors: credentials.map { [$0.rawValue] } ?? [])
        withExtendedLifetime(credentials) {}
    }

    /// A cold launch waits for its process.
    func prepare(_ launch: AppLaunch, for instance: InstanceIdentifier) {
        launches[instance] = launch
    }

    /// The process of a cold launch is there. After a restart of the supervisor what the request
    /// brought is gone with its client, and the app is launched plainly.
    func send(to instance: Instance) {
        guard let app = channels.catalog[instance.app], app.kind == .applicationKit,
            let record = supervisor.lifecycle.instance(instance.identifier),
            record.state == .launching, !record.isResuming, record.launchedAt == nil
        else { return }
        var launch =
            launches.removeValue(forKey: instance.identifier)
            ?? plainLaunch(
                instance.identifier, of: app, inBackground: record.inBackground)
        noteLock(in: &launch, for: instance.identifier, of: app)
        channels.send(.launch(launch), to: instance.identifier)
    }

    /// It may have changed since the launch was ordered.
    private func noteLock(
        in launch: inout AppLaunch, for instance: InstanceIdentifier, of app: InstalledApp
    ) {
        let isAvailable = supervisor.lifecycle.isProtectedDataAvailable(toUser: app.account.user)
        toldAvailable[instance] = isAvailable
        guard launch.flags.contains(.protectedDataAvailable) != isAvailable else { return }
        if isAvailable {
            launch.flags.insert(.protectedDataAvailable)
            if channels.handover.areReady(for: instance, of: app) {
                launch.flags.insert(.credentials)
            }
        } else {
            channels.handover.forget(instance)
            launch.flags.subtract([.protectedDataAvailable, .credentials])
        }
    }

    /// What a launch says of saved state, and of the one-time setup.
    private func setupFlags(_ instance: InstanceIdentifier, _ app: InstalledApp) -> AppLaunch.Flags
    {
        var flags: AppLaunch.Flags =
            supervisor.lifecycle.announcesState(to: instance) ? [.archive] : []
        let first = supervisor.lifecycle.isFirstLaunch(of: app.identifier)
        if first.ever { flags.insert(.firstLaunch) }
        if first.ofVersion { flags.insert(.firstLaunchOfVersion) }
        return flags
    }

    private func addSetup(of app: InstalledApp, to launch: inout AppLaunch) {
        if app.hasContainer {
            launch.container = channels.containers.container(of: app.identifier.rawValue)
        }
        if !app.version.isEmpty { launch.version = app.version }
    }

    // MARK: Locks meanwhile

    /// In its launch sequence it hears of it with everybody else.
    func noteTold(_ instance: InstanceIdentifier, isAvailable: Bool) {
        if toldAvailable[instance] != nil { toldAvailable[instance] = isAvailable }
    }

    /// The session was locked or unlocked while it launched and was told nothing.
    func tellLockChange(to instance: Instance) {
        guard let told = toldAvailable.removeValue(forKey: instance.identifier),
            let owner = channels.catalog.owner(of: instance.app)
        else { return }
        let isAvailable = supervisor.lifecycle.isProtectedDataAvailable(toUser: owner.user)
        guard told != isAvailable else { return }
        channels.notify(
            instance.identifier,
            isAvailable ? .protectedDataDidBecomeAvailable : .protectedDataWillBecomeUnavailable)
    }
}
