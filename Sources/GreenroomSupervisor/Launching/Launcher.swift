internal import Glibc
internal import GreenroomAppChannel
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Tells paused instances to go. (`NewInstances` asks the spawner for new instances.)
///
/// The path of a prewarmed launch is `contexts` → (the core) → `go` → the app's STARTED: no file is
/// opened, and no look-up takes longer the more apps there are.
@LoopActor
final class Launcher {
    let contexts: LaunchContexts
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let appLaunches: AppLaunches
    private let handover: CredentialHandover
    private let inspector: PausedInspector
    private let reporter: Reporter

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, contexts: LaunchContexts,
        appLaunches: AppLaunches, handover: CredentialHandover, inspector: PausedInspector,
        reporter: Reporter
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.contexts = contexts
        self.appLaunches = appLaunches
        self.handover = handover
        self.inspector = inspector
        self.reporter = reporter
    }

    /// Tells a paused instance to go. If it cannot be told, the core hears so and falls back.
    func go(
        _ identifier: InstanceIdentifier, for origin: LaunchOrigin, _ terms: LaunchTerms
    ) {
        guard let instance = instances[identifier], instance.channel != nil,
            let app = catalog[instance.app],
            let context = contexts.contextToServe(origin, of: app, terms)
        else { return core.handle(.channelLost(identifier)) }
        let pause = instance.pause
        pause.forgetQuestion()
        if pause.isInspected {
            tell(instance, of: app, context, terms)
        } else {
            inspect(instance, of: app, for: context)
        }
    }

    /// Tells an instance that is inspected.
    private func tell(
        _ instance: Instance, of app: InstalledApp, _ context: LaunchContext, _ terms: LaunchTerms
    ) {
        let identifier = instance.identifier
        guard let channel = instance.channel else { return core.handle(.channelLost(identifier)) }
        // This comes before the order to go: main may look at its OOM score at once, and must see
        // what a cold launch would show it.
        instance.apply(terms.inBackground ? .background : .foreground)
        do {
            if !app.credentials.isEmpty {
                try handover.provide(to: identifier, of: app)
            }
            if app.kind == .applicationKit {
                try appLaunches.send(to: instance, of: app, context, terms)
            }
            let wasSent = try sendGo(context, to: instance, of: app, terms, on: channel)
            if !wasSent { core.handle(.channelLost(identifier)) }
        } catch {
            reporter.say(
                .warning, "telling \(instance.app) to go: \(error)", of: instance.app, identifier)
            core.handle(.channelLost(identifier))
        }
    }

    /// Inspects an adopted instance whose turn to be inspected has not come, and then tells it to
    /// go, on the terms that hold by then: another launch may have brought it to the foreground.
    private func inspect(
        _ instance: Instance, of app: InstalledApp, for context: LaunchContext
    ) {
        let identifier = instance.identifier
        inspector.inspect(instance, app: app, first: true) { [unowned self] finding in
            guard core.lifecycle.instance(identifier)?.phase == .toldToGo else { return }
            if finding == .usable {
                return tell(instance, of: app, context, core.lifecycle.launchTerms(of: identifier))
            }
            reporter.say(
                .notice,
                finding == .stale
                    ? "a paused instance of \(instance.app) is out of date"
                    : "a paused instance of \(instance.app) cannot be inspected: it does not answer",
                of: instance.app, identifier)
            core.handle(.reconciled(identifier, found: .unfit))
        }
    }

    /// Awaits the start of an instance that a former supervisor told to go and whose channel is
    /// lost.
    func awaitStart(of identifier: InstanceIdentifier) {
        guard let instance = instances[identifier] else { return }
        instances.awaitStart(
            of: instance,
            closing: catalog[instance.app]?.channelNumber ?? SpawnSpecification.channelNumber)
    }
}

/// The order to go: what a launch brought, in the form in which a paused instance takes it.
extension Launcher {
    /// - Returns: false if the instance cannot receive the order.
    private func sendGo(
        _ context: LaunchContext, to instance: Instance, of app: InstalledApp,
        _ terms: LaunchTerms, on channel: UnixSocket
    ) throws -> Bool {
        var (roles, descriptors) = Self.streams(of: context)
        if let directory = context.workingDirectory {
            roles.append(.workingDirectory)
            descriptors.append(directory.rawValue)
        }
        let message = DaemonMessage.go(
            GoMessage(
                arguments: try StringList(
                    strings: arguments(of: context, app, instance, terms.depth)),
                environment: try environment(of: context, app, instance),
                flags: Self.flags(context, app, terms), umask: context.umask, roles: roles))
        let encoded = try message.encoded()
        if context.inheritsMoreThanPaused, let state = context.inherited {
            let bytes = InheritMessage.encoded(
                state.asPaused(app).encoded(atPause: true))
            guard try channel.send(bytes, descriptors: [CInt]()) != nil else { return false }
        }
        // Strings that are too long for one message go into a file of their own.
        let strings = try encoded.descriptorStrings.map { bytes in
            unsafe try bytes.withUnsafeBytes {
                unsafe try SealedFile.create($0, name: "greenroom-strings")
            }
        }
        if let strings { descriptors.append(strings.rawValue) }
        let sent = try channel.send(encoded.datagram, descriptors: descriptors)
        withExtendedLifetime(strings) {}
        return sent != nil
    }

    private static func streams(
        of context: LaunchContext
    ) -> (roles: [DescriptorRole], descriptors: [CInt]) {
        var roles: [DescriptorRole] = []
        var descriptors: [CInt] = []
        for (target, stream) in context.standardStreams.enumerated() {
            guard let stream else { continue }
            roles.append(.place(Int32(target)))
            descriptors.append(stream.rawValue)
        }
        for other in context.otherDescriptors {
            roles.append(.place(other.number))
            descriptors.append(other.descriptor.rawValue)
        }
        return (roles, descriptors)
    }

    /// For a script, the instance runs its interpreter, whose words come before the launch's.
    private func arguments(
        of context: LaunchContext, _ app: InstalledApp, _ instance: Instance,
        _ depth: PrewarmDepth
    ) -> [ByteString] {
        // The words of an interpreter that has booted already are those of its prewarm.
        if depth == .runtime {
            let words = app.program.depth.scriptWords
            return words.isEmpty
                ? context.arguments
                : words.map(ByteString.text) + context.arguments.dropFirst()
        }
        // A held program was started with the words of its launches.
        guard depth != .window else { return context.arguments }
        let prefix = instance.pause.argumentPrefix
        guard prefix.count > app.wordsBeforePause.count else { return context.arguments }
        return prefix + context.arguments.dropFirst(app.wordsBeforePause.count)
    }

    private func environment(
        of context: LaunchContext, _ app: InstalledApp, _ instance: Instance
    ) throws -> StringList {
        guard
            let own = contexts.environment(
                of: context, app, instance.identifier, pid: instance.pid)
        else { return app.environment.encoded }
        return try StringList(strings: own)
    }

    private static func flags(
        _ context: LaunchContext, _ app: InstalledApp, _ terms: LaunchTerms
    ) -> GoMessage.Flags {
        var flags: GoMessage.Flags = app.command.setsCommandLine ? .setCommandLine : []
        // The instance has led a session of its own since it was spawned.
        if context.takesTerminal { flags.insert(.controllingTerminal) }
        // A descriptor would lead out of the app's own mounts. By name, the app itself enters a
        // directory that it may enter.
        if app.restrictions.confinement?.hasOwnMounts == true { flags.insert(.directoryByName) }
        if context.isCall { flags.insert(.isCalled) }
        return flags
    }
}
