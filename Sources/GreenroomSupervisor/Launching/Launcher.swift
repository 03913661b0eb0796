internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Makes processes out of decisions: asks the spawner for new ones and tells paused ones to go.
///
/// The path of a prewarmed launch is `context` → (the core) → `resume` → the app's STARTED: no file
/// is opened, nothing is looked up that grows with the number of apps.
@LoopActor
final class Launcher {
    unowned let supervisor: Supervisor
    let catalog: AppCatalog
    let output: AppOutput
    let shimPath: String
    let containers: Containers
    /// Where apps that report readiness send it; nil if the socket could not be made.
    var notifySocketPath: String?
    var spawner: SpawnerLink?
    var inspector: PausedInspector?

    /// O_PATH (open(2)), which the C library's module hides.
    private static let pathOnly: CInt = 0o10000000

    private var instancesWithOwnOutput: Set<InstanceIdentifier> = []
    private var contexts: [RequestIdentifier: LaunchContext] = [:]
    private var environments = PoolEnvironments()

    init(
        supervisor: Supervisor, catalog: AppCatalog, output: AppOutput, shimPath: String,
        containers: Containers
    ) {
        self.containers = containers
        self.supervisor = supervisor
        self.catalog = catalog
        self.output = output
        self.shimPath = shimPath
    }

    // MARK: What a launch brings

    /// Gathers what the call brought, and the key that a paused instance must have to serve it.
    func context(
        for call: Control.LaunchCall, of app: InstalledApp, descriptors: [FileDescriptor],
        requestedAt: Instant
    ) throws(ControlError) -> (LaunchContext, EnvironmentKey) {
        let command = try DesktopLaunch(call, of: app)
        var context = LaunchContext(arguments: command.arguments, requestedAt: requestedAt)
        context.executablePath = command.executablePath
        var key = app.poolEnvironment.key
        if call.callerEnvironment != nil || !call.environment.isEmpty {
            let environment = withContainer(
                Self.environment(of: call, base: app.environment), of: app)
            context.environment = environment
            let pool = PoolEnvironment(of: environment, extraNames: app.extraKeyNames)
            environments.remember(pool)
            key = pool.key
        }
        addNotifySocket(to: &context, of: app)
        // What the manifest sets, it sets for every caller.
        if app.umask == nil { context.umask = call.umask }
        context.standardStreams = [call.standardInput, call.standardOutput, call.standardError]
            .map { $0.map { descriptors[$0] } }
        context.takesTerminal = call.takesTerminal
        context.screenHints = .init(call.orientation, call.sizeClass)
        if app.workingDirectory == nil {
            context.workingDirectory = try workingDirectory(of: call, descriptors)
        }
        return (context, key)
    }

    /// Where the app may write is its manifest's word, whatever its caller has.
    private func withContainer(_ environment: [String], of app: InstalledApp) -> [String] {
        guard app.hasContainer else { return environment }
        let own = containers.environment(of: app.identifier.rawValue)
        let names = own.map { $0.prefix { $0 != "=" } + "=" }
        return environment.filter { entry in !names.contains { entry.hasPrefix($0) } } + own
    }

    private func addNotifySocket(to context: inout LaunchContext, of app: InstalledApp) {
        guard app.readyCondition == .notify, let notifySocketPath else { return }
        context.environment =
            (context.environment ?? app.environment) + ["NOTIFY_SOCKET=\(notifySocketPath)"]
    }

    /// What a launch brings: of the daemon's own, what the manifest says.
    private func context(of request: RequestIdentifier, for app: InstalledApp) -> LaunchContext? {
        guard request == .automatic else { return contexts[request] }
        var context = LaunchContext(arguments: app.arguments, requestedAt: supervisor.now)
        if app.description.hasSockets, supervisor.sockets.takeArrival(app.identifier) {
            context.reason = .socket
        }
        if supervisor.lifecycle.isLaunchedForTask(app.identifier) {
            context.reason = .scheduledTask
        }
        addNotifySocket(to: &context, of: app)
        return context
    }

