internal import Glibc
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Asks the spawner for new instances: for the pool, or for a cold launch.
@LoopActor
struct NewInstances {
    let core: Core
    let catalog: AppCatalog
    let spawner: CurrentSpawner
    let contexts: LaunchContexts
    let orders: SpawnOrders
    let reporter: Reporter

    func spawn(
        _ instance: InstanceIdentifier, of identifier: AppIdentifier, for purpose: SpawnPurpose
    ) {
        guard let app = catalog[identifier] else {
            return fail(instance, "finding the manifest", ENOENT)
        }
        do throws(SpawnOrders.Failure) {
            switch purpose {
            case .prewarm(let key, let depth):
                send(try orders.prewarm(instance, app, key, depth))
            case .launch(let origin, let terms):
                guard let context = contexts.contextToServe(origin, of: app, terms) else {
                    return fail(instance, "finding the request", ECANCELED)
                }
                sayWhyCold(instance, of: app, context)
                send(try orders.launch(instance, app, context, terms))
            }
        } catch {
            fail(instance, error.stage, error.code)
        }
    }

    /// Says so if an instance is paused and could not have taken the launch's terminal.
    private func sayWhyCold(
        _ instance: InstanceIdentifier, of app: InstalledApp, _ context: LaunchContext
    ) {
        guard context.takesTerminal, let call = app.restrictions.callForbiddenOnTerminal,
            core.lifecycle.instance(instance)?.coldReason == .goFailed
        else { return }
        reporter.say(
            .notice,
            "launching \(app.identifier) cold: its SystemCallFilter= forbids \(call), "
                + "which a paused instance needs to take a terminal", of: app.identifier, instance)
    }

    func send(_ specification: SpawnSpecification) {
        guard specification.isWithinLimits else {
            return fail(InstanceIdentifier(specification.instance), "passing the arguments", E2BIG)
        }
        guard spawner.send(specification) else {
            return fail(InstanceIdentifier(specification.instance), "reaching the spawner", EPIPE)
        }
    }

    private func fail(_ instance: InstanceIdentifier, _ stage: String, _ code: CInt) {
        failed(instance, SpawnFailure(stage: stage, errno: code))
    }

    /// The instance could not be spawned: the journal and the core are told.
    func failed(_ instance: InstanceIdentifier, _ failure: SpawnFailure) {
        reporter.spawnFailed(core.lifecycle.instance(instance), failure)
        core.handle(.spawnFailed(instance, failure))
    }
}
