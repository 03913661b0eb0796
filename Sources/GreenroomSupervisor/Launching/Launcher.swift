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
    let core: Core
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
        _ identifier: InstanceIdentifier, for request: RequestIdentifier, _ terms: LaunchTerms
    ) {
        guard let instance = instances[identifier], let channel = instance.channel,
            let app = catalog[instance.app],
            let context = contexts.contextToServe(request, of: app)
        else { return core.handle(.channelLost(identifier)) }
        guard isFit(instance, of: app, context) else {
            return core.handle(.reconciled(identifier, found: .unfit))
        }
        instance.forgetPong()
        guard instance.isInspected else { return inspect(instance, of: app, for: request, terms) }
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
            let wasSent = try sendGo(context, to: instance, of: app, on: channel)
            if !wasSent { core.handle(.channelLost(identifier)) }
        } catch {
            reporter.say(
                .warning, "telling \(instance.app) to go: \(error)", of: instance.app, identifier)
            core.handle(.channelLost(identifier))
        }
    }

    /// Whether the instance can take over what the launch brings. Reports why not.
    private func isFit(
        _ instance: Instance, of app: InstalledApp, _ context: LaunchContext
    ) -> Bool {
        if context.takesTerminal, let call = app.restrictions.callForbiddenOnTerminal {
            reporter.say(
                .notice,
                "launching \(instance.app) cold: its SystemCallFilter= forbids \(call), "
                    + "which a paused instance needs to take a terminal", of: instance.app,
                instance.identifier)
            return false
        }
        return true
    }

    /// Inspects an adopted instance whose turn to be inspected has not come, and then tells it to
    /// go.
    private func inspect(
        _ instance: Instance, of app: InstalledApp, for request: RequestIdentifier,
        _ terms: LaunchTerms
    ) {
        let identifier = instance.identifier
        inspector.inspect(instance, app: app, first: true) { [unowned self] finding in
            guard core.lifecycle.instance(identifier)?.phase == .toldToGo else { return }
            if finding == .usable { return go(identifier, for: request, terms) }
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