    private func workingDirectory(
        of call: Control.LaunchCall, _ descriptors: [FileDescriptor]
    ) throws(ControlError) -> FileDescriptor? {
        if let index = call.workingDirectoryDescriptor { return descriptors[index] }
        guard let path = call.workingDirectory else { return nil }
        do throws(SystemError) {
            return try FileDescriptor.open(path, Self.pathOnly | O_DIRECTORY)
        } catch {
            throw .refused(code: "working_directory", reason: error.description)
        }
    }

    private static func environment(of call: Control.LaunchCall, base: [String]) -> [String] {
        let base = call.callerEnvironment ?? base
        if call.environment.isEmpty { return base }
        // A client may bring a hundred thousand of either: each is looked at once.
        let replaced = Set(call.environment.map(\.name))
        let kept = base.filter { entry in
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else { return true }
            return !replaced.contains(String(entry[..<equals]))
        }
        return kept + call.environment.map(\.assignment)
    }

    func remember(_ context: LaunchContext, for request: RequestIdentifier) {
        contexts[request] = context
    }

    /// Whether the instance's output goes to its client, so that nobody here can await the first of
    /// it: it is ready once it runs. Asked once.
    func takeHasOwnOutput(_ instance: InstanceIdentifier) -> Bool {
        instancesWithOwnOutput.remove(instance) != nil
    }

    /// It has ended, or never came to be.
    func forget(_ instance: InstanceIdentifier) { instancesWithOwnOutput.remove(instance) }

    /// The request is answered: what it brought is closed.
    func forget(_ request: RequestIdentifier) { contexts[request] = nil }

    /// What the request brought, until it is answered.
    func context(of request: RequestIdentifier) -> LaunchContext? { contexts[request] }

    // MARK: Resume

    /// Tells a paused instance to go. If it cannot be told, the core hears so and falls back.
    func resume(_ identifier: InstanceIdentifier, for request: RequestIdentifier) {
        guard let instance = supervisor.instances[identifier], let channel = instance.channel,
            let app = catalog[instance.app], let context = context(of: request, for: app)
        else { return supervisor.handle(.channelLost(identifier)) }
        if context.takesTerminal, let call = app.callForbiddenOnTerminal {
            supervisor.reporter.say(
                .notice,
                "launching \(instance.app) cold: its SystemCallFilter= forbids \(call), "
                    + "which a paused instance needs to take a terminal")
            return supervisor.handle(.channelLost(identifier))
        }
        instance.forgetPong()
        // Adopted, and its turn to be looked at has not come.
        if !instance.isInspected, inspector?.inspect(instance, app: app) == false {
            supervisor.reporter.say(
                .notice, "a paused instance of \(instance.app) is out of date", of: instance.app,
                identifier)
            return supervisor.handle(.channelLost(identifier))
        }
        if context.takesOutput { instancesWithOwnOutput.insert(identifier) }
        // Before the order to go: main may look at its score at once, and must see what a cold launch
        // would show it.
        let isInBackground = supervisor.lifecycle.instance(identifier)?.inBackground ?? false
        instance.apply(isInBackground ? .background : .foreground)
        do {
            if !app.credentials.isEmpty {
                try supervisor.applications.provideCredentials(to: identifier, of: app)
            }
            if app.kind == .applicationKit {
                try supervisor.applications.sendLaunch(to: instance, of: app, context)
            }
            // Ours, or how the instance would find it.
            let directory = try context.workingDirectory.map {
                app.confinement?.hasOwnMounts == true ? try instance.ownView(of: $0) : $0
            }
            let (message, descriptors, strings) = try goMessage(context, app, instance, directory)
            let sent = try channel.send(message, descriptors: descriptors)
            withExtendedLifetime((strings, directory)) {}
            if sent == nil { supervisor.handle(.channelLost(identifier)) }
        } catch {
            supervisor.reporter.say(
                .warning, "resuming \(instance.app): \(error)", of: instance.app, identifier)
            supervisor.handle(.channelLost(identifier))
        }
    }

