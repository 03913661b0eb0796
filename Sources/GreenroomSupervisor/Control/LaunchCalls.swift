internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// The calls that launch and prewarm apps: checks what the client may bring along, and asks the
/// core.
@LoopActor
struct LaunchCalls {
    let core: Core
    let requests: Requests
    let authorization: Authorization
    let contexts: LaunchContexts
    let launches: TriggeredLaunches
    let display: LoginDisplay

    func launch(
        _ call: Control.LaunchCall, _ connection: ControlConnection, _ descriptors: [FileDescriptor]
    ) throws(ControlError) {
        let app = try authorization.find(call.app, .control, connection.peer)
        guard display.isNeeded(by: app, call) else {
            return try launch(call, of: app, connection, descriptors)
        }
        display.add(to: call, of: app) { [self] result in
            do throws(ControlError) {
                // The app may have been installed anew in the meantime.
                let app = try authorization.find(call.app, .control, connection.peer)
                try launch(try result.get(), of: app, connection, descriptors)
            } catch {
                connection.fail(error)
            }
        }
    }

    private func launch(
        _ call: Control.LaunchCall, of app: InstalledApp, _ connection: ControlConnection,
        _ descriptors: [FileDescriptor]
    ) throws(ControlError) {
        let requestedAt = core.now
        if !authorization.isTrusted(connection.peer) {
            if app.account.user != connection.peer.user {
                try forbidExtras(
                    call, needed: "user \(app.account.name): a launch of another user's app")
            } else if app.identity.hasOwnRights {
                try forbidExtras(
                    call,
                    needed: "root: a launch of an app with rights of its own (groups, capabilities)"
                )
            }
        }
        if call.workingDirectory != nil, !authorization.isTrusted(connection.peer) {
            // We would enter the directory with our own rights, not the client's.
            throw .permissionDenied(
                needed: "a descriptor of the directory (workingDirectoryDescriptor) instead of its "
                    + "path, or root")
        }
        let identifier =
            call.launchIdentifier.map(LaunchIdentifier.init) ?? launches.newIdentifier()
        let (context, key) = try contexts.gather(
            call, for: app, descriptors: descriptors, requestedAt: requestedAt)
        let byteCount = connection.callByteCount
        try connection.user.beginLaunch(byteCount: byteCount)
        let waiting = WaitingCall.Launch(
            connection: connection, identifier: identifier, byteCount: byteCount)
        var launch = LaunchRequest(
            app: app.identifier, launchIdentifier: identifier, environmentKey: key,
            inBackground: call.isBackground, isAttached: call.isAttached,
            takesOutput: context.takesOutput, coldReason: context.coldReason,
            joining: app.kind == .program && (!call.arguments.isEmpty || call.action != nil)
                ? .none : .singleInstance)
        launch.takesTerminal = context.takesTerminal
        launch.reasonNotToHold = context.reasonNotToHold
        launch.bootKey = context.bootKey
        launch.work = contexts.work(of: context, for: app)
        requests.ask(.launch(launch), for: .client(.launch(waiting)), context: context)
    }

    /// A launch of an app with rights that its caller lacks may bring nothing that could misuse
    /// them: no loader variables, no descriptors, no working directory, no umask, and no limits
    /// that make the app fail half-way.
    private func forbidExtras(
        _ call: Control.LaunchCall, needed: String
    ) throws(ControlError) {
        let carriesDescriptors =
            call.standardInput != nil || call.standardOutput != nil || call.standardError != nil
            || call.workingDirectoryDescriptor != nil || !call.otherDescriptors.isEmpty
            || !call.closedDescriptors.isEmpty
        guard !carriesDescriptors, call.workingDirectory == nil, call.callerEnvironment == nil,
            call.environment.isEmpty, !call.takesTerminal, call.umask == nil,
            call.callerState == nil
        else {
            throw .permissionDenied(
                needed: needed + " may bring arguments only (greenroomctl launch)")
        }
    }

    func prewarm(
        _ name: String, _ count: Int, _ connection: ControlConnection
    ) throws(ControlError) {
        let app = try authorization.find(name, .control, connection.peer)
        let call = WaitingCall.Prewarm(connection: connection, count: count)
        for _ in 0..<count {
            requests.ask(
                .prewarm(app.identifier, app.description.environmentKey),
                for: .client(.prewarm(call)))
        }
    }
}
