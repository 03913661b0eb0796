internal import GreenroomAppChannel
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import GreenroomSpawner
internal import Systemd

/// Has bus names and settings watched for programs that are held at their first window. A program
/// waits for its name until the name is watched, so no call to it is missed. The supervisor itself
/// speaks to no bus and no display: each such instance has a process for that (`BusWatch`).
@LoopActor
final class BusWatches {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let orders: SpawnOrders
    private let spawner: CurrentSpawner
    private let log: Log
    private let disposer: Disposer
    private let program: String

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, orders: SpawnOrders,
        spawner: CurrentSpawner, log: Log, disposer: Disposer, program: String
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.orders = orders
        self.spawner = spawner
        self.log = log
        self.disposer = disposer
        self.program = program
    }

    /// The instance waits until the name is watched. If it cannot be, the core ends the instance.
    func watch(_ name: String, for identifier: InstanceIdentifier) {
        guard let watch = begun(for: identifier), watch.watch(name)
        else { return core.handle(.misfired(identifier, .ownsName)) }
    }

    /// Without a watch, the instance takes changed settings when it is next aired.
    func watchSettings(of identifier: InstanceIdentifier) { _ = begun(for: identifier) }

    /// The instance is not held any more.
    func end(_ identifier: InstanceIdentifier) {
        instances.known(BusWatch.self, of: identifier)?.end()
    }

    private func begun(for identifier: InstanceIdentifier) -> BusWatch? {
        guard let watch = instances.part(BusWatch.self, of: identifier) else { return nil }
        if watch.isRunning { return watch }
        guard watch.mayBegin, let record = core.lifecycle.instance(identifier),
            let app = catalog[record.app]
        else { return nil }
        do {
            let number = SpawnNumber.watch(identifier).rawValue
            try watch.begin(
                disposer, release: { [spawner] in spawner.send(.release(instance: number)) }
            ) { [unowned self] in heard($0, of: identifier) }
            guard let other = watch.other else { return nil }
            let order = try orders.watch(
                .watch(identifier), app, record.environmentKey, program: program,
                socket: other.descriptor)
            guard order.isWithinLimits, spawner.send(order) else {
                watch.end()
                return nil
            }
            return watch
        } catch {
            log.say(
                .warning, "watching the names and settings of \(record.app): \(error)",
                of: record.app.rawValue)
            watch.end()
            return nil
        }
    }

    private func heard(_ report: BusWatch.Report, of identifier: InstanceIdentifier) {
        switch report {
        case .watched(let name): allow(name, to: identifier)
        case .taken: core.handle(.misfired(identifier, .nameTaken))
        case .unwatchable: core.handle(.misfired(identifier, .ownsName))
        case .question, .changed: core.handle(.called(identifier, isLaunch: false))
        // Most programs do not follow a change of the scale, theme or font in every respect.
        case .restyled: core.handle(.becameStale(identifier, because: .appearance))
        case .unheard(let source): unheard(source, of: identifier)
        case .launch: core.handle(.called(identifier, isLaunch: true))
        case .lost: lost(identifier)
        }
    }

    /// The core records that the name is watched before the instance can have it.
    private func allow(_ name: String, to identifier: InstanceIdentifier) {
        guard let instance = instances[identifier],
            instances.known(BusWatch.self, of: identifier)?.wanted.contains(name) == true,
            core.lifecycle.instance(identifier)?.state == .prewarming
        else { return }
        core.handle(.nameWatched(identifier))
        // If the channel is at its end, that is told by whoever reads from it, or the end of the process
        // is. A program that gets no answer does not pause.
        guard let message = try? DaemonMessage.nameIsWatched.encoded() else { return }
        _ = try? instance.channel?.send(message.datagram)
    }

    private func unheard(_ source: BusWatch.Source, of identifier: InstanceIdentifier) {
        guard let record = core.lifecycle.instance(identifier),
            instances.known(BusWatch.self, of: identifier)?.unheard.insert(source).inserted == true
        else { return }
        log.say(
            .warning,
            "settings from \(source.words) cannot be watched for now, so \(record.app), which is "
                + "held, may apply changes about a minute late; the watch is tried again",
            of: record.app.rawValue)
    }

    /// An instance without a name stays held, and gets another watch when it is next aired.
    private func lost(_ identifier: InstanceIdentifier) {
        end(identifier)
        guard let record = core.lifecycle.instance(identifier), record.state.isPrewarm else {
            return
        }
        guard record.wantsName || record.state == .prewarming else {
            guard instances.known(BusWatch.self, of: identifier)?.noteLoss() == true else { return }
            return log.say(
                .warning,
                "nobody watches the settings of \(record.app) for now, so it may apply "
                    + "changes about a minute late", of: record.app.rawValue)
        }
        log.say(
            .warning, "nobody watches the names of \(record.app) any more, so it is not held",
            of: record.app.rawValue)
        core.handle(.becameStale(identifier))
    }

    /// The former spawner was told to start these processes and will not. (If one runs already, its
    /// socket tells of its end.)
    func forgetSpawner() {
        for (identifier, watch) in instances.all(BusWatch.self) where watch.other != nil {
            lost(identifier)
        }
    }

    /// The spawner reports on the process that watches for this instance.
    func received(_ message: SpawnerMessage, about identifier: InstanceIdentifier) {
        switch message {
        case .spawned: instances.known(BusWatch.self, of: identifier)?.wasSpawned()
        case .spawnFailed:
            if instances.known(BusWatch.self, of: identifier) != nil { lost(identifier) }
        // The watching process's socket tells of its end, at which it is released.
        case .emptied, .welcome, .instance, .exited, .failed, .kept, .ending, .stopped, .unguarded,
            .misfired, .cannotGuard, .executedSecurely, .listening, .cannotListen:
            break
        }
    }
}