    private func goMessage(
        _ context: LaunchContext, _ app: InstalledApp, _ instance: Instance,
        _ directory: FileDescriptor?
    ) throws -> (datagram: [UInt8], descriptors: [CInt], strings: FileDescriptor?) {
        var roles: [DescriptorRole] = []
        var descriptors: [CInt] = []
        for (target, stream) in context.standardStreams.enumerated() {
            guard let stream else { continue }
            roles.append(.place(Int32(target)))
            descriptors.append(stream.rawValue)
        }
        if let directory {
            roles.append(.workingDirectory)
            descriptors.append(directory.rawValue)
        }
        let arguments =
            instance.argumentPrefix.count > app.wordsBeforePause.count
            ? instance.argumentPrefix + context.arguments.dropFirst(app.wordsBeforePause.count)
            : context.arguments
        let own = ownEnvironment(context, app, instance.identifier)
        let environment =
            if app.description.hasSockets {
                try StringList(
                    supervisor.sockets.environment(
                        own ?? app.environment, of: app.identifier,
                        pid: instance.pid))
            } else if let own {
                try StringList(own)
            } else {
                app.encodedEnvironment
            }
        let message = DaemonMessage.go(
            GoMessage(
                arguments: try StringList(arguments),
                environment: environment,
                flags: Self.flags(context, app), umask: context.umask,
                roles: roles))
        let encoded = try message.encoded()
        guard let bytes = encoded.descriptorStrings else {
            return (encoded.datagram, descriptors, nil)
        }
        let strings = unsafe try bytes.withUnsafeBytes {
            unsafe try SealedFile.create($0, name: "greenroom-strings")
        }
        return (encoded.datagram, descriptors + [strings.rawValue], strings)
    }

    /// Another than the app's, which is encoded already. (The SDK gets a descriptor instead.)
    private func ownEnvironment(
        _ context: LaunchContext, _ app: InstalledApp, _ instance: InstanceIdentifier
    ) -> [String]? {
        guard !app.credentials.isEmpty, app.kind == .program else { return context.environment }
        return supervisor.applications.credentials.environment(
            context.environment ?? app.environment, of: instance)
    }

    private static func flags(_ context: LaunchContext, _ app: InstalledApp) -> GoMessage.Flags {
        var flags: GoMessage.Flags = app.setsCommandLine ? .setCommandLine : []
        // It leads a session of its own since it was spawned.
        if context.takesTerminal { flags.insert(.controllingTerminal) }
        return flags
    }

    // MARK: Spawn

    func spawn(
        _ instance: InstanceIdentifier, of identifier: AppIdentifier, for purpose: SpawnPurpose
    ) {
        guard let app = catalog[identifier] else {
            return fail(instance, "finding the manifest", ENOENT)
        }
        switch purpose {
        case .prewarm(let key): prewarm(instance, app, key)
        case .launch(let request):
            guard let context = context(of: request, for: app) else {
                return fail(instance, "finding the request", ECANCELED)
            }
            launch(instance, app, context)
        }
    }

    /// No argument of any client; the environment as far as it is read before main.
    private func prewarm(_ instance: InstanceIdentifier, _ app: InstalledApp, _ key: EnvironmentKey)
    {
        var environment = app.environment
        if key != app.poolEnvironment.key {
            guard let pool = environments[key] else {
                return fail(instance, "recalling the pool's environment", ENOENT)
            }
            environment = pool.overlaid(on: app.environment, extraNames: app.extraKeyNames)
        }
        // The spawner adds the one that counts.
        environment.removeAll { $0.hasPrefix(PrewarmEnvironment.channelName + "=") }
        if app.kind == .program {
            let name = PrewarmEnvironment.preloadName + "="
            let own = environment.first { $0.hasPrefix(name) }.map {
                ":" + $0.dropFirst(name.count)
            }
            environment.removeAll { $0.hasPrefix(name) }
            environment += [
                name + shimPath + (own ?? ""),
                "\(PrewarmEnvironment.executableName)=\(app.pausedExecutablePath)",
            ]
        } else {
            environment.append("ActivePrewarm=1")
        }
        guard
            var specification = specification(
                instance, app, StringBlock(app.wordsBeforePause), StringBlock(environment),
                takesOutput: false)
        else { return failOverStrings(instance) }
        specification.wantsChannel = true
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(for: .prewarmed)
        send(specification)
    }

