internal import Glibc
internal import GreenroomControl
internal import GreenroomLifecycle
internal import GreenroomLinux
internal import Systemd

// What the daemon says about itself, its apps and their instances.

@LoopActor
struct Descriptions {
    let core: Core
    let catalog: AppCatalog
    let instances: InstanceTable
    let authorization: Authorization
    let objections: PrewarmObjections
    let depths: Depths
    let loader: AppLoader
    let spawner: CurrentSpawner
    let traces: LaunchTraces
    let screens: ShownScreens
    let work: BackgroundWork
    let degradations: Degradations
    let surroundings: Control.Surroundings

    func description(for peer: Peer) -> Control.Description {
        var description = Control.Description(
            version: productVersion, processId: getpid(),
            features: [
                "prewarm.main", "prewarm.libraries", "prewarm.runtime", "prewarm.window",
                "watch.after",
            ],
            degraded: degradations.notes)
        var surroundings = surroundings
        surroundings.spawnerProcessId = spawner.process
        description.surroundings = surroundings
        description.appDirectories = loader.directories
        description.desktopDirectories = loader.desktop.paths
        // Only for clients that may administer the daemon: it is another user's environment.
        if authorization.mayDo(.administer, owner: nil, peer) {
            description.environment = loader.readingEnvironment
        }
        return description
    }

    /// The apps that the client may observe, by identifier.
    func summaries(for peer: Peer) -> [Control.AppSummary] {
        catalog.apps.filter { authorization.mayDo(.observe, owner: $0.account, peer) }.map { app in
            let records = core.lifecycle.instances(of: app.identifier)
            let running = records.filter(\.isLaunched)
            var summary = Control.AppSummary(
                identifier: app.identifier.rawValue, name: app.name,
                isEligible: objections.objection(to: app) == nil,
                prewarmedCount: records.count { $0.state == .prewarmed },
                prewarmTarget: app.description.prewarmCount, runningCount: running.count,
                state: Control.ExecutionState(
                    running.max { $0.state.prominence < $1.state.prominence }?.state
                        ?? (records.contains { $0.state == .prewarmed } ? .prewarmed : .notRunning))
            )
            summary.program = app.program.path
            summary.manifestFile = app.isDesktopOnly ? nil : app.manifestPath
            summary.desktop = app.desktop?.facts
            summary.depth = depths.depth(of: app)
            if summary.depth != nil {
                summary.savedUSec = core.lifecycle.prewarmTime(of: app.identifier)?.microseconds
            }
            return summary
        }
    }

    /// The same, and the apps that have a manifest and are not installed.
    func allSummaries(for peer: Peer) -> [Control.AppSummary] {
        let absent = authorization.absent(for: peer).map { name, app in
            var summary = Control.AppSummary(identifier: name, isEligible: false)
            summary.manifestFile = app.file
            summary.refusal = app.note
            return summary
        }
        return (summaries(for: peer) + absent).sorted { $0.identifier < $1.identifier }
    }

    /// The instances that have a process. If one app or instance was asked for, the ends on record
    /// are included.
    func statuses(
        of target: Control.Target?, _ peer: Peer
    ) throws(ControlError) -> [Control.InstanceStatus] {
        var memory = measuredLimit
        return try records(of: target, peer).map { status($0, &memory) }
    }

    private func records(
        of target: Control.Target?, _ peer: Peer
    ) throws(ControlError) -> [InstanceRecord] {
        switch target {
        case nil:
            return core.lifecycle.instances
                .filter { $0.state != .notRunning }
                .filter { authorization.mayDo(.observe, owner: catalog.owner(of: $0.app), peer) }
        case .app(let name)?:
            let app = try authorization.find(name, .observe, peer)
            return core.lifecycle.instances(of: app.identifier)
        case .instance(let number)?:
            try authorization.require(.observe, of: .instance(number), peer)
            let record = core.lifecycle.instance(InstanceIdentifier(number))
            return record.map { [$0] } ?? []
        }
    }

    /// The memory of at most this many instances is measured for one reply. A measurement takes up
    /// to 0.1 ms, in which nobody else is served.
    private var measuredLimit: Int { 64 }

    /// The memory of a paused instance, as it was measured at its pause or later; that of a running
    /// one, measured now. The figure of its pause would say nothing about it.
    private func byteCount(of record: InstanceRecord, _ budget: inout Int) -> UInt64? {
        let count: UInt64
        if record.isLaunched {
            guard budget > 0, let instance = instances[record.instance] else { return nil }
            budget -= 1
            count = instance.byteCount
        } else {
            count = record.byteCount
        }
        return count > 0 ? count : nil
    }

    private func status(_ record: InstanceRecord, _ memory: inout Int) -> Control.InstanceStatus {
        var status = Control.InstanceStatus(
            instance: record.instance.rawValue, app: record.app.rawValue,
            state: Control.ExecutionState(record.state),
            sinceTimestampUSec: WallClock.microseconds(at: record.since))
        status.processId = instances.pid(of: record.instance)
        status.launchIdentifier = record.launchIdentifier?.rawValue
        status.kind = record.launchKind.map { .known(.init($0)) }
        status.coldReason = record.coldReason.map { .known(.init($0)) }
        status.anewReason = record.anewReason.map { .known(.init($0)) }
        status.depth = depths.depth(of: record)
        status.isAttached = record.isAttached
        let restarts = core.lifecycle.app(record.app)?.restartCount ?? 0
        status.restartCount = restarts > 0 ? Int64(restarts) : nil
        status.byteCount = byteCount(of: record, &memory)
        status.areThreadsFrozen = record.state == .prewarmed ? record.otherThreads.areFrozen : nil
        status.exit = record.exitStatus == nil ? nil : Control.ExitRecord(record)
        let conversation = record.state == .notRunning ? nil : record.conversation
        let scenes = conversation?.scenes.filter { $0.scene != .application }
        status.scenes = scenes.flatMap { $0.isEmpty ? nil : $0 }?.map {
            Control.Scene(
                session: $0.scene.description, activation: Control.ActivationState($0.activation))
        }
        let steps = traces.steps(of: record.instance)
        if !steps.isEmpty {
            status.steps = steps.map { .init(step: $0.name, elapsedUSec: $0.elapsedUSec) }
        }
        status.launchScreen = screens.current(of: record)
        if let time = record.background.value, time.taskCount > 0 {
            status.backgroundTasks = work.openTasks(of: record.instance)
            status.backgroundRemainingUSec = time.end.map {
                max(0, core.now.duration(to: $0).microseconds)
            }
        }
        return status
    }
}

extension OtherThreads {
    fileprivate var areFrozen: Bool? {
        switch self {
        case .none: nil
        case .frozen: true
        case .running: false
        }
    }
}

extension InstanceRecord {
    /// Launched and not yet ended; also while it is being ended.
    fileprivate var isLaunched: Bool {
        switch state {
        case .launching, .inactive, .active, .background, .suspended, .terminating: true
        case .notRunning, .prewarming, .prewarmed: false
        }
    }
}

extension ExecutionState {
    /// If an app has several instances, the state with the highest value is shown as the app's
    /// state.
    fileprivate var prominence: Int {
        switch self {
        case .notRunning: 0
        case .prewarming: 1
        case .prewarmed: 2
        case .terminating: 3
        case .suspended: 4
        case .background: 5
        case .launching: 6
        case .inactive: 7
        case .active: 8
        }
    }
}
