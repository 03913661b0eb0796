internal import GreenroomAppChannel
internal import GreenroomLifecycle

/// Saved state on its way to apps, and what they hear of their one-time setup.
extension ApplicationChannels {
    /// What a launch says of both.
    func setupFlags(_ instance: InstanceIdentifier, _ app: InstalledApp) -> AppLaunch.Flags {
        var flags: AppLaunch.Flags =
            supervisor.lifecycle.announcesState(to: instance) ? [.archive] : []
        let first = supervisor.lifecycle.isFirstLaunch(of: app.identifier)
        if first.ever { flags.insert(.firstLaunch) }
        if first.ofVersion { flags.insert(.firstLaunchOfVersion) }
        return flags
    }

    func addSetup(of app: InstalledApp, to launch: inout AppLaunch) {
        if app.hasContainer {
            launch.container = containers.container(of: app.identifier.rawValue)
        }
        if !app.version.isEmpty { launch.version = app.version }
    }

    func handOver(
        _ scene: SceneIdentifier, to instance: InstanceIdentifier, isThere: Bool
    ) {
        supervisor.states.handOver(
            scene, to: instance, isThere: isThere, cookie: freeCookie())
    }

    /// With what is kept for its session: in the same message, unless that is full of what the scene is
    /// connected for.
    func connect(
        _ connection: SceneConnection, _ scene: SceneIdentifier, to instance: InstanceIdentifier
    ) {
        guard let state = supervisor.states.archive(for: scene, of: instance) else {
            return send(.connectScene(connection), to: instance)
        }
        var whole = connection
        whole.restoration = state.archive.activity
        if (try? DaemonMessage.event(.connectScene(whole)).encoded()) != nil {
            return send(.connectScene(whole), to: instance)
        }
        send(.connectScene(connection), to: instance)
        send(
            .restoreState(state, session: connection.session, cookie: freeCookie()), to: instance)
    }
}