    private func launch(
        _ instance: InstanceIdentifier, _ app: InstalledApp, _ context: LaunchContext
    ) {
        if context.takesOutput { instancesWithOwnOutput.insert(instance) }
        do throws(SystemError) {
            try supervisor.applications.provideCredentials(to: instance, of: app)
        } catch {
            supervisor.reporter.say(.error, "the credentials of \(app.identifier): \(error)")
            return fail(instance, "handing over the credentials", error.code)
        }
        let own = ownEnvironment(context, app, instance)
        let environment =
            if app.description.hasSockets {
                StringBlock(
                    supervisor.sockets.environment(
                        own ?? app.environment, of: app.identifier, pid: nil))
            } else if let own {
                StringBlock(own)
            } else {
                StringBlock(
                    terminated: app.encodedEnvironment.bytes, count: app.encodedEnvironment.count)
            }
        guard
            var specification = specification(
                instance, app, StringBlock(context.arguments), environment,
                takesOutput: context.standardStreams[1] != nil && context.standardStreams[2] != nil)
        else { return failOverStrings(instance) }
        for (target, stream) in context.standardStreams.enumerated() {
            guard let stream else { continue }
            specification.descriptors.removeAll { $0.target == CInt(target) }
            specification.descriptors.append(.init(stream, at: CInt(target)))
        }
        if let directory = context.workingDirectory {
            specification.workingDirectoryDescriptor = directory
        }
        if let umask = context.umask { specification.fileModeMask = umask }
        if app.kind == .applicationKit {
            specification.wantsChannel = true
            supervisor.applications.prepare(
                supervisor.applications.launch(instance, of: app, context), for: instance)
        }
        specification.takesControllingTerminal = context.takesTerminal
        if let path = context.executablePath { specification.path = path }
        let isInBackground = supervisor.lifecycle.instance(instance)?.inBackground ?? false
        specification.oomScoreAdjustment = Instance.oomScoreAdjustment(
            for: isInBackground ? .background : .foreground)
        send(specification)
    }

    /// What a cold and a prewarmed instance have in common: everything but the pause. Nil if the
    /// strings could not be laid out.
    private func specification(
        _ instance: InstanceIdentifier, _ app: InstalledApp, _ arguments: StringBlock?,
        _ environment: StringBlock?, takesOutput: Bool
    ) -> SpawnSpecification? {
        guard let arguments, let environment else { return nil }
        makeContainer(of: app)
        var specification = SpawnSpecification(
            instance: instance.rawValue, app: app.identifier.rawValue, path: app.executablePath,
            arguments: arguments, environment: environment)
        specification.workingDirectory = app.workingDirectory ?? "/"
        specification.fileModeMask = app.umask ?? InstalledApp.defaultUmask
        if app.changesUser {
            specification.identity = .init(
                user: app.account.user, group: app.account.group,
                supplementaryGroups: app.groups)
        }
        specification.noNewPrivileges = app.noNewPrivileges
        specification.confinement = app.confinement
        specification.cgroupSettings = app.cgroupSettings
        specification.resourceLimits = app.limits
        if !takesOutput, let stream = output.stream(for: app, instance: instance) {
            specification.descriptors = [.init(stream, at: 1), .init(stream, at: 2)]
        }
        if app.description.hasSockets {
            specification.descriptors += supervisor.sockets.passed(to: app.identifier)
        }
        return specification
    }

    /// Without it the app runs, and meets the fault where it writes.
    private func makeContainer(of app: InstalledApp) {
        guard app.hasContainer else { return }
        do throws(SystemError) { try containers.make(for: app) } catch {
            supervisor.reporter.say(
                .error, "making the folders of \(app.identifier): \(error)",
                of: app.identifier.rawValue)
        }
    }

    private func send(_ specification: SpawnSpecification) {
        guard specification.isWithinLimits else {
            return fail(InstanceIdentifier(specification.instance), "passing the arguments", E2BIG)
        }
        guard let spawner, spawner.send(.spawn(specification)) else {
            return fail(InstanceIdentifier(specification.instance), "reaching the spawner", EPIPE)
        }
    }

    private func failOverStrings(_ instance: InstanceIdentifier) {
        fail(instance, SpawnError.Stage.arguments.deed, EINVAL)
    }

    private func fail(_ instance: InstanceIdentifier, _ stage: String, _ code: CInt) {
        supervisor.spawnFailed(instance, SpawnFailure(stage: stage, errno: code))
    }
}
