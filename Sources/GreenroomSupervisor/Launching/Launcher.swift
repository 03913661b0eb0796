internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Makes processes out of decisions: asks the spawner for new ones and tells paused ones to go.
///
/// The path of a prewarmed launch is `contexts` → (the core) → `resume` → the app's STARTED: no file
/// is opened, nothing is looked up that grows with the number of apps.
@LoopActor
final class Launcher {
    unowned let supervisor: Supervisor
    let contexts: LaunchContexts
    var spawner: SpawnerLink?
    var inspector: PausedInspector?

    private let catalog: AppCatalog
    private let orders: SpawnOrders
    private var instancesWithOwnOutput: Set<InstanceIdentifier> = []

    init(
        supervisor: Supervisor, catalog: AppCatalog, output: AppOutput, shimPath: String,
        containers: Containers
    ) {
        self.supervisor = supervisor
        self.catalog = catalog
        contexts = LaunchContexts(supervisor: supervisor, containers: containers)
        orders = SpawnOrders(
            supervisor: supervisor, contexts: contexts, output: output, shimPath: shimPath,
            containers: containers)
    }

    /// Whether the instance's output goes to its client, so that nobody here can await the first of
    /// it: it is ready once it runs. Asked once.
    func takeHasOwnOutput(_ instance: InstanceIdentifier) -> Bool {
        instancesWithOwnOutput.remove(instance) != nil
    }

    /// It has ended, or never came to be.
    func forget(_ instance: InstanceIdentifier) { instancesWithOwnOutput.remove(instance) }

    // MARK: Resume

    /// Tells a paused instance to go. If it cannot be told, the core hears so and falls back.
    func resume(_ identifier: InstanceIdentifier, for request: RequestIdentifier) {
        guard let instance = supervisor.instances[identifier], let channel = instance.channel,
            let app = catalog[instance.app], let context = contexts.context(of: request, for: app)
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
                try supervisor.applications.handover.provide(to: identifier, of: app)
            }
            if app.kind == .applicationKit {
                try supervisor.applications.launches.send(to: instance, of: app, context)
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
        let own = environment(of: context, app, instance.identifier)
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

    /// Another than the app's, which is encoded already.
    func environment(
        of context: LaunchContext, _ app: InstalledApp, _ instance: InstanceIdentifier
    ) -> [String]? {
        guard !app.credentials.isEmpty else { return context.environment }
        return supervisor.applications.handover.directories.environment(
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
        do throws(SpawnOrders.Failure) {
            switch purpose {
            case .prewarm(let key): send(try orders.prewarm(instance, app, key))
            case .launch(let request):
                guard let context = contexts.context(of: request, for: app) else {
                    return fail(instance, "finding the request", ECANCELED)
                }
                if context.takesOutput { instancesWithOwnOutput.insert(instance) }
                send(try orders.launch(instance, app, context))
            }
        } catch {
            fail(instance, error.stage, error.code)
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

    private func fail(_ instance: InstanceIdentifier, _ stage: String, _ code: CInt) {
        supervisor.spawnFailed(instance, SpawnFailure(stage: stage, errno: code))
    }
}
