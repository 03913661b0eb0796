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

    /// It has ended, or never came to be.
    func forget(_ instance: InstanceIdentifier) { instancesWithOwnOutput.remove(instance) }

    // MARK: Resume

    /// Tells a paused instance to go. If it cannot be told, the core hears so and falls back.
    func resume(_ identifier: InstanceIdentifier, for request: RequestIdentifier) {
        guard let instance = supervisor.instances[identifier], let channel = instance.channel,
            let app = catalog[instance.app],
            let context = contexts.contextToServe(request, of: app),
            canResume(instance, of: app, context)
        else { return supervisor.handle(.channelLost(identifier)) }
        instance.forgetPong()
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
            let wasSent = try sendGo(context, to: instance, of: app, on: channel)
            if !wasSent { supervisor.handle(.channelLost(identifier)) }
        } catch {
            supervisor.reporter.say(
                .warning, "resuming \(instance.app): \(error)", of: instance.app, identifier)
            supervisor.handle(.channelLost(identifier))
        }
    }

    /// False, and said so, if a cold launch serves better.
    private func canResume(
        _ instance: Instance, of app: InstalledApp, _ context: LaunchContext
    ) -> Bool {
        if context.takesTerminal, let call = app.callForbiddenOnTerminal {
            supervisor.reporter.say(
                .notice,
                "launching \(instance.app) cold: its SystemCallFilter= forbids \(call), "
                    + "which a paused instance needs to take a terminal", of: instance.app,
                instance.identifier)
            return false
        }
        // Adopted, and its turn to be looked at has not come.
        if !instance.isInspected, inspector?.inspect(instance, app: app) == false {
            supervisor.reporter.say(
                .notice, "a paused instance of \(instance.app) is out of date", of: instance.app,
                instance.identifier)
            return false
        }
        return true
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
                guard let context = contexts.contextToServe(request, of: app) else {
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

    // MARK: Readiness

    /// It runs. What its manifest calls ready is looked for from now on, where nobody will report it.
    func awaitReadiness(of instance: Instance) {
        switch catalog[instance.app]?.readyCondition {
        case .firstOutput: reportReadyIfUnobserved(instance)
        case .listening: supervisor.sockets.awaitListening(instance)
        case .exec, .notify, .finishedLaunching, nil: break
        }
    }

    /// Its client has its output, so that nobody here can await the first of it: ready as it runs.
    private func reportReadyIfUnobserved(_ instance: Instance) {
        guard supervisor.lifecycle.instance(instance.identifier)?.state != .prewarming,
            instancesWithOwnOutput.remove(instance.identifier) != nil
        else { return }
        supervisor.handle(.becameReady(instance.identifier))
    }
}
