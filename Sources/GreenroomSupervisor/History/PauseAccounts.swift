internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

/// An account of each paused instance: what preparing it took, how long it was kept, and whether it
/// served a launch. The account goes to the history once all of that is known.
@LoopActor
final class PauseAccounts {
    private let core: Core
    private let catalog: AppCatalog
    private let instances: InstanceTable
    private let depths: RecordedDepths
    private let history: LaunchHistory

    private final class PauseAccount: InstancePart {
        var spawnedAt: Instant?
        /// Nil before the pause, and once the history has it.
        var pause: Control.PauseRecord?
        /// The depth of an instance that a former daemon has prepared. How it is recorded depends on
        /// the app, and no app is known when a daemon begins.
        var inheritedDepth: PrewarmDepth?
    }

    init(
        core: Core, catalog: AppCatalog, instances: InstanceTable, depths: RecordedDepths,
        history: LaunchHistory
    ) {
        self.core = core
        self.catalog = catalog
        self.instances = instances
        self.depths = depths
        self.history = history
        // A former daemon has prepared these, so nobody knows what that took.
        for record in core.lifecycle.instances where record.state == .prewarmed {
            begin(record.instance, record.app, at: record.since)
            guard let account = instances.known(PauseAccount.self, of: record.instance) else {
                continue
            }
            account.inheritedDepth = record.depth
        }
    }

    func note(_ occurrence: Occurrence) {
        switch occurrence {
        case .stateChanged(let instance, _, .notRunning, .prewarming, _):
            instances.part(PauseAccount.self, of: instance)?.spawnedAt = core.now
        case .stateChanged(let instance, let app, .prewarming, .prewarmed, _):
            begin(instance, app, at: core.now)
        case .stateChanged(let instance, _, .prewarmed, let state, _):
            guard let account = instances.known(PauseAccount.self, of: instance) else { return }
            account.pause?.untilTimestampUSec = WallClock.microseconds(at: core.now)
            if let record = core.lifecycle.instance(instance) {
                account.pause?.byteCount = record.byteCount
            }
            // Whether it serves the launch is known when the launch is reported.
            if state != .launching { end(instance, as: nil) }
        case .launched(_, _, _, let outcome): end(outcome.instance, as: outcome.kind)
        case .exited(let record): end(record.instance, as: nil)
        case _: break
        }
    }

    private func begin(
        _ instance: InstanceIdentifier, _ app: AppIdentifier, at time: Instant
    ) {
        guard let account = instances.part(PauseAccount.self, of: instance) else { return }
        let paused = WallClock.microseconds(at: time)
        // The app's user is looked up at the end: when a daemon begins, no app is known yet.
        var pause = Control.PauseRecord(
            app: app.rawValue, userId: .max, instance: instance.rawValue,
            pausedTimestampUSec: paused, untilTimestampUSec: paused,
            byteCount: core.lifecycle.instance(instance)?.byteCount ?? 0)
        pause.depth = core.lifecycle.instance(instance).flatMap {
            depths.recorded($0.depth, of: app)
        }
        if let spawnedAt = account.spawnedAt {
            pause.preparationUSec = spawnedAt.duration(to: time).microseconds
            pause.processorUSec = instances.pid(of: instance)
                .flatMap(ProcessorTime.microseconds(of:))
        }
        account.pause = pause
    }

    private func end(_ instance: InstanceIdentifier, as kind: LaunchKind?) {
        guard let account = instances.known(PauseAccount.self, of: instance),
            var pause = account.pause
        else { return }
        account.pause = nil
        guard let owner = catalog.owner(of: AppIdentifier(pause.app)) else { return }
        pause.userId = owner.user
        if let depth = account.inheritedDepth {
            pause.depth = depths.recorded(depth, of: AppIdentifier(pause.app))
        }
        pause.kind = kind.map { .known(Control.LaunchKind($0)) }
        history.ended(pause)
    }
}
